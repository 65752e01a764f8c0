package addonoperator

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/ports"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/probe"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/progress"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

const (
	// Namespace is addon-operator's own: its ConfigMap and its Helm releases are there. The
	// module's chart makes the namespace of its objects itself.
	Namespace = "addon-operator"
	// ConfigMap holds the settings of modules, in the place of ModuleConfigs.
	ConfigMap = "addon-operator"

	metricsPort = "metrics"
	stopGrace   = 10 * time.Second
)

// Operator is the addon-operator of one cluster.
type Operator struct {
	Cluster *controlplane.Cluster
	Binary  controlplane.Binary
	Report  *progress.Reporter
}

// Options say how it is started.
type Options struct {
	// Module is the folder that is copied.
	Module string
	// Settings is the file with the module's settings; "" keeps those that are there.
	Settings       string
	EnabledModules []string
	LogLevel       string
	// Extra are further flags of `addon-operator start`.
	Extra []string
}

// Start prepares everything and starts the process. One that runs is an error: it would
// be unclear which module is meant.
func (o *Operator) Start(ctx context.Context, options Options) error {
	return o.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		if p := record.Processes[Name]; p.Alive() {
			return fmt.Errorf("addon-operator runs already as process %d: stop it, or take `cluster operator restart --module DIR`", p.PID)
		}
		if err := foldersOf(o.Cluster.Dir).writeModules(options.Module, options.EnabledModules); err != nil {
			return err
		}
		if err := o.ensureSettings(ctx, options.Settings); err != nil {
			return err
		}
		if err := o.Cluster.AddPorts(ctx, record, []string{component.PortName(Name, metricsPort)}); err != nil {
			return err
		}
		return o.Cluster.Run(record, Name, o.process(record, options))
	})
}

func (o *Operator) process(record *state.Cluster, options Options) state.Process {
	f := foldersOf(o.Cluster.Dir)
	kubeconfig := o.Cluster.Kubeconfig()
	args := []string{Name, "start",
		"--modules-dir=" + f.modules(),
		"--global-hooks-dir=" + f.globalHooks(),
		"--tmp-dir=" + f.temporary(),
		"--namespace=" + Namespace,
		"--config-map=" + ConfigMap,
		"--kube-config=" + kubeconfig,
		"--log-level=" + options.LogLevel,
		// The default is every interface.
		"--prometheus-listen-address=127.0.0.1",
		"--prometheus-listen-port=" + strconv.Itoa(record.Ports[component.PortName(Name, metricsPort)]),
		// Relative: the path of a socket may have no more than 107 bytes.
		"--debug-unix-socket=" + socket,
	}
	return state.Process{Binary: o.Binary.Path, Version: o.Binary.Version, Dir: f.root,
		Args: append(args, options.Extra...),
		// Its Helm client and the hooks read these and not the flags.
		Env: []string{"KUBECONFIG=" + kubeconfig, "ADDON_OPERATOR_NAMESPACE=" + Namespace}}
}

// Restart ends the process, if it runs, and starts it as it was; module, if not "", is
// copied anew before.
func (o *Operator) Restart(ctx context.Context, module string, enabledModules []string) error {
	return o.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		p, err := recorded(record)
		if err != nil {
			return err
		}
		if err := end(record, p, stopGrace); err != nil {
			return err
		}
		if module != "" {
			if err := foldersOf(o.Cluster.Dir).writeModules(module, enabledModules); err != nil {
				return err
			}
		}
		p.Binary, p.Version = o.Binary.Path, o.Binary.Version
		return o.Cluster.Run(record, Name, p)
	})
}

// Stop ends the process and forgets it; its objects in the cluster stay.
func (o *Operator) Stop(ctx context.Context) error {
	return o.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		p, ok := record.Processes[Name]
		if !ok {
			o.Report.Say("cluster %s: addon-operator does not run", o.Cluster.Name)
			return nil
		}
		if err := end(record, p, stopGrace); err != nil {
			return err
		}
		delete(record.Processes, Name)
		return record.Save(o.Cluster.Dir)
	})
}

// end takes the hooks along, which run in sessions of their own.
func end(record *state.Cluster, p state.Process, grace time.Duration) error {
	if err := p.Stop(grace); err != nil {
		return err
	}
	_, err := process.KillMarked(record.Mark(Name))
	return err
}

func recorded(record *state.Cluster) (state.Process, error) {
	p, ok := record.Processes[Name]
	if !ok {
		return p, fmt.Errorf("cluster %s has no addon-operator: start it with `cluster operator start --module DIR`", record.Name)
	}
	return p, nil
}

// Await waits until the first converge is done: every hook has run and the chart is
// installed.
func (o *Operator) Await(ctx context.Context, limit time.Duration) error {
	record, err := o.Cluster.Record()
	if err != nil {
		return err
	}
	p, err := recorded(record)
	if err != nil {
		return err
	}
	step := o.Report.Start("addon-operator, first converge", nil)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := probe.Wait(bounded, component.Probe{URL: Endpoint(record) + "/readyz"}, p.Alive); err != nil {
		step.Done("failed")
		queue, queueErr := o.Queue(ctx)
		if queueErr != nil {
			queue = []byte(queueErr.Error())
		}
		return fmt.Errorf("addon-operator did not converge: %w\nits queue:\n%s\nits log is %s", err, queue, p.Log)
	}
	step.Done("done")
	return nil
}

// Endpoint is where metrics and readiness are served.
func Endpoint(record *state.Cluster) string {
	return "http://" + ports.Address(record.Ports[component.PortName(Name, metricsPort)])
}

// ModuleCopy is the folder in which the running module lies.
func (o *Operator) ModuleCopy() string {
	return filepath.Join(foldersOf(o.Cluster.Dir).modules(), moduleFolder)
}

// DefaultEnabledModules is the list for global.enabledModules when nobody gives one.
func DefaultEnabledModules() []string { return []string{Module} }
