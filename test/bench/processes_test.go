//go:build bench

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// settled is how long after it has read the cluster a process is looked at.
	settled = time.Minute
	// controllerTarget at all sizes, and operatorTarget over a cluster without nodes, in MiB.
	controllerTarget, operatorTarget = 300, 100
	// syncLimit ends a bench that would not.
	syncLimit = 10 * time.Minute
)

// TestProcesses measures the controller and addon-operator twice at each size: after the fleet joined while they ran, and after
// both were started anew on the fleet that is there.
func TestProcesses(t *testing.T) {
	// empty is addon-operator with the module and no node, measured once.
	var empty *usage
	for _, s := range sizes(t) {
		t.Run(s.name, func(t *testing.T) {
			r := up(t, s.name)
			r.install(s.partitioning())
			m := &meter{rig: r, size: s, empty: empty}
			if empty == nil {
				m.baseline()
				empty = m.empty
			}
			m.joined()
			m.restarted()
		})
	}
}

// meter looks at the processes of one cluster.
type meter struct {
	*rig
	size  size
	empty *usage
}

func (m *meter) baseline() {
	controller, operator := m.afterSettling()
	m.empty = &operator.usage
	results.add(sectionProcesses, "no nodes: controller RSS (peak)", both(controller.usage), "")
	results.add(sectionProcesses, "no nodes: addon-operator RSS (peak)", both(operator.usage), "")
}

// joined makes the fleet while both processes run.
func (m *meter) joined() {
	start := time.Now()
	m.populate(0, m.size.nodes, m.size.layout())
	made := time.Since(start)
	m.await(fmt.Sprintf("all %d nodes registered and all groups ready", m.size.nodes), syncLimit, func(ctx context.Context) error {
		return m.ready(ctx, m.size.nodes)
	})
	results.add(sectionProcesses, fmt.Sprintf("%s: fleet made in %.0f s, groups ready after", m.size.name, made.Seconds()),
		fmt.Sprintf("%.0f s", time.Since(start).Seconds()), "")
	m.report("fleet joined")
}

// restarted starts both processes anew.
func (m *meter) restarted() {
	m.cluster("operator", "restart")
	m.cluster("operator", "wait")
	log := m.controller().Log
	before, err := os.ReadFile(log)
	require.NoError(m.t, err)
	m.cluster("controller", "restart")
	m.await("controller restarted and synced", syncLimit, func(context.Context) error {
		data, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		// A log that was begun anew is read from its start.
		if !bytes.Contains(bytes.TrimPrefix(data, before), []byte("the cluster was read")) {
			return errors.New("the controller's log does not say that the cluster was read")
		}
		return nil
	})
	m.await("groups ready after the restart", syncLimit, func(ctx context.Context) error { return m.ready(ctx, m.size.nodes) })
	m.report("after restart")
}

func (m *meter) report(when string) {
	controller, operator := m.afterSettling()
	what := fmt.Sprintf("%s, %s: ", m.size.name, when)
	rss := float64(controller.rss) / 1024
	results.judge(sectionProcesses, what+"controller RSS (peak)", both(controller.usage), fmt.Sprintf("<= %d MiB", controllerTarget),
		ratio(rss/controllerTarget), rss <= controllerTarget)
	results.add(sectionProcesses, what+"controller CPU to sync, then", controller.processor(), "")
	above := float64(operator.rss-m.empty.rss) / 1024
	results.judge(sectionProcesses, what+"addon-operator above empty", fmt.Sprintf("%+.0f MiB", above), fmt.Sprintf("<= %+d MiB", operatorTarget),
		ratio(above/operatorTarget), above <= operatorTarget)
	results.add(sectionProcesses, what+"addon-operator RSS (peak)", both(operator.usage), "")
	results.add(sectionProcesses, what+"addon-operator CPU to sync, then", operator.processor(), "")
}

// seen is a process after it settled.
type seen struct {
	usage
	// until is its processor time until it had read the cluster, idle the share of one processor it took since.
	until time.Duration
	idle  float64
}

func (m *meter) afterSettling() (controller, operator seen) {
	m.t.Helper()
	pids := [2]int{m.controller().Process.PID, m.operatorPID()}
	var out [2]seen
	for i, pid := range pids {
		out[i].until = m.usage(pid).cpu
	}
	time.Sleep(settled)
	for i, pid := range pids {
		out[i].usage = m.usage(pid)
		out[i].idle = float64(out[i].cpu-out[i].until) / float64(settled)
	}
	require.Equal(m.t, pids[0], m.controller().Process.PID, "the controller was started anew meanwhile")
	m.t.Logf("%s: controller %+v, addon-operator %+v", m.name, out[0], out[1])
	return out[0], out[1]
}

func (s seen) processor() string {
	return fmt.Sprintf("%.1f s, %.1f%%", s.until.Seconds(), 100*s.idle)
}

func both(u usage) string { return fmt.Sprintf("%d (%d) MiB", u.rss/1024, u.peak/1024) }
