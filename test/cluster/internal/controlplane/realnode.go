package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/filelock"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/images"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// NodeProcess is the real node's process on the machine.
const NodeProcess = "node"

// Workload is the program in the image that every real node has.
const Workload = "workload"

// NodePrograms are the built programs that a real node needs.
var NodePrograms = append([]string{Workload}, realnode.Programs...)

// reserveNode picks the node's network and cgroup and records them before anything of them exists.
func (c *Cluster) reserveNode(ctx context.Context, record *state.Cluster) error {
	lock, err := filelock.Acquire(ctx, c.portsLock(), nil)
	if err != nil {
		return err
	}
	defer lock.Release()
	taken, err := state.TakenNetworks(c.folder)
	if err != nil {
		return err
	}
	network, err := realnode.PickNetwork(taken)
	if err != nil {
		return err
	}
	record.Node = &state.Node{Network: network, Cgroup: realnode.CgroupName(record.Token)}
	return record.Save(c.Dir)
}

func nodeIdentity(record *state.Cluster) *pki.Node {
	if record.Node == nil {
		return nil
	}
	return &pki.Node{Name: realnode.Name, Address: record.Node.Network.Node()}
}

// startNode starts the real node, where the cluster has one that does not run, and waits until Pods can run on it.
func (c *Cluster) startNode(ctx context.Context, record *state.Cluster) error {
	if record.Node == nil || record.Processes[NodeProcess].Alive() {
		return nil
	}
	step := c.report.Start("real node "+realnode.Name, nil)
	if err := c.bringNode(ctx, record); err != nil {
		step.Done("failed")
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted while the real node was starting")
		}
		said := ""
		for _, log := range c.nodeLogs() {
			said += fmt.Sprintf("\nend of %s:\n%s", log, tail(log))
		}
		return fmt.Errorf("real node: %w%s", err, said)
	}
	step.Done("ready")
	return nil
}

func (c *Cluster) bringNode(ctx context.Context, record *state.Cluster) error {
	spec, err := c.writeNode(record)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program's own path is unknown: %w", err)
	}
	err = c.Run(record, NodeProcess, state.Process{Binary: self, Version: "v" + record.Options.Kubernetes,
		Args: []string{filepath.Base(self), "node", "run", "--spec=" + spec.File()}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	workload, err := c.Binaries(Workload, record.Options.Kubernetes)
	if err != nil {
		return err
	}
	image := images.Image{Name: realnode.Sandbox, Binary: workload.Path, Path: "/workload", Args: []string{"pause"}}
	if err := c.awaitNode(ctx, record, "containerd does not answer", func() error {
		runtime, err := containerd(spec)
		if err == nil {
			_, err = os.Stat(runtime.Socket)
		}
		if err != nil {
			return err
		}
		return runtime.Load(ctx, image)
	}); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	return c.awaitNode(ctx, record, "the node is not Ready", func() error {
		node, err := client.CoreV1().Nodes().Get(ctx, realnode.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type != corev1.NodeReady {
				continue
			}
			if condition.Status != corev1.ConditionTrue {
				return errors.New(condition.Message)
			}
			// A node that starts again is called Ready for a while from before.
			if condition.LastHeartbeatTime.Time.Before(record.Processes[NodeProcess].Started) {
				return errors.New("its kubelet has not reported yet")
			}
		}
		// A fresh node is Ready a moment before it may be used.
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it has the taint %s", node.Spec.Taints[0].Key)
		}
		return nil
	})
}

// awaitNode asks until it is answered well, as long as the node's process runs.
func (c *Cluster) awaitNode(ctx context.Context, record *state.Cluster, what string, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if !record.Processes[NodeProcess].Alive() {
			return errors.New("its process ended")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// removeNode takes away what a node whose processes have ended leaves on the machine.
func removeNode(record *state.Cluster) error {
	if record.Node == nil {
		return nil
	}
	return realnode.Remove(record.Node.Network, record.Node.Cgroup)
}

func (c *Cluster) nodeLogs() []string {
	return []string{c.Dir.Log(NodeProcess), c.Dir.Log("containerd"), c.Dir.Log("kubelet")}
}
