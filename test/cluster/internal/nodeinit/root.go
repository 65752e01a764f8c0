// Package nodeinit is the first process inside a real node: it changes into the node's root folder and keeps containerd and
// the kubelet running, as an init system does.
package nodeinit

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
)

// linked are what distributions either have as folders or as links into /usr.
var linked = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// kernelSettings are what a kubelet sets for the whole machine. It gets files of the node in their place.
var kernelSettings = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

const oldRoot = "/.machine"

// enter makes the node's root folder the root of this mount namespace. From the first line on no mount reaches the machine.
func enter(s *realnode.Spec) error {
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount(s.Root(), s.Root(), "", syscall.MS_BIND|syscall.MS_REC); err != nil {
		return err
	}
	if err := bindMachine(s); err != nil {
		return err
	}
	if err := syscall.PivotRoot(s.Root(), s.Path(oldRoot)); err != nil {
		return fmt.Errorf("change of the root folder to %s: %w", s.Root(), err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC); err != nil {
		return err
	}
	if err := syscall.Unmount(oldRoot, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("the machine's root folder cannot be left: %w", err)
	}
	// Volumes with mountPropagation need it, as on every node.
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED); err != nil {
		return err
	}
	if err := coverSettings(); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(s.Name)); err != nil {
		return fmt.Errorf("host name of the node: %w", err)
	}
	// Pods reach the machine through the node.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("forwarding in the node's network: %w", err)
	}
	return nil
}

// bindMachine shows the node what it needs of the machine.
func bindMachine(s *realnode.Spec) error {
	if err := bindReadOnly("/usr", s.Path("/usr")); err != nil {
		return err
	}
	for _, path := range linked {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, s.Path(path)); err != nil && !os.IsExist(err) {
				return err
			}
		default:
			if err := os.MkdirAll(s.Path(path), 0o755); err != nil {
				return err
			}
			if err := bindReadOnly(path, s.Path(path)); err != nil {
				return err
			}
		}
	}
	for name, path := range s.Programs {
		target := s.Path(filepath.Join(realnode.ProgramFolder, name))
		if err := touch(target); err != nil {
			return err
		}
		if err := mount(path, target, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	if err := mount("sysfs", s.Path("/sys"), "sysfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC); err != nil {
		return err
	}
	for from, to := range map[string]string{s.Plugins: realnode.PluginFolder, "/dev": "/dev", "/sys/fs/cgroup": "/sys/fs/cgroup", s.Logs: "/var/log/node"} {
		if err := mount(from, s.Path(to), "", syscall.MS_BIND|syscall.MS_REC); err != nil {
			return err
		}
	}
	return nil
}

func bindReadOnly(from, to string) error {
	if err := mount(from, to, "", syscall.MS_BIND|syscall.MS_REC); err != nil {
		return err
	}
	return mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
}

// coverSettings puts files over the settings that are the machine's.
func coverSettings() error {
	for i, name := range kernelSettings {
		path := filepath.Join("/proc/sys", name)
		value, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("kernel setting: %w", err)
		}
		cover := fmt.Sprintf("/run/kernel-setting-%d", i)
		if err := os.WriteFile(cover, value, 0o644); err != nil {
			return fmt.Errorf("kernel setting: %w", err)
		}
		if err := mount(cover, path, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

func touch(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	return file.Close()
}

func mount(from, to, kind string, flags uintptr) error {
	if err := syscall.Mount(from, to, kind, flags, ""); err != nil {
		return fmt.Errorf("mount of %q on %s: %w", from, to, err)
	}
	return nil
}
