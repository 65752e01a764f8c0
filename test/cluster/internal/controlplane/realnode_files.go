package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/gates"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/images"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// writeNode makes the node's folder with everything its programs read.
func (c *Cluster) writeNode(record *state.Cluster) (*realnode.Spec, error) {
	if c.Machine == nil {
		return nil, fmt.Errorf("the machine was not prepared for a real node: start it with `cluster up --name %s`", c.Name)
	}
	spec := &realnode.Spec{Name: realnode.Name, Network: record.Node.Network, Cgroup: record.Node.Cgroup, Folder: c.Dir.Data(NodeProcess),
		Logs: filepath.Dir(c.Dir.Log(NodeProcess)), Programs: map[string]string{"runc": c.Machine.Runc}, Plugins: c.Machine.Plugins,
		APIServer: component.APIServerAddress(record.Ports), Gates: record.Options.Gates[gates.Kubelet]}
	for _, name := range realnode.Programs {
		binary, err := c.Binaries(name, record.Options.Kubernetes)
		if err != nil {
			return nil, err
		}
		spec.Programs[name] = binary.Path
	}
	snapshotter, err := realnode.Snapshotter(string(c.Dir))
	if err != nil {
		return nil, err
	}
	spec.Snapshotter = snapshotter
	if err := spec.Save(); err != nil {
		return nil, err
	}
	if err := spec.WriteRoot(); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{c.Dir.Cert(pki.CA): realnode.Authority,
		c.Dir.Cert(pki.Kubelet): realnode.Certificate, c.Dir.Key(pki.Kubelet): realnode.Key} {
		raw, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(spec.Path(to), raw, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("certificates of the kubelet: %w", err)
		}
	}
	server := kubeconfig.Server{Name: "gpu-dra-" + c.Name, URL: "https://" + realnode.ServiceIP, CAFile: c.Dir.Cert(pki.CA)}
	return spec, kubeconfig.WithCertificate(spec.Path(realnode.Kubeconfig), server, c.Dir.Cert(pki.Kubelet), c.Dir.Key(pki.Kubelet))
}

func containerd(spec *realnode.Spec) (images.Containerd, error) {
	socket, err := spec.Containerd()
	return images.Containerd{Ctr: spec.Programs["ctr"], Socket: socket, Snapshotter: spec.Snapshotter}, err
}
