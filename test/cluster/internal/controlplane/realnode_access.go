package controlplane

import (
	"context"
	"fmt"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/images"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// NodeStatus is how tests find the real node's things.
type NodeStatus struct {
	Name string `json:"name"`
	// Address is the node's, Host the machine's as the node and its Pods see it, Pods the range of theirs.
	Address string `json:"address"`
	Host    string `json:"host"`
	Pods    string `json:"pods"`
	// Root is the node's root folder on the machine, Link the machine's end of the wire, Cgroup the node's.
	Root   string `json:"root"`
	Link   string `json:"link"`
	Cgroup string `json:"cgroup"`
	// Image holds the workload program, which is also what sandboxes run.
	Image string `json:"image"`
	// Logs are those of the node's own programs.
	Logs []string `json:"logs"`
}

// Spec is that of the real node of a cluster, which must have one that runs.
func (c *Cluster) Spec() (*realnode.Spec, error) {
	record, err := c.Record()
	if err != nil {
		return nil, err
	}
	if record.Node == nil {
		return nil, fmt.Errorf("cluster %s has no real node: take it down and start it with `cluster up --name %s --real-nodes 1`", c.Name, c.Name)
	}
	if !record.Processes[NodeProcess].Alive() {
		return nil, fmt.Errorf("the real node of cluster %s does not run, %s may say why: start it again with `cluster up --name %s`",
			c.Name, c.Dir.Log(NodeProcess), c.Name)
	}
	return realnode.LoadSpec(realnode.SpecFile(c.Dir.Data(NodeProcess)))
}

// LoadImage gives an image to the real node.
func (c *Cluster) LoadImage(ctx context.Context, image images.Image) error {
	spec, err := c.Spec()
	if err != nil {
		return err
	}
	runtime, err := containerd(spec)
	if err != nil {
		return err
	}
	return runtime.Load(ctx, image)
}

// RestartKubelet starts the real node's kubelet anew, after adding a drop-in to its configuration if name is not "".
func (c *Cluster) RestartKubelet(ctx context.Context, name string, dropIn []byte) error {
	return c.EditRunning(ctx, func(record *state.Cluster) error {
		spec, err := c.Spec()
		if err != nil {
			return err
		}
		if name != "" {
			if err := spec.WriteDropIn(name, dropIn); err != nil {
				return err
			}
		}
		return spec.RestartKubelet(ctx)
	})
}

func (c *Cluster) nodeStatus(record *state.Cluster) *NodeStatus {
	if record.Node == nil {
		return nil
	}
	n, spec := record.Node.Network, realnode.Spec{Folder: c.Dir.Data(NodeProcess)}
	return &NodeStatus{Name: realnode.Name, Address: n.Node(), Host: n.Host(), Pods: n.Pods(), Link: n.Link(), Cgroup: record.Node.Cgroup,
		Root: spec.Root(), Image: realnode.Sandbox, Logs: c.nodeLogs()}
}
