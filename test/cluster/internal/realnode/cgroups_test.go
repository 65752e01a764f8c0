package realnode

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	separate = `30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
34 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	unified = `30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate
35 24 0:31 / /sys/kernel rw - sysfs sysfs rw
`
)

func TestBothVersionsOfCgroups(t *testing.T) {
	first := cgroupHierarchies(separate)
	if first.unified || !slices.Contains(first.roots["/sys/fs/cgroup/cpu,cpuacct"], "cpu") || len(first.roots) != 4 {
		t.Errorf("version 1 beside version 2: %+v", first)
	}
	if missing := first.missing(); !slices.Equal(missing, []string{"cpuset", "pids"}) {
		t.Errorf("missing: %v, want cpuset and pids", missing)
	}
	second := cgroupHierarchies(unified)
	if !second.unified || !slices.Equal(slices.Collect(maps.Keys(second.roots)), []string{"/sys/fs/cgroup"}) {
		t.Errorf("version 2: %+v", second)
	}
	if none := cgroupHierarchies("garbage\n"); none.unified || len(none.missing()) != len(required) {
		t.Errorf("no cgroups: %+v", none)
	}
}

// In version 2 children of the root have a controller only when its root hands it on.
func TestVersion2HandsControllersOn(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup.controllers"), "cpuset cpu memory pids\n")
	h := hierarchies{unified: true, roots: map[string][]string{root: nil}}
	if missing := h.missing(); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	if err := h.create("node"); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); err != nil || string(raw) != "+pids" {
		t.Errorf("last written: %q, %v; want +pids", raw, err)
	}
	if err := os.MkdirAll(filepath.Join(root, "node", "kubepods", "pod1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.remove("node"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "node")); !os.IsNotExist(err) {
		t.Errorf("the cgroup is still there: %v", err)
	}
}

func TestVersion1FillsTheCpuset(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cpuset.cpus"), "0-1\n")
	write(t, filepath.Join(root, "cpuset.mems"), "0\n")
	h := hierarchies{roots: map[string][]string{root: {"cpuset"}}}
	if err := h.create("node"); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(root, "node", "cpuset.cpus")); err != nil || string(raw) != "0-1\n" {
		t.Errorf("cpuset.cpus: %q, %v", raw, err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
