package charttest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

const sidecarSettings = `
nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}}]
exporter: {mode: Sidecar, sidecar: {namespaces: [inference, research], interval: 10s}}
imagePullSecrets: [{name: mirror}]
`

// webhooks are renders with the webhook, by who makes its certificate.
func webhooks(t testing.TB) map[string]Options {
	hooked := underHooks(t, parse(t, sidecarSettings), values.Internal{WebhookCertificate: values.Certificate{CA: "authority", Cert: "certificate", Key: "key"}})
	hooked["gpuDra"].(map[string]any)["registry"] = map[string]any{"base": "registry.deckhouse.example/modules", "dockercfg": "e30=", "scheme": "https"}
	return map[string]Options{
		"controller":   {Values: parse(t, sidecarSettings)},
		"hook":         {Values: hooked, Namespace: "deckhouse"},
		"cert-manager": {Values: parse(t, sidecarSettings+"controller: {webhook: {certificates: CertManager, failurePolicy: Fail}}")},
	}
}

func hasWebhook(t testing.TB, o Options) bool {
	t.Helper()
	all := objects(t, o)
	deployment := Find[*appsv1.Deployment](all, "controller").Spec.Template.Spec.Containers[0]
	flagged := strings.Contains(strings.Join(deployment.Args, " "), "--webhook-bind-address=:9443")
	made := false
	for _, object := range all {
		made = made || object.GetLabels()["app.kubernetes.io/component"] == "webhook"
	}
	require.Equal(t, made, flagged)
	config, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](all, "controller-config").Data["config.yaml"]))
	require.NoError(t, err)
	require.Equal(t, made, config.Sidecar != nil)
	return made
}

// Nothing of it is there unless somebody asks for the sidecar.
func TestWebhook(t *testing.T) {
	for in, want := range map[string]bool{
		"{}":                                     false,
		"exporter: {mode: 'Off'}":                false,
		"exporter: {mode: Sidecar}":              false,
		"exporter: {sidecar: {namespaces: [a]}}": false,
		"exporter: {mode: Sidecar, sidecar: {namespaces: [a]}}":                         true,
		"gpuDra: {internal: {}, exporter: {mode: Sidecar, sidecar: {namespaces: [a]}}}": true,
	} {
		require.Equal(t, want, hasWebhook(t, Options{Values: parse(t, in)}), in)
	}
	for name, o := range webhooks(t) {
		all := objects(t, o)
		var hook *admissionregistrationv1.MutatingWebhookConfiguration
		for _, object := range all {
			if h, ok := object.(*admissionregistrationv1.MutatingWebhookConfiguration); ok {
				hook = h
			}
		}
		config, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](all, "controller-config").Data["config.yaml"]))
		require.NoError(t, err)
		s := config.Sidecar
		require.Equal(t, hook.Name, s.Webhook.Name, name)
		require.Equal(t, name == "controller", s.Webhook.OwnCertificate, name)
		require.Equal(t, Find[*appsv1.Deployment](all, "controller").Spec.Template.Spec.Containers[0].Image, s.Image, name)
		w := hook.Webhooks[0]
		require.Len(t, hook.Webhooks, 1)
		require.Equal(t, []string{"inference", "research"}, w.NamespaceSelector.MatchExpressions[0].Values)
		require.Equal(t, map[string]string{"gpu-dra.deckhouse.io/exporter": "sidecar"}, w.ObjectSelector.MatchLabels)
		require.Equal(t, name == "cert-manager", *w.FailurePolicy == admissionregistrationv1.Fail, name)
		require.Equal(t, admissionregistrationv1.SideEffectClassNone, *w.SideEffects)
		require.Equal(t, name == "hook", string(w.ClientConfig.CABundle) == "authority", "%s: the chart makes no certificate", name)

		service := Find[*corev1.Service](all, w.ClientConfig.Service.Name)
		require.Equal(t, s.Webhook.Service, service.Name)
		require.Equal(t, w.ClientConfig.Service.Namespace, service.Namespace)
		deployment := Find[*appsv1.Deployment](all, "controller").Spec.Template
		require.Equal(t, service.Spec.Selector, deployment.Labels)

		secret := Find[*corev1.Secret](all, s.Webhook.Secret)
		switch name {
		case "controller":
			require.Empty(t, secret.Data)
		case "hook":
			require.Equal(t, corev1.SecretTypeTLS, secret.Type)
			require.Equal(t, "key", string(secret.Data["tls.key"]))
			require.Equal(t, []string{"gpu-dra-module-registry", "mirror"}, s.PullSecrets)
		case "cert-manager":
			require.Nil(t, secret, "cert-manager makes it")
			chart, err := Load()
			require.NoError(t, err)
			documents, _, err := Render(chart, o)
			require.NoError(t, err)
			signed := map[string][]any{}
			for _, d := range documents {
				if c := parse(t, d); c["kind"] == "Certificate" {
					spec := c["spec"].(map[string]any)
					signed[c["metadata"].(map[string]any)["name"].(string)] = []any{spec["isCA"], spec["issuerRef"].(map[string]any)["name"], spec["secretName"]}
				}
			}
			require.Equal(t, map[string][]any{
				"controller-webhook":           {nil, "controller-webhook", s.Webhook.Secret},
				"controller-webhook-authority": {true, "controller-webhook-authority", s.Webhook.Secret + "-authority"},
			}, signed, "the authority stays when the certificate is renewed")
		}
		for _, r := range Find[*rbacv1.Role](all, "webhook").Rules {
			require.Equal(t, []string{s.Webhook.Secret}, r.ResourceNames)
		}
	}
}

