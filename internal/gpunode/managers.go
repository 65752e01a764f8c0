package gpunode

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func soleManager(in Input, s v1alpha1.GPUNodeStatus) metav1.Condition {
	var evidence []string
	for _, m := range s.Managers {
		evidence = append(evidence, fmt.Sprintf("%s (%s)", m.Name, m.Evidence))
	}
	if foreign := foreignDrivers(in, s); len(foreign) > 0 {
		evidence = append(evidence, fmt.Sprintf("the slices of driver %s come from another installation: no pod of gpu-dra's runs it here", strings.Join(foreign, ", ")))
	}
	leave := "set the node label " + v1alpha1.LabelPassive + "=true"
	bad := func(r, next string) metav1.Condition {
		return condition.New(condition.SoleManager, metav1.ConditionFalse, r, strings.Join(evidence, ", ")+"; "+next)
	}
	switch {
	case len(evidence) == 0:
		return condition.New(condition.SoleManager, metav1.ConditionTrue, condition.NodeSoleManager, "")
	case len(s.PluginResources) > 0:
		return bad(condition.NodeDevicePlugin, "a device may be given out twice: take the device plugin off this node, or "+leave)
	case len(s.Managers) > 0:
		return bad(condition.NodeOtherManager, "remove it from this node, or "+leave)
	}
	return bad(condition.NodeForeignDriver, "take that installation off this node, or leave the node to it and "+leave)
}

// foreignDrivers are drivers that gpu-dra is to run here and whose slices are here without a pod of ours. One that has just
// gone may have left them. On a node that is on its way out pods go first, and a dead kubelet wipes no slices.
func foreignDrivers(in Input, s v1alpha1.GPUNodeStatus) []string {
	if s.Terminating {
		return nil
	}
	var out []string
	for _, d := range s.Drivers {
		if d.Pod == nil && d.PodGoneSince == nil && hasPublished(d) && deployed(in, s, d) {
			out = append(out, d.Name)
		}
	}
	return out
}
