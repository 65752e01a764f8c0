package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gpu-dra/gpu-dra/internal/certificate"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// replicas of the webhook with one Secret and one webhook object between them.
type replicas struct {
	t       *testing.T
	cluster *fake.Clientset
	now     time.Time
	keepers []*keeper
}

func newReplicas(t *testing.T, own bool, n int) *replicas {
	r := &replicas{t: t, now: time.Now(), cluster: fake.NewClientset(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-dra", Name: "certificate"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "a"}}},
	)}
	for range n {
		r.keepers = append(r.keepers, &keeper{
			secrets: r.cluster.CoreV1().Secrets("gpu-dra"), hooks: r.cluster.AdmissionregistrationV1().MutatingWebhookConfigurations(),
			namespace: "gpu-dra", log: logr.Discard(), now: func() time.Time { return r.now },
			config: settings.WebhookConfig{Name: "hook", Service: "controller-webhook", Secret: "certificate", OwnCertificate: own},
		})
	}
	return r
}

func (r *replicas) bundle() []byte {
	r.t.Helper()
	c, err := r.cluster.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(context.Background(), "hook", metav1.GetOptions{})
	require.NoError(r.t, err)
	return c.Webhooks[0].ClientConfig.CABundle
}

// call makes a handshake with a replica as the API server does.
func (r *replicas) call(k *keeper, bundle []byte) error {
	r.t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	server.TLS = &tls.Config{GetCertificate: k.get}
	server.StartTLS()
	defer server.Close()
	server.TLS.Certificates = nil
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "controller-webhook.gpu-dra.svc", Time: func() time.Time { return r.now },
	}}}
	response, err := client.Get(server.URL)
	if err == nil {
		response.Body.Close()
	}
	return err
}

// Two replicas through a whole renewal that a person asks for: each is trusted at every moment, whoever looks first.
func TestReplicasRenewTogether(t *testing.T) {
	r := newReplicas(t, true, 2)
	ctx := context.Background()
	look := func(order ...int) {
		t.Helper()
		before := r.bundle()
		for _, i := range order {
			require.NoError(t, r.keepers[i].step(ctx))
			for j, k := range r.keepers {
				if k.pair.Load() == nil {
					continue
				}
				require.NoError(t, r.call(k, r.bundle()), j)
				if before != nil {
					require.NoError(t, r.call(k, before), "%d, by an API server that has not seen the change", j)
				}
			}
		}
	}
	served := func(i int) []byte { return r.keepers[i].pair.Load().Certificate[0] }
	_, err := r.keepers[0].get(nil)
	require.ErrorContains(t, err, "no certificate yet")
	look(0, 1)
	first := served(0)
	require.Equal(t, first, served(1))
	secret, err := r.cluster.CoreV1().Secrets("gpu-dra").Get(ctx, "certificate", metav1.GetOptions{})
	require.NoError(t, err)
	secret.Annotations = map[string]string{AnnotationRenew: "now"}
	_, err = r.cluster.CoreV1().Secrets("gpu-dra").Update(ctx, secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	look(1, 0)
	require.Equal(t, first, served(0), "the next one is only made known")
	r.now = r.now.Add(31 * time.Second)
	look(0)
	require.NotEqual(t, first, served(0))
	require.Equal(t, first, served(1), "it has not looked yet")
	look(1)
	require.Equal(t, served(0), served(1))
	r.now = r.now.Add(31 * time.Second)
	look(1, 0)
	require.Equal(t, 1, countPEM(r.bundle()))
	secret, err = r.cluster.CoreV1().Secrets("gpu-dra").Get(ctx, "certificate", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, secret.Annotations)
	require.NotContains(t, secret.Data, next+keyKey)
}

func countPEM(bundle []byte) int {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	//lint:ignore SA1019 the pool is no system pool, for which it would not work.
	return len(pool.Subjects())
}

// A Secret that somebody else fills is only read; what is wrong in it is said and what was served stays.
func TestGivenCertificate(t *testing.T) {
	r := newReplicas(t, false, 1)
	ctx, k := context.Background(), r.keepers[0]
	require.ErrorContains(t, k.step(ctx), "Secret gpu-dra/certificate: ")
	put := func(p certificate.Pair) {
		_, err := r.cluster.CoreV1().Secrets("gpu-dra").Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-dra", Name: "certificate"},
			Data: map[string][]byte{"ca.crt": p.CA, "tls.crt": p.Cert, "tls.key": p.Key}}, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	good, err := certificate.New(r.now, k.names())
	require.NoError(t, err)
	put(good)
	require.NoError(t, k.step(ctx))
	require.NoError(t, r.call(k, good.CA))
	other, err := certificate.New(r.now, []string{"other"})
	require.NoError(t, err)
	put(other)
	require.ErrorContains(t, k.step(ctx), "Secret gpu-dra/certificate: ")
	require.NoError(t, r.call(k, good.CA))
	newer, err := certificate.New(r.now, k.names())
	require.NoError(t, err)
	put(newer)
	require.NoError(t, k.step(ctx))
	require.NoError(t, r.call(k, newer.CA), "without a restart")
	require.Empty(t, r.bundle(), "the webhook's object is not ours to write")
}

// What somebody wrote over is put back.
func TestBundleIsPutBack(t *testing.T) {
	r := newReplicas(t, true, 1)
	ctx := context.Background()
	require.NoError(t, r.keepers[0].step(ctx))
	want := r.bundle()
	hooks := r.cluster.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := hooks.Get(ctx, "hook", metav1.GetOptions{})
	require.NoError(t, err)
	c.Webhooks[0].ClientConfig.CABundle = nil
	_, err = hooks.Update(ctx, c, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, r.keepers[0].step(ctx))
	require.Equal(t, want, r.bundle())
	require.NoError(t, hooks.Delete(ctx, "hook", metav1.DeleteOptions{}))
	require.ErrorContains(t, r.keepers[0].step(ctx), "not found")
}

// The controller may not create Secrets, so it says who can.
func TestSecretThatIsGone(t *testing.T) {
	for own, says := range map[bool]string{true: "`helm upgrade` with the same values makes it anew", false: ""} {
		r := newReplicas(t, own, 1)
		require.NoError(t, r.cluster.CoreV1().Secrets("gpu-dra").Delete(context.Background(), "certificate", metav1.DeleteOptions{}))
		err := r.keepers[0].step(context.Background())
		require.ErrorContains(t, err, `secrets "certificate" not found`)
		require.Equal(t, says != "", strings.Contains(err.Error(), "helm upgrade"))
		require.ErrorContains(t, err, says)
		for _, action := range r.cluster.Actions() {
			require.NotEqual(t, "create", action.GetVerb())
		}
	}
}
