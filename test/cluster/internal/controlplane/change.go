package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// Down ends the cluster and removes all it had. A cluster that is not there is no error.
func (c *Cluster) Down(ctx context.Context) error {
	return c.Edit(ctx, func(record *state.Cluster) error {
		if err := c.remove(record); err != nil {
			return err
		}
		if record == nil {
			c.report.Say("cluster %s: nothing to take down", c.Name)
		} else {
			c.report.Say("cluster %s: down, %d processes ended, %s removed", c.Name, len(record.Processes), c.Dir)
		}
		return nil
	})
}

// Restart ends one component and starts it again on the same ports and data, with the
// options as change leaves them.
func (c *Cluster) Restart(ctx context.Context, name string, change func(*state.Options)) error {
	kind, err := component.Find(name)
	if err != nil {
		return err
	}
	return c.EditRunning(ctx, func(record *state.Cluster) error {
		p, ok := record.Processes[name]
		if !ok {
			return fmt.Errorf("cluster %s has no %s: it was started with %s", c.Name, name, strings.Join(record.Options.Components, ", "))
		}
		if err := p.Stop(stopGrace); err != nil {
			return err
		}
		change(&record.Options)
		if err := c.start(record, kind); err != nil {
			return err
		}
		if err := c.awaitReady(ctx, record, kind); err != nil {
			return err
		}
		return c.settle(ctx, record)
	})
}

// Kill ends one process with SIGKILL and leaves it so.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.EditRunning(ctx, func(record *state.Cluster) error {
		p, ok := record.Processes[name]
		if !ok {
			return fmt.Errorf("cluster %s has no %s, it has %s", c.Name, name,
				strings.Join(slices.Sorted(maps.Keys(record.Processes)), ", "))
		}
		if err := p.Kill(); err != nil {
			return err
		}
		// A container's end takes all its processes; so does this one's.
		if _, err := process.KillMarked(record.Mark(name)); err != nil {
			return err
		}
		c.report.Say("cluster %s: %s (process %d) killed", c.Name, name, p.PID)
		return nil
	})
}
