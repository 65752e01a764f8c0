package realnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// packages are Debian's, for what is not built from source: runc needs a C compiler, the rest is small and everywhere the same.
var packages = map[string]string{"runc": "runc", "ip": "iproute2", "nsenter": "util-linux", "CNI plugins": "containernetworking-plugins"}

// pluginFolders are where distributions put CNI plugins.
var pluginFolders = []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"}

var plugins = []string{"bridge", "host-local", "loopback"}

// Machine is what of the machine a node uses.
type Machine struct {
	Runc    string
	Plugins string
}

// Prepare finds what a node needs of the machine and installs with apt-get what is missing. Its errors say what is missing
// and what to do about it.
func Prepare(ctx context.Context, log io.Writer, say func(string, ...any)) (*Machine, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("a real node makes namespaces, mounts and cgroups: run this as root (sudo), or leave --real-nodes out")
	}
	if err := kernel(); err != nil {
		return nil, err
	}
	missing := absent()
	if len(missing) > 0 {
		if err := install(ctx, missing, log, say); err != nil {
			return nil, err
		}
		if missing = absent(); len(missing) > 0 {
			return nil, fmt.Errorf("a real node needs %s, which the packages did not bring: install by hand and try again", strings.Join(missing, ", "))
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return nil, err
	}
	return &Machine{Runc: runc, Plugins: pluginFolder()}, nil
}

// absent names what is not there.
func absent() []string {
	var out []string
	for _, program := range []string{"runc", "ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			out = append(out, program)
		}
	}
	if pluginFolder() == "" {
		out = append(out, "CNI plugins")
	}
	return out
}

// pluginFolder is the first folder that has all the plugins, or "".
func pluginFolder() string {
	for _, folder := range pluginFolders {
		all := true
		for _, plugin := range plugins {
			info, err := os.Stat(filepath.Join(folder, plugin))
			all = all && err == nil && info.Mode().IsRegular()
		}
		if all {
			return folder
		}
	}
	return ""
}

// kernel checks what no package brings.
func kernel() error {
	groups, err := machineCgroups()
	if err != nil {
		return err
	}
	if missing := groups.missing(); len(missing) > 0 {
		return fmt.Errorf("a real node needs the cgroup controllers %s, which are mounted neither as version 1 nor as version 2 "+
			"below /sys/fs/cgroup: mount them, or leave --real-nodes out", strings.Join(missing, ", "))
	}
	for _, module := range []string{"overlay", "veth", "bridge"} {
		// Built in or loaded already: then this fails or does nothing, and what is truly missing fails by name later.
		_ = exec.Command("modprobe", "--quiet", module).Run()
	}
	systems, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return fmt.Errorf("a real node needs overlayfs: %w", err)
	}
	if !strings.Contains(string(systems), "\toverlay\n") {
		return errors.New("a real node needs overlayfs, which this kernel does not have: load its module (modprobe overlay), or leave --real-nodes out")
	}
	return nil
}

func install(ctx context.Context, missing []string, log io.Writer, say func(string, ...any)) error {
	var names []string
	for _, what := range missing {
		names = append(names, packages[what])
	}
	list := strings.Join(names, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("a real node needs %s, and there is no apt-get to install them with: install Debian's packages %s or your "+
			"distribution's own, or leave --real-nodes out", strings.Join(missing, ", "), list)
	}
	say("a real node needs %s: apt-get installs %s", strings.Join(missing, ", "), list)
	get := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = log, log
		return cmd.Run()
	}
	installation := append([]string{"install", "--yes", "--no-install-recommends"}, names...)
	err := get(installation...)
	if err != nil {
		// The lists of packages are old or were never fetched.
		if err = get("update"); err == nil {
			err = get(installation...)
		}
	}
	if err != nil {
		return fmt.Errorf("`apt-get install %s`: %w; install them by hand, or leave --real-nodes out", list, err)
	}
	return nil
}

// Snapshotter is the one that works on a folder's file system: an overlay does not carry another one's upper layer, as in a
// container.
func Snapshotter(folder string) (string, error) {
	const overlay = 0x794c7630
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return "", fmt.Errorf("file system of %s: %w", folder, err)
	}
	if fs.Type == overlay {
		return "native", nil
	}
	return "overlayfs", nil
}
