package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/progress"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

func newCluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := New(filepath.Join(t.TempDir(), "clusters"), "one", progress.New(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sleeper(t *testing.T, c *Cluster, mark string) process.Identity {
	t.Helper()
	id, cmd, err := process.Start(process.Spec{Path: "/bin/sleep", Args: []string{"sleep", "60"}, Log: c.Dir.Log("x"), Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	t.Cleanup(func() { id.Kill() })
	return id
}

func TestDownEndsWhatWasStartedAndNothingElse(t *testing.T) {
	c := newCluster(t)
	record := state.New("one", state.Options{})
	recorded := sleeper(t, c, record.Mark("etcd"))
	// Started, but the command died before it could write that down.
	stray := sleeper(t, c, record.Mark("kwok"))
	foreign := sleeper(t, c, state.New("one", state.Options{}).Mark("etcd"))
	record.Processes["etcd"] = state.Process{Identity: recorded}
	// Its number belongs to another process by now.
	recycled := foreign
	recycled.StartTicks--
	record.Processes["kube-scheduler"] = state.Process{Identity: recycled}
	if err := record.Save(c.Dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if recorded.Alive() || stray.Alive() {
		t.Errorf("alive after down: recorded %t, stray %t", recorded.Alive(), stray.Alive())
	}
	if !foreign.Alive() {
		t.Error("a process of another cluster was ended")
	}
	if _, err := os.Stat(filepath.Dir(string(c.Dir))); !os.IsNotExist(err) {
		t.Errorf("the folder of clusters is still there: %v", err)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Errorf("a second down: %v", err)
	}
}

func TestAFolderThatIsNoClusterIsLeftAlone(t *testing.T) {
	c := newCluster(t)
	precious := filepath.Join(string(c.Dir), "precious")
	if err := os.MkdirAll(string(c.Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestAskingForOtherOptionsOfARunningCluster(t *testing.T) {
	c := newCluster(t)
	has := state.Options{Kubernetes: "1.36.3", Components: []string{"etcd"}}
	record := state.New("one", has)
	record.Phase = state.Running
	if err := record.Save(c.Dir); err != nil {
		t.Fatal(err)
	}
	defaults := state.Options{Kubernetes: "1.34.4", Components: []string{"etcd"}}
	if got, err := c.Fits(defaults, false); err != nil || got.Kubernetes != "1.36.3" {
		t.Errorf("defaults: %+v, %v; want what the cluster has", got, err)
	}
	if _, err := c.Fits(defaults, true); err == nil || !strings.Contains(err.Error(), "cluster down --name one") {
		t.Errorf("other options: error %v, want one with the next step", err)
	}
	if _, err := c.Fits(has, true); err != nil {
		t.Errorf("the same options: %v", err)
	}
}
