package claimstate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// asSent is a claim as an API server sends it: a pod's, in use, with what nobody here reads.
func asSent(i int) *resourcev1.ResourceClaim {
	node := fmt.Sprintf("gpu-node-%05d", i/8)
	c := claim(asks("gpu.example.com"), holds(node, fmt.Sprint("gpu-", i%8)), on(node), usedBy("pod"), owned())
	c.Namespace, c.Name, c.UID = fmt.Sprint("team-", i%50), fmt.Sprintf("engine-%05d-gpu-x7k2p", i), types.UID(fmt.Sprintf("%036d", i))
	c.ResourceVersion = fmt.Sprint(1000000 + i)
	c.Annotations = map[string]string{"resource.kubernetes.io/pod-claim-name": "gpu"}
	c.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 600))}}
	return c
}

// 40,000 claims, index and all, take a fraction of the 300 MiB that the controller may have at 280,000 devices.
func TestMemoryOfManyClaims(t *testing.T) {
	const claims, most = 40_000, 900
	ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{IndexNode: NodeIndex})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range claims {
		require.NoError(t, ix.Add(Condense(asSent(i))))
	}
	// Twice, since interned strings go a round later.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - min(after.HeapAlloc, before.HeapAlloc)) / claims
	t.Logf("%d bytes a claim, %d MiB in all", each, each*claims>>20)
	require.LessOrEqual(t, each, uint64(most))
	require.Len(t, ix.List(), claims)
}
