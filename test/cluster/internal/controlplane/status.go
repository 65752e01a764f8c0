package controlplane

import (
	"context"
	"maps"
	"slices"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/probe"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// Status is what `cluster status` shows.
type Status struct {
	Name       string        `json:"name"`
	Phase      state.Phase   `json:"phase"`
	Dir        string        `json:"dir"`
	Kubeconfig string        `json:"kubeconfig"`
	Options    state.Options `json:"options"`
	// Node is the real node, where there is one.
	Node       *NodeStatus       `json:"node,omitempty"`
	Components []ComponentStatus `json:"components"`
}

// ComponentStatus is one process.
type ComponentStatus struct {
	Name     string   `json:"name"`
	PID      int      `json:"pid"`
	Alive    bool     `json:"alive"`
	Ready    bool     `json:"ready"`
	Endpoint string   `json:"endpoint,omitempty"`
	Version  string   `json:"version,omitempty"`
	Args     []string `json:"args"`
	Log      string   `json:"log"`
}

// Status asks every process. It returns nil when there is no cluster. Endpoints that the
// control plane does not know itself are in extra.
func (c *Cluster) Status(ctx context.Context, extra map[string]func(*state.Cluster) string) (*Status, error) {
	record, err := state.Load(c.Dir)
	if err != nil || record == nil {
		return nil, err
	}
	status := &Status{Name: c.Name, Phase: record.Phase, Dir: string(c.Dir), Kubeconfig: c.Kubeconfig(), Options: record.Options,
		Node: c.nodeStatus(record)}
	add := func(name string) *ComponentStatus {
		p := record.Processes[name]
		status.Components = append(status.Components, ComponentStatus{Name: name, PID: p.PID, Alive: p.Alive(),
			Version: p.Version, Args: p.Args, Log: p.Log})
		return &status.Components[len(status.Components)-1]
	}
	setting := c.setting(record)
	for _, kind := range component.Kinds {
		if _, ok := record.Processes[kind.Name]; !ok {
			continue
		}
		s := add(kind.Name)
		s.Endpoint = kind.Endpoint(setting)
		s.Ready = s.Alive && probe.Once(ctx, kind.Ready(setting)) == nil
	}
	for _, name := range slices.Sorted(maps.Keys(record.Processes)) {
		if _, err := component.Find(name); err == nil {
			continue
		}
		s := add(name)
		s.Ready = s.Alive
		if endpoint, ok := extra[name]; ok {
			s.Endpoint = endpoint(record)
		}
	}
	return status, nil
}
