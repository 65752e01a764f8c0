//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func metaName(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// The article's case: "a GPU with at least 16Gi" gets the smallest partition that satisfies, then the next larger, and a
// pod that nothing is left for stays pending.
func TestSmallestThatFitsIsAllocated(t *testing.T) {
	t.Parallel()
	r := demoCluster(t, twoGroups)
	r.eventually("template waits for its namespace", 90*time.Second, r.templateIs("gpu-16gb-min", condition.Ready, "False", condition.TemplateWaiting))
	r.apply("examples/demo/workload.yaml")
	r.eventually("namespace created -> template written", 30*time.Second, r.templateIs("gpu-16gb-min", condition.Ready, "True", condition.TemplateWritten))
	r.eventually("pod running", 60*time.Second, r.podIs("inference", "llm", corev1.PodRunning))
	require.Equal(t, "gpu-0-mig-2g20gb-14-2", r.deviceOf("inference", "llm"), "the smallest partition of at least 16Gi")

	var first corev1.Pod
	require.NoError(t, r.client.Get(context.Background(), client.ObjectKey{Namespace: "inference", Name: "llm"}, &first))
	for i, want := range []string{"gpu-0-mig-3g40gb-9-4", "gpu-1"} {
		name := fmt.Sprintf("llm-%d", i+2)
		r.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: name}, Spec: corev1.PodSpec{
			NodeSelector: first.Spec.NodeSelector, Tolerations: first.Spec.Tolerations,
			ResourceClaims: first.Spec.ResourceClaims, Containers: []corev1.Container{{Name: "engine", Image: "registry.example.com/inference/engine:1.0", Resources: first.Spec.Containers[0].Resources}},
		}})
		r.eventually("pod "+name+" running", 60*time.Second, r.podIs("inference", name, corev1.PodRunning))
		require.Equal(t, want, r.deviceOf("inference", name))
	}
	r.requireNarrow(r.kubectl("get", "gpunodegroups"), r.kubectl("get", "gpunodes"), r.kubectl("get", "gpustack"), r.kubectl("get", "gpuclaimtemplates"))

	// A changed meaning is a new template under the same name; the running pods keep their claims.
	uid := r.claimTemplate("inference", "gpu-16gb-min").UID
	r.settings(strings.Replace(twoGroups, "minMemory: 16Gi", "minMemory: 8Gi", 1))
	r.eventually("changed meaning -> replaced", 90*time.Second, func(context.Context) error {
		if got := r.claimTemplate("inference", "gpu-16gb-min"); got == nil || got.UID == uid {
			return fmt.Errorf("the template has not been replaced yet")
		}
		return nil
	})
	require.NoError(t, r.podIs("inference", "llm", corev1.PodRunning)(context.Background()))
	require.Equal(t, "gpu-0-mig-2g20gb-14-2", r.deviceOf("inference", "llm"))
}

