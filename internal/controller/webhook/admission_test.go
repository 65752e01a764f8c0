package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

// configuration as the chart renders it, with a driver whose exporter runs as a sidecar.
func configuration(t *testing.T, mode string) *settings.ControllerConfig {
	t.Helper()
	c, err := settings.ParseControllerConfig([]byte(`
namespace: gpu-dra
distribution: {name: Vanilla, controlPlanePods: {namespace: kube-system, label: component}}
settings:
  exporter: {mode: ` + mode + `, sidecar: {namespaces: [inference], interval: 10s}}
  deviceClasses: {extra: [{name: own.example.com, driver: acme, selectors: ["true"]}]}
sidecar:
  image: registry.example/gpu-dra:v1
  pullSecrets: [mirror]
  exporterImages: {acme: "registry.example/exporter:v2"}
  exporterFiles: {acme: {list.csv: "every {interval} on {port}"}}
  webhook: {name: hook, service: controller-webhook, secret: certificate, ownCertificate: true}
drivers:
  acme:
    name: acme
    driverName: npu.acme.example
    otherDrivers: [link.acme.example]
    classes:
    - {name: npu.acme.example, choice: Any, expression: "true"}
    - {name: vfio.acme.example, choice: Passthrough, expression: "true"}
    exporter:
      image: {repository: registry.example/exporter, tag: v2}
      port: 9400
      command: [/usr/bin/exporter]
      args: [--daemonset]
      memory: {base: 256Mi, perDevice: 32Mi, goPercent: 90}
      sidecar:
        args: ["--listen={listen}", "--every={intervalMs}"]
        env: [{name: EVERY, value: "{intervalSeconds}"}, {name: NODE, field: spec.nodeName}]
  beta:
    name: beta
    driverName: beta.example
    classes: [{name: beta.example, choice: Any, expression: "true"}]
`))
	require.NoError(t, err)
	return c
}

