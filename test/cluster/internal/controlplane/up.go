package controlplane

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/audit"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/fakenodes"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/standin"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// Fits returns the options to bring the cluster up with: those of a cluster that is up
// already, as long as asked is false, since then options are only the defaults. Asking for
// others than it has is an error.
func (c *Cluster) Fits(options state.Options, asked bool) (state.Options, error) {
	record, err := state.Load(c.Dir)
	if err != nil || record == nil || record.Phase != state.Running {
		return options, err
	}
	if asked && !reflect.DeepEqual(record.Options, options) {
		return options, fmt.Errorf("cluster %s is up with other options (Kubernetes v%s, %v; `cluster status --output json` shows all): "+
			"take it down with `cluster down --name %s` first", c.Name, record.Options.Kubernetes, record.Options.Components, c.Name)
	}
	return record.Options, nil
}

// Up brings the cluster up, or what has died of a cluster that was up.
func (c *Cluster) Up(ctx context.Context, options state.Options) error {
	return c.Edit(ctx, func(record *state.Cluster) error {
		if record != nil && record.Phase == state.Running {
			return c.revive(ctx, record)
		}
		if record != nil {
			c.report.Say("cluster %s: its start was interrupted, it starts anew", c.Name)
		}
		if err := c.remove(record); err != nil {
			return err
		}
		return c.create(ctx, options)
	})
}

func (c *Cluster) create(ctx context.Context, options state.Options) (err error) {
	record := state.New(c.Name, options)
	if err := record.Save(c.Dir); err != nil {
		return err
	}
	defer func() {
		// Whoever presses Ctrl-C or meets an error finds the machine as it was, except
		// that an error leaves the logs to read.
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			err = errors.Join(err, c.remove(record))
			return
		}
		err = errors.Join(err, endAll(record))
	}()
	kinds, err := component.Select(options.Components)
	if err != nil {
		return err
	}
	if err := c.AddPorts(ctx, record, component.PortNames(kinds)); err != nil {
		return err
	}
	if options.RealNodes > 0 {
		if err := c.reserveNode(ctx, record); err != nil {
			return err
		}
	}
	if err := c.writeIdentities(record); err != nil {
		return err
	}
	if err := audit.Write(c.Dir); err != nil {
		return err
	}
	if err := fakenodes.Write(c.Dir, options.Kubernetes); err != nil {
		return err
	}
	if err := c.startAll(ctx, record, kinds); err != nil {
		return err
	}
	if err := c.settle(ctx, record); err != nil {
		return err
	}
	if err := c.startNode(ctx, record); err != nil {
		return err
	}
	record.Phase = state.Running
	return record.Save(c.Dir)
}

// startAll starts what does not run. Components that need nothing of each other start
// together.
func (c *Cluster) startAll(ctx context.Context, record *state.Cluster, kinds []component.Kind) error {
	var pending []component.Kind
	await := func() error {
		for _, kind := range pending {
			if err := c.awaitReady(ctx, record, kind); err != nil {
				return err
			}
		}
		pending = nil
		return nil
	}
	for _, kind := range kinds {
		if record.Processes[kind.Name].Alive() {
			continue
		}
		for _, waiting := range pending {
			if needs(kind, waiting) {
				if err := await(); err != nil {
					return err
				}
				break
			}
		}
		if err := c.start(record, kind); err != nil {
			return err
		}
		pending = append(pending, kind)
	}
	return await()
}

func needs(kind, other component.Kind) bool {
	for _, name := range kind.Needs {
		if name == other.Name {
			return true
		}
	}
	return false
}

func (c *Cluster) revive(ctx context.Context, record *state.Cluster) error {
	kinds, err := component.Select(record.Options.Components)
	if err != nil {
		return err
	}
	dead := 0
	for _, kind := range kinds {
		if !record.Processes[kind.Name].Alive() {
			c.report.Say("cluster %s: %s does not run, it is started again", c.Name, kind.Name)
			dead++
		}
	}
	if record.Node != nil && !record.Processes[NodeProcess].Alive() {
		c.report.Say("cluster %s: the real node does not run, it is started again", c.Name)
		dead++
	}
	if dead == 0 {
		c.report.Say("cluster %s is up already (Kubernetes v%s)", c.Name, record.Options.Kubernetes)
		return nil
	}
	if err := c.startAll(ctx, record, kinds); err != nil {
		return err
	}
	if err := c.settle(ctx, record); err != nil {
		return err
	}
	return c.startNode(ctx, record)
}

// writeIdentities makes the certificates and the kubeconfigs that use them.
func (c *Cluster) writeIdentities(record *state.Cluster) error {
	step := c.report.Start("certificates", nil)
	if err := pki.Generate(c.Dir.PKI(), nodeIdentity(record)); err != nil {
		return err
	}
	server := kubeconfig.Server{Name: "gpu-dra-" + c.Name, URL: component.APIServerURL(record.Ports), CAFile: c.Dir.Cert(pki.CA)}
	for _, identity := range []string{pki.Admin, pki.Controllers, pki.Scheduler, pki.FakeKubelet} {
		if err := kubeconfig.WithCertificate(c.Dir.Kubeconfig(identity), server, c.Dir.Cert(identity), c.Dir.Key(identity)); err != nil {
			return err
		}
	}
	step.Done("made")
	return nil
}

// settle waits for what a user of a fresh cluster would trip over, and publishes the
// stand-ins.
func (c *Cluster) settle(ctx context.Context, record *state.Cluster) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	if _, ok := record.Processes[component.ControllerManager]; ok {
		if err := c.awaitServiceAccount(ctx, client); err != nil {
			return err
		}
	}
	if _, ok := record.Processes[component.Kwok]; !ok || !record.Options.ControlPlanePods {
		return nil
	}
	step := c.report.Start("control-plane Pods (stand-ins)", nil)
	if err := standin.Publish(ctx, client, controlPlane(record)); err != nil {
		step.Done("failed")
		return err
	}
	step.Done("published")
	return nil
}

// awaitServiceAccount waits for the one that a Pod without a word about it uses: until it
// is there Pods are refused.
func (c *Cluster) awaitServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	step := c.report.Start("ServiceAccount default/default", nil)
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyLimit, true, func(ctx context.Context) (bool, error) {
		_, last = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return last == nil, nil
	})
	if err != nil {
		step.Done("failed")
		return fmt.Errorf("the ServiceAccount default/default was not made by kube-controller-manager, see %s: %w (%w)",
			c.Dir.Log(component.ControllerManager), err, last)
	}
	step.Done("there")
	return nil
}

func controlPlane(record *state.Cluster) []standin.Component {
	var components []standin.Component
	for _, kind := range component.Kinds {
		if p, ok := record.Processes[kind.Name]; ok && kind.ControlPlane {
			components = append(components, standin.Component{Name: kind.Name, Version: p.Version, Args: p.Args})
		}
	}
	return components
}
