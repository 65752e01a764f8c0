// Package metrics serves what package tally counts, to whoever scrapes the controller. It computes at each scrape, from what
// informers hold, and asks the API server nothing.
package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claimstate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/tally"
)

// Collector is a prometheus.Collector of one configuration of the controller.
type Collector struct {
	// Client reads from a cache, which may hand out shared objects, and which must follow the kinds that are listed here.
	Client client.Reader
	// Claims returns the claims, or why they could not be read.
	Claims func() ([]*claimstate.Claim, error)
	Locate claimstate.Locate
	// Synced is true once every GPUNode was written: before, nothing is said, since half a cluster looks like an outage.
	Synced   func() bool
	Settings *settings.Settings
	Profiles *profile.Set
	Clock    clock.PassiveClock
	Log      logr.Logger
}

// timeToRead is given to the cache, which waits for kinds that it has not read yet: one that can't be read must not hold up a
// scrape, which has other metrics of the process to bring.
const timeToRead = 2 * time.Second

var descriptions = func() map[*tally.Metric]*prometheus.Desc {
	out := map[*tally.Metric]*prometheus.Desc{}
	for _, m := range tally.Metrics() {
		out[m] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	return out
}()

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range tally.Metrics() {
		out <- descriptions[m]
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	if !c.Synced() {
		return
	}
	in, err := c.input()
	if err != nil {
		c.Log.Error(err, "there are no metrics of the cluster in this scrape")
		return
	}
	for _, s := range tally.Count(in) {
		m, err := prometheus.NewConstMetric(descriptions[s.Metric], prometheus.GaugeValue, s.Value, s.Values...)
		if err != nil {
			// A label that is no text is no reason to end a process that other parts of the cluster rest on.
			c.Log.Error(err, "a sample is left out of this scrape", "metric", s.Metric.Name, "labels", fmt.Sprintf("%q", s.Values))
			continue
		}
		out <- m
	}
}

func (c *Collector) input() (tally.Input, error) {
	in := tally.Input{Locate: c.Locate, Settings: c.Settings, Profiles: c.Profiles, Now: c.Clock.Now()}
	nodes, groups, templates := &v1alpha1.GPUNodeList{}, &v1alpha1.GPUNodeGroupList{}, &v1alpha1.GPUClaimTemplateList{}
	stacks, classes := &v1alpha1.GPUStackList{}, &resourcev1.DeviceClassList{}
	ctx, cancel := context.WithTimeout(context.Background(), timeToRead)
	defer cancel()
	for _, list := range []client.ObjectList{nodes, groups, templates, stacks, classes} {
		if err := c.Client.List(ctx, list); err != nil {
			return in, err
		}
	}
	in.Nodes, in.Groups, in.Templates = nodes.Items, groups.Items, templates.Items
	for i := range stacks.Items {
		if stacks.Items[i].Name == v1alpha1.StackName {
			in.Stack = &stacks.Items[i]
		}
	}
	for i := range classes.Items {
		in.DeviceClasses = append(in.DeviceClasses, classes.Items[i].Name)
	}
	// That they can't be read is a condition of the GPUStack.
	claims, err := c.Claims()
	in.Claims, in.ClaimsKnown = claims, err == nil
	return in, nil
}
