//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// seed of the moments at which processes are killed; fixed, so that a failure can be run again.
const seed = 20260301

const grown = twoGroups + "- name: gpu-any\n  namespaces: [inference]\n  driver: nvidia\n"

// grow brings both clusters of the test to the same end, in steps between which the disturbed one is disturbed. Counts only
// grow, so that high-water counts do not tell the two runs apart.
func (r *rig) grow(between func(step int)) {
	steps := []func(){
		func() { r.create(&corev1.Namespace{ObjectMeta: metaName("inference")}) },
		func() { r.addNode("h100-3", "gpu-h100") },
		func() { r.publish(gpus("h100-3", 1, 4)) },
		func() { r.publish(gpus("h100-3", 2, 8)) },
		func() { r.settings(grown) },
		func() { r.addNode("h100-4", "gpu-h100"); r.publish(gpus("h100-4", 1, 8)) },
	}
	for i, step := range steps {
		step()
		between(i)
	}
}

// Kills of the operator and the controller and a restart of the API server at any moment end in the status and values of
// an undisturbed run, and the controller's own path outside hooks gives the same verdict as the hooks.
func TestKillsConverge(t *testing.T) {
	t.Parallel()
	calm := upNamed(t, "-calm").withDemo(twoGroups)
	disturbed := upNamed(t, "-disturbed").withDemo(twoGroups)
	calm.grow(func(int) {})
	random := rand.New(rand.NewPCG(seed, seed))
	disturbed.grow(func(step int) {
		pause := time.Duration(random.IntN(1500)) * time.Millisecond
		t.Logf("step %d: disturbed after %s", step, pause)
		time.Sleep(pause)
		switch step % 3 {
		case 0:
			disturbed.cluster("operator", "kill")
			disturbed.cluster("operator", "restart")
		case 1:
			disturbed.cluster("controller", "kill")
			disturbed.cluster("controller", "restart")
		case 2:
			disturbed.cluster("restart", "kube-apiserver")
		}
	})
	for _, r := range []*rig{calm, disturbed} {
		r.eventually("all ready: "+r.name, 3*time.Minute, func(ctx context.Context) error {
			for _, group := range []string{"gpu-h100", "gpu-a100-mig"} {
				if err := r.groupIs(group, condition.Ready, "True", condition.GroupReady)(ctx); err != nil {
					return err
				}
			}
			if err := r.groupHas("gpu-h100", 32, 4)(ctx); err != nil {
				return err
			}
			return r.templateIs("gpu-any", condition.Ready, "True")(ctx)
		})
	}
	calm.eventually("statuses and values are equal", 2*time.Minute, func(ctx context.Context) error {
		a, err := calm.statuses(ctx)
		if err != nil {
			return err
		}
		b, err := disturbed.statuses(ctx)
		if err != nil {
			return err
		}
		if a != b {
			return fmt.Errorf("statuses differ:\n%s", firstDifference(a, b))
		}
		if a, err = calm.moduleValues(); err != nil {
			return err
		}
		if b, err = disturbed.moduleValues(); err != nil {
			return err
		}
		if a != b {
			return fmt.Errorf("values differ:\n%s", firstDifference(a, b))
		}
		return nil
	})

	// The same cluster through the plain chart: no operator, no hooks, the same settings.
	byHooks, err := calm.groupStatuses(context.Background())
	require.NoError(t, err)
	calm.cluster("controller", "stop")
	calm.cluster("operator", "stop")
	calm.helm("uninstall", "gpu-dra", "--namespace", calm.helmNamespace(context.Background()), "--wait")
	calm.kubectl("delete", "gpunodegroups", "--all")
	calm.install(grown, "--skip-crds", "--set", "distribution=Deckhouse")
	calm.startPlainController()
	calm.eventually("the controller's verdict equals the hooks'", 2*time.Minute, func(ctx context.Context) error {
		got, err := calm.groupStatuses(ctx)
		if err != nil {
			return err
		}
		if got != byHooks {
			return fmt.Errorf("they differ:\n%s", firstDifference(byHooks, got))
		}
		return nil
	})
}

// helmNamespace is where addon-operator keeps the module's release.
func (r *rig) helmNamespace(ctx context.Context) string {
	var secrets corev1.SecretList
	require.NoError(r.t, r.client.List(ctx, &secrets, client.MatchingLabels{"owner": "helm", "name": "gpu-dra"}))
	require.NotEmpty(r.t, secrets.Items)
	return secrets.Items[0].Namespace
}

// firstDifference shows where two texts part, with some lines around.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := 0; i < len(x) || i < len(y); i++ {
		if i >= len(x) || i >= len(y) || x[i] != y[i] {
			from := max(0, i-6)
			return fmt.Sprintf("--- one\n%s\n--- other\n%s", strings.Join(x[min(from, len(x)):min(i+6, len(x))], "\n"), strings.Join(y[min(from, len(y)):min(i+6, len(y))], "\n"))
		}
	}
	return "no difference"
}
