package state

import (
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/gates"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
)

func TestRoundTrip(t *testing.T) {
	clusters := t.TempDir()
	dir, err := layout.ForCluster(clusters, "one")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Load(dir); got != nil || err != nil {
		t.Fatalf("before it is there: %v, %v", got, err)
	}
	cluster := New("one", Options{Kubernetes: "1.34.4", Components: []string{"etcd"}, Gates: gates.Deckhouse(), ControlPlanePods: true})
	cluster.Ports["etcd/client"] = 21000
	cluster.Processes["etcd"] = Process{Identity: process.Identity{PID: 7, StartTicks: 8, BootID: "b"},
		Args: []string{"etcd", "--x"}, Started: time.Now().UTC().Truncate(time.Second)}
	if err := cluster.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, cluster) {
		t.Errorf("found %+v, want %+v", got, cluster)
	}
	entries, err := os.ReadDir(string(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the record alone", entries, err)
	}
	taken, err := TakenPorts(clusters)
	if err != nil || !taken[21000] || len(taken) != 1 {
		t.Errorf("taken ports %v, %v", taken, err)
	}
}

func TestTokensDiffer(t *testing.T) {
	if a, b := New("a", Options{}), New("a", Options{}); a.Token == b.Token || len(a.Token) < 20 {
		t.Errorf("tokens %q and %q", a.Token, b.Token)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "A", "a/b", "..", "-a", "a-", "a.lock"} {
		if dir, err := layout.ForCluster("/x", name); err == nil {
			t.Errorf("name %q gives %s", name, dir)
		}
	}
}
