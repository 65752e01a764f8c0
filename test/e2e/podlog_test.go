//go:build e2e

package e2e

import (
	"bufio"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// podLog is a container's log while it grows. It is there when the pod is gone.
type podLog struct {
	ended chan struct{}
	mu    sync.Mutex
	lines []logLine
}

// logLine has the time that the container runtime noted.
type logLine struct {
	at   time.Time
	text string
}

// follow reads a container's log until the container ends.
func (n *realNode) follow(t *testing.T, pod *corev1.Pod, container string) *podLog {
	t.Helper()
	c, err := corev1client.NewForConfig(n.r.config)
	require.NoError(t, err)
	stream, err := c.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, Follow: true, Timestamps: true}).Stream(t.Context())
	require.NoError(t, err)
	l := &podLog{ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		defer stream.Close()
		for lines := bufio.NewScanner(stream); lines.Scan(); {
			stamp, text, _ := strings.Cut(lines.Text(), " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			if err != nil {
				at, text = time.Time{}, "no line with a timestamp: "+lines.Text()
			}
			l.mu.Lock()
			l.lines = append(l.lines, logLine{at, text})
			l.mu.Unlock()
		}
	}()
	return l
}

// last is the newest line.
func (l *podLog) last() logLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return logLine{}
	}
	return l.lines[len(l.lines)-1]
}

// all waits for the log's end.
func (l *podLog) all(t *testing.T) []logLine {
	t.Helper()
	select {
	case <-l.ended:
	case <-time.After(20 * time.Second):
		require.Fail(t, "the log does not end", "its last line: %v", l.last())
	}
	return l.lines
}

// saying is the newest line with these words.
func saying(t *testing.T, lines []logLine, words string) logLine {
	t.Helper()
	for _, l := range slices.Backward(lines) {
		if strings.Contains(l.text, words) {
			return l
		}
	}
	require.Fail(t, "not said", "%q is not in %v", words, lines)
	return logLine{}
}
