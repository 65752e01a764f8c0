package realnode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	kubernetesFolder = "/etc/kubernetes"
	kubeletConfig    = kubernetesFolder + "/kubelet.yaml"
	kubeletDropIns   = kubernetesFolder + "/kubelet.conf.d"
	// Kubeconfig is the kubelet's.
	Kubeconfig = kubernetesFolder + "/kubelet.kubeconfig"
	// Authority, Certificate and Key are those of the kubelet's server.
	Authority   = kubernetesFolder + "/ca.crt"
	Certificate = kubernetesFolder + "/kubelet.crt"
	Key         = kubernetesFolder + "/kubelet.key"
	// KubeletPort is where the API server asks for logs and exec.
	KubeletPort = 10250
	// KubeletStarts is a file with the number of times the kubelet was started.
	KubeletStarts = "/run/kubelet-starts"

	restartLimit = 30 * time.Second
)

// kubeletText is the kubelet's configuration. Disks are shared with the whole machine and may be nearly full: no threshold
// for them. Nothing is enforced on the node's own cgroup, since the processes of the node are not in it. What the machine's
// memory is goes through untouched: capacity is the machine's.
func (s *Spec) kubeletText() ([]byte, error) {
	raw, err := yaml.Marshal(map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"address":                  s.Network.Node(),
		"port":                     KubeletPort,
		"healthzBindAddress":       "127.0.0.1",
		"authentication":           map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": Authority}},
		"authorization":            map[string]any{"mode": "Webhook"},
		"tlsCertFile":              Certificate,
		"tlsPrivateKeyFile":        Key,
		"containerRuntimeEndpoint": "unix://" + socket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               "/" + s.Cgroup,
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"enforceNodeAllocatable":   []string{},
		"resolvConf":               "",
		"volumePluginDir":          "/var/lib/kubelet/volume-plugins",
		"evictionHard": map[string]string{"memory.available": "100Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%"},
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
		"featureGates":                s.Gates,
	})
	if err != nil {
		return nil, fmt.Errorf("configuration of the kubelet: %w", err)
	}
	return raw, nil
}

// KubeletArgs are the kubelet's arguments, the program's name first.
func (s *Spec) KubeletArgs() []string {
	return []string{"kubelet",
		"--config=" + kubeletConfig,
		"--config-dir=" + kubeletDropIns,
		"--kubeconfig=" + Kubeconfig,
		"--hostname-override=" + s.Name,
		"--node-ip=" + s.Network.Node(),
		"--v=2",
	}
}

// ContainerdArgs are containerd's.
func (s *Spec) ContainerdArgs() []string {
	return []string{"containerd", "--config=" + containerdConfig}
}

// Socket is containerd's, inside the node.
func Socket() string { return socket }

var dropInForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*\.conf$`)

// WriteDropIn adds a file to the kubelet's configuration; an empty one takes it away. The kubelet reads it when it starts.
func (s *Spec) WriteDropIn(name string, content []byte) error {
	if !dropInForm.MatchString(name) {
		return fmt.Errorf("drop-in %q: expected a name such as 50-reservation.conf, the kubelet reads no others", name)
	}
	path := s.Path(filepath.Join(kubeletDropIns, name))
	if len(content) == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("drop-in of the kubelet: %w", err)
		}
		return nil
	}
	var found struct{ Kind string }
	if err := yaml.Unmarshal(content, &found); err != nil || found.Kind != "KubeletConfiguration" {
		return fmt.Errorf("drop-in %s: found kind %q (%v), expected a KubeletConfiguration", name, found.Kind, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("drop-in of the kubelet: %w", err)
	}
	return nil
}

// RestartKubelet has the node's first process start the kubelet anew, and returns when it has.
func (s *Spec) RestartKubelet(ctx context.Context) error {
	pid, err := s.PID()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(s.Path(KubeletStarts))
	if err != nil {
		return fmt.Errorf("kubelet of the real node: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fmt.Errorf("kubelet of the real node: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	for {
		now, err := os.ReadFile(s.Path(KubeletStarts))
		if err == nil && len(now) > 0 && string(now) != string(before) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kubelet of the real node: not started anew within %v", restartLimit)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
