package platform

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
)

func TestOwners(t *testing.T) {
	ours := metav1.OwnerReference{APIVersion: "deckhouse.io/v1", Kind: "NodeGroup", Name: "g", UID: "1"}
	older := metav1.OwnerReference{APIVersion: "deckhouse.io/v1alpha2", Kind: "NodeGroup", Name: "g", UID: "0"}
	others := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "9"}
	list := func(refs ...metav1.OwnerReference) []metav1.OwnerReference { return refs }
	found := nodegroup.Platform{Lookup: nodegroup.Found, UID: "1"}

	require.Equal(t, list(ours), Owners(nil, "g", found))
	require.Equal(t, list(others, ours), Owners(list(older, others), "g", found), "of a NodeGroup made anew only the new one")
	require.Equal(t, list(older), Owners(list(older), "g", nodegroup.Platform{Lookup: nodegroup.Unreadable}))
	require.Nil(t, Owners(list(ours), "g", nodegroup.Platform{Lookup: nodegroup.NotFound}))
	require.Nil(t, Owners(nil, "g", nodegroup.Platform{Lookup: nodegroup.KindAbsent}))
	require.Equal(t, list(others), Owners(list(others), "g", nodegroup.Platform{Lookup: nodegroup.NotLookedUp}))
}
