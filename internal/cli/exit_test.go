package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExitCode(t *testing.T) {
	assert.Equal(t, 0, ExitCode(nil))
	assert.Equal(t, 2, ExitCode(errors.New("unknown flag: --oh")))
	marked := fmt.Errorf("render: %w", &Failure{Err: errors.New("no such file")})
	assert.Equal(t, 1, ExitCode(marked))
	assert.EqualError(t, marked, "render: no such file")
}
