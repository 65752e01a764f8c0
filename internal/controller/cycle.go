package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/controller/groups"
	"github.com/gpu-dra/gpu-dra/internal/controller/metrics"
	"github.com/gpu-dra/gpu-dra/internal/controller/nodes"
	"github.com/gpu-dra/gpu-dra/internal/controller/observe"
	"github.com/gpu-dra/gpu-dra/internal/controller/stacks"
	"github.com/gpu-dra/gpu-dra/internal/controller/templates"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const (
	// Requests per second, and at once. A fleet that boots needs three for each node; a fault in a loop is stopped by it
	// before the API server's own fair queues have to.
	requestsPerSecond = 200
	requestsAtOnce    = 400
	// timeToEnd is given to controllers that are told to.
	timeToEnd = 15 * time.Second
	// timeToSync is given to informers. Reading hundreds of thousands of devices over a slow line takes its time.
	timeToSync = 5 * time.Minute
	// timeToAnswer is given to the API server where nothing else limits it.
	timeToAnswer = 10 * time.Second
)

// cycle is the controllers of one configuration.
type cycle struct {
	*process
	settings *settings.ControllerConfig
	hash     string
	profiles *profile.Set
	problems []settings.Problem

	rest   *rest.Config
	mgr    manager.Manager
	slices *observe.Slices
	claims *observe.Claims
	pods   *observe.ControlPlane
	pass   *nodes.Pass
	pokes  chan struct{}
}

func newCycle(p *process, config *settings.ControllerConfig) (*cycle, error) {
	c := &cycle{process: p, settings: config, hash: settings.Hash(config.Settings), pass: nodes.NewPass(), pokes: make(chan struct{}, 1)}
	c.profiles, c.problems = config.Profiles()
	c.problems = append(c.problems, settings.Problems(config.Settings, c.profiles, config.Distribution)...)
	c.rest = rest.CopyConfig(p.REST)
	c.rest.UserAgent = "gpu-dra-controller/" + p.Version
	c.rest.QPS, c.rest.Burst = requestsPerSecond, requestsAtOnce
	for _, make := range []func() error{c.makeManager, c.makeInformers} {
		if err := make(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *cycle) makeManager() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, resourcev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	c.mgr, err = manager.New(c.rest, manager.Options{
		Scheme: scheme,
		Logger: c.Log,
		Cache:  observe.CacheOptions(c.settings.Namespace, c.profiles.All()),
		// The process has these for all cycles.
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: ptr.To(timeToEnd),
		Controller: controllerconfig.Controller{
			CacheSyncTimeout: timeToSync,
			// The next cycle has controllers of the same names.
			SkipNameValidation: ptr.To(true),
		},
	})
	return err
}

// makeInformers adds the informers that the manager's cache could not be.
func (c *cycle) makeInformers() error {
	config := rest.CopyConfig(c.rest)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	resources, err := resourceclient.NewForConfig(config)
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	if c.slices, err = observe.NewSlices(resources.ResourceSlices(), c.profiles); err != nil {
		return err
	}
	if c.pods, err = observe.NewControlPlane(core, c.settings.Distribution.ControlPlanePods); err != nil {
		return err
	}
	if c.claims, err = observe.NewClaims(resources, c.slices); err != nil {
		return err
	}
	return errors.Join(c.mgr.Add(c.slices), c.mgr.Add(c.pods), c.mgr.Add(c.claims))
}

// run runs the controllers until ctx ends.
func (c *cycle) run(ctx context.Context) error {
	if err := c.setup(ctx); err != nil {
		return err
	}
	if err := c.mgr.Add(manager.RunnableFunc(c.announce)); err != nil {
		return err
	}
	collector := c.collector()
	if err := ctrlmetrics.Registry.Register(collector); err != nil {
		return fmt.Errorf("metrics of the cluster: %w", err)
	}
	// The next cycle has one of its own.
	defer ctrlmetrics.Registry.Unregister(collector)
	err := c.mgr.Start(ctx)
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("%w: %w", errStuck, err)
	}
	return err
}

func (c *cycle) collector() *metrics.Collector {
	return &metrics.Collector{
		Client: c.mgr.GetClient(), Claims: c.claims.All, Locate: c.slices.Locate, Synced: c.pass.Over,
		Settings: c.settings.Settings, Profiles: c.profiles, Clock: clock.RealClock{}, Log: c.Log,
	}
}

// announce tells all who wait when the cluster was read.
func (c *cycle) announce(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-c.pass.Complete():
		c.Log.Info("the cluster was read", "settings", c.hash)
		c.ready.set("")
		c.poke()
	}
	return nil
}

// poke is one more reason to look at the GPUStack.
func (c *cycle) poke() {
	select {
	case c.pokes <- struct{}{}:
	default:
	}
}

func (c *cycle) setup(ctx context.Context) error {
	clock := clock.RealClock{}
	s, d := c.settings.Settings, c.settings.Distribution
	names := make([]string, len(s.NodeGroups))
	for i, g := range s.NodeGroups {
		names[i] = g.Name
	}
	answering := rest.CopyConfig(c.rest)
	answering.Timeout = timeToAnswer
	asking, err := discovery.NewDiscoveryClientForConfig(answering)
	if err != nil {
		return err
	}
	live := c.mgr.GetAPIReader()
	err = errors.Join(
		nodes.Setup(ctx, c.mgr, &nodes.Reconciler{
			Client: c.mgr.GetClient(), Inventory: c.slices, Allocated: c.claims.Allocated, Groups: nodes.NewGroups(s.NodeGroups, d), Namespace: c.settings.Namespace,
			Distribution: d, Profiles: c.profiles, Clock: clock, Pass: c.pass,
		}, c.slices, c.claims),
		stacks.Setup(c.mgr, &stacks.Reconciler{
			Client:   c.mgr.GetClient(),
			Local:    stacks.Local{ClusterWide: c.slices.ClusterWide, ControlPlane: c.pods.Pods, Claims: c.claims.Unreadable},
			Remote:   &stacks.Remote{Discovery: asking, Reader: live, Clock: clock, Groups: names, Distribution: d, Profiles: c.profiles},
			Metrics:  &stacks.Metrics{REST: asking.RESTClient(), Clock: clock},
			Settings: s, SettingsHash: c.hash, Problems: c.problems, Unreadable: c.unreadable, UnderHooks: c.settings.UnderHooks,
			Distribution: d, Profiles: c.profiles, Synced: c.pass.Over, Version: c.Version, Clock: clock,
		}, c.slices, c.pods, c.pokes),
		templates.Setup(c.mgr, &templates.Reconciler{
			Client: c.mgr.GetClient(), Live: live, Settings: s, Profiles: c.profiles, Clock: clock, Synced: c.pass.Over,
		}, c.pass.Complete()),
	)
	if err != nil {
		return err
	}
	if c.settings.UnderHooks {
		// A hook writes GPUNodeGroups; metrics tell of them all the same.
		_, err := c.mgr.GetCache().GetInformer(ctx, &v1alpha1.GPUNodeGroup{}, cache.BlockUntilSynced(false))
		return err
	}
	return groups.Setup(c.mgr, &groups.Reconciler{
		Client: c.mgr.GetClient(), Live: live, Groups: s.NodeGroups, MemoryReservation: s.MemoryReservation, SettingsHash: c.hash, Distribution: d, Profiles: c.profiles, Clock: clock,
	})
}

// unreadable says why the present configuration is not the one in force.
func (c *cycle) unreadable() string {
	state, _ := c.config.State()
	if state.Err == nil {
		return ""
	}
	return state.Err.Error()
}
