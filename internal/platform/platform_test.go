package platform

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

func group(name, uid string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(NodeGroupKind)
	u.SetName(name)
	u.SetUID(types.UID(uid))
	return u
}

var distribution = profile.Distribution{
	NodeGroupLabel: "example.com/group",
	Managers:       []profile.ManagerTrace{{Name: "platform", NodeGroupField: "spec.gpu"}, {Name: "other", NodeLabel: "x"}},
}

var drivers = []*profile.Driver{{Name: "a", Managers: []profile.ManagerTrace{{Name: "deep", NodeGroupField: "spec.a.b"}}}}

// reader is a fake client whose List fails with err, if there is one.
func reader(err error, objects ...client.Object) client.Reader {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(NodeGroupKind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(NodeGroupKind.GroupVersion().WithKind("NodeGroupList"), &unstructured.UnstructuredList{})
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
}

func TestNodeGroupsFound(t *testing.T) {
	r := reader(nil,
		group("plain", "1", map[string]any{"nodeType": "Static", "a": map[string]any{}}),
		group("managed", "2", map[string]any{"gpu": map[string]any{}, "a": map[string]any{"b": true}}),
		group("unset", "3", map[string]any{"gpu": nil, "a": "no map"}),
		group("unlisted", "4", nil))
	got := NodeGroups(context.Background(), r, distribution, drivers, []string{"plain", "managed", "unset", "missing"})
	for name, p := range got {
		p.NodeGroup = reservation.NodeGroup{} // TestReservation
		got[name] = p
	}
	require.Equal(t, map[string]nodegroup.Platform{
		"plain":   {Lookup: nodegroup.Found, UID: "1"},
		"unset":   {Lookup: nodegroup.Found, UID: "3"},
		"missing": {Lookup: nodegroup.NotFound},
		"managed": {Lookup: nodegroup.Found, UID: "2", Managers: []v1alpha1.Manager{
			{Name: "deep", Evidence: "spec.a.b"},
			{Name: "platform", Evidence: "spec.gpu"},
		}},
	}, got)

	owner := OwnerReference("plain", got["plain"])
	require.Equal(t, "deckhouse.io/v1 NodeGroup plain 1", fmt.Sprint(owner.APIVersion, " ", owner.Kind, " ", owner.Name, " ", owner.UID))
	require.Nil(t, OwnerReference("missing", got["missing"]))
}

func TestNodeGroupsWithoutTheKind(t *testing.T) {
	resource := schema.GroupResource{Group: "deckhouse.io", Resource: "nodegroups"}
	for name, tc := range map[string]struct {
		err  error
		want nodegroup.Platform
	}{
		"no match":  {&meta.NoKindMatchError{GroupKind: NodeGroupKind.GroupKind()}, nodegroup.Platform{Lookup: nodegroup.KindAbsent}},
		"not found": {apierrors.NewNotFound(resource, ""), nodegroup.Platform{Lookup: nodegroup.KindAbsent}},
		"forbidden": {apierrors.NewForbidden(resource, "", errors.New("no")), nodegroup.Platform{
			Lookup: nodegroup.Unreadable, Message: `nodegroups.deckhouse.io is forbidden: no`}},
		"connection": {errors.New("read tcp 10.0.0.1:43212->10.0.0.2:6443: reset"), nodegroup.Platform{
			Lookup: nodegroup.Unreadable, Message: "the API server did not answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NodeGroups(context.Background(), reader(tc.err), distribution, drivers, []string{"a", "b"})
			require.Equal(t, map[string]nodegroup.Platform{"a": tc.want, "b": tc.want}, got)
		})
	}
}

func TestNodeGroupsOfADistributionWithoutThem(t *testing.T) {
	got := NodeGroups(context.Background(), reader(errors.New("not to be read")), profile.Distribution{}, drivers, []string{"a"})
	require.Equal(t, map[string]nodegroup.Platform{"a": {Lookup: nodegroup.NotLookedUp}}, got)
}