func TestDecisions(t *testing.T) {
	configured := configuration(t, "Sidecar")
	c := decisions(configured)
	require.Equal(t, []string{"inference"}, c.Namespaces)
	require.Equal(t, map[string]string{"npu.acme.example": "acme", "own.example.com": "acme", "beta.example": "beta"}, c.Classes)
	require.Equal(t, map[string]bool{"vfio.acme.example": true}, c.Unshown)
	require.Nil(t, c.Drivers["beta"].Exporter)
	require.Equal(t, "has no exporter that works without rights on the node", c.Drivers["beta"].Without)
	require.Equal(t, "npu.acme.example", c.Drivers["acme"].Name)
	require.Equal(t, []string{"link.acme.example"}, c.Drivers["acme"].Others)
	e := c.Drivers["acme"].Exporter
	require.Equal(t, &sidecar.Exporter{
		Image: "registry.example/exporter:v2", Command: []string{"/usr/bin/exporter"}, Args: []string{"--listen={listen}", "--every=1000"},
		Env: []corev1.EnvVar{{Name: "EVERY", Value: "1"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"}}}},
		Collect: time.Second, Port: 9400, Path: "/metrics", Limits: usualLimits, Memory: &sidecar.Memory{Base: 256 << 20, PerDevice: 32 << 20}, GoPercent: 90,
		Files: map[string]string{"list.csv": "every 1s on {port}"},
	}, e)
	unset := configuration(t, "Sidecar")
	var err error
	unset.Settings, err = settings.Parse([]byte("{exporter: {mode: Sidecar, sidecar: null}}"))
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, decisions(unset).Interval, "the schema's default")
	require.Empty(t, decisions(configuration(t, "DaemonSet")).Namespaces, "a webhook that is still called puts nothing in")
	whole := &profile.Driver{Name: "acme", Exporter: &profile.Exporter{Sidecar: &profile.ExporterSidecar{}}}
	e, without := exporterOf(whole, configured, 1)
	require.Nil(t, e, "without a command the image's entry point could not be kept")
	require.NotEmpty(t, without)
}

// What the settings say of a driver's exporter goes over the profile, in a sidecar as in a DaemonSet.
func TestSettingsOfTheExporter(t *testing.T) {
	of := func(change func(*settings.ControllerConfig)) sidecar.Driver {
		c := configuration(t, "Sidecar")
		change(c)
		return decisions(c).Drivers["acme"]
	}
	own := func(limits corev1.ResourceList, env ...settings.EnvVar) func(*settings.ControllerConfig) {
		return func(c *settings.ControllerConfig) {
			c.Settings.Drivers = map[string]settings.DriverConfig{"acme": {Exporter: &settings.DriverExporter{Resources: &settings.Resources{Limits: limits}, ExtraEnv: env}}}
		}
	}
	amount := func(name corev1.ResourceName, text string) corev1.ResourceList {
		return corev1.ResourceList{name: resource.MustParse(text)}
	}
	profiled := func(limits corev1.ResourceList) func(*settings.ControllerConfig) {
		return func(c *settings.ControllerConfig) {
			c.Drivers["acme"].Exporter.Sidecar.Resources = &profile.ContainerResources{Limits: limits}
		}
	}
	for name, c := range map[string]struct {
		change      func(*settings.ControllerConfig)
		cpu, memory string
		byDevices   bool
	}{
		"memory of the profile":  {profiled(amount("memory", "1Gi")), "100m", "1Gi", false},
		"cpu of the profile":     {profiled(amount("cpu", "2")), "2", "256Mi", true},
		"memory of the settings": {own(amount("memory", "3Gi")), "100m", "3Gi", false},
		"cpu of the settings":    {own(amount("cpu", "300m")), "300m", "256Mi", true},
		"none is no amount":      {own(amount("memory", "0")), "100m", "256Mi", true},
		"the settings go before": {func(c *settings.ControllerConfig) { profiled(amount("cpu", "2"))(c); own(amount("cpu", "3"))(c) }, "3", "256Mi", true},
	} {
		e := of(c.change).Exporter
		require.True(t, resource.MustParse(c.cpu).Equal(e.Limits[corev1.ResourceCPU]), name)
		require.True(t, resource.MustParse(c.memory).Equal(e.Limits[corev1.ResourceMemory]), name)
		require.Equal(t, c.byDevices, e.Memory != nil, name)
	}
	require.Len(t, usualLimits, 2)
	env := of(own(nil, settings.EnvVar{Name: "EVERY", Value: "x"}, settings.EnvVar{Name: "GOMAXPROCS", Value: "3"}, settings.EnvVar{Name: "GOMAXPROCS", Value: "4"})).Exporter.Env
	require.Equal(t, corev1.EnvVar{Name: "EVERY", Value: "x"}, env[0])
	require.Equal(t, corev1.EnvVar{Name: "GOMAXPROCS", Value: "4"}, env[len(env)-1])
	require.Len(t, env, 3)

	large := of(func(c *settings.ControllerConfig) {
		c.Sidecar.ExporterFiles["acme"]["more"] = strings.Repeat("x", filesLimit)
	})
	require.Nil(t, large.Exporter, "its process could not be started")
	require.Contains(t, large.Without, "files (exporter.config and the metrics asked for) are 65")
}

// world is a webhook over a fake API server: which requests it makes is what matters here; the real one is in test/e2e.
type world struct {
	t       *testing.T
	cluster *fake.Clientset
	secrets *metadatafake.FakeMetadataClient
	handler *admission
	config  *sidecar.Config
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	w := &world{t: t, cluster: fake.NewClientset(objects...)}
	c := decisions(configuration(t, "Sidecar"))
	w.config = &c
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	secret := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "mirror"}}
	w.secrets = metadatafake.NewSimpleMetadataClient(scheme, secret)
	w.handler = &admission{
		config: func() *sidecar.Config { return w.config }, log: logr.Discard(),
		facts: &live{resources: w.cluster.ResourceV1(), metadata: w.secrets},
	}
	return w
}

func claimOf(class string) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "s", DeviceClassName: class}}},
	}}}
}

func template(name, class string) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claimOf(class)}}
}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "engine-", Labels: map[string]string{"gpu-dra.deckhouse.io/exporter": "sidecar"}},
		Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("t")}},
			Containers:     []corev1.Container{{Name: "engine"}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func (w *world) review(change func(*admissionv1.AdmissionRequest), p *corev1.Pod) *admissionv1.AdmissionResponse {
	w.t.Helper()
	raw, err := json.Marshal(p)
	require.NoError(w.t, err)
	request := &admissionv1.AdmissionRequest{
		UID: "u", Namespace: "inference", Operation: admissionv1.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object: runtime.RawExtension{Raw: raw},
	}
	if change != nil {
		change(request)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request})
	require.NoError(w.t, err)
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, Path, bytes.NewReader(body)))
	require.Equal(w.t, http.StatusOK, answer.Code, answer.Body.String())
	review := admissionv1.AdmissionReview{}
	require.NoError(w.t, json.Unmarshal(answer.Body.Bytes(), &review))
	require.Equal(w.t, "AdmissionReview", review.Kind)
	require.Equal(w.t, "admission.k8s.io/v1", review.APIVersion)
	require.EqualValues(w.t, "u", review.Response.UID)
	require.True(w.t, review.Response.Allowed, "it refuses nobody")
	return review.Response
}

