package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/certificate"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Keys of the Secret.
const (
	keyCert    = corev1.TLSCertKey
	keyKey     = corev1.TLSPrivateKeyKey
	keyCA      = "ca.crt"
	keyBundle  = "bundle.crt"
	keyChanged = "changed"
	next       = "next-"
)

// AnnotationRenew on the Secret asks for a new certificate before it is due.
const AnnotationRenew = v1alpha1.Group + "/renew"

const (
	// look is the pause between two looks at the Secret, firstLook while nothing can be served yet. The kubelet would bring a
	// mounted Secret a minute later, which is why it is not mounted.
	look      = 5 * time.Second
	firstLook = 500 * time.Millisecond
)

// keeper serves the certificate in the Secret, and keeps it new where nobody else does. Every replica does so; the resource
// version lets one of them win.
type keeper struct {
	secrets   corev1client.SecretInterface
	hooks     admissionclient.MutatingWebhookConfigurationInterface
	namespace string
	config    settings.WebhookConfig
	log       logr.Logger
	now       func() time.Time

	pair    atomic.Pointer[tls.Certificate]
	problem atomic.Pointer[string]
}

func (k *keeper) names() []string {
	service := k.config.Service + "." + k.namespace
	return []string{service + ".svc", service}
}

// get is tls.Config.GetCertificate: a new certificate is served from the next handshake on.
func (k *keeper) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.pair.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// run looks until ctx ends.
func (k *keeper) run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		words := ""
		if err := k.step(ctx); err != nil {
			words = "the webhook's certificate: " + err.Error()
		}
		if words != said && ctx.Err() == nil {
			k.log.Info("certificate of the webhook", "problem", words)
			said = words
		}
		k.problem.Store(&words)
		pause := look
		if k.pair.Load() == nil {
			pause = firstLook
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step looks at the Secret once.
func (k *keeper) step(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	secret, err := k.secrets.Get(ctx, k.config.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && k.config.OwnCertificate {
		// The chart makes it, empty: the controller has no right to create Secrets.
		return fmt.Errorf("%w: `helm upgrade` with the same values makes it anew", err)
	}
	if err != nil {
		return err
	}
	if k.config.OwnCertificate {
		return k.keep(ctx, secret)
	}
	return k.serve(certificate.Pair{CA: secret.Data[keyCA], Cert: secret.Data[keyCert], Key: secret.Data[keyKey]})
}

// keep makes the next step of a certificate of our own and tells the API server whom to trust.
func (k *keeper) keep(ctx context.Context, secret *corev1.Secret) error {
	published, err := k.hooks.Get(ctx, k.config.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, asked := secret.Annotations[AnnotationRenew]
	state, changed, err := certificate.Decide(certificate.Input{
		Now: k.now(), State: stateOf(secret), Names: k.names(), Published: trusted(published), RenewalAsked: asked,
	})
	if err != nil {
		return err
	}
	if changed {
		write(secret, state)
		if _, err := k.secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
			if apierrors.IsConflict(err) {
				// Another replica made the step.
				return nil
			}
			return err
		}
		k.log.Info("the certificate of the webhook made a step", "authorities", bytes.Count(state.Bundle, []byte("BEGIN CERTIFICATE")), "next", len(state.Next.Cert) > 0)
	}
	if err := k.publish(ctx, published, state.Bundle); err != nil {
		return err
	}
	return k.serve(state.Current)
}

// trusted is what every webhook of a configuration trusts: what one of them lacks is not published.
func trusted(c *admissionregistrationv1.MutatingWebhookConfiguration) []byte {
	if len(c.Webhooks) == 0 {
		return nil
	}
	for _, w := range c.Webhooks[1:] {
		if !bytes.Equal(w.ClientConfig.CABundle, c.Webhooks[0].ClientConfig.CABundle) {
			return nil
		}
	}
	return c.Webhooks[0].ClientConfig.CABundle
}

func (k *keeper) publish(ctx context.Context, c *admissionregistrationv1.MutatingWebhookConfiguration, bundle []byte) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var operations []operation
	for i, w := range c.Webhooks {
		if !bytes.Equal(w.ClientConfig.CABundle, bundle) {
			// The list may have changed meanwhile: then this is refused and tried again.
			operations = append(operations, operation{"test", fmt.Sprintf("/webhooks/%d/name", i), w.Name},
				operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	if len(operations) == 0 {
		return nil
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	_, err = k.hooks.Patch(ctx, c.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// serve takes a pair into use, if it can be.
func (k *keeper) serve(pair certificate.Pair) error {
	leaf, err := pair.Check(k.now(), k.names())
	if err != nil {
		// What is served stays: it may still be trusted.
		return fmt.Errorf("in Secret %s/%s: %w", k.namespace, k.config.Secret, err)
	}
	c, err := pair.TLS()
	if err != nil {
		return err
	}
	if old := k.pair.Load(); old == nil || !bytes.Equal(old.Certificate[0], c.Certificate[0]) {
		k.pair.Store(c)
		expiry.WithLabelValues().Set(float64(leaf.NotAfter.Unix()))
		k.log.Info("a certificate is served", "until", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

func stateOf(secret *corev1.Secret) certificate.State {
	d := secret.Data
	changed, _ := time.Parse(time.RFC3339, string(d[keyChanged]))
	return certificate.State{
		Current: certificate.Pair{CA: d[keyCA], Cert: d[keyCert], Key: d[keyKey]},
		Next:    certificate.Pair{CA: d[next+keyCA], Cert: d[next+keyCert], Key: d[next+keyKey]},
		Bundle:  d[keyBundle], Changed: changed,
	}
}

func write(secret *corev1.Secret, s certificate.State) {
	delete(secret.Annotations, AnnotationRenew)
	secret.Data = map[string][]byte{
		keyCA: s.Current.CA, keyCert: s.Current.Cert, keyKey: s.Current.Key, keyBundle: s.Bundle,
		keyChanged: []byte(s.Changed.UTC().Format(time.RFC3339)),
	}
	if len(s.Next.Cert) > 0 {
		secret.Data[next+keyCA], secret.Data[next+keyCert], secret.Data[next+keyKey] = s.Next.CA, s.Next.Cert, s.Next.Key
	}
}
