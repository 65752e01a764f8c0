//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// otherKinds are CustomResourceDefinitions of projects whose objects the chart makes where their kinds are, as these projects publish
// them: files of their Go modules.
var otherKinds = []struct{ module, files string }{
	{"github.com/prometheus-operator/prometheus-operator@v0.92.1", "example/prometheus-operator-crd/monitoring.coreos.com_p*o*.yaml"},
	{"github.com/cert-manager/cert-manager@v1.21.2", "deploy/crds/cert-manager.io_*.yaml"},
	{"k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1", "deploy/vpa-v1-crd-gen.yaml"},
}

// withOtherKinds makes them known to the API server.
func (r *rig) withOtherKinds() {
	r.t.Helper()
	for _, k := range otherKinds {
		command := exec.Command("go", "mod", "download", "-json", k.module)
		command.Dir = r.t.TempDir()
		out, err := command.Output()
		require.NoError(r.t, err, "%s: %s", k.module, out)
		var module struct{ Dir string }
		require.NoError(r.t, json.Unmarshal(out, &module))
		files, err := filepath.Glob(filepath.Join(module.Dir, k.files))
		require.NoError(r.t, err)
		require.NotEmpty(r.t, files, k.module)
		for _, f := range files {
			r.kubectl("apply", "--server-side", "-f", f)
		}
	}
	r.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
}

const watchedSettings = `
distribution: Vanilla
nodeGroups:
- {name: h100, drivers: [nvidia], nodeSelector: {accelerator: h100}}
- {name: mi300, drivers: [amd], nodeSelector: {accelerator: mi300}}
`

// What the chart makes for Prometheus Operator, cert-manager and the autoscaler is what their kinds take: to a server that is asked to
// be strict, no field is unknown and no value of another form.
func TestKindsOfOthers(t *testing.T) {
	t.Parallel()
	r := up(t, "--components", "etcd,kube-apiserver")
	r.withOtherKinds()
	r.create(&corev1.Namespace{ObjectMeta: metaName(plainNamespace)})
	for name, settings := range map[string]string{
		"daemonset": "exporter: {mode: DaemonSet}\n",
		"sidecar": "exporter: {mode: Sidecar, sidecar: {namespaces: [inference]}}\n" +
			"controller: {webhook: {certificates: CertManager}}\n",
	} {
		file := r.file("values.yaml", watchedSettings+settings)
		manifest := r.helm("template", "gpu-dra", chartPackage, "--namespace", plainNamespace, "--values", file, "--validate")
		var ours []string
		for _, document := range strings.Split(manifest, "\n---\n") {
			for _, group := range []string{"monitoring.coreos.com", "cert-manager.io", "autoscaling.k8s.io"} {
				if strings.Contains(document, "\napiVersion: "+group+"/") {
					ours = append(ours, document)
				}
			}
		}
		objects := r.file("objects.yaml", strings.Join(ours, "\n---\n"))
		made := r.kubectl("create", "--dry-run=server", "--validate=strict", "--output", "name", "-f", objects)
		t.Logf("%s:\n%s", name, made)
		for _, want := range map[string][]string{
			"daemonset": {"podmonitor.monitoring.coreos.com/exporter-nvidia", "podmonitor.monitoring.coreos.com/exporter-amd",
				"prometheusrule.monitoring.coreos.com/gpu-dra", "verticalpodautoscaler.autoscaling.k8s.io/controller",
				"verticalpodautoscaler.autoscaling.k8s.io/exporter-nvidia-h100"},
			"sidecar": {"podmonitor.monitoring.coreos.com/sidecar", "certificate.cert-manager.io/controller-webhook",
				"issuer.cert-manager.io/controller-webhook"},
		}[name] {
			require.Contains(t, made, want)
		}

		// The server is strict indeed.
		raw, err := os.ReadFile(objects)
		require.NoError(t, err)
		wrong := r.file("wrong.yaml", strings.ReplaceAll(string(raw), "\nspec:\n", "\nspec:\n  notOfThisKind: true\n"))
		said, err := r.tryProgram("kubectl", "create", "--dry-run=server", "--validate=strict", "-f", wrong)
		require.Error(t, err)
		require.Contains(t, said, `unknown field "spec.notOfThisKind"`)
	}
}