// A template that cannot work says why and harms nothing else.
func TestBadClaimTemplates(t *testing.T) {
	t.Parallel()
	r := demoCluster(t, twoGroups)
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.eventually("good template written", 90*time.Second, r.templateIs("gpu-16gb-min", condition.Ready, "True"))
	good := r.claimTemplate("inference", "gpu-16gb-min").UID

	quantity := func(s string) *resource.Quantity { q := resource.MustParse(s); return &q }
	inference := func(change func(*v1alpha1.GPUClaimTemplateSpec)) v1alpha1.GPUClaimTemplateSpec {
		spec := v1alpha1.GPUClaimTemplateSpec{Namespaces: []string{"inference"}, Driver: "nvidia", Device: v1alpha1.ChoiceAny, Count: 1}
		change(&spec)
		return spec
	}
	for name, spec := range map[string]v1alpha1.GPUClaimTemplateSpec{
		"cel-error": inference(func(s *v1alpha1.GPUClaimTemplateSpec) {
			s.Selectors = []string{`device.capacity["gpu.nvidia.com"].memory >= 16`}
		}),
		"unknown-driver": inference(func(s *v1alpha1.GPUClaimTemplateSpec) { s.Driver = "nobody" }),
		"impossible":     inference(func(s *v1alpha1.GPUClaimTemplateSpec) { s.MinMemory = quantity("900Gi") }),
		"nominal":        inference(func(s *v1alpha1.GPUClaimTemplateSpec) { s.MinMemory = quantity("80Gi"); s.Product = "NVIDIA H100*" }),
		"absent":         inference(func(s *v1alpha1.GPUClaimTemplateSpec) { s.Namespaces = []string{"nowhere"} }),
		"taken":          inference(func(*v1alpha1.GPUClaimTemplateSpec) {}),
	} {
		if name == "taken" {
			r.create(&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{
				Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com"}}}}},
			}})
		}
		r.create(&v1alpha1.GPUClaimTemplate{ObjectMeta: metaName(name), Spec: spec})
	}
	taken := r.claimTemplate("inference", "taken").UID
	r.eventually("CEL error", 30*time.Second, r.templateIs("cel-error", condition.Ready, "False", condition.TemplateCELError))
	r.eventually("unknown driver", 30*time.Second, r.templateIs("unknown-driver", condition.Ready, "False", condition.TemplateUnknownDriver))
	r.eventually("impossible memory", 30*time.Second, r.templateIs("impossible", condition.Satisfiable, "False", condition.TemplateNoDevice))
	r.eventually("nominal memory", 30*time.Second, r.templateIs("nominal", condition.Satisfiable, "False", condition.TemplateNominalMemory))
	r.eventually("absent namespace", 30*time.Second, r.templateIs("absent", condition.Ready, "False", condition.TemplateWaiting))
	r.eventually("name taken", 30*time.Second, r.templateIs("taken", condition.Ready, "False", condition.TemplateNameTaken))
	require.Equal(t, taken, r.claimTemplate("inference", "taken").UID, "a foreign template is left alone")
	require.Equal(t, good, r.claimTemplate("inference", "gpu-16gb-min").UID)
	require.NoError(t, r.templateIs("gpu-16gb-min", condition.Ready, "True")(context.Background()))
	r.eventually("group ready beside bad templates", 60*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))

	// A good template that turns bad keeps what stands.
	var t16 v1alpha1.GPUClaimTemplate
	require.NoError(t, r.client.Get(context.Background(), client.ObjectKey{Name: "cel-error"}, &t16))
	was := t16.DeepCopy()
	t16.Spec.Selectors = []string{`device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("16Gi")) >= 0`}
	require.NoError(t, r.client.Patch(context.Background(), &t16, client.MergeFrom(was)))
	r.eventually("corrected", 30*time.Second, r.templateIs("cel-error", condition.Ready, "True"))
	stands := r.claimTemplate("inference", "cel-error").UID
	require.NoError(t, r.client.Patch(context.Background(), was.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selectors":["1 +"]}}`))))
	r.eventually("bad again", 30*time.Second, r.templateIs("cel-error", condition.Ready, "False", condition.TemplateCELError))
	require.Equal(t, stands, r.claimTemplate("inference", "cel-error").UID, "what worked before still stands")
}

func (r *rig) templateIs(name, conditionType string, status metav1.ConditionStatus, reasons ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		var o v1alpha1.GPUClaimTemplate
		if err := r.client.Get(ctx, client.ObjectKey{Name: name}, &o); err != nil {
			return err
		}
		return is(o.Status.Conditions, conditionType, status, reasons...)
	}
}

func (r *rig) podIs(namespace, name string, phase corev1.PodPhase) func(context.Context) error {
	return func(ctx context.Context) error {
		var p corev1.Pod
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &p); err != nil {
			return err
		}
		if p.Status.Phase != phase {
			return fmt.Errorf("pod %s is %s, wanted %s: %v", name, p.Status.Phase, phase, p.Status.Conditions)
		}
		return nil
	}
}

func (r *rig) claimTemplate(namespace, name string) *resourcev1.ResourceClaimTemplate {
	var o resourcev1.ResourceClaimTemplate
	if err := r.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, &o); err != nil {
		return nil
	}
	return &o
}

// deviceOf returns the device that the scheduler allocated to a pod's only claim.
func (r *rig) deviceOf(namespace, pod string) string {
	r.t.Helper()
	var p corev1.Pod
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: pod}, &p))
	require.Len(r.t, p.Status.ResourceClaimStatuses, 1)
	var claim resourcev1.ResourceClaim
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: *p.Status.ResourceClaimStatuses[0].ResourceClaimName}, &claim))
	require.NotNil(r.t, claim.Status.Allocation)
	require.Len(r.t, claim.Status.Allocation.Devices.Results, 1)
	return claim.Status.Allocation.Devices.Results[0].Device
}
