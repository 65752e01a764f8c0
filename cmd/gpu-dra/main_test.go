package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandLine(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	for name, c := range map[string]struct {
		args           []string
		stdin          string
		code           int
		stdout, stderr string
	}{
		"version":         {args: []string{"version"}, stdout: "gpu-dra dev\n"},
		"version flag":    {args: []string{"--version"}, stdout: "gpu-dra dev\n"},
		"unknown command": {args: []string{"rendr"}, code: 2, stderr: `unknown command "rendr"`},
		"unknown flag":    {args: []string{"render", "--file", "x"}, code: 2, stderr: "unknown flag: --file\nSee gpu-dra render --help.\n"},
		"missing flag":    {args: []string{"render"}, code: 2, stderr: `"filename" not set`},
		"guard, no node":  {args: []string{"guard", "--termination-log="}, code: 2, stderr: `--node: found ""`},
		"bad input":       {args: []string{"render", "-f", "-"}, stdin: "kind: Pod", code: 1, stderr: "standard input, document 1: "},
		"good input": {args: []string{"render", "-f", "-"}, stdin: "claimTemplates: [{name: gpu, driver: nvidia, namespaces: [a]}]",
			stdout: "kind: ResourceClaimTemplate\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), c.args, strings.NewReader(c.stdin), &stdout, &stderr)
			assert.Equal(t, c.code, code, stderr.String())
			assert.Contains(t, stdout.String(), c.stdout)
			assert.Contains(t, stderr.String(), c.stderr)
			if c.code != 0 {
				assert.Empty(t, stdout.String())
			}
		})
	}
}
