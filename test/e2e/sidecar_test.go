//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/certificate"
)

// serveLater serves the other webhook; see laterWebhook.
func serveLater(t *testing.T, pair certificate.Pair) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c, err := pair.TLS()
	require.NoError(t, err)
	server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{*c}}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var pod corev1.Pod
		_ = json.Unmarshal(review.Request.Object.Raw, &pod)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if len(pod.Spec.InitContainers) > 0 && pod.Spec.InitContainers[0].Name != "later" {
			review.Response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
			review.Response.Patch = []byte(`[{"op":"add","path":"/spec/initContainers/0","value":{"name":"later","image":"registry.example.com/later:1"}}]`)
		}
		_ = json.NewEncoder(w).Encode(review)
	})}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return "localhost:" + port
}

// Pods that ask for it get exactly one sidecar on a real API server, with the controller's own rights; nobody else is touched.
func TestSidecarWebhook(t *testing.T) {
	t.Parallel()
	r := withSidecars(t)
	w := r.warned()

	resources := map[string]corev1.ResourceRequirements{
		"best-effort": {},
		"burstable":   {Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
		"guaranteed": {Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
	}
	for name, want := range resources {
		with := func(p *corev1.Pod) {
			want.Claims = p.Spec.Containers[0].Resources.Claims
			p.Spec.Containers[0].Resources = want
		}
		// The API server itself says whether the pod fits the level restricted, and of which class it is.
		got, warnings := w.make(t, engine("restricted", name, with))
		require.Empty(t, warnings)
		require.Equal(t, 1, sidecars(got))
		plain, _ := w.make(t, engine("restricted", name+"-plain", with, func(p *corev1.Pod) { p.Labels = nil }))
		require.Zero(t, sidecars(plain))
		require.Equal(t, plain.Status.QOSClass, got.Status.QOSClass, name)

		exporter := got.Spec.InitContainers[1]
		require.Equal(t, "gpu-dra-exporter", exporter.Name)
		require.Equal(t, corev1.ContainerRestartPolicyAlways, *exporter.RestartPolicy)
		require.Equal(t, []corev1.ResourceClaim{{Name: "gpu"}}, exporter.Resources.Claims)
		require.Equal(t, "gpu-16gb-min", got.Labels["gpu-dra.deckhouse.io/claim"])
		require.Equal(t, "injected: nvidia", got.Annotations["gpu-dra.deckhouse.io/exporter-sidecar"])
		// The API server looks again after our change and gives every container a token that has nothing in its place.
		requireNoToken(t, got)
	}
	r.eventually("the pod is scheduled with its sidecar", 60*time.Second, func(context.Context) error {
		if p := r.getPod("restricted", "best-effort"); p.Spec.NodeName == "" {
			return fmt.Errorf("not scheduled: %v", p.Status.Conditions)
		}
		return nil
	})

	// Nobody else: the same pod without the label is stored as in a namespace that no webhook is called for.
	bare := func(namespace string) string {
		p, warnings := w.make(t, engine(namespace, "bare", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "x"} }))
		require.Empty(t, warnings)
		return comparable(t, p)
	}
	require.Equal(t, bare("other"), bare("inference"))
	p, warnings := w.make(t, engine("other", "labelled"))
	require.Empty(t, warnings)
	require.Zero(t, sidecars(p), "its namespace is not listed")

	// Refusals are warnings, and the pod says why.
	for reason, change := range map[string]func(*corev1.Pod){
		"NoClaim":         func(p *corev1.Pod) { p.Spec.ResourceClaims, p.Spec.Containers[0].Resources.Claims = nil, nil },
		"ClaimUnreadable": func(p *corev1.Pod) { p.Spec.ResourceClaims[0].ResourceClaimTemplateName = ptr.To("nobody") },
		"HostNetwork":     func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"PortTaken":       func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9400}} },
	} {
		p, warnings := w.make(t, engine("inference", "refused-"+strings.ToLower(reason), change))
		require.Len(t, warnings, 1, reason)
		require.Contains(t, warnings[0], "gpu-dra: the pod goes without the exporter sidecar: "+reason+": ")
		require.Zero(t, sidecars(p))
		require.True(t, strings.HasPrefix(p.Annotations["gpu-dra.deckhouse.io/exporter-sidecar"], "refused: "+reason), p.Annotations)
	}

	require.Equal(t, []corev1.LocalObjectReference{{Name: "mirror"}}, r.getPod("restricted", "guaranteed").Spec.ImagePullSecrets)
	p, warnings = w.make(t, engine("bare", "no-secret"))
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "PullSecretMissing: namespace bare has no Secret mirror")
	require.Zero(t, sidecars(p), "an image that cannot be pulled would keep the engine from starting")

	p, _ = w.make(t, engine("inference", "dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.Equal(t, 1, sidecars(p), "a dry run shows what would be")
	err := r.client.Get(context.Background(), client.ObjectKey{Namespace: "inference", Name: "dry"}, p)
	require.True(t, apierrors.IsNotFound(err))

	// Somebody changes the pod after us, so that we are called again; and a pod that was copied with its sidecar has one.
	r.laterWebhook(t)
	p, warnings = w.make(t, engine("inference", "twice", func(p *corev1.Pod) { p.Labels["later"] = "true" }))
	require.Empty(t, warnings)
	require.Equal(t, "later", p.Spec.InitContainers[0].Name)
	require.Equal(t, 1, sidecars(p))
	copied := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "copied", Labels: p.Labels, Annotations: p.Annotations}, Spec: *p.Spec.DeepCopy()}
	p, warnings = w.make(t, copied)
	require.Empty(t, warnings)
	require.Equal(t, 1, sidecars(p))

	// A claim that the pod names itself, which is read by a right of its own.
	shared := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "shared"}}
	shared.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com"}}}
	r.create(shared)
	direct := func(p *corev1.Pod) {
		p.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To("shared")}
	}
	p, warnings = w.make(t, engine("inference", "shares", direct))
	require.Empty(t, warnings)
	require.Equal(t, 1, sidecars(p))
	require.Equal(t, "shared", p.Labels["gpu-dra.deckhouse.io/claim"])

	_, refused := r.asked(t, plainNamespace, "controller")
	require.Empty(t, refused, "the controller asked for what it has no right to")
	// The proof by example: without the rights to look the pod goes without, and says why.
	r.takeAway(t, right{"get", "resource.k8s.io", "resourceclaims"})
	r.takeAway(t, right{"get", "", "secrets"})
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		says   string
	}{
		"no-right-to-claims":  {direct, "ClaimUnreadable: "},
		"no-right-to-secrets": {func(*corev1.Pod) {}, "PullSecretUnreadable: "},
	} {
		r.eventually(name, 30*time.Second, func(context.Context) error {
			p, warnings := w.make(t, engine("inference", name, tc.change), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if len(warnings) != 1 || !strings.Contains(warnings[0], tc.says) || sidecars(p) != 0 {
				return fmt.Errorf("%d sidecars, warnings %q", sidecars(p), warnings)
			}
			return nil
		})
	}
}

