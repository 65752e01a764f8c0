//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/charttest"
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
	for _, namespace := range []string{plainNamespace, "d8-gpu-dra"} {
		r.create(&corev1.Namespace{ObjectMeta: metaName(namespace)})
	}
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"daemonset": {r.template(watchedSettings + "exporter: {mode: DaemonSet}\n"), []string{
			"podmonitor.monitoring.coreos.com/controller", "podmonitor.monitoring.coreos.com/exporter-nvidia",
			"podmonitor.monitoring.coreos.com/exporter-amd", "prometheusrule.monitoring.coreos.com/gpu-dra"}},
		"sidecar": {r.template(watchedSettings + "exporter: {mode: Sidecar, sidecar: {namespaces: [inference]}}\n" +
			"controller: {webhook: {certificates: CertManager}}\n"), []string{"podmonitor.monitoring.coreos.com/exporter-sidecars",
			"certificate.cert-manager.io/controller-webhook", "issuer.cert-manager.io/controller-webhook",
			"certificate.cert-manager.io/controller-webhook-authority", "issuer.cert-manager.io/controller-webhook-authority"}},
		"module": {module(t, watchedSettings), []string{"podmonitor.monitoring.coreos.com/exporter-nvidia",
			"prometheusrule.monitoring.coreos.com/gpu-dra", "verticalpodautoscaler.autoscaling.k8s.io/controller",
			"verticalpodautoscaler.autoscaling.k8s.io/driver-nvidia-h100", "verticalpodautoscaler.autoscaling.k8s.io/exporter-nvidia-h100"}},
	} {
		var ours []string
		for _, document := range strings.Split("\n"+c.manifest, "\n---\n") {
			for _, group := range []string{"monitoring.coreos.com", "cert-manager.io", "autoscaling.k8s.io"} {
				if strings.Contains("\n"+document, "\napiVersion: "+group+"/") {
					ours = append(ours, document)
				}
			}
		}
		objects := strings.Join(ours, "\n---\n")
		made := r.kubectl("create", "--dry-run=server", "--validate=strict", "--output", "name", "-f", r.file("objects.yaml", objects))
		for _, want := range c.want {
			require.Contains(t, strings.Split(made, "\n"), want, name)
		}

		// The server is strict indeed.
		wrong := strings.ReplaceAll(objects, "\nspec:\n", "\nspec:\n  notOfThisKind: true\n")
		said, err := r.tryProgram("kubectl", "create", "--dry-run=server", "--validate=strict", "-f", r.file("wrong.yaml", wrong))
		require.Error(t, err)
		require.Contains(t, said, `unknown field "spec.notOfThisKind"`, name)
	}
}

// template renders the package for this cluster.
func (r *rig) template(settings string) string {
	r.t.Helper()
	return r.helm("template", "gpu-dra", chartPackage, "--namespace", plainNamespace, "--values", r.file("values.yaml", settings), "--validate")
}

// module renders the chart as addon-operator does, after hooks that have seen the kinds.
func module(t *testing.T, settings string) string {
	t.Helper()
	chart, err := charttest.Load()
	require.NoError(t, err)
	values := parsed(t, settings)
	values["distribution"] = "Deckhouse"
	values["internal"] = tree{"cluster": tree{"observed": true, "distribution": "Deckhouse", "kubernetesVersion": "v1.34.4", "featureGates": tree{},
		"monitoringAPIs": tree{"podMonitor": true, "prometheusRule": true, "grafanaDashboard": false}}, "webhookCertificate": tree{}}
	documents, _, err := charttest.Render(chart, charttest.Options{Values: tree{"global": tree{}, "gpuDra": values},
		APIVersions: []string{"autoscaling.k8s.io/v1/VerticalPodAutoscaler"}})
	require.NoError(t, err)
	return strings.Join(documents, "\n---\n")
}
