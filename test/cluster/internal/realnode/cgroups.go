package realnode

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cgroupWait is how long the kernel may take to let go of a cgroup whose processes are gone.
const cgroupWait = 10 * time.Second

// required are the controllers without which a kubelet does not run.
var required = []string{"cpu", "cpuset", "memory", "pids"}

// hierarchies are the machine's cgroup hierarchies: one in version 2, several in version 1.
type hierarchies struct {
	unified bool
	// roots are mount points; in version 1 with the controllers of each.
	roots map[string][]string
}

// cgroupHierarchies reads /proc/self/mountinfo (proc_pid_mountinfo(5)) as text. A machine with both versions, as systemd's
// "hybrid" set-up has, counts as version 1: there the controllers are.
func cgroupHierarchies(mountinfo string) hierarchies {
	h := hierarchies{roots: map[string][]string{}}
	second := ""
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		switch right[0] {
		case "cgroup":
			h.roots[left[4]] = strings.Split(right[2], ",")
		case "cgroup2":
			second = left[4]
		}
	}
	h.unified = len(h.roots) == 0 && second != ""
	if second != "" {
		h.roots[second] = nil
	}
	return h
}

func machineCgroups() (hierarchies, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchies{}, fmt.Errorf("cgroups: %w", err)
	}
	return cgroupHierarchies(string(raw)), nil
}

// missing are the required controllers that the machine does not give.
func (h hierarchies) missing() []string {
	var have []string
	for root, controllers := range h.roots {
		have = append(have, controllers...)
		if h.unified {
			raw, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
			have = append(have, strings.Fields(string(raw))...)
		}
	}
	return slices.DeleteFunc(slices.Clone(required), func(c string) bool { return slices.Contains(have, c) })
}

// create makes the cgroup in every hierarchy.
func (h hierarchies) create(name string) error {
	for root, controllers := range h.roots {
		if h.unified {
			if err := delegate(root); err != nil {
				return err
			}
		}
		path := filepath.Join(root, name)
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cgroup of the real node: %w", err)
		}
		if !slices.Contains(controllers, "cpuset") {
			continue
		}
		// In version 1 a new cpuset is empty, and nothing can run in it.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(root, file))
			if err == nil {
				err = os.WriteFile(filepath.Join(path, file), value, 0o644)
			}
			if err != nil {
				return fmt.Errorf("cgroup of the real node: %w", err)
			}
		}
	}
	return nil
}

// delegate lets the children of a version 2 hierarchy's root have its controllers.
func delegate(root string) error {
	raw, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("cgroup of the real node: %w", err)
	}
	control := filepath.Join(root, "cgroup.subtree_control")
	for _, controller := range strings.Fields(string(raw)) {
		err := os.WriteFile(control, []byte("+"+controller), 0o644)
		if err != nil && slices.Contains(required, controller) {
			return fmt.Errorf("cgroup of the real node: controller %s cannot be given to children of %s: %w; "+
				"in a container, start it with the machine's cgroup namespace or move its processes out of the root cgroup", controller, root, err)
		}
	}
	return nil
}

// remove takes the cgroup away in every hierarchy. Its processes are gone already.
func (h hierarchies) remove(name string) error {
	for root := range h.roots {
		if err := removeTree(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("cgroup of the real node: %w", err)
		}
	}
	return nil
}

// removeTree removes a cgroup and those below it: only the folders can be removed, the files in them are the kernel's.
func removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
	}
	for deadline := time.Now().Add(cgroupWait); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Rmdir(path)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s cannot be removed: %w; its cgroup.procs says what is in it", path, err)
		}
	}
}
