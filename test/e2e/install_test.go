//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// installs on an empty API server that must each converge without a restart of the operator: its CRDs, hooks and bindings
// start in an order that a race would show in. `make test-full` makes more of them.
var installs = 5

func TestInstallsConverge(t *testing.T) {
	t.Parallel()
	for i := range installs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := up(t, "--components", "etcd,kube-apiserver,kube-controller-manager")
			r.startOperator(twoGroups)
			r.eventually("installed", 2*time.Minute, func(ctx context.Context) error {
				if r.helmRevision(ctx) == 0 {
					return fmt.Errorf("no Helm release yet")
				}
				for _, group := range []string{"gpu-h100", "gpu-a100-mig"} {
					if err := r.groupIs(group, condition.Ready, "Unknown", condition.GroupControllerNotSynced)(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			require.NotContains(t, strings.ToLower(r.cluster("operator", "queue")), "failed")
		})
	}
}
