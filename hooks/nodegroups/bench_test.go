package nodegroups

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
)

// BenchmarkHandler compares a run of the handler with one json.Unmarshal of the context file that addon-operator writes for it,
// at 5,000 nodes in ten groups. The SDK's own decoding of that file, which comes before the handler, is in neither.
func BenchmarkHandler(b *testing.B) {
	const nodes, groups = 5000, 10
	settings := "nodeGroups:\n"
	for i := range groups {
		settings += fmt.Sprintf("- {name: gpu-%d, drivers: [nvidia]}\n", i)
	}
	values := hooktest.Values(b, hooktest.Root, settings)
	known, err := facts.FromValues(helpers.NewValuesFromJSON(values))
	require.NoError(b, err)
	stack := filtered(b, stackFilter, toJSON(b, v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName},
		Status: v1alpha1.GPUStackStatus{Synced: true, SettingsHash: known.Hash}}))
	var file bytes.Buffer
	fmt.Fprintf(&file, `[{"binding":"main","type":"Group","groupName":"main","snapshots":{"stack":[{"filterResult":%s}],"nodes":[`, stack)
	var snapshots []pkg.Snapshot
	for i := range nodes {
		n := full(fmt.Sprintf("gpu-node-%05d", i), 8, true)
		n.Status.Groups = []string{fmt.Sprintf("gpu-%d", i%groups)}
		s := filtered(b, nodeFilter, toJSON(b, n))
		snapshots = append(snapshots, s)
		if i > 0 {
			file.WriteByte(',')
		}
		fmt.Fprintf(&file, `{"filterResult":%s}`, s)
	}
	file.WriteString(`]}}]`)

	b.Run("unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var context any
			require.NoError(b, json.Unmarshal(file.Bytes(), &context))
		}
	})
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		h := hook{now: time.Now, reader: func() (client.Reader, error) { return alive{}, nil }}
		var patches *helpers.RecordingPatchCollector
		for b.Loop() {
			patches = helpers.NewRecordingPatchCollector()
			in := helpers.NewInputBuilder(b).WithValuesJSON(values).WithPatchCollector(patches).
				WithSnapshot(snapshotStack, stack).WithSnapshot(snapshotNodes, snapshots...).Build()
			require.NoError(b, h.run(context.Background(), in))
		}
		// All of the work is in it: each group is created and gets its status, with what its kubelets should reserve.
		said := 0
		for _, op := range patches.Recorded() {
			said += strings.Count(toJSON(b, op.Patch), `"recommended":`)
		}
		require.Equal(b, groups, said)
	})
}

// alive is the API server of a cluster whose controller is alive, without NodeGroups and GPUNodeGroups: to read those is no part
// of the benchmark.
type alive struct{}

func (alive) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	beat := metav1.Now()
	into.(*v1alpha1.GPUStack).Status.Heartbeat = &beat
	return nil
}

func (alive) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
