package nodes

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Groups finds the listed node groups of a node.
type Groups struct {
	list []selected
}

type selected struct {
	settings.NodeGroup
	selector labels.Selector
}

// NewGroups prepares the groups of the settings. A group without a selector, or with one that is none, selects no node; its
// GPUNodeGroup says so.
func NewGroups(groups []settings.NodeGroup, d profile.Distribution) Groups {
	var out Groups
	for _, g := range groups {
		by, ok := g.Selector(d)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(&by)
		if err != nil {
			continue
		}
		out.list = append(out.list, selected{NodeGroup: g, selector: selector})
	}
	return out
}

// Of returns the groups that select a node with these labels.
func (g Groups) Of(nodeLabels map[string]string) []settings.NodeGroup {
	var out []settings.NodeGroup
	for _, s := range g.list {
		if s.selector.Matches(labels.Set(nodeLabels)) {
			out = append(out, s.NodeGroup)
		}
	}
	return out
}