func requireNoToken(t *testing.T, p *corev1.Pod) {
	t.Helper()
	tokens := map[string]bool{}
	for _, v := range p.Spec.Volumes {
		tokens[v.Name] = v.Projected != nil
	}
	has := func(c corev1.Container) bool {
		for _, m := range c.VolumeMounts {
			if tokens[m.Name] {
				return true
			}
		}
		return false
	}
	require.True(t, has(p.Spec.Containers[0]), "the engine has its own")
	for _, c := range p.Spec.InitContainers {
		require.False(t, has(c), c.Name)
	}
}

// comparable is a pod without what is another in each.
func comparable(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	p = p.DeepCopy()
	p.ObjectMeta = metav1.ObjectMeta{Name: p.Name, Labels: p.Labels, Annotations: p.Annotations, Finalizers: p.Finalizers}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	text := string(data)
	for _, v := range p.Spec.Volumes {
		text = strings.ReplaceAll(text, v.Name, "token")
	}
	return text
}

const (
	// burst is how many pods are made at once.
	burst = 50
	// bursts are the moments of it.
	bursts = 5
)

// Bursts of pods while the certificate is renewed and the controller is killed: every one is admitted, and each that was made while
// the controller was ready has exactly one sidecar.
func TestSidecarBurst(t *testing.T) {
	t.Parallel()
	r := withSidecars(t)
	health, err := r.listens("health-probe-bind-address")
	require.NoError(t, err)
	bundle := func() string {
		return r.kubectl("get", "mutatingwebhookconfiguration", webhookName, "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
	}
	served := func() string {
		return r.kubectl("get", "secret", webhookSecret, "--namespace", plainNamespace, "-o", "jsonpath={.data.tls\\.crt}")
	}
	first, firstBundle := served(), bundle()

	w := r.warned()
	var group sync.WaitGroup
	var whileReady, with atomic.Int32
	failures := make(chan error, burst*bursts)
	create := func(name string) {
		defer group.Done()
		before := ready(health) == nil
		p, err := w.Pods("inference").Create(context.Background(), engine("inference", name), metav1.CreateOptions{})
		if err != nil {
			failures <- fmt.Errorf("pod %s is not admitted: %w", name, err)
			return
		}
		n := sidecars(p)
		if n == 1 {
			with.Add(1)
		}
		if before && ready(health) == nil {
			whileReady.Add(1)
			if n != 1 {
				failures <- fmt.Errorf("pod %s was made while the controller was ready and has %d sidecars: %v", name, n, p.Annotations)
			}
		} else if n > 1 {
			failures <- fmt.Errorf("pod %s has %d sidecars", name, n)
		}
	}
	begin := func(moment string, apart time.Duration) {
		group.Add(burst)
		for i := range burst {
			time.AfterFunc(time.Duration(i)*apart, func() { create(fmt.Sprintf("%s-%02d", moment, i)) })
		}
	}

	r.kubectl("annotate", "secret", webhookSecret, "--namespace", plainNamespace, "gpu-dra.deckhouse.io/renew=now")
	begin("asked", 0)
	r.eventually("the next authority is published", 60*time.Second, func(context.Context) error {
		if bundle() == firstBundle {
			return fmt.Errorf("only the first one is trusted")
		}
		return nil
	})
	begin("published", 0)
	r.eventually("the next certificate is served", 60*time.Second, func(context.Context) error {
		if served() == first {
			return fmt.Errorf("the first one is served still")
		}
		return nil
	})
	// The kill takes some moments: pods come before it, at it and after it.
	begin("dying", 10*time.Millisecond)
	r.cluster("controller", "kill")
	begin("dead", 0)
	r.eventually("the controller is ready again", 60*time.Second, func(context.Context) error { return ready(health) })
	begin("restarted", 0)
	group.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	t.Logf("%d of %d pods were made while the controller was ready, %d have the sidecar", whileReady.Load(), burst*bursts, with.Load())
	require.Greater(t, int(whileReady.Load()), 2*burst, "three bursts come while it lives")
	require.Less(t, int(whileReady.Load()), burst*bursts, "no pod came while the controller was dead")
	r.eventually("the first authority is forgotten", 90*time.Second, func(context.Context) error {
		if b := bundle(); len(b) > len(firstBundle)*3/2 {
			return fmt.Errorf("it is trusted still")
		}
		return nil
	})
	p, _ := w.make(t, engine("inference", "after"))
	require.Equal(t, 1, sidecars(p))
	_, refused := r.asked(t, plainNamespace, "controller")
	require.Empty(t, refused)
}
