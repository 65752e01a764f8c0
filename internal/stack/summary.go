package stack

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// maxDrivers is the width of the column Drivers: with it a line of `kubectl get gpustack` stays under 100 characters.
const maxDrivers = 18

// summary fills the printed columns. Devices are physical cards, on nodes of listed groups and in shared pools, each once.
func summary(prev v1alpha1.StackSummary, in Input, s v1alpha1.GPUStackStatus) v1alpha1.StackSummary {
	if !in.Synced && prev.Nodes != "" {
		return prev
	}
	var registered, expected, cards int32
	for _, n := range in.Nodes {
		if len(n.Status.Groups) == 0 {
			continue
		}
		for _, d := range n.Status.Drivers {
			if d.Accelerator {
				cards += d.Devices.Physical
			}
		}
		if n.Status.Passive || n.Status.Terminating {
			continue
		}
		expected++
		if c := condition.Find(n.Status.Conditions, condition.Registered); c != nil && c.Status == metav1.ConditionTrue {
			registered++
		}
	}
	for _, p := range s.SharedPools {
		if _, ok := in.Profiles.ByDriver(p.Driver); ok {
			cards += p.Devices.Physical
		}
	}
	return v1alpha1.StackSummary{
		Drivers: drivers(prev, in),
		Nodes:   fmt.Sprintf("%d/%d", registered, expected),
		Devices: fmt.Sprint(cards),
	}
}

// drivers are the profiles that the settings list, as many as fit.
func drivers(prev v1alpha1.StackSummary, in Input) string {
	if in.Settings == nil {
		return prev.Drivers
	}
	var names []string
	for _, g := range in.Settings.NodeGroups {
		names = append(names, g.Drivers...)
	}
	names = sortedSet(names)
	for shown := len(names); shown > 0; shown-- {
		text := strings.Join(names[:shown], ",")
		if rest := len(names) - shown; rest > 0 {
			text += fmt.Sprintf(",+%d", rest)
		}
		if len(text) <= maxDrivers {
			return text
		}
	}
	if len(names) > 0 {
		return fmt.Sprintf("%d drivers", len(names))
	}
	return ""
}
