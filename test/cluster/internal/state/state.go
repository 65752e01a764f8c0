// Package state records what a test cluster consists of, so that a later command finds
// exactly that again.
package state

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/gates"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
)

// Phase tells a cluster that came up from one whose `up` did not finish.
type Phase string

const (
	// Starting is written before the first process is started.
	Starting Phase = "Starting"
	// Running is written when every component has been ready once.
	Running Phase = "Running"
)

// Cluster is everything recorded about one cluster.
type Cluster struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// Token is in the environment of every process of this cluster and of no other's.
	Token     string             `json:"token"`
	Created   time.Time          `json:"created"`
	Options   Options            `json:"options"`
	Ports     map[string]int     `json:"ports"`
	Processes map[string]Process `json:"processes"`
	// Node is the real node, where there is one.
	Node *Node `json:"node,omitempty"`
}

// Node is what a real node has of the machine.
type Node struct {
	Network realnode.Network `json:"network"`
	Cgroup  string           `json:"cgroup"`
}

// Options are what the user asked for.
type Options struct {
	Kubernetes    string    `json:"kubernetes"`
	Components    []string  `json:"components"`
	Gates         gates.Set `json:"featureGates,omitempty"`
	RuntimeConfig string    `json:"runtimeConfig,omitempty"`
	// AdmissionPlugins are enabled besides Kubernetes' own defaults.
	AdmissionPlugins []string `json:"admissionPlugins,omitempty"`
	// RealNodes is how many nodes have a kubelet, 0 or 1.
	RealNodes int `json:"realNodes,omitempty"`
	// ControlPlanePods publishes stand-in Pods of the control plane.
	ControlPlanePods bool `json:"controlPlanePods"`
}

// Process is one recorded process.
type Process struct {
	process.Identity
	Version string    `json:"version"`
	Binary  string    `json:"binary"`
	Args    []string  `json:"args"`
	Env     []string  `json:"env,omitempty"`
	Dir     string    `json:"dir"`
	Log     string    `json:"log"`
	Started time.Time `json:"started"`
}

// New makes the record of a cluster that is about to be started.
func New(name string, options Options) *Cluster {
	return &Cluster{Name: name, Phase: Starting, Token: rand.Text(), Created: time.Now().UTC().Truncate(time.Second),
		Options: options, Ports: map[string]int{}, Processes: map[string]Process{}}
}

// Load returns nil without an error when there is no such cluster.
func Load(dir layout.Dir) (*Cluster, error) {
	raw, err := os.ReadFile(dir.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the record of the cluster cannot be read: %w", err)
	}
	cluster := &Cluster{}
	if err := json.Unmarshal(raw, cluster); err != nil {
		return nil, fmt.Errorf("%s is no record of a cluster: %w; end its processes by hand and remove %s", dir.State(), err, dir)
	}
	return cluster, nil
}

// Save replaces the record at once: a reader sees the old one or the new one.
func (c *Cluster) Save(dir layout.Dir) error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("record of cluster %s: %w", c.Name, err)
	}
	if err := os.MkdirAll(string(dir), 0o755); err != nil {
		return fmt.Errorf("the folder of cluster %s cannot be made: %w", c.Name, err)
	}
	partial := dir.StatePartial()
	if err := os.WriteFile(partial, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("record of cluster %s: %w", c.Name, err)
	}
	if err := os.Rename(partial, dir.State()); err != nil {
		return fmt.Errorf("record of cluster %s: %w", c.Name, err)
	}
	return nil
}

// Mark is what a component's processes carry in their environment.
func (c *Cluster) Mark(component string) string { return c.Token + "/" + component }

// TakenPorts are the ports recorded by all clusters of the folder, running or not.
func TakenPorts(clusters string) (map[int]bool, error) {
	taken := map[int]bool{}
	err := each(clusters, func(c *Cluster) {
		for _, port := range c.Ports {
			taken[port] = true
		}
	})
	return taken, err
}

// TakenNetworks are the networks of real nodes recorded by all clusters of the folder.
func TakenNetworks(clusters string) (map[realnode.Network]bool, error) {
	taken := map[realnode.Network]bool{}
	err := each(clusters, func(c *Cluster) {
		if c.Node != nil {
			taken[c.Node.Network] = true
		}
	})
	return taken, err
}

func each(clusters string, do func(*Cluster)) error {
	records, err := filepath.Glob(filepath.Join(clusters, "*", filepath.Base(layout.Dir("x").State())))
	if err != nil {
		return fmt.Errorf("the clusters in %s cannot be listed: %w", clusters, err)
	}
	for _, record := range records {
		cluster, err := Load(layout.Dir(filepath.Dir(record)))
		if err != nil {
			return err
		}
		if cluster != nil {
			do(cluster)
		}
	}
	return nil
}
