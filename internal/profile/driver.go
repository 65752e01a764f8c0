// Package profile holds what is known of a DRA driver or a distribution as data: one YAML file each, read by the chart's
// templates and by this package. No vendor's name stands in Go: a new accelerator is a new file.
package profile

import (
	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Driver describes one DRA driver: how it names and publishes devices, its DeviceClasses, where memory is, what the device
// plugin before it was called. The shape is the same for files in profiles/drivers and for `customDrivers` in the settings.
type Driver struct {
	// Name of the profile: what `nodeGroups[].drivers` and `claimTemplates[].driver` say.
	Name string `json:"name"`
	// DriverName is ResourceSlice spec.driver, and the default domain of its attributes and capacities.
	DriverName string `json:"driverName"`
	// OtherDrivers are further DRA driver names of the same product whose devices are no accelerators
	// (communication channels): known, never counted, never gating Registered.
	OtherDrivers []string `json:"otherDrivers,omitempty"`
	// TypeAttribute is the attribute that holds the driver's own word for the kind of a device; empty when all devices
	// are whole ones.
	TypeAttribute string `json:"typeAttribute,omitempty"`
	// Types maps values of TypeAttribute to kinds. A value that is not here is DeviceOther.
	Types map[string]v1alpha1.DeviceKind `json:"types,omitempty"`
	// ParentAttribute of a partition holds what tells its card from others. It is looked up on partitions.
	ParentAttribute string `json:"parentAttribute,omitempty"`
	// IdentityAttribute of a whole device holds the value that partitions of the same card have in ParentAttribute
	// (a uuid, a PCI address), so that a card published whole and in parts is one card.
	IdentityAttribute string `json:"identityAttribute,omitempty"`
	// AddressAttribute of a device of any kind holds the bus address of its card on the node. It ties devices of one card
	// that nothing else ties: a passthrough device has an identity of its own, made from the address. Empty: not published,
	// or one address stands for several cards.
	AddressAttribute string `json:"addressAttribute,omitempty"`
	// ProductAttribute holds the product name.
	ProductAttribute string `json:"productAttribute,omitempty"`
	// PartitionAttribute holds the partition profile (`1g.10gb`).
	PartitionAttribute string `json:"partitionAttribute,omitempty"`
	// Memory says where the driver publishes device memory.
	Memory Memory `json:"memory,omitempty"`
	// Topology names the attributes, with domain, that `sameAttribute` stands for. An absent key: not published.
	Topology map[v1alpha1.SameAttribute]string `json:"topology,omitempty"`
	// Classes are the DeviceClasses that the vendor's own chart creates, and our additions.
	Classes []Class `json:"classes,omitempty"`
	// Sharing says which strategies the driver has and which opaque configs carry them.
	Sharing *Sharing `json:"sharing,omitempty"`
	// PluginResources are extended resources of the device plugin that DRA replaces, as exact names or prefixes that end
	// in `*`. A non-zero amount on a node means that a GPU can be given out twice.
	PluginResources []string `json:"pluginResources,omitempty"`
	// Managers are other managers of these accelerators and the traces by which they are seen.
	Managers []ManagerTrace `json:"managers,omitempty"`
	// PodSelector selects the driver's own kubelet plugin pods in the release namespace; PodLabels says which when it is empty.
	PodSelector map[string]string `json:"podSelector,omitempty"`
	// KubernetesGates are the Kubernetes feature gates that the driver needs for a partitioning or one of its own gates.
	KubernetesGates []GateNeed `json:"kubernetesGates,omitempty"`
	// Gates are the feature gates of the driver itself. None: they are not known, and any name is passed on.
	Gates []Gate `json:"gates,omitempty"`
	// Plugin is the driver's kubelet plugin; nil: it is installed by other means, and the chart only makes classes.
	Plugin *Plugin `json:"plugin,omitempty"`
	// Exporter of the devices' metrics; nil: none is known.
	Exporter *Exporter `json:"exporter,omitempty"`
}

// Memory says where the memory of a device stands. At most one of Capacity and Attribute is set; neither: not published.
type Memory struct {
	// Capacity is the key in device.capacity[<driver>], a quantity in bytes.
	Capacity string `json:"capacity,omitempty"`
	// Attribute is the key in device.attributes[<driver>], an integer in Unit.
	Attribute string `json:"attribute,omitempty"`
	// Unit of Attribute as a quantity suffix: `` (bytes), Ki, Mi, Gi, Ti, k, M, G, T.
	Unit string `json:"unit,omitempty"`
	// Kinds that may lack the key, so that an expression over them must be guarded. A missing key is a CEL runtime error
	// that stops the pod on every node.
	MissingOn []v1alpha1.DeviceKind `json:"missingOn,omitempty"`
	// ZeroMeansUnknown is true for drivers that publish 0 when they cannot tell.
	ZeroMeansUnknown bool `json:"zeroMeansUnknown,omitempty"`
	// NominalBelow is the fraction of the nominal (sold) size that a card really shows, for the condition that says why
	// `minMemory: 80Gi` never matches an "80 GB" card; 0: unknown.
	NominalBelow float64 `json:"nominalBelow,omitempty"`
}

// Class is one DeviceClass.
type Class struct {
	// Name of the DeviceClass. Vendor classes keep the vendor's names, ours end in gpu-dra.deckhouse.io.
	Name string `json:"name"`
	// Choice that this class serves in claim templates; empty: none.
	Choice v1alpha1.DeviceChoice `json:"choice,omitempty"`
	// Expression is the CEL selector.
	Expression string `json:"expression"`
	// ExtendedResourceName that the class may carry where DRAExtendedResource is on everywhere.
	ExtendedResourceName string `json:"extendedResourceName,omitempty"`
}

// Sharing of a device: opaque configuration that the driver understands.
type Sharing struct {
	// APIVersion and the kinds of the opaque parameters.
	APIVersion string `json:"apiVersion"`
	// Kinds of config by kind of device: the config must be of the kind that fits the device really allocated.
	Kinds map[v1alpha1.DeviceKind]string `json:"kinds"`
	// Strategies by name as in GPUClaimTemplate spec.sharing.strategy.
	Strategies map[string]SharingStrategy `json:"strategies"`
}

// SharingStrategy is one strategy of sharing.
type SharingStrategy struct {
	// Kinds of devices that have this strategy.
	Kinds []v1alpha1.DeviceKind `json:"kinds"`
	// Gates of the driver itself that it needs.
	Gates []string `json:"gates,omitempty"`
	// Params are JSON pointers within the opaque parameters for interval, activeThreadPercentage and pinnedMemoryLimit,
	// and for strategy, the name of the strategy itself; without the latter the parameters do not carry the name.
	Params map[string]string `json:"params,omitempty"`
}

// ManagerTrace is how another manager shows itself. Exactly one of the trace fields is set.
type ManagerTrace struct {
	// Name of the manager (`gpu-operator`).
	Name string `json:"name"`
	// NodeLabel key whose presence on a Node is the trace; with NodeLabelValues only these values.
	NodeLabel       string   `json:"nodeLabel,omitempty"`
	NodeLabelValues []string `json:"nodeLabelValues,omitempty"`
	// API is a served kind, as "group/version/Kind"; an object of it is the trace.
	API string `json:"api,omitempty"`
	// Namespace whose existence is the trace.
	Namespace string `json:"namespace,omitempty"`
	// NodeGroupField is a field of the Deckhouse NodeGroup, as a dotted path, whose presence is the trace.
	NodeGroupField string `json:"nodeGroupField,omitempty"`
}

// GateNeed is a Kubernetes feature gate and what needs it.
type GateNeed struct {
	// Gate name.
	Gate string `json:"gate"`
	// Partitioning value that needs it (`Dynamic`); empty: any.
	Partitioning string `json:"partitioning,omitempty"`
	// DriverGate of the driver itself that needs it; empty: any.
	DriverGate string `json:"driverGate,omitempty"`
}

// DriverNames returns every DRA driver name of the profile, the accelerator driver first.
func (d *Driver) DriverNames() []string {
	return append([]string{d.DriverName}, d.OtherDrivers...)
}

// PodLabels select the driver's kubelet plugin pods: PodSelector or, where the chart runs the plugin, the label that it gives
// them. nil: nobody can tell which pods are the driver's.
func (d *Driver) PodLabels() map[string]string {
	if len(d.PodSelector) == 0 && d.Plugin != nil {
		return map[string]string{"app.kubernetes.io/component": "driver-" + d.Name}
	}
	return d.PodSelector
}

// ClassFor returns the class that serves a choice.
func (d *Driver) ClassFor(choice v1alpha1.DeviceChoice) (Class, bool) {
	for _, c := range d.Classes {
		if c.Choice == choice {
			return c, true
		}
	}
	return Class{}, false
}

// KindOf maps the driver's word for a type to a kind. With no TypeAttribute every device is whole.
func (d *Driver) KindOf(deviceType string) v1alpha1.DeviceKind {
	if d.TypeAttribute == "" {
		return v1alpha1.DeviceWhole
	}
	if k, ok := d.Types[deviceType]; ok {
		return k
	}
	return v1alpha1.DeviceOther
}
