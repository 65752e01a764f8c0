package realnode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// folders of the root folder, with their modes.
var folders = map[string]os.FileMode{
	"/proc": 0o555, "/sys": 0o555, "/dev": 0o755, "/tmp": 0o1777, "/run": 0o755, "/root": 0o700,
	"/usr": 0o755, "/opt/node/bin": 0o755, "/opt/cni/bin": 0o755, "/.machine": 0o700,
	"/etc/containerd": 0o755, "/etc/cni/net.d": 0o755, "/etc/cdi": 0o755, kubeletDropIns: 0o755,
	"/var/lib/containerd": 0o711, "/var/lib/kubelet": 0o755, "/var/log/node": 0o755, "/var/tmp": 0o1777,
}

// machineFiles are copied, where there are any: what programs of the machine look for.
var machineFiles = []string{"/etc/ld.so.cache", "/etc/os-release", "/etc/machine-id", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"}

// WriteRoot makes the root folder with the node's own files. The machine's programs and libraries are mounted into it later and
// read-only; everything else a Pod reaches by a hostPath is the node's, so that it can write nothing of the machine.
func (s *Spec) WriteRoot() error {
	for folder, mode := range folders {
		if err := os.MkdirAll(s.Path(folder), 0o755); err != nil {
			return fmt.Errorf("root folder of the real node: %w", err)
		}
		// MkdirAll leaves out what the umask takes, and the sticky bit.
		if err := os.Chmod(s.Path(folder), mode.Perm()|sticky(mode)); err != nil {
			return fmt.Errorf("root folder of the real node: %w", err)
		}
	}
	// What a reboot clears is cleared: a node that starts again finds no socket or namespace of its former life.
	if err := clear(s.Path("/run")); err != nil {
		return err
	}
	if err := link("../run", s.Path("/var/run")); err != nil {
		return err
	}
	kubelet, err := s.kubeletText()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		containerdConfig:   []byte(s.containerdText()),
		networkConfig:      []byte(s.networkText()),
		kubeletConfig:      kubelet,
		"/etc/hosts":       []byte("127.0.0.1 localhost\n" + s.Network.Node() + " " + s.Name + "\n"),
		"/etc/hostname":    []byte(s.Name + "\n"),
		"/etc/resolv.conf": nil,
	}
	for _, path := range machineFiles {
		if content, err := os.ReadFile(path); err == nil {
			files[path] = content
		}
	}
	for path, content := range files {
		if err := os.WriteFile(s.Path(path), content, 0o644); err != nil {
			return fmt.Errorf("root folder of the real node: %w", err)
		}
	}
	return nil
}

func sticky(mode os.FileMode) os.FileMode {
	if mode&0o1000 != 0 {
		return os.ModeSticky
	}
	return 0
}

func clear(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("root folder of the real node: %w", err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return fmt.Errorf("root folder of the real node: %w", err)
		}
	}
	return nil
}

func link(target, path string) error {
	if err := os.Symlink(target, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("root folder of the real node: %w", err)
	}
	return nil
}
