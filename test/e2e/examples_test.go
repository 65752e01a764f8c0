//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// The examples that the docs show, as a user installs them: the package by Helm, drivers on the nodes of their groups only, a
// class for every driver; then uninstalled, and once more as GitOps tools do it, with no cluster at hand.
func TestExamplesByHelm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rosa", "vanilla"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := up(t)
			file := filepath.Join("..", "..", "examples", "values", name+".yaml")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			example, err := settings.Parse(text)
			require.NoError(t, err)
			profiles, problems := settings.Profiles(example)
			require.Empty(t, problems)
			r.create(&corev1.Node{ObjectMeta: metaName("bystander")})
			r.kubectl("annotate", "node", "bystander", "kwok.x-k8s.io/node=fake")
			for _, g := range example.NodeGroups {
				r.exampleNode(g)
			}
			r.create(&corev1.Namespace{ObjectMeta: metaName(plainNamespace)})
			r.eventually("namespace filled", 30*time.Second, r.namespacesFilled(plainNamespace))
			before := r.now()
			r.install(string(text))
			classes := r.kubectl("get", "deviceclasses")
			for _, g := range example.NodeGroups {
				for _, driver := range g.Drivers {
					p, ok := profiles.ByName(driver)
					require.True(t, ok, driver)
					require.Contains(t, classes, p.DriverName)
					if p.Plugin != nil {
						r.eventually("driver "+driver+" of group "+g.Name, 60*time.Second, r.driverRuns(plainNamespace, driver, g.Name, g.Name+"-1"))
					}
				}
			}
			r.helm("uninstall", "gpu-dra", "--namespace", plainNamespace, "--wait")
			r.onlyStaysLeft(before)

			manifest, err := r.tryProgram("helm", "template", "x", chartPackage, "--kube-version", "1.34.4", "--values", file)
			require.NoError(t, err, manifest)
			accepted := r.kubectl("apply", "--dry-run=server", "-f", r.file("manifest.yaml", manifest))
			require.Contains(t, accepted, "daemonset.apps/driver-")
			require.NotContains(t, accepted, "Warning")
		})
	}
}

// exampleNode makes a node that a group selects, with the taints that its settings tolerate.
func (r *rig) exampleNode(g settings.NodeGroup) {
	r.t.Helper()
	node := &corev1.Node{ObjectMeta: metaName(g.Name + "-1")}
	node.Labels = map[string]string{corev1.LabelHostname: node.Name}
	for key, value := range g.NodeSelector {
		node.Labels[key] = value
	}
	node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
	for _, toleration := range g.Tolerations {
		if toleration.Key != "" {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: toleration.Key, Value: toleration.Value, Effect: toleration.Effect})
		}
	}
	r.create(node)
}
