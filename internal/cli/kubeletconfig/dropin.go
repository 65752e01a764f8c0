package kubeletconfig

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

// configuration holds the fields of kubelet.config.k8s.io/v1beta1 that are printed. The kubelet merges drop-ins as JSON merge
// patches (mergeKubeletConfigurations in cmd/kubelet/app/server.go): what else systemReserved holds stays, and the list
// reservedMemory is replaced. Flags are read again after that, and theirs replace the whole of a field.
type configuration struct {
	APIVersion     string            `json:"apiVersion"`
	Kind           string            `json:"kind"`
	SystemReserved map[string]string `json:"systemReserved"`
	ReservedMemory []numaNode        `json:"reservedMemory,omitempty"`
}

type numaNode struct {
	NUMANode int               `json:"numaNode"`
	Limits   map[string]string `json:"limits"`
}

// DropIn returns the recommendation for a group as a drop-in file of its kubelets, with reservedMemory where the memory of the
// NUMA nodes is given.
func DropIn(g *v1alpha1.GPUNodeGroup, numa []int64) ([]byte, error) {
	m := g.Status.MemoryReservation
	switch {
	case m == nil:
		return nil, fmt.Errorf("GPUNodeGroup %s: found no status.memoryReservation; is memoryReservation.mode Off, or has the group no status yet", g.Name)
	case m.Recommended == nil:
		return nil, fmt.Errorf("GPUNodeGroup %s: status.memoryReservation recommends nothing: %s", g.Name, m.Why)
	case m.Recommended.Sign() <= 0:
		return nil, fmt.Errorf("GPUNodeGroup %s: status.memoryReservation.recommended: found %s, expected an amount above 0; the controller writes it, read the group anew", g.Name, m.Recommended)
	}
	c := configuration{
		APIVersion:     "kubelet.config.k8s.io/v1beta1",
		Kind:           "KubeletConfiguration",
		SystemReserved: map[string]string{"memory": m.Recommended.String()},
	}
	var trap string
	if len(numa) > 0 {
		hard, err := evictionHard(g.Name, m)
		if err != nil {
			return nil, err
		}
		if c.ReservedMemory, err = shares(m.Recommended.Value(), hard, numa); err != nil {
			return nil, err
		}
		trap = fmt.Sprintf("reservedMemory is for memoryManagerPolicy Static, and counts evictionHard memory.available as %d: %s. It replaces the whole list, with the huge pages that stood there.", hard, reservation.NUMATrap)
	}
	where, err := placement(g)
	if err != nil {
		return nil, err
	}
	body, err := yaml.Marshal(c)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	comment(&out, fmt.Sprintf("Memory that kubelets of node group %s keep for the node's own daemons: %s.", g.Name, m.Recommended))
	comment(&out, m.Why)
	comment(&out, figures(m))
	comment(&out, where)
	comment(&out, trap)
	out.Write(body)
	return out.Bytes(), nil
}

// comment writes text that may come from anywhere: a line break in it must not end the comment.
func comment(out *bytes.Buffer, text string) {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' }) {
		fmt.Fprintf(out, "# %s\n", line)
	}
}

func figures(m *v1alpha1.MemoryReservation) string {
	var parts []string
	for _, t := range m.Breakdown {
		parts = append(parts, t.Name+" "+t.Value.String())
	}
	if m.Applied != nil {
		parts = append(parts, "reserved now "+m.Applied.String())
	}
	if m.HeadroomBeforeSoftEviction != nil {
		parts = append(parts, "headroom before soft eviction now "+m.HeadroomBeforeSoftEviction.String())
	}
	return strings.Join(parts, ", ")
}

// placement says where the figure goes. A group that the platform configures takes a fixed reservation as a whole: a field that is not
// given is not reserved any more.
func placement(g *v1alpha1.GPUNodeGroup) (string, error) {
	for _, o := range g.OwnerReferences {
		if o.Kind == platform.NodeGroupKind.Kind && strings.HasPrefix(o.APIVersion, platform.NodeGroupKind.Group+"/") {
			auto, err := ofPlatform()
			if err != nil {
				return "", err
			}
			fields := []string{"memory " + g.Status.MemoryReservation.Recommended.String()}
			for _, f := range []struct{ name, value string }{{"cpu", auto.CPU}, {"ephemeralStorage", auto.EphemeralStorage}} {
				if f.value != "" {
					fields = append(fields, f.name+" "+f.value)
				}
			}
			return fmt.Sprintf("NodeGroup %s configures these kubelets: over %s.mode Auto set mode Static there, and in static all of %s."+
				"\nStatic reserves the given fields only; what stands there besides memory is what Auto reserves. Where it is Static already, raise memory alone."+
				"\nWhere gpu-dra is installed as a Deckhouse module, memoryReservation.mode Apply does it.", o.Name, reservation.FieldPath, strings.Join(fields, ", ")), nil
		}
	}
	return "Put this into a file *.conf in the folder that the kubelet's --config-dir names, or the figure into the kubelet's configuration " +
		"file, node by node, and restart the kubelet.\nWithout --config-dir the kubelet reads no such file, and a flag --system-reserved has the last word over all files." +
		"\nIf kubeReserved has memory too, take that off the figure: both are kept.", nil
}

// ofPlatform is what kubelets are given by the distribution that has node groups of its own.
func ofPlatform() (profile.KubeletMemory, error) {
	all, err := profile.Distributions()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].NodeGroupLabel != "" {
			return all[name].KubeletMemory, err
		}
	}
	return profile.KubeletMemory{}, err
}

func evictionHard(name string, m *v1alpha1.MemoryReservation) (int64, error) {
	for _, t := range m.Breakdown {
		if t.Name == reservation.TermEvictionHard {
			return t.Value.Value(), nil
		}
	}
	return 0, fmt.Errorf("GPUNodeGroup %s: found no %s in status.memoryReservation.breakdown, which reservedMemory needs", name, reservation.TermEvictionHard)
}

func shares(reserved, hard int64, numa []int64) ([]numaNode, error) {
	p, err := reservation.NewPlatform(profile.KubeletMemory{EvictionHard: resource.NewQuantity(hard, resource.BinarySI).String()})
	if err != nil {
		return nil, err
	}
	var total int64
	for _, m := range numa {
		total += m
	}
	split, ok := p.Shares(total, reserved, numa)
	if !ok {
		return nil, fmt.Errorf("--numa: found %d bytes on all NUMA nodes together, expected at least the %d of the reservation and of hard eviction; are these the nodes of this group",
			total, reserved+hard)
	}
	var out []numaNode
	for _, s := range split {
		out = append(out, numaNode{s.NUMANode, map[string]string{"memory": reservation.Quantity(s.Bytes).String()}})
	}
	return out, nil
}
