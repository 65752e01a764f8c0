package controlplane

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/filelock"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/ports"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/probe"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

const (
	// readyLimit is generous: CI machines compile beside the cluster.
	readyLimit = 3 * time.Minute
	logTail    = 15
)

// Run starts a process and records it at once. Env, Dir, Binary, Version and Args of the
// given process say how; the rest is filled in.
func (c *Cluster) Run(record *state.Cluster, name string, p state.Process) error {
	p.Log = c.Dir.Log(name)
	if p.Dir == "" {
		p.Dir = string(c.Dir)
	}
	id, _, err := process.Start(process.Spec{Path: p.Binary, Args: p.Args, Env: p.Env, Dir: p.Dir, Log: p.Log, Mark: record.Mark(name)})
	if err != nil {
		return err
	}
	p.Identity, p.Started = id, time.Now().UTC().Truncate(time.Second)
	record.Processes[name] = p
	return record.Save(c.Dir)
}

func (c *Cluster) start(record *state.Cluster, kind component.Kind) error {
	binary, err := c.Binaries(kind.Name, record.Options.Kubernetes)
	if err != nil {
		return err
	}
	args := append([]string{kind.Name}, kind.Args(c.setting(record))...)
	return c.Run(record, kind.Name, state.Process{Binary: binary.Path, Version: binary.Version, Args: args})
}

func (c *Cluster) awaitReady(ctx context.Context, record *state.Cluster, kind component.Kind) error {
	step := c.report.Start(kind.Name, nil)
	p := record.Processes[kind.Name]
	bounded, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if err := probe.Wait(bounded, kind.Ready(c.setting(record)), p.Alive); err != nil {
		step.Done("failed")
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted while %s was starting", kind.Name)
		}
		return fmt.Errorf("%s: %w\n%s\nthe whole log is in %s", kind.Name, err, tail(p.Log), p.Log)
	}
	step.Done("ready")
	return nil
}

// AddPorts records a free port for each name that has none yet.
func (c *Cluster) AddPorts(ctx context.Context, record *state.Cluster, names []string) error {
	var missing []string
	for _, name := range names {
		if record.Ports[name] == 0 {
			missing = append(missing, name)
		}
	}
	lock, err := filelock.Acquire(ctx, c.portsLock(), nil)
	if err != nil {
		return err
	}
	defer lock.Release()
	taken, err := state.TakenPorts(c.folder)
	if err != nil {
		return err
	}
	picked, err := ports.Pick(missing, taken)
	if err != nil {
		return err
	}
	maps.Copy(record.Ports, picked)
	return record.Save(c.Dir)
}

// remove ends everything that belongs to the cluster and removes its folder. It works
// from whatever a command that was interrupted left.
func (c *Cluster) remove(record *state.Cluster) error {
	if record != nil {
		if err := endAll(record); err != nil {
			return err
		}
		if err := removeNode(record); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
		// The record goes last: as long as anything is left, the next command knows that
		// this folder is a cluster's.
		entries, err := os.ReadDir(string(c.Dir))
		if err != nil {
			return fmt.Errorf("cluster %s: its folder cannot be read: %w", c.Name, err)
		}
		for _, entry := range entries {
			if path := filepath.Join(string(c.Dir), entry.Name()); path != c.Dir.State() {
				if err := os.RemoveAll(path); err != nil {
					return fmt.Errorf("cluster %s: %s cannot be removed: %w", c.Name, path, err)
				}
			}
		}
	}
	return c.Dir.RemoveRecord()
}

// endAll does not wait for graceful ends of more than a moment: nothing is kept.
func endAll(record *state.Cluster) error {
	const moment = 3 * time.Second
	failed := make(chan error, len(record.Processes))
	for _, name := range slices.Sorted(maps.Keys(record.Processes)) {
		go func() { failed <- record.Processes[name].Stop(moment) }()
	}
	for range record.Processes {
		if err := <-failed; err != nil {
			return fmt.Errorf("cluster %s: %w", record.Name, err)
		}
	}
	// What was started but not recorded, and children of killed processes.
	if _, err := process.KillMarked(record.Mark("")); err != nil {
		return fmt.Errorf("cluster %s: %w", record.Name, err)
	}
	return nil
}

// tail returns the end of a log for an error message.
func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if extra := len(lines) - logTail; extra > 0 {
		lines = lines[extra:]
	}
	return strings.Join(lines, "\n")
}
