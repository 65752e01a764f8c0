package supervisor

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

const (
	// Name is the supervisor's name in the record and in `cluster status`.
	Name = "controller-supervisor"
	// Controller is the name of the process it runs.
	Controller = "controller"

	// listeners is how many ports are set aside: metrics, health, webhook, and some room.
	listeners = 6
)

// Control starts and ends the supervisor of one cluster.
type Control struct {
	Cluster *controlplane.Cluster
	// Self is this program, which is the supervisor's too.
	Self string
}

// Paths are where the supervisor of the cluster keeps its files.
func (c *Control) Paths() Paths {
	return Paths{Root: c.Cluster.Dir.Data(Controller), Log: c.Cluster.Dir.Log(Controller)}
}

// Start starts the supervisor with the arguments of `cluster controller run`.
func (c *Control) Start(ctx context.Context, args []string) error {
	return c.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		if p := record.Processes[Name]; p.Alive() {
			return fmt.Errorf("the controller is supervised already by process %d (%s): take `cluster controller restart` or stop it first",
				p.PID, strings.Join(p.Args, " "))
		}
		return c.start(ctx, record, args)
	})
}

func (c *Control) start(ctx context.Context, record *state.Cluster, args []string) error {
	// A controller whose supervisor was killed would go on beside the new one.
	if _, err := process.KillMarked(record.Mark(Controller)); err != nil {
		return err
	}
	if err := c.Cluster.AddPorts(ctx, record, portNames()); err != nil {
		return err
	}
	return c.Cluster.Run(record, Name, state.Process{Binary: c.Self, Args: append([]string{"cluster"}, args...),
		Env: []string{"GPU_DRA_CLUSTERS_DIR=" + filepath.Dir(string(c.Cluster.Dir))}})
}

// Restart ends supervisor and controller gracefully and starts them with the same arguments.
func (c *Control) Restart(ctx context.Context) error {
	return c.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		p, ok := record.Processes[Name]
		if !ok {
			return fmt.Errorf("cluster %s runs no controller: start it with `cluster controller start --binary PATH`", record.Name)
		}
		if err := p.Stop(stopGrace + 5*time.Second); err != nil {
			return err
		}
		return c.start(ctx, record, p.Args[1:])
	})
}

// Stop ends supervisor and controller gracefully and forgets them.
func (c *Control) Stop(ctx context.Context) error {
	return c.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		if err := record.Processes[Name].Stop(stopGrace + 5*time.Second); err != nil {
			return err
		}
		if _, err := process.KillMarked(record.Mark(Controller)); err != nil {
			return err
		}
		delete(record.Processes, Name)
		return record.Save(c.Cluster.Dir)
	})
}

// Kill ends the controller with SIGKILL. Its supervisor starts it again, as a kubelet
// would, unless it is killed as well.
func (c *Control) Kill(ctx context.Context, supervisorToo bool) error {
	return c.Cluster.EditRunning(ctx, func(record *state.Cluster) error {
		if supervisorToo {
			if err := record.Processes[Name].Kill(); err != nil {
				return err
			}
		}
		killed, err := process.KillMarked(record.Mark(Controller))
		if err == nil && killed == 0 && !supervisorToo {
			return fmt.Errorf("cluster %s: no controller runs now: `cluster controller status` tells why", record.Name)
		}
		return err
	})
}

// New makes the supervisor that `cluster controller run` is.
func (c *Control) New(namespace, deployment, binary string, say func(string, ...any)) (*Supervisor, error) {
	record, err := c.Cluster.Record()
	if err != nil {
		return nil, err
	}
	client, err := c.Cluster.Client()
	if err != nil {
		return nil, err
	}
	s := &Supervisor{Client: client, Namespace: namespace, Deployment: deployment, Binary: binary, Paths: c.Paths(),
		Mark: record.Mark(Controller), Say: say,
		Server: kubeconfig.Server{Name: "gpu-dra-" + record.Name, URL: component.APIServerURL(record.Ports), CAFile: c.Cluster.Dir.Cert(pki.CA)}}
	for _, name := range portNames() {
		s.Ports = append(s.Ports, record.Ports[name])
	}
	return s, nil
}

func portNames() []string {
	var names []string
	for i := range listeners {
		names = append(names, component.PortName(Controller, fmt.Sprint(i)))
	}
	return names
}
