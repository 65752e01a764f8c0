package templates

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

var resourceGroup = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}

func bigger(s *v1alpha1.GPUClaimTemplateSpec) { s.MinMemory = ptr.To(resource.MustParse("32Gi")) }

func TestWrittenInItsNamespaces(t *testing.T) {
	w := newWorld(t, template("a", "b", "later"), namespace("a", nil), namespace("b", nil), namespace("c", nil))
	require.Equal(t, []string{"create a", "create b"}, w.quiet())
	require.Equal(t, "False WaitingForNamespaces 2/3", w.status())
	o := w.object("a")
	require.Equal(t, types.UID("template"), o.OwnerReferences[0].UID)
	require.Equal(t, "gpu-16gb", o.Labels[v1alpha1.LabelClaimTemplate])
	require.Empty(t, w.quiet(), "the same meaning is written once")

	require.NoError(t, w.client.Create(context.Background(), namespace("later", nil)))
	require.Equal(t, []string{"create later"}, w.quiet())
	require.Equal(t, "True Written 3/3", w.status())

	w.change(func(s *v1alpha1.GPUClaimTemplateSpec) { s.Namespaces = []string{"a"} })
	require.Equal(t, []string{"delete b", "delete later"}, w.quiet())
	require.Equal(t, "True Written 1/1", w.status())
	require.Equal(t, []string{"a"}, w.namespaceList())
}

func TestNamespacesBySelector(t *testing.T) {
	tmpl := template()
	tmpl.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "ml"}}
	w := newWorld(t, tmpl, namespace("a", map[string]string{"team": "ml"}), namespace("b", nil))
	require.Equal(t, []string{"create a"}, w.quiet())

	for name, labels := range map[string]map[string]string{"a": nil, "b": {"team": "ml"}} {
		n := &corev1.Namespace{}
		require.NoError(t, w.client.Get(context.Background(), types.NamespacedName{Name: name}, n))
		n.Labels = labels
		require.NoError(t, w.client.Update(context.Background(), n))
	}
	require.Equal(t, []string{"delete a", "create b"}, w.quiet())
}

func TestChangedMeaningIsTriedFirst(t *testing.T) {
	w := newWorld(t, template("a"), namespace("a", nil))
	w.quiet()
	old := w.object("a")

	w.change(bigger)
	require.Equal(t, []string{"try a", "delete a", "create a"}, w.quiet())
	require.NotEqual(t, old.UID, w.object("a").UID)
	require.Contains(t, w.expression("a"), "32Gi")
	require.Equal(t, "True Written 1/1", w.status())
}

func TestRefusedMeaningLeavesTheOldOne(t *testing.T) {
	w := newWorld(t, template("a"), namespace("a", nil))
	w.quiet()
	w.change(bigger)
	w.fail = func(verb string, o client.Object) error {
		if verb == "try" {
			require.Empty(t, o.GetName(), "tried under a name that is free")
			return apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate").GroupKind(), "gpu-16gb-x7k2p",
				field.ErrorList{field.Invalid(field.NewPath("spec", "spec"), "x", "no good")})
		}
		return nil
	}
	writes, result, err := w.step()
	require.NoError(t, err)
	require.Empty(t, writes)
	require.Equal(t, retryAfter, result.RequeueAfter)
	require.Contains(t, w.expression("a"), "16Gi")
	require.Equal(t, "False RejectedByAPIServer 0/1", w.status())
	failed := w.template().Status.Failed[0]
	require.Equal(t, `spec.spec: Invalid value: "x": no good`, failed.Message, "no generated name, which would differ each time")
}

func TestKilledBetweenDeleteAndCreate(t *testing.T) {
	w := newWorld(t, template("a", "b"), namespace("a", nil), namespace("b", nil))
	w.quiet()
	w.change(bigger)
	killed := errors.New("killed")
	w.fail = func(verb string, o client.Object) error {
		if verb == "create" {
			return killed
		}
		return nil
	}
	_, _, err := w.step()
	require.ErrorIs(t, err, killed)
	require.Empty(t, w.namespaceList())

	w.fail = nil
	w.restart()
	require.Equal(t, []string{"create a", "create b"}, w.quiet())
	require.Contains(t, w.expression("a"), "32Gi")
	require.Equal(t, "True Written 2/2", w.status())
}

func TestOneBadNamespaceHarmsNoOther(t *testing.T) {
	w := newWorld(t, template("a", "b", "c"), namespace("a", nil), namespace("b", nil), namespace("c", nil))
	w.fail = func(verb string, o client.Object) error {
		switch {
		case verb == "create" && o.GetNamespace() == "a":
			return apierrors.NewForbidden(resourceGroup, o.GetName(), errors.New("exceeded quota"))
		case verb == "create" && o.GetNamespace() == "b":
			return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: "is being terminated",
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
		}
		return nil
	}
	require.Equal(t, []string{"create c"}, w.quiet())
	require.Equal(t, "False RejectedByAPIServer 1/3", w.status())
	require.Equal(t, []string{"b"}, w.template().Status.Waiting)
}

func TestForeignTemplateIsLeftAlone(t *testing.T) {
	foreign := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "gpu-16gb", UID: "foreign"}}
	labelled := foreign.DeepCopy()
	labelled.Namespace = "b"
	labelled.Labels = map[string]string{v1alpha1.LabelClaimTemplate: "gpu-16gb"}
	w := newWorld(t, template("a", "b", "c"), namespace("a", nil), namespace("b", nil), namespace("c", nil), foreign, labelled)
	writes, result, err := w.step()
	require.NoError(t, err)
	require.Equal(t, []string{"create a", "create b", "create c"}, writes)
	require.Equal(t, retryAfter, result.RequeueAfter)
	require.Equal(t, "False NameTaken 1/3", w.status())
	require.Equal(t, types.UID("foreign"), w.object("a").UID)
	require.Equal(t, types.UID("foreign"), w.object("b").UID, "a label does not make it ours")

	w.change(func(s *v1alpha1.GPUClaimTemplateSpec) { s.Namespaces = []string{"c"} })
	require.Empty(t, w.quiet(), "nor is it removed")
}

