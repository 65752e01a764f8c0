//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

const dynamicPartitions = "nodeGroups:\n- name: gpu-inline\n  drivers: [nvidia]\n  partitioning: Dynamic\n"

// Possible partitions of a card, as a driver publishes them on Kubernetes 1.34. With the gates that Deckhouse sets they are
// parts of cards; with the gates as they are by default the API server drops the counters, and gpu-dra says what is wrong.
func TestDynamicPartitions(t *testing.T) {
	t.Parallel()
	start := func(suffix string, args ...string) *rig {
		r := upNamed(t, suffix, args...)
		r.addNode("inline", "gpu-inline")
		r.apply("internal/inventory/testdata/dynamic-mig-inline.yaml")
		r.startOperator(dynamicPartitions)
		r.startController()
		return r
	}
	with := start("-gates", "--deckhouse-gates")
	with.eventually("gates on: registered", 90*time.Second, with.nodeIs("inline", condition.Registered, "True"))
	with.eventually("gates on: cards and their parts", 30*time.Second, func(ctx context.Context) error {
		n, err := with.node(ctx, "inline")
		if err != nil {
			return err
		}
		if got := n.Summary.Devices; got != "2 (1 whole, 3 parts)" {
			return fmt.Errorf("devices are %s: %+v", got, n.Drivers)
		}
		return is(n.Conditions, condition.DevicesHealthy, "True")
	})
	with.eventually("gates on: consistent", 30*time.Second, with.stackIs(condition.FeatureGatesConsistent, "True", condition.StackGatesOn))

	without := start("-default")
	without.eventually("gates off: the needed gate is named", 90*time.Second, without.stackIs(condition.FeatureGatesConsistent, "False", condition.StackGatesOff))
	without.eventually("gates off: a card is given out twice", 30*time.Second, without.nodeIs("inline", condition.DevicesHealthy, "False", condition.NodePublishedTwice))
}
