package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var deletion = time.Date(2026, 1, 1, 12, 0, 0, 400_000_000, time.UTC)

func after(seconds float64) time.Time {
	return deletion.Add(time.Duration(seconds * float64(time.Second)))
}

func stamped(seconds float64, text string) string {
	return after(seconds).Format(time.RFC3339Nano) + " " + text + "\n"
}

// files of a pod that ended: its engine answered its last request after 8 s, drained after 10, and it was sampled at these times.
type files struct{ pod, samples, engine, sidecar string }

func endedPod(t *testing.T, sampled ...float64) files {
	t.Helper()
	pod := scrapedPod()
	running, err := json.MarshalIndent(pod, "", "  ")
	require.NoError(t, err)
	status := func(name string, at float64) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(after(at))}}}}
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = status("engine", 10.1), status("gpu-dra-exporter", 11.3)
	ended, err := json.Marshal(pod)
	require.NoError(t, err)
	var samples strings.Builder
	for _, at := range sampled {
		for _, name := range []string{"a", "b"} {
			require.NoError(t, json.NewEncoder(&samples).Encode(sample{At: after(at), Value: 1, Labels: map[string]string{"__name__": name, "pod": "llm"}}))
		}
	}
	return files{
		pod: write(t, string(running)+"\n"+string(ended)), samples: write(t, samples.String()),
		engine: write(t, stamped(-5, "listens on :8000")+stamped(-1, "request 1 answered")+stamped(0.3, "SIGTERM after 2 requests")+
			stamped(8, after(7.99).Format(time.RFC3339Nano)+" request 2 answered")+stamped(10, "drained")),
		sidecar: write(t, stamped(10.2, "gpu-dra sidecar: waiting")),
	}
}

func TestTimeline(t *testing.T) {
	f := endedPod(t, -1, 0.5, 2.5, 10.7)
	var out bytes.Buffer
	require.NoError(t, timeline(&out, f.pod, f.samples, f.engine, f.sidecar, deletion))
	require.Equal(t, `  +0.0 s  12:00:00.400  the demo                kubectl delete pod
  +0.3 s  12:00:00.700  engine's log            SIGTERM after 2 requests
  +8.0 s  12:00:08.400  engine's log            LAST REQUEST: request 2 answered
 +10.0 s  12:00:10.400  engine's log            drained
          12:00:10      pod status              container engine has exited, code 0
 +10.2 s  12:00:10.600  gpu-dra-exporter's log  gpu-dra sidecar: waiting
 +10.7 s  12:00:11.100  samples                 LAST SAMPLE: number 3 since the deletion, at most
                                                8.2 s between two
          12:00:11      pod status              container gpu-dra-exporter has exited, code 0
`, out.String())
	for _, line := range strings.Split(out.String(), "\n") {
		require.LessOrEqual(t, len(line), width)
	}
}

func TestTimelineFailsWhereTheLastSampleIsTooEarly(t *testing.T) {
	for _, c := range []struct {
		last float64
		want []string
	}{{7.5, []string{"the last request was answered at 12:00:08.400", "the engine logged its last line at 12:00:10.400"}}, {9, []string{"the engine logged"}}} {
		f := endedPod(t, 1, c.last)
		var out bytes.Buffer
		err := timeline(&out, f.pod, f.samples, f.engine, f.sidecar, deletion)
		for _, want := range c.want {
			require.ErrorContains(t, err, want, fmt.Sprint(c.last))
		}
		require.Contains(t, out.String(), "LAST SAMPLE", "what there is, is printed all the same")
	}
}

func TestTimelineOfWhatIsNotKnown(t *testing.T) {
	good := endedPod(t, 11)
	for want, f := range map[string]files{
		"no answered request":     {good.pod, good.samples, write(t, stamped(1, "SIGTERM")), good.sidecar},
		"no sample was taken":     {good.pod, write(t, ""), good.engine, good.sidecar},
		"how container engine":    {write(t, `{"metadata":{"name":"llm"}}`), good.samples, good.engine, good.sidecar},
		"expected a pod":          {write(t, ""), good.samples, good.engine, good.sidecar},
		"line 1":                  {good.pod, write(t, "x\n"), good.engine, good.sidecar},
		"a line with a timestamp": {good.pod, good.samples, good.engine, write(t, "")},
		"no such file":            {good.pod, good.samples, "/nonexistent", good.sidecar},
	} {
		require.ErrorContains(t, timeline(&bytes.Buffer{}, f.pod, f.samples, f.engine, f.sidecar, deletion), want)
	}
}

func TestLabelsOfTheNewestSample(t *testing.T) {
	f := endedPod(t, 1, 2)
	var out bytes.Buffer
	require.NoError(t, labels(&out, f.samples, "b"))
	require.Equal(t, "b 1, sampled at 12:00:02.400, with the labels\n  pod=\"llm\"\n", out.String())
	require.ErrorContains(t, labels(&out, f.samples, "c"), "4 samples, none of c")
}

func TestWords(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), nil, nil), "scrape, labels, timeline")
	require.ErrorContains(t, run(t.Context(), []string{"watch"}, nil), `"watch" is none of`)
	require.ErrorContains(t, run(t.Context(), []string{"timeline", "--deleted", "now"}, nil), "--deleted")
}
