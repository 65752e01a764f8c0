package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

const (
	// Requests per second, and at once: two or three for each pod that asks.
	requestsPerSecond = 400
	requestsAtOnce    = 800
	// timeToBeForgotten is how long a webhook that is told to end takes new calls: API servers make them until every proxy has
	// dropped the endpoint, and a pod whose call is refused goes without the sidecar, though another replica serves.
	timeToBeForgotten = 5 * time.Second
	// timeToLeave is given to answers under way after that. Together they are well below the pod's grace period of 30 s.
	timeToLeave = 5 * time.Second
)

// Server of the webhook.
type Server struct {
	address string
	keeper  *keeper
	handler *admission
	// linger is timeToBeForgotten.
	linger time.Duration
	// source is the configuration that compiled was made of.
	source   atomic.Pointer[settings.ControllerConfig]
	compiled atomic.Pointer[sidecar.Config]
}

// New makes a server. config is the one to start with; Use changes it.
func New(address string, config *settings.ControllerConfig, where *rest.Config, log logr.Logger) (*Server, error) {
	if config.Sidecar == nil {
		return nil, errors.New("webhook: the configuration has no block sidecar; start without --webhook-bind-address")
	}
	where = rest.CopyConfig(where)
	where.UserAgent, where.QPS, where.Burst = "gpu-dra-webhook", requestsPerSecond, requestsAtOnce
	fast := rest.CopyConfig(where)
	fast.ContentType = runtime.ContentTypeProtobuf
	fast.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	core, err := corev1client.NewForConfig(fast)
	if err != nil {
		return nil, err
	}
	hooks, err := admissionclient.NewForConfig(fast)
	if err != nil {
		return nil, err
	}
	resources, err := resourceclient.NewForConfig(fast)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(where)
	if err != nil {
		return nil, err
	}
	s := &Server{address: address, linger: timeToBeForgotten, keeper: &keeper{
		secrets: core.Secrets(config.Namespace), hooks: hooks.MutatingWebhookConfigurations(),
		namespace: config.Namespace, config: config.Sidecar.Webhook, log: log, now: time.Now,
	}}
	s.handler = &admission{config: s.compiled.Load, facts: &live{resources: resources, metadata: meta}, log: log}
	s.Use(config)
	return s, nil
}

// Use makes a configuration the one in force. Names of objects do not change while the process lives: the chart makes a new pod
// for that.
func (s *Server) Use(config *settings.ControllerConfig) {
	if config == s.source.Swap(config) {
		return
	}
	if config.Sidecar == nil {
		s.compiled.Store(nil)
		return
	}
	c := decisions(config)
	s.compiled.Store(&c)
}

// Problem says why the webhook cannot be called yet; empty: it can.
func (s *Server) Problem() string {
	if s.keeper.pair.Load() == nil {
		if p := s.keeper.problem.Load(); p != nil && *p != "" {
			return *p
		}
		return "the webhook has no certificate yet"
	}
	return ""
}

// Run serves until ctx ends, and then until nobody calls any more.
func (s *Server) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, s.handler)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.keeper.get, NextProtos: []string{"h2", "http/1.1"}},
	}
	expiry.WithLabelValues()
	go s.keeper.run(ctx)
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		time.Sleep(s.linger)
		leaving, done := context.WithTimeout(context.Background(), timeToLeave)
		defer done()
		_ = server.Shutdown(leaving)
	})
	err = server.ServeTLS(listener, "", "")
	if !stop() {
		<-left
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}
