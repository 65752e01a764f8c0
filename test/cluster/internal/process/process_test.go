package process

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStatReadsPastAnyName(t *testing.T) {
	raw := []byte("42 (a) (odd name)) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 10\n")
	got, err := parseStat("/proc/42/stat", raw)
	if err != nil {
		t.Fatal(err)
	}
	if got.state != 'S' || got.startTicks != 987654 {
		t.Errorf("found %c and %d, want S and 987654", got.state, got.startTicks)
	}
	if _, err := parseStat("/proc/42/stat", []byte("42 (cut")); err == nil {
		t.Error("a line that is cut off was accepted")
	}
}

func start(t *testing.T, mark string, args ...string) Identity {
	t.Helper()
	id, cmd, err := Start(Spec{Path: "/bin/sh", Args: append([]string{"sh"}, args...), Mark: mark,
		Log: filepath.Join(t.TempDir(), "log"), Env: []string{"ONLY_THIS=1"}})
	if err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	t.Cleanup(func() { id.Kill() })
	return id
}

func TestARecycledNumberIsNotTheSameProcess(t *testing.T) {
	id := start(t, "t1/one", "-c", "sleep 60")
	if !id.Alive() {
		t.Fatal("the process just started is not alive")
	}
	// The same number with another start, or another boot, is somebody else's process.
	for _, other := range []Identity{
		{PID: id.PID, StartTicks: id.StartTicks - 1, BootID: id.BootID},
		{PID: id.PID, StartTicks: id.StartTicks, BootID: "another boot"},
		{},
	} {
		if other.Alive() {
			t.Errorf("%+v counts as alive", other)
		}
		if err := other.Kill(); err != nil {
			t.Error(err)
		}
	}
	if !id.Alive() {
		t.Fatal("the process was ended under another identity")
	}
	if err := id.Stop(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("still alive after Stop")
	}
	if err := id.Signal(syscall.SIGTERM, false); err != nil {
		t.Errorf("signalling a process that is gone: %v", err)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	id := start(t, "t2/deaf", "-c", "trap '' TERM; while :; do sleep 0.05; done")
	time.Sleep(100 * time.Millisecond)
	if err := id.Stop(200 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("still alive after Stop")
	}
}

func TestMarkFindsChildrenToo(t *testing.T) {
	id := start(t, "t3/parent", "-c", "sleep 61 & sleep 62")
	start(t, "t3x/other", "-c", "sleep 63")
	deadline := time.Now().Add(5 * time.Second)
	for {
		found, err := Marked("t3/")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %d processes, want the shell and its two children", len(found))
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Only the parent dies here, as when addon-operator is killed amid its hooks.
	if err := id.Signal(syscall.SIGKILL, false); err != nil {
		t.Fatal(err)
	}
	if _, err := KillMarked("t3/parent"); err != nil {
		t.Fatal(err)
	}
	if found, _ := Marked("t3/"); len(found) != 0 {
		t.Errorf("%d processes are left", len(found))
	}
	if found, _ := Marked("t3x/"); len(found) == 0 {
		t.Error("another cluster's process was ended")
	}
}

func TestCallersEnvironmentStaysOutside(t *testing.T) {
	t.Setenv("KUBECONFIG", "/somebody/elses")
	got := strings.Join(environment(Spec{Mark: "t4/env", Env: []string{"ONLY_THIS=1"}}), "\n")
	if strings.Contains(got, "KUBECONFIG") || !strings.Contains(got, "ONLY_THIS=1") || !strings.Contains(got, "t4/env") {
		t.Errorf("found the environment\n%s", got)
	}
}
