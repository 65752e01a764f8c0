package progress

import (
	"strings"
	"sync"
	"testing"
	"time"
)

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestALogIsNeverSilent(t *testing.T) {
	out := &lines{}
	r := &Reporter{out: out, interval: 10 * time.Millisecond}
	step := r.Start("[1/2] thing v1", func() string { return "7 packages, " + strings.Repeat("x", 200) })
	for deadline := time.Now().Add(5 * time.Second); strings.Count(out.String(), "\n") < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no heartbeat came, only\n%s", out)
		}
	}
	step.Done("built")
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !strings.HasPrefix(got[0], "[1/2] thing v1: ... 0 s, 7 packages") || len(got[0]) != lineWidth {
		t.Errorf("heartbeat %q", got[0])
	}
	if last := got[len(got)-1]; !strings.HasPrefix(last, "[1/2] thing v1: built in 0.") {
		t.Errorf("last line %q", last)
	}
	before := out.String()
	time.Sleep(50 * time.Millisecond)
	if out.String() != before {
		t.Error("it goes on after the step was done")
	}
}

func TestATerminalKeepsOneLine(t *testing.T) {
	out := &lines{}
	r := &Reporter{out: out, terminal: true, interval: 5 * time.Millisecond}
	step := r.Start("etcd", nil)
	time.Sleep(50 * time.Millisecond)
	step.Done("ready")
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want one:\n%q", n, out)
	}
	if heartbeatInterval > 30*time.Second {
		t.Errorf("a log is silent for %v, CI systems want a line every 30 s", heartbeatInterval)
	}
}
