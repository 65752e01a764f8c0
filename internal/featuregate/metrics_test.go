package featuregate

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
	featuremetrics "k8s.io/component-base/metrics/prometheus/feature"
	"pgregory.net/rapid"
)

const answer = `# HELP apiserver_request_total [STABLE] Counter
apiserver_request_total{code="200",verb="LIST"} 5
# TYPE kubernetes_build_info gauge
kubernetes_build_info{build_date="2026-01-02",git_version="v1.34.4",platform="linux/amd64"} 1
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="APIServingWithRoutine",stage="ALPHA"} 0
kubernetes_feature_enabled{name="DRAExtendedResource",stage="ALPHA"} 1
kubernetes_feature_enabled{stage="BETA",name="DRAAdminAccess"} 0 1700000000
kubernetes_feature_enabled{name="DynamicResourceAllocation",stage=""} 1.0
process_start_time_seconds 1.7e9
kubernetes_feature_enabled{name="DRAPrioritizedList",stage="BETA"} 1
`

func TestReadMetrics(t *testing.T) {
	want := Answer{Version: "v1.34.4", Gates: map[string]bool{"DRAExtendedResource": true, "DRAAdminAccess": false, "DynamicResourceAllocation": true}}
	for name, r := range map[string]io.Reader{
		"whole":    strings.NewReader(answer),
		"one byte": iotest.OneByteReader(strings.NewReader(answer)),
		"CRLF":     strings.NewReader(strings.ReplaceAll(answer, "\n", "\r\n")),
		"cut off after the family, without a newline": strings.NewReader(strings.TrimSuffix(answer[:strings.Index(answer, "process_")], "\n")),
		"a line of megabytes before":                  strings.NewReader(strings.Repeat("x", 3<<20) + "\n" + answer),
		"what follows the family is not read": io.MultiReader(strings.NewReader(answer[:strings.Index(answer, "kubernetes_feature_enabled{name=\"DRAPrioritizedList\"")]),
			strings.NewReader(strings.Repeat("more 1\n", maxMetricsLine)), iotest.ErrReader(errors.New("read to the end"))),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadMetrics(r)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestReadMetricsOfSomethingElse(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a page": "<html>{}\n", "no gate": "up 1\nkubernetes_build_info{git_version=\"v1.34.4\"} 1\n",
		"broken lines": "kubernetes_feature_enabled{name=\"A\nkubernetes_feature_enabled{name} 1\nkubernetes_feature_enabled{name=\"DRAAdminAccess\"}\nkubernetes_feature_enabled{name=\"DRAAdminAccess\"} x",
	} {
		_, err := ReadMetrics(strings.NewReader(text))
		require.ErrorIs(t, err, ErrNoGates, name)
	}
	_, err := ReadMetrics(io.MultiReader(strings.NewReader("up 1\n"), iotest.ErrReader(errors.New("reset"))))
	require.ErrorContains(t, err, "broke off: reset")
	require.NotErrorIs(t, err, ErrNoGates)

	// Whatever the length, it ends.
	endless := &repeated{text: []byte("apiserver_request_total 1\n")}
	_, err = ReadMetrics(endless)
	require.ErrorIs(t, err, ErrNoGates)
	require.LessOrEqual(t, endless.read, maxMetrics)
}

type repeated struct {
	text []byte
	read int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[(r.read+i)%len(r.text)]
	}
	r.read += len(p)
	return len(p), nil
}

// What the components' own code writes is read back.
func TestReadMetricsOfComponentBase(t *testing.T) {
	featuremetrics.ResetFeatureInfoMetric()
	gates := map[string]bool{}
	for i, gate := range Gates() {
		gates[gate] = i%2 == 0
		featuremetrics.RecordFeatureInfo(t.Context(), gate, "BETA", gates[gate])
	}
	recorder := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	got, err := ReadMetrics(recorder.Body)
	require.NoError(t, err)
	require.Equal(t, gates, got.Gates)
}

func FuzzReadMetrics(f *testing.F) {
	f.Add(answer)
	f.Add(`kubernetes_feature_enabled{name="a\"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadMetrics(strings.NewReader(text))
		require.True(t, err == nil || len(got.Gates) == 0)
	})
}

func TestLabelsOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
		labels, rest, ok := labelsOf(`a="1",name="` + quoted + `",} 7`)
		require.True(t, ok)
		require.Equal(t, map[string]string{"a": "1", "name": value}, labels)
		require.Equal(t, " 7", rest)
	})
}
