//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// moduleWebhookName is the webhook's object where the chart is a module of Deckhouse.
const moduleWebhookName = "d8-gpu-dra-sidecar"

// The sidecar's webhook as a module of Deckhouse: the module's hook makes the certificate, the release brings it to the controller and
// to the API server, and it goes with the mode.
func TestSidecarByAddonOperator(t *testing.T) {
	t.Parallel()
	r := up(t)
	r.applyDemo()
	for _, namespace := range []string{"inference", "other"} {
		r.create(&corev1.Namespace{ObjectMeta: metaName(namespace)})
	}
	exporter := func(mode string) string {
		return twoGroups + "exporter: {mode: " + mode + ", sidecar: {namespaces: [inference]}}\n"
	}
	r.startOperator(exporter("Sidecar"))
	r.startController()
	r.templatesWritten("gpu-16gb-min", "inference")

	// Another release would put the webhook's port back to what the chart says.
	r.settled()
	r.routeWebhook(moduleNamespace, moduleWebhookName)
	r.eventually("labelled pod -> one sidecar", 30*time.Second, func(ctx context.Context) error {
		p := engine("inference", "dry")
		if err := r.client.Create(ctx, p, client.DryRunAll); err != nil || sidecars(p) != 1 {
			return fmt.Errorf("%d sidecars (%v), %v; the API server says:%s", sidecars(p), err, p.Annotations, r.webhookCalls())
		}
		return nil
	})
	r.requireOneCertificate(t)

	w := r.warned()
	p, warnings := w.make(t, engine("inference", "labelled"))
	require.Empty(t, warnings)
	require.Equal(t, 1, sidecars(p), "%v", p.Annotations)
	bare := func(namespace string) string {
		p, warnings := w.make(t, engine(namespace, "bare", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "x"} }))
		require.Empty(t, warnings)
		return comparable(t, p)
	}
	require.Equal(t, bare("other"), bare("inference"), "unlabelled: as where no webhook is called for")
	_, refused := r.asked(t, moduleNamespace, "controller")
	require.Empty(t, refused, "the controller asked for what it has no right to")

	r.settings(exporter("DaemonSet"))
	r.eventually("mode DaemonSet -> webhook, Service and certificate go", 60*time.Second, func(ctx context.Context) error {
		for key, o := range map[client.ObjectKey]client.Object{
			{Name: moduleWebhookName}:                                &admissionregistrationv1.MutatingWebhookConfiguration{},
			{Namespace: moduleNamespace, Name: "controller-webhook"}: &corev1.Service{},
			{Namespace: moduleNamespace, Name: webhookSecret}:        &corev1.Secret{},
		} {
			if err := r.client.Get(ctx, key, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s is still there (%v)", o, key, err)
			}
		}
		return nil
	})
	p, warnings = w.make(t, engine("inference", "later"))
	require.Empty(t, warnings)
	require.Zero(t, sidecars(p))
}

// requireOneCertificate checks that the certificate in the Secret is what the controller serves, and that the API server trusts its
// authority.
func (r *rig) requireOneCertificate(t *testing.T) {
	t.Helper()
	var secret corev1.Secret
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: moduleNamespace, Name: webhookSecret}, &secret))
	require.Equal(t, corev1.SecretTypeTLS, secret.Type)
	var webhook admissionregistrationv1.MutatingWebhookConfiguration
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKey{Name: moduleWebhookName}, &webhook))
	require.Len(t, webhook.Webhooks, 1)
	require.Equal(t, string(secret.Data["ca.crt"]), string(webhook.Webhooks[0].ClientConfig.CABundle))

	address, err := r.listens("webhook-bind-address")
	require.NoError(t, err)
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer connection.Close()
	wanted, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	require.NotNil(t, wanted, "the Secret holds %q", secret.Data[corev1.TLSCertKey])
	require.True(t, bytes.Equal(wanted.Bytes, connection.ConnectionState().PeerCertificates[0].Raw), "the controller serves another certificate")
}
