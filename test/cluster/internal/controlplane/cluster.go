// Package controlplane brings a test cluster up, changes it and takes it down again.
package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/filelock"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/progress"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// stopGrace is how long a component may take to end by itself when it is restarted. The
// API server would wait far longer for its watchers to go; its data is in etcd.
const stopGrace = 3 * time.Second

// Cluster is one named cluster, whether it is there or not.
type Cluster struct {
	Name   string
	Dir    layout.Dir
	folder string
	report *progress.Reporter
	// Binaries finds the program of a component.
	Binaries func(component, kubernetes string) (Binary, error)
	// Machine is what a real node uses of the machine; nil unless the cluster has one.
	Machine *realnode.Machine
}

// Binary is a built program.
type Binary struct {
	Path    string
	Version string
}

// New returns the cluster of that name in the folder of clusters.
func New(folder, name string, report *progress.Reporter) (*Cluster, error) {
	dir, err := layout.ForCluster(folder, name)
	if err != nil {
		return nil, err
	}
	return &Cluster{Name: name, Dir: dir, folder: folder, report: report}, nil
}

// Edit runs change while no other command changes this cluster. The record is loaded
// anew; it is nil when there is no cluster.
func (c *Cluster) Edit(ctx context.Context, change func(*state.Cluster) error) error {
	lock, err := filelock.Acquire(ctx, c.Dir.Lock(), func() {
		c.report.Say("cluster %s: waits for another command that changes it", c.Name)
	})
	if err != nil {
		return err
	}
	defer func() {
		lock.Release()
		// Only an empty folder goes: the last cluster leaves nothing behind.
		os.Remove(c.folder)
	}()
	record, err := state.Load(c.Dir)
	if err != nil {
		return err
	}
	return change(record)
}

// EditRunning is Edit for a cluster that must be there.
func (c *Cluster) EditRunning(ctx context.Context, change func(*state.Cluster) error) error {
	return c.Edit(ctx, func(record *state.Cluster) error {
		if err := c.mustRun(record); err != nil {
			return err
		}
		return change(record)
	})
}

// Record reads the record of a cluster that must be there.
func (c *Cluster) Record() (*state.Cluster, error) {
	record, err := state.Load(c.Dir)
	if err != nil {
		return nil, err
	}
	return record, c.mustRun(record)
}

func (c *Cluster) mustRun(record *state.Cluster) error {
	if record == nil || record.Phase != state.Running {
		return fmt.Errorf("cluster %q is not up: start it with `cluster up --name %s`", c.Name, c.Name)
	}
	return nil
}

// Kubeconfig is the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.Dir.Kubeconfig(pki.Admin) }

// Client is an administrator's client.
func (c *Cluster) Client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("client of cluster %s: %w", c.Name, err)
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of cluster %s: %w", c.Name, err)
	}
	return client, nil
}

func (c *Cluster) setting(record *state.Cluster) component.Setting {
	return component.Setting{Dir: c.Dir, Ports: record.Ports, Options: record.Options}
}

// portsLock serialises the choice of ports among all clusters of the folder.
func (c *Cluster) portsLock() string { return filepath.Join(c.folder, "ports.lock") }
