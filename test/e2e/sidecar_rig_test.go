//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/certificate"
)

const sidecarSettings = `
distribution: Vanilla
nodeGroups:
- {name: h100, drivers: [nvidia], nodeSelector: {node.deckhouse.io/group: gpu-h100}}
claimTemplates:
- {name: gpu-16gb-min, namespaces: [inference, restricted, bare], driver: nvidia, minMemory: 16Gi}
exporter: {mode: Sidecar, sidecar: {namespaces: [inference, restricted, not-there, bare], interval: 5s}}
imagePullSecrets: [{name: mirror}]
`

const (
	webhookName   = "gpu-dra-sidecar"
	webhookSecret = "controller-webhook-certificate"
)

// withSidecars installs the chart with the sidecar's webhook and starts the controller.
func withSidecars(t *testing.T) *rig {
	t.Helper()
	r := up(t)
	r.apply("examples/demo/nodes.yaml", "examples/demo/slices.yaml")
	for _, name := range []string{"inference", "other", "bare"} {
		r.create(&corev1.Namespace{ObjectMeta: metaName(name)})
	}
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})
	for _, namespace := range []string{"inference", "restricted"} {
		r.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mirror"}, Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}})
	}
	r.install(sidecarSettings)
	r.startPlainController()
	r.routeWebhook(plainNamespace, webhookName)
	r.templatesWritten("gpu-16gb-min", "inference", "restricted", "bare")
	r.eventually("webhook trusted", 30*time.Second, func(context.Context) error {
		if r.kubectl("get", "mutatingwebhookconfiguration", webhookName, "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}") == "" {
			return fmt.Errorf("no caBundle yet")
		}
		return r.controllerReady()
	})
	return r
}

// listens is where a flag of the controller's makes it listen.
func (r *rig) listens(flag string) (string, error) {
	out, err := r.tryCluster("controller", "status")
	if err != nil {
		return "", err
	}
	var status struct {
		Phase string `json:"phase"`
		Plan  struct {
			Listens map[string]string `json:"listens"`
		} `json:"plan"`
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return "", err
	}
	if address := status.Plan.Listens[flag]; address != "" && status.Phase == "Running" {
		return address, nil
	}
	return "", fmt.Errorf("phase %s, listens on %v", status.Phase, status.Plan.Listens)
}

// routeWebhook does what a network of Services does: there is none here, and the controller is a process on this machine. The
// API server follows a Service of the type ExternalName by itself; the names in the certificate are checked as ever.
func (r *rig) routeWebhook(namespace, name string) {
	r.t.Helper()
	r.eventually("the controller listens for the webhook", 60*time.Second, func(ctx context.Context) error {
		address, err := r.listens("webhook-bind-address")
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "controller-webhook"}}
		if err := r.client.Patch(ctx, service, client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"type":"ExternalName","externalName":"localhost","clusterIP":null,"clusterIPs":null}}`))); err != nil {
			return err
		}
		webhook := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metaName(name)}
		return r.client.Patch(ctx, webhook, client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/webhooks/0/clientConfig/service/port","value":`+port+`}]`)))
	})
}

func (r *rig) controllerReady() error {
	address, err := r.listens("health-probe-bind-address")
	if err != nil {
		return err
	}
	return ready(address)
}

func ready(address string) error {
	quick := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	_, err := fetch(context.Background(), quick, "http://"+address+"/readyz")
	return err
}

// warned makes pods and keeps the warnings.
type warned struct {
	corev1client.PodsGetter
	mu   sync.Mutex
	said []string
}

func (w *warned) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (r *rig) warned() *warned {
	r.t.Helper()
	w := &warned{}
	config := rest.CopyConfig(r.config)
	config.WarningHandler = w
	c, err := corev1client.NewForConfig(config)
	require.NoError(r.t, err)
	w.PodsGetter = c
	return w
}

// make creates a pod and returns it as it was stored, with the warnings of that.
func (w *warned) make(t *testing.T, pod *corev1.Pod, options ...metav1.CreateOptions) (*corev1.Pod, []string) {
	t.Helper()
	w.said = nil
	o := metav1.CreateOptions{}
	if len(options) > 0 {
		o = options[0]
	}
	got, err := w.Pods(pod.Namespace).Create(context.Background(), pod, o)
	require.NoError(t, err, pod.Name)
	return got, w.said
}

// engine is a pod that fits the Pod Security level restricted, uses a claim and asks for the sidecar.
func engine(namespace, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := podWithClaim(namespace, name, "gpu-16gb-min", "h100-1")
	p.Labels = map[string]string{"gpu-dra.deckhouse.io/exporter": "sidecar"}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// sidecars is how many containers of a pod are the exporter.
func sidecars(p *corev1.Pod) int {
	n := 0
	for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
		if c.Name == "gpu-dra-exporter" {
			n++
		}
	}
	return n
}

// laterWebhook is another mutating webhook, called after ours: it puts an init container first.
func (r *rig) laterWebhook(t *testing.T) {
	t.Helper()
	pair, err := certificate.New(time.Now(), []string{"localhost"})
	require.NoError(t, err)
	address := serveLater(t, pair)
	bundle, err := json.Marshal(pair.CA)
	require.NoError(t, err)
	r.kubectl("apply", "-f", r.file("later.yaml", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: z-later}
webhooks:
- name: later.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: "https://%s/", caBundle: %s}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  objectSelector: {matchLabels: {later: "true"}}
`, address, bundle)))
}

func (r *rig) getPod(namespace, name string) *corev1.Pod {
	r.t.Helper()
	var p corev1.Pod
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, &p))
	return &p
}
