package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gpu-dra/gpu-dra/internal/certificate"
)

// linked is what a scrape holds of a process that has this package in it and serves no webhook.
var linked []float64

func TestMain(m *testing.M) {
	linked = expirySamples()
	os.Exit(m.Run())
}

// expirySamples are what a scrape of the controller holds of the certificate's end.
func expirySamples() []float64 {
	families, err := metrics.Registry.Gather()
	if err != nil {
		panic(err)
	}
	var out []float64
	for _, f := range families {
		if f.GetName() == "gpu_dra_webhook_certificate_expiry_seconds" {
			for _, m := range f.GetMetric() {
				out = append(out, m.GetGauge().GetValue())
			}
		}
	}
	return out
}

// A webhook over real TLS, from its start to its end: when its certificate ends is said only while there is a webhook, and one that
// is told to end takes new calls for a while.
func TestServer(t *testing.T) {
	expiry.Reset()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	s, err := New(address, configuration(t, "Sidecar"), &rest.Config{Host: "http://127.0.0.1:1"}, logr.Discard())
	require.NoError(t, err)
	for _, without := range [][]float64{linked, expirySamples()} {
		require.Empty(t, without, "a controller without the webhook must not look like one whose certificate is over")
	}
	require.Equal(t, timeToBeForgotten, s.linger)
	s.linger = time.Second

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	require.Eventually(t, func() bool { return len(expirySamples()) == 1 }, 10*time.Second, time.Millisecond)
	require.Zero(t, expirySamples()[0], "a webhook that has no certificate")
	require.NotEmpty(t, s.Problem())

	pair, err := certificate.New(time.Now(), s.keeper.names())
	require.NoError(t, err)
	leaf, err := pair.Check(time.Now(), s.keeper.names())
	require.NoError(t, err)
	require.NoError(t, s.keeper.serve(pair))
	require.Equal(t, []float64{float64(leaf.NotAfter.Unix())}, expirySamples())
	require.Empty(t, s.Problem())

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pair.CA)
	call := func() error {
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: s.keeper.names()[0]}}}
		response, err := client.Post("https://"+address+Path, "application/json", strings.NewReader("{}"))
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	require.NoError(t, call())
	stop()
	for began := time.Now(); time.Since(began) < 700*time.Millisecond; time.Sleep(20 * time.Millisecond) {
		require.NoError(t, call(), "after %s", time.Since(began))
	}
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("did not end")
	}
	require.Error(t, call())
}

func TestServerFailsOnAnAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	s, err := New(taken.Addr().String(), configuration(t, "Sidecar"), &rest.Config{Host: "http://127.0.0.1:1"}, logr.Discard())
	require.NoError(t, err)
	began := time.Now()
	require.ErrorContains(t, s.Run(t.Context()), "webhook: ")
	require.Less(t, time.Since(began), s.linger, "there is nobody to wait for")
}
