//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// memory is what the kubelet says its node has.
type memory struct{ capacity, allocatable, hugepages int64 }

func (n *realNode) memory(t *testing.T) memory {
	t.Helper()
	var node corev1.Node
	require.NoError(t, n.r.client.Get(t.Context(), client.ObjectKey{Name: n.Name}, &node))
	m := memory{capacity: node.Status.Capacity.Memory().Value(), allocatable: node.Status.Allocatable.Memory().Value()}
	for name, amount := range node.Status.Capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			m.hugepages += amount.Value()
		}
	}
	return m
}

// usage is what the kubelet sees of the node's memory, in bytes: it evicts by the first figure.
type usage struct{ available, workingSet int64 }

func (n *realNode) usage(ctx context.Context) (usage, error) {
	text, err := n.r.get(ctx, n.r.config.Host, "/api/v1/nodes/"+n.Name+"/proxy/stats/summary?only_cpu_and_memory=true")
	if err != nil {
		return usage{}, err
	}
	var summary struct {
		Node struct {
			Memory struct{ AvailableBytes, WorkingSetBytes int64 }
		}
	}
	if err := json.Unmarshal([]byte(text), &summary); err != nil {
		return usage{}, err
	}
	u := usage{summary.Node.Memory.AvailableBytes, summary.Node.Memory.WorkingSetBytes}
	if u.available == 0 || u.workingSet == 0 {
		return usage{}, fmt.Errorf("the kubelet has no figures of memory yet: %+v", u)
	}
	return u, nil
}

// pressed says whether the kubelet reports that memory is short.
func (n *realNode) pressed(ctx context.Context) (bool, error) {
	var node corev1.Node
	if err := n.r.client.Get(ctx, client.ObjectKey{Name: n.Name}, &node); err != nil {
		return false, err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeMemoryPressure {
			return c.Status == corev1.ConditionTrue, nil
		}
	}
	return false, fmt.Errorf("node %s has no condition MemoryPressure: %+v", n.Name, node.Status.Conditions)
}

// configureEviction restarts the kubelet with the thresholds of a platform and a reservation in bytes, and with a feature gate that
// planReadsGates looks for.
func (n *realNode) configureEviction(t *testing.T, spec profile.KubeletMemory, reserved int64) {
	t.Helper()
	dropIn, err := yaml.Marshal(tree{
		"apiVersion":                       "kubelet.config.k8s.io/v1beta1",
		"kind":                             "KubeletConfiguration",
		"featureGates":                     map[string]bool{"DRAExtendedResource": true},
		"systemReserved":                   map[string]string{"memory": strconv.FormatInt(reserved/mebi, 10) + "Mi"},
		"evictionSoft":                     map[string]string{"memory.available": spec.EvictionSoft},
		"evictionSoftGracePeriod":          map[string]string{"memory.available": "5s"},
		"evictionPressureTransitionPeriod": "30s",
	})
	require.NoError(t, err)
	before := n.memory(t)
	hard := resource.MustParse(spec.EvictionHard)
	n.r.cluster("node", "restart-kubelet", "--drop-in", n.r.file("50-gpu-dra.conf", string(dropIn)))
	n.r.eventually("kubelet has its thresholds", 60*time.Second, func(ctx context.Context) error {
		if now, want := n.memory(t).allocatable, before.capacity-reserved-hard.Value()-before.hugepages; now != want {
			return fmt.Errorf("allocatable is %d, wanted %d", now, want)
		}
		u, err := n.usage(ctx)
		if err == nil && u.available+u.workingSet != before.capacity {
			err = fmt.Errorf("%d available and %d in use are not the capacity %d", u.available, u.workingSet, before.capacity)
		}
		return err
	})
}
