package realnode

import "fmt"

// Paths inside the node, which are where every node has them.
const (
	socket           = "/run/containerd/containerd.sock"
	containerdConfig = "/etc/containerd/config.toml"
	networkConfig    = "/etc/cni/net.d/10-gpu-dra.conflist"
	// ProgramFolder holds the built programs; it comes first in PATH, so that containerd finds its own shim.
	ProgramFolder = "/opt/node/bin"
	// PluginFolder holds the CNI plugins.
	PluginFolder = "/opt/cni/bin"
)

// containerdText has containerd inject CDI devices, take our image for sandboxes, as no registry is asked, and leave alone
// scores of the OOM killer that it has no right to lower (root in a container has no CAP_SYS_RESOURCE).
func (s *Spec) containerdText() string {
	return fmt.Sprintf(`version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = %q
[plugins.'io.containerd.cri.v1.images']
  snapshotter = %q
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %q
[plugins.'io.containerd.cri.v1.runtime']
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = "%s/runc"
      SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%q]
    conf_dir = "/etc/cni/net.d"
`, socket, s.Snapshotter, Sandbox, ProgramFolder, PluginFolder)
}

// networkText joins Pods to a bridge whose addresses the machine has a route to: no address is translated, so that a server
// sees the Pod that asks.
func (s *Spec) networkText() string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "gpu-dra",
  "plugins": [{
    "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
`, s.Network.Pods())
}