// Sidecars have the files of the DaemonSet's exporter, made by the same templates; what differs in each pod is left to fill in.
func TestSidecarFiles(t *testing.T) {
	config := func(in string) *settings.SidecarConfig {
		all := objects(t, Options{Values: parse(t, in)})
		c, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](all, "controller-config").Data["config.yaml"]))
		require.NoError(t, err)
		return c.Sidecar
	}
	onNodes := func(in string) map[string]string {
		return Find[*corev1.ConfigMap](objects(t, Options{Values: parse(t, in)}), "exporter-nvidia").Data
	}
	in := func(mode, more string) string {
		return nvidiaGroup + "exporter: {mode: " + mode + ", sidecar: {namespaces: [a]}" + more + "}"
	}
	for _, more := range []string{"", ", metrics: Custom, customMetrics: [DCGM_FI_DEV_GPU_UTIL, DCGM_FI_DEV_OF_THE_FUTURE]"} {
		got := config(in("Sidecar", more)).ExporterFiles
		require.Equal(t, onNodes(in("DaemonSet", more)), got["nvidia"], more)
		require.NotContains(t, got["nvidia"]["counters.csv"], "_PROF_")
		require.Len(t, got, 1, "no other exporter runs as a sidecar")
	}
	own := config(in("Sidecar", "") + `
customDrivers:
- {name: acme, driverName: acme.example, exporter: {image: {repository: r.example/a, tag: v1}, port: 9000, command: [/a], sidecar: {}, config: {path: /a, files: {b: "{listen} {interval} {profiling} {metrics}"}}}}`)
	require.Equal(t, "{listen} {interval} false []", own.ExporterFiles["acme"]["b"])
	refused(t, map[string][]string{
		in("Sidecar", ", metrics: Custom, customMetrics: [DCGM_FI_DEV_GPU_UTIL, DCGM_FI_PROF_SM_ACTIVE]"): {
			`- exporter.customMetrics[1]: found "DCGM_FI_PROF_SM_ACTIVE", a profiling metric of the driver nvidia, expected none with exporter.mode Sidecar`,
		},
		in("DaemonSet", ", metrics: Custom, customMetrics: [DCGM_FI_PROF_SM_ACTIVE]"): {},
	})
}

// cert-manager's Secret is none of Helm's, and its type cannot be changed: with another maker it is another Secret.
func TestEachMakerHasASecretOfItsOwn(t *testing.T) {
	names := map[string]string{}
	for maker, o := range webhooks(t) {
		all := objects(t, o)
		c, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](all, "controller-config").Data["config.yaml"]))
		require.NoError(t, err)
		names[maker] = c.Sidecar.Webhook.Secret
	}
	require.Equal(t, map[string]string{
		"controller": "controller-webhook-certificate", "hook": "controller-webhook-certificate", "cert-manager": "controller-webhook-certificate-cert-manager",
	}, names)
}

// The webhook's objects and the controller's Deployment, as they stand in golden files.
func TestGoldenWebhook(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	for name, o := range webhooks(t) {
		o.KubeVersion = "v1.34.4"
		documents, _, err := Render(chart, o)
		require.NoError(t, err)
		var got []string
		for _, d := range documents {
			decoded, err := Decode([]string{d})
			require.NoError(t, err)
			if of(decoded[0], "webhook") || strings.Contains(d, "kind: Deployment") {
				got = append(got, checksum.ReplaceAllString(d, "checksum/config: CHECKSUM"))
			}
		}
		golden(t, filepath.Join("webhook", name), strings.Join(got, "---\n"))
	}
}

func of(o client.Object, component string) bool {
	return o.GetLabels()["app.kubernetes.io/component"] == component
}

// A choice that leaves every pod without an exporter is no fault: whoever installs is told.
func TestNotesTellWhenNoPodCanHaveAnExporter(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	for in, says := range map[string]string{
		"drivers: [nvidia], nodeSelector: {a: b}}], exporter: {mode: Sidecar":                                          "exporter.sidecar.namespaces is empty",
		"drivers: [amd], nodeSelector: {a: b}}], exporter: {mode: Sidecar, sidecar: {namespaces: [inference]}":         "no driver in nodeGroups has an exporter that works as a sidecar",
		"drivers: [amd, nvidia], nodeSelector: {a: b}}], exporter: {mode: Sidecar, sidecar: {namespaces: [inference]}": "",
		"drivers: [amd], nodeSelector: {a: b}}], exporter: {mode: DaemonSet":                                           "",
	} {
		_, notes, err := Render(chart, Options{Values: parse(t, "{nodeGroups: [{name: a, "+in+"}}")})
		require.NoError(t, err)
		if says == "" {
			require.NotContains(t, notes, "exporter.mode is Sidecar", in)
			continue
		}
		require.Contains(t, notes, says, in)
	}
}
