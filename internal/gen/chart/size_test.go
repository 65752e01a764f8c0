package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/charttest"
)

const (
	// maxChart of all files unpacked: it leaves room in the release's Secret for the manifest.
	maxChart = 540 << 10
	// maxSecret is what an API server accepts as the data of one Secret; Helm keeps a release in one.
	maxSecret = 1 << 20
)

// examples of settings for plain Helm, in examples/values.
var examples = []string{"rosa", "vanilla"}

func settings(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(charttest.Root(), "examples", "values", name+".yaml"))
	require.NoError(t, err)
	out := map[string]any{}
	require.NoError(t, yaml.Unmarshal(data, &out))
	return out
}

func TestChartIsSmall(t *testing.T) {
	path, c := packages(t)
	total := 0
	for _, f := range c.Raw {
		total += len(f.Data)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	t.Logf("%d files, %d bytes, %d packed", len(c.Raw), total, info.Size())
	require.LessOrEqual(t, total, maxChart)
}

// A release of the largest settings that gpu-dra is made for fits into the Secret it is kept in.
func TestReleaseFitsItsSecret(t *testing.T) {
	_, c := packages(t)
	all := map[string]map[string]any{"200 groups": manyGroups(c, 200)}
	for _, name := range examples {
		all[name] = settings(t, name)
	}
	for name, values := range all {
		t.Run(name, func(t *testing.T) {
			got := secretSize(t, c, values)
			t.Logf("%d bytes, %d %% of what a Secret may hold", got, 100*got/maxSecret)
			require.Less(t, got, maxSecret)
		})
	}
}

// manyGroups is n node groups, with every built-in driver in turn.
func manyGroups(c *chart.Chart, n int) map[string]any {
	var drivers []string
	for _, f := range c.Raw {
		if name, ok := strings.CutPrefix(f.Name, "profiles/drivers/"); ok {
			drivers = append(drivers, strings.TrimSuffix(name, ".yaml"))
		}
	}
	groups := make([]any, n)
	for i := range groups {
		groups[i] = map[string]any{
			"name": fmt.Sprintf("gpu-group-%d", i), "drivers": []any{drivers[i%len(drivers)]}, "expectedDevices": 8,
			"nodeSelector": map[string]any{"accelerator.example.com/group": fmt.Sprintf("gpu-group-%d", i)},
		}
	}
	return map[string]any{"nodeGroups": groups}
}

// secretSize is how large the Secret of a release is: the release as JSON, compressed and in base64, as Helm 3 writes it.
func secretSize(t *testing.T, c *chart.Chart, values map[string]any) int {
	t.Helper()
	documents, notes, err := charttest.Render(c, charttest.Options{Values: values})
	require.NoError(t, err)
	raw, err := json.Marshal(&release.Release{
		Name: "gpu-dra", Namespace: "gpu-dra", Version: 1, Chart: c, Config: values,
		Manifest: "---\n" + strings.Join(documents, "---\n"), Info: &release.Info{Status: release.StatusDeployed, Notes: notes},
	})
	require.NoError(t, err)
	var zipped bytes.Buffer
	writer, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	require.NoError(t, err)
	_, err = writer.Write(raw)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return base64.StdEncoding.EncodedLen(zipped.Len())
}
