// Package realnode runs one real node beside a control plane: a kubelet with containerd and runc in namespaces of their own
// (mount, network, PID, UTS, IPC), with a root folder of their own in the cluster's folder. Nothing is written outside that
// folder, except a link and a cgroup, which Remove takes away.
//
// Host side: `cluster node run` (Run) makes the namespaces, the wire between machine and node, and is the node's way to the API
// server. Inside, as PID 1, the package nodeinit starts containerd and kubelet. Whoever ends either of the two ends the node.
package realnode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Name is the node's name in the cluster.
const Name = "real-1"

// ServiceIP is the address by which the node and its Pods reach the API server.
const ServiceIP = "10.96.0.1"

// Sandbox is the image that holds a Pod's namespaces.
const Sandbox = "gpu-dra.invalid/workload:1"

// Programs that a node is made of and that are built from source.
var Programs = []string{"kubelet", "containerd", "containerd-shim-runc-v2", "ctr"}

// Spec is all that the node's processes need to know.
type Spec struct {
	Name    string  `json:"name"`
	Network Network `json:"network"`
	// Folder holds this file, the node's root folder and the file with the number of its first process.
	Folder string `json:"folder"`
	// Logs is the folder of the cluster's logs.
	Logs string `json:"logs"`
	// Cgroup is the name of the node's cgroup below each hierarchy's root.
	Cgroup string `json:"cgroup"`
	// APIServer is its loopback address.
	APIServer string `json:"apiServer"`
	// Programs are paths on the machine: those of Programs and runc.
	Programs map[string]string `json:"programs"`
	// Plugins is the folder of the CNI plugins on the machine.
	Plugins string `json:"plugins"`
	// Snapshotter is containerd's: overlayfs where the folder's file system can carry it.
	Snapshotter string `json:"snapshotter"`
	// Gates are the kubelet's feature gates.
	Gates map[string]bool `json:"gates,omitempty"`
}

// Root is the node's root folder as the machine sees it; what is mounted inside is not seen there.
func (s *Spec) Root() string { return filepath.Join(s.Folder, "root") }

// Path is a path of the node as the machine sees it.
func (s *Spec) Path(inside string) string { return filepath.Join(s.Root(), inside) }

// File is where the spec is written to.
func (s *Spec) File() string { return SpecFile(s.Folder) }

// SpecFile is the spec of the node in a folder.
func SpecFile(folder string) string { return filepath.Join(folder, "spec.json") }

// CgroupName is the cgroup of the node of the cluster with that token.
func CgroupName(token string) string { return "gpu-dra-" + strings.ToLower(token)[:12] }

// Save writes the spec.
func (s *Spec) Save() error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("real node %s: %w", s.Name, err)
	}
	if err := os.MkdirAll(s.Folder, 0o755); err != nil {
		return fmt.Errorf("real node %s: %w", s.Name, err)
	}
	if err := os.WriteFile(s.File(), raw, 0o600); err != nil {
		return fmt.Errorf("real node %s: %w", s.Name, err)
	}
	return nil
}

// LoadSpec reads a spec.
func LoadSpec(path string) (*Spec, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the spec of the real node: %w", err)
	}
	s := &Spec{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("%s is no spec of a real node: %w", path, err)
	}
	return s, nil
}

func (s *Spec) pidFile() string { return filepath.Join(s.Folder, "pid") }

// PID is the number, on the machine, of the node's first process.
func (s *Spec) PID() (int, error) {
	raw, err := os.ReadFile(s.pidFile())
	if err != nil {
		return 0, fmt.Errorf("real node %s does not run: %w", s.Name, err)
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0, fmt.Errorf("real node %s: %s holds %q, expected a process number", s.Name, s.pidFile(), raw)
	}
	return pid, nil
}

// Containerd is the socket of the node's containerd as the machine reaches it: through the node's first process, since the path
// in the cluster's folder may be longer than a socket's address can be.
func (s *Spec) Containerd() (string, error) {
	pid, err := s.PID()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/proc/%d/root%s", pid, socket), nil
}