func TestInjects(t *testing.T) {
	w := newWorld(t, template("t", "npu.acme.example"))
	r := w.review(nil, pod())
	require.Empty(t, r.Warnings)
	require.Equal(t, admissionv1.PatchTypeJSONPatch, *r.PatchType)
	for _, words := range []string{`"/spec/initContainers/0"`, `gpu-dra-exporter-install`, `"/spec/imagePullSecrets/-","value":{"name":"mirror"}`} {
		require.Contains(t, string(r.Patch), words)
	}
	dry := w.review(func(r *admissionv1.AdmissionRequest) { r.DryRun = ptr.To(true) }, pod())
	require.Equal(t, r, dry)
	for _, a := range w.cluster.Actions() {
		require.Equal(t, "get", a.GetVerb(), "it writes nothing, dry run or not")
	}
}

func TestOthersAreNotTouched(t *testing.T) {
	w := newWorld(t, template("t", "npu.acme.example"))
	untouched := func(r *admissionv1.AdmissionResponse) {
		t.Helper()
		require.Empty(t, r.Patch)
		require.Empty(t, r.Warnings)
	}
	untouched(w.review(nil, pod(func(p *corev1.Pod) { p.Labels = nil })))
	untouched(w.review(func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update }, pod()))
	untouched(w.review(func(r *admissionv1.AdmissionRequest) { r.SubResource = "ephemeralcontainers" }, pod()))
	untouched(w.review(func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "nodes" }, pod()))
	w.config = nil
	untouched(w.review(nil, pod()))
	require.Empty(t, w.cluster.Actions())
}

// What cannot be read is a warning, and the pod is admitted.
func TestFailsOpen(t *testing.T) {
	w := newWorld(t)
	r := w.review(nil, pod())
	require.Len(t, r.Warnings, 1)
	require.Contains(t, r.Warnings[0], "ClaimUnreadable: claim gpu: there is no ResourceClaimTemplate t in namespace inference")
	require.Contains(t, string(r.Patch), "refused: ClaimUnreadable")
	require.NotContains(t, string(r.Patch), "initContainers")

	r = w.review(nil, pod(func(p *corev1.Pod) { p.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "gpu"} }))
	require.Contains(t, r.Warnings[0], "it names neither")

	w.cluster.PrependReactor("get", "resourceclaimtemplates", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the API server is away")
	})
	require.Contains(t, w.review(nil, pod()).Warnings[0], "the API server is away")
	w.cluster.PrependReactor("get", "resourceclaimtemplates", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "resourceclaimtemplates"}, "t", errors.New("no"))
	})
	require.Contains(t, w.review(nil, pod()).Warnings[0], "cannot be read")
	broken := w.review(func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`{"spec": []}`) }, pod())
	require.Contains(t, broken.Warnings[0], "cannot be read")
}

func TestSharedClaimThatIsAllocated(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "shared"}, Spec: claimOf("nobody.knows")}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "npu.acme.example"}}}}
	w := newWorld(t, claim)
	r := w.review(nil, pod(func(p *corev1.Pod) {
		p.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To("shared")}
	}))
	require.Empty(t, r.Warnings)
	require.Contains(t, string(r.Patch), `"/metadata/labels/gpu-dra.deckhouse.io~1claim","value":"shared"`)
}

func TestPullSecretOfAnotherNamespace(t *testing.T) {
	w := newWorld(t, template("t", "npu.acme.example"))
	w.config.Namespaces = []string{"other"}
	other := template("t", "npu.acme.example")
	other.Namespace = "other"
	require.NoError(t, w.cluster.Tracker().Add(other))
	r := w.review(func(r *admissionv1.AdmissionRequest) { r.Namespace = "other" }, pod())
	require.Contains(t, r.Warnings[0], "PullSecretMissing: namespace other has no Secret mirror")
}

// That a Secret cannot be read is not that there is none: nobody is told to create what is there.
func TestPullSecretThatCannotBeRead(t *testing.T) {
	w := newWorld(t, template("t", "npu.acme.example"))
	w.secrets.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the API server is away")
	})
	r := w.review(nil, pod())
	require.Len(t, r.Warnings, 1)
	require.Contains(t, r.Warnings[0], "PullSecretUnreadable: Secret mirror in namespace inference could not be read, create the pod again when it can be: the API server is away")
	require.NotContains(t, string(r.Patch), "initContainers")
}

func TestWhatIsNoReview(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{"", "[]", "{}", `{"request":null}`, strings.Repeat("x", bodyLimit+1)} {
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body)))
		require.Equal(t, http.StatusBadRequest, answer.Code)
	}
}