func TestLabelTakenOffIsPutBack(t *testing.T) {
	w := newWorld(t, template("a"), namespace("a", nil))
	w.quiet()
	o := w.object("a")
	uid := o.UID
	o.Labels = nil
	require.NoError(t, w.client.Update(context.Background(), o))
	_, result, err := w.step()
	require.NoError(t, err)
	require.Equal(t, again, result.RequeueAfter)
	require.Empty(t, w.quiet())
	require.Equal(t, "True Written 1/1", w.status())
	require.Equal(t, uid, w.object("a").UID)
}

func TestTemplateMadeAnewTakesOver(t *testing.T) {
	w := newWorld(t, template("a"), namespace("a", nil))
	w.quiet()
	require.NoError(t, w.client.Delete(context.Background(), w.template()))
	anew := template("a")
	anew.UID = "anew"
	require.NoError(t, w.client.Create(context.Background(), anew))
	require.Equal(t, []string{"try a", "delete a", "create a"}, w.quiet())
	require.Equal(t, types.UID("anew"), w.object("a").OwnerReferences[0].UID)
}

func TestBadTemplateHarmsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		edit   func(*v1alpha1.GPUClaimTemplateSpec)
		reason string
	}{
		"CEL":    {func(s *v1alpha1.GPUClaimTemplateSpec) { s.Selectors = []string{"device."} }, condition.TemplateCELError},
		"driver": {func(s *v1alpha1.GPUClaimTemplateSpec) { s.Driver = "nobody" }, condition.TemplateUnknownDriver},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, template("a"), namespace("a", nil))
			w.quiet()
			w.change(tc.edit)
			require.Empty(t, w.quiet())
			require.Equal(t, "False "+tc.reason+" 0/0", w.status())
			require.Contains(t, w.expression("a"), "16Gi", "what people use stays")
			require.EqualValues(t, 2, w.template().Status.ObservedGeneration)
		})
	}
}

func TestSatisfiable(t *testing.T) {
	w := newWorld(t, template("a"), namespace("a", nil))
	read := false
	w.Synced = func() bool { return read }
	reason := func() string {
		return condition.Find(w.template().Status.Conditions, condition.Satisfiable).Reason
	}
	w.quiet()
	require.Equal(t, condition.TemplateClassMissing, reason(), "pods would wait for it whatever devices there are")
	require.NoError(t, w.client.Create(context.Background(), &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu.example.com"}}))
	w.quiet()
	require.Equal(t, condition.TemplateDevicesNotKnown, reason())
	read = true
	w.quiet()
	require.Equal(t, condition.TemplateNoDevicesYet, reason())
	require.NoError(t, w.client.Create(context.Background(), &v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1alpha1.GPUNodeStatus{
		Devices: []v1alpha1.DeviceGroup{{Driver: "gpu.example.com", Kind: v1alpha1.DeviceWhole, Memory: ptr.To(resource.MustParse("80Gi")), Count: 1}},
	}}))
	w.quiet()
	require.Equal(t, condition.TemplateSatisfiable, reason())
	read = false
	w.restart()
	w.Synced = func() bool { return false }
	w.quiet()
	require.Equal(t, condition.TemplateSatisfiable, reason(), "a restart does not forget what was known")
}

// The gates of a driver stand in the settings: a template that shares devices says when no node group can.
func TestSharingThatNoGroupHas(t *testing.T) {
	tmpl := template("a")
	tmpl.Spec.Sharing = &v1alpha1.Sharing{Strategy: "MPS"}
	w := newWorld(t, tmpl, namespace("a", nil),
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu.example.com"}},
		&v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1alpha1.GPUNodeStatus{
			Devices: []v1alpha1.DeviceGroup{{Driver: "gpu.example.com", Kind: v1alpha1.DeviceWhole, Memory: ptr.To(resource.MustParse("80Gi")), Count: 1}},
		}})
	driver, _ := w.Profiles.ByName("example")
	driver.Plugin = &profile.Plugin{}
	driver.Gates = []profile.Gate{{Name: "Shares"}}
	driver.Sharing = &profile.Sharing{APIVersion: "gpu.example.com/v1", Kinds: map[v1alpha1.DeviceKind]string{v1alpha1.DeviceWhole: "Config"},
		Strategies: map[string]profile.SharingStrategy{"MPS": {Kinds: []v1alpha1.DeviceKind{v1alpha1.DeviceWhole}, Gates: []string{"Shares"}}}}
	satisfiable := func() *metav1.Condition {
		w.quiet()
		return condition.Find(w.template().Status.Conditions, condition.Satisfiable)
	}
	require.Equal(t, metav1.ConditionTrue, satisfiable().Status, "without settings nothing is known of gates")

	w.Settings = &settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "a100", Drivers: []string{"example"}}}}
	got := satisfiable()
	require.Equal(t, metav1.ConditionFalse, got.Status)
	require.Contains(t, got.Message, "off in every node group that runs it: a100")
	require.Equal(t, "True Written 1/1", w.status(), "it is written: the gate may come")

	w.Settings.Drivers = map[string]settings.DriverConfig{"example": {FeatureGates: map[string]bool{"Shares": true}}}
	require.Equal(t, metav1.ConditionTrue, satisfiable().Status)
}
