package nodegroups

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	var file bytes.Buffer
	file.WriteString(`[{"binding":"main","type":"Group","groupName":"main","snapshots":{"stack":[],"nodes":[`)
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
		values := hooktest.Values(b, hooktest.Root, settings)
		h := hook{now: time.Now, reader: func() (client.Reader, error) { return nil, errors.New("not part of this") }}
		for b.Loop() {
			in := helpers.NewInputBuilder(b).WithValuesJSON(values).WithSnapshot(snapshotNodes, snapshots...).Build()
			require.NoError(b, h.run(context.Background(), in))
		}
	})
}
