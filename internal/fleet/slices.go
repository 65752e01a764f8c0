package fleet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Layout says what of a model a node has.
type Layout struct {
	// Cards on the node.
	Cards int
	// CutCards of them, the first ones, are cut as Cut says; the others are whole.
	CutCards int
	// Cut is a name in the model's cuts.
	Cut string
}

// maxDevices is how many devices one slice may hold.
const maxDevices = resourcev1.ResourceSliceMaxDevices

// Slices returns what the driver publishes on a node: one pool named as the node, in as few slices as there may be, first
// generation. The slices belong to the node when it has a uid, as the kubelet plugin sees to. Fails when the model has no
// such cut.
func (m *Model) Slices(node *corev1.Node, l Layout) ([]*resourcev1.ResourceSlice, error) {
	cuts, ok := m.Cuts[l.Cut]
	if l.CutCards > 0 && !ok {
		return nil, fmt.Errorf("model of %s has no cut %q", m.Driver, l.Cut)
	}
	var devices []resourcev1.Device
	for n := range l.Cards {
		c := newCard(node.Name, n, l.Cards)
		if n >= l.CutCards {
			devices = append(devices, c.device(m, &m.Whole, nil, c.uuid))
			continue
		}
		for _, cut := range cuts {
			profile, ok := m.Profiles[cut.Profile]
			if !ok {
				return nil, fmt.Errorf("model of %s has no profile %q, which cut %q names", m.Driver, cut.Profile, l.Cut)
			}
			for _, start := range cut.Starts {
				devices = append(devices, c.partition(m, cut.Profile, profile, start))
			}
		}
	}
	return m.pool(node, devices), nil
}

func (m *Model) pool(node *corev1.Node, devices []resourcev1.Device) []*resourcev1.ResourceSlice {
	count := max(1, (len(devices)+maxDevices-1)/maxDevices)
	out := make([]*resourcev1.ResourceSlice, count)
	for i := range out {
		name := node.Name
		prefix := fmt.Sprintf("%05d-%s-%s-", i, m.Driver, node.Name)
		s := &resourcev1.ResourceSlice{
			TypeMeta: metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "ResourceSlice"},
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: prefix,
				Name:         prefix + uuid(prefix)[:5],
			},
			Spec: resourcev1.ResourceSliceSpec{
				Driver:   m.Driver,
				NodeName: &name,
				Pool:     resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: int64(count)},
				Devices:  devices[i*maxDevices : min((i+1)*maxDevices, len(devices))],
			},
		}
		if node.UID != "" {
			controller := true
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &controller}}
		}
		out[i] = s
	}
	return out
}

// card fills in the texts of one card.
type card struct {
	uuid  string
	seed  string
	numa  int64
	texts []string
}

func newCard(node string, n, of int) card {
	seed := fmt.Sprintf("%s/%d", node, n)
	bus := 0x07 + n%16*0x0f
	c := card{seed: seed, uuid: uuid(seed), numa: int64(2 * n / of)}
	c.texts = []string{
		"{card}", fmt.Sprint(n),
		"{cardUUID}", c.uuid,
		"{address}", fmt.Sprintf("%04x:%02x:00.0", n/16, bus),
		"{root}", fmt.Sprintf("%04x:%02x", n/16, bus-1),
	}
	return c
}

// device fills in a template.
func (c card) device(m *Model, template *resourcev1.Device, more []string, id string) resourcev1.Device {
	r := strings.NewReplacer(append(append([]string{"{deviceUUID}", id}, c.texts...), more...)...)
	d := resourcev1.Device{
		Name:       r.Replace(template.Name),
		Attributes: make(map[resourcev1.QualifiedName]resourcev1.DeviceAttribute, len(m.Attributes)+len(template.Attributes)),
		Capacity:   make(map[resourcev1.QualifiedName]resourcev1.DeviceCapacity, len(template.Capacity)+8),
	}
	for _, attributes := range []map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{m.Attributes, template.Attributes} {
		for name, value := range attributes {
			switch {
			case value.StringValue != nil:
				text := r.Replace(*value.StringValue)
				value.StringValue = &text
			case value.IntValue != nil && strings.HasSuffix(string(name), "/numaNode"):
				numa := c.numa
				value.IntValue = &numa
			}
			d.Attributes[name] = value
		}
	}
	for name, value := range template.Capacity {
		d.Capacity[name] = value
	}
	return d
}

func (c card) partition(m *Model, name string, p Profile, start int) resourcev1.Device {
	d := c.device(m, &m.Partition.Device, []string{
		"{profile}", name,
		"{short}", strings.ReplaceAll(name, ".", ""),
		"{id}", fmt.Sprint(p.ID),
		"{start}", fmt.Sprint(start),
	}, uuid(fmt.Sprintf("%s/%s/%d", c.seed, name, start)))
	for capacity, q := range p.Capacity {
		d.Capacity[capacity] = resourcev1.DeviceCapacity{Value: q}
	}
	if m.Partition.SlotCapacity != "" {
		for slot := start; slot < start+p.Slots; slot++ {
			capacity := resourcev1.QualifiedName(strings.ReplaceAll(m.Partition.SlotCapacity, "{slot}", fmt.Sprint(slot)))
			d.Capacity[capacity] = resourcev1.DeviceCapacity{Value: resource.MustParse("1")}
		}
	}
	return d
}
