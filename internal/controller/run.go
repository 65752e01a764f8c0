// Package controller is the process `gpu-dra controller`: it follows its configuration file, and while it leads it runs the
// controllers that keep GPUNodes, the GPUStack, ResourceClaimTemplates and, where no hooks run, GPUNodeGroups.
//
// A change of the configuration rebuilds the controllers within the process: profiles decide what informers keep of a slice,
// so they have to read the cluster anew; the lease, the probes and the metrics stay. (An exit would do the same by way of the
// kubelet, but after a few changes in a row its back-off would leave the cluster without a controller for minutes.)
package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gpu-dra/gpu-dra/internal/controller/configfile"
	"github.com/gpu-dra/gpu-dra/internal/controller/lease"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// leaseName is the name of the Lease object.
const leaseName = "gpu-dra-controller"

const (
	// notRead is why a controller that works is not ready at first.
	notRead = "the cluster was not read yet"
	// ending is why one that was told to end is not ready.
	ending = "the process is ending"
)

// Options of the process.
type Options struct {
	// ConfigFile is the path of the configuration (settings.ControllerConfig).
	ConfigFile string
	// LeaderElect lets one of several controllers work at a time.
	LeaderElect bool
	// MetricsAddress and ProbeAddress to listen on; "0" for neither.
	MetricsAddress, ProbeAddress string
	// WebhookAddress of the admission webhook; "0" for none.
	WebhookAddress string
	// Namespace of the Lease; empty: that of the configuration.
	Namespace string
	// Name of this process among those that want the lease.
	Name string
	// Version of gpu-dra.
	Version string
	// REST says where the API server is.
	REST *rest.Config
	Log  logr.Logger
}

// Run runs until ctx ends; then it returns nil. What is wrong with the configuration never ends it.
func Run(ctx context.Context, o Options) error {
	ctx = logr.NewContext(ctx, o.Log)
	p := &process{
		Options: o,
		config:  configfile.New(o.ConfigFile, settings.ParseControllerConfig),
		ready:   newReadiness("the configuration was not read yet"),
		admits:  newReadiness(""),
	}
	metrics, err := metricsserver.NewServer(metricsserver.Options{BindAddress: o.MetricsAddress}, nil, nil)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	ends := newReadiness("")
	defer context.AfterFunc(ctx, func() { ends.set(ending) })()
	parts := []func(context.Context) error{p.config.Start, p.lead}
	if metrics != nil {
		parts = append(parts, metrics.Start)
	}
	if p.servesWebhook() {
		p.admits.set("the webhook is not served yet")
		parts = append(parts, p.admit)
	}
	// Probes are answered until all else has ended: the webhook goes on for a while after ctx.
	last, endProbes := context.WithCancel(context.WithoutCancel(ctx))
	defer endProbes()
	if o.ProbeAddress != "0" {
		group.Go(func() error { return serveProbes(last, o.ProbeAddress, ends, p.ready, p.admits) })
	}
	var running sync.WaitGroup
	running.Add(len(parts))
	for _, part := range parts {
		group.Go(func() error {
			defer running.Done()
			return part(ctx)
		})
	}
	go func() {
		running.Wait()
		endProbes()
	}()
	return group.Wait()
}

// process is one controller process.
type process struct {
	Options
	config *configfile.Source[settings.ControllerConfig]
	// ready is the readiness of the controllers, admits that of the webhook.
	ready, admits *readiness
}

// servesWebhook tells whether API servers call this process.
func (p *process) servesWebhook() bool { return p.WebhookAddress != "" && p.WebhookAddress != "0" }

// begin sets the readiness of a process whose controllers begin to read the cluster. A rollout waits until they have. But one
// that serves the webhook is as ready as the webhook is, leader or not: otherwise its Service would drop a webhook that works for
// as long as the cluster is read, and pods would go without the sidecar.
func (p *process) begin() {
	reason := notRead
	if p.servesWebhook() {
		reason = ""
	}
	p.ready.set(reason)
}

// lead waits for the first good configuration, then for the lease, and works while it has it.
func (p *process) lead(ctx context.Context) error {
	first := p.firstConfig(ctx)
	if first == nil {
		return nil
	}
	if !p.LeaderElect {
		p.begin()
		return p.work(ctx)
	}
	client, err := lease.Client(p.REST, lease.Usual)
	if err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	l := lease.Lease{Namespace: p.Namespace, Name: leaseName, Identity: fmt.Sprintf("%s_%s", p.Name, uuid.NewUUID()), Timing: lease.Usual, Client: client}
	if l.Namespace == "" {
		l.Namespace = first.Namespace
	}
	// One that stands by is as ready as it will be.
	p.ready.set("")
	return l.Hold(ctx, func(ctx context.Context) error {
		p.begin()
		defer p.ready.set("")
		return p.work(ctx)
	})
}

// firstConfig returns the first configuration that is good, nil when ctx ended before there was one.
func (p *process) firstConfig(ctx context.Context) *settings.ControllerConfig {
	for {
		state, changed := p.config.State()
		if state.Good != nil {
			return state.Good
		}
		if state.Err != nil {
			p.Log.Error(state.Err, "there is no configuration to work with; waiting for a good one", "file", p.ConfigFile)
			p.ready.set("the configuration cannot be read: " + state.Err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

const (
	// firstPause and longestPause between attempts to run controllers that ended by themselves.
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// work runs the controllers of one good configuration after the other.
func (p *process) work(ctx context.Context) error {
	p.Log.Info("working")
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := p.cycle(ctx)
		if errors.Is(err, errStuck) {
			return err
		}
		if err == nil {
			pause = firstPause
			continue
		}
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		p.Log.Error(err, "the controllers ended; they are started again", "in", pause.String())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
	return nil
}

// errStuck says that controllers did not end when told to. The process must then end, or two generations of them would work
// against each other.
var errStuck = errors.New("the controllers of the last configuration did not end in time")

// cycle runs the controllers of the present good configuration until there is another one, ctx ends or they fail.
func (p *process) cycle(ctx context.Context) error {
	state, changed := p.config.State()
	c, err := newCycle(p, state.Good)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.run(running) }()
	for {
		select {
		case err := <-ended:
			return err
		case <-changed:
		}
		before := state
		state, changed = p.config.State()
		if state.Err != nil {
			p.Log.Error(state.Err, "the changed configuration cannot be read; the last good one stays in force", "file", p.ConfigFile)
		}
		if state.Good == before.Good {
			c.poke()
			continue
		}
		p.Log.Info("the configuration changed")
		stop()
		return <-ended
	}
}
