package certificates

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	tlscertificate "github.com/deckhouse/module-sdk/common-hooks/tls-certificate"
	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/certificate"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

const sidecar = "exporter: {mode: Sidecar, sidecar: {namespaces: [inference]}}\n"

func run(t *testing.T, settings string, secrets ...*corev1.Secret) values.Certificate {
	t.Helper()
	e := framework.NewHookExecutionConfig(t, tlscertificate.GenSelfSignedTLSConfig(config), tlscertificate.GenSelfSignedTLS(config),
		framework.WithInitialValues(hooktest.Values(t, "../..", settings)), framework.WithCRD("", "v1", "Secret", true))
	client, err := e.DependencyContainer().GetK8sClient()
	require.NoError(t, err)
	for _, s := range secrets {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
		require.NoError(t, err)
		_, err = client.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(s.Namespace).
			Create(context.Background(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	e.RunHook()
	require.NoError(t, e.HookError())
	require.Empty(t, e.PatchedOperations())
	hooktest.RequireInternal(t, e.ValuesJSON())
	var out values.Certificate
	if raw := e.ValuesGet(values.PathWebhookCertificate).Raw; raw != "" {
		require.NoError(t, json.Unmarshal([]byte(raw), &out))
	}
	return out
}

// What it writes serves the webhook by the names that the API server calls it by, and comes back from the Secret.
func TestCertificate(t *testing.T) {
	made := run(t, sidecar)
	pair := certificate.Pair{CA: []byte(made.CA), Cert: []byte(made.Cert), Key: []byte(made.Key)}
	_, err := pair.Check(time.Now(), []string{"controller-webhook.d8-gpu-dra.svc", "controller-webhook.d8-gpu-dra"})
	require.NoError(t, err)
	again := run(t, sidecar, &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: config.TLSSecretName},
		Data: map[string][]byte{"ca.crt": pair.CA, "tls.crt": pair.Cert, "tls.key": pair.Key},
	})
	require.Equal(t, made, again, "after a restart of addon-operator it stays what it was")
}

func TestNoWebhookNoCertificate(t *testing.T) {
	for _, settings := range []string{
		"{}", "exporter: {mode: Sidecar}", "exporter: {sidecar: {namespaces: [inference]}}",
		sidecar + "controller: {webhook: {certificates: CertManager}}",
	} {
		require.Empty(t, run(t, settings), settings)
	}
}
