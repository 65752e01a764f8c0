package inventory

import (
	"slices"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Slice is one ResourceSlice, condensed. It is immutable after Digest, safe for concurrent use, and fit for a client-go
// cache: it carries name, uid and resourceVersion. Digests that were made with different sets of profiles, or by
// different processes, are not to be mixed.
type Slice struct {
	metav1.ObjectMeta

	driver     unique.Handle[driverFacts]
	pool       unique.Handle[string]
	generation int64
	// announced is resourceSliceCount.
	announced    int64
	countersOnly bool
	// inlineCounters: devices and counter sets stand in one slice, the layout up to Kubernetes 1.34.
	inlineCounters bool
	// parts has one entry for each place that the slice names: in all but per-device selection exactly one.
	parts []part
}

// driverFacts is what the profiles say of a driver.
type driverFacts struct {
	name        string
	profile     string // empty: no profile knows the driver
	accelerator bool
}

// counted is false for drivers that a profile declares to hold no accelerators.
func (f driverFacts) counted() bool { return f.accelerator || f.profile == "" }

// scope says how devices are bound to nodes.
type scope uint8

const (
	// scopeUnplaced: in none of the ways this version of the API has.
	scopeUnplaced scope = iota
	scopeNode
	scopeSelector
	scopeAllNodes
)

// place is where devices are reachable from. node is empty in all scopes but scopeNode.
type place struct {
	scope scope
	node  unique.Handle[string]
}

// noNode stands in places without a node: the zero Handle has no value.
var noNode = unique.Make("")

// part is what one slice publishes at one place.
type part struct {
	place     place
	published int32
	tainted   int32
	// loose is the number of cards of which nothing identifies more than one device; looseWhole of them are whole.
	loose      int32
	looseWhole int32
	cards      []card
	groups     []tally
	// devices of drivers that a profile knows, sorted: eight bytes each.
	devices []published
}

// tally counts like devices.
type tally struct {
	group   unique.Handle[group]
	count   int32
	tainted int32
}

// Driver is spec.driver.
func (s *Slice) Driver() string { return s.driver.Value().name }

// Profile is the name of the profile that describes the driver, empty when none does.
func (s *Slice) Profile() string { return s.driver.Value().profile }

// Accelerator is true when a profile says that the driver's devices are accelerators.
func (s *Slice) Accelerator() bool { return s.driver.Value().accelerator }

// Pool is the pool's name, unique within the driver.
func (s *Slice) Pool() string { return s.pool.Value() }

// PoolGeneration is spec.pool.generation; metadata.generation is not kept.
func (s *Slice) PoolGeneration() int64 { return s.generation }

// CountersOnly is true for a slice with counter sets and no devices, the layout of Kubernetes 1.35 and later.
func (s *Slice) CountersOnly() bool { return s.countersOnly }

// InlineCounters is true for a slice with counter sets beside its devices, the layout up to Kubernetes 1.34, which later
// versions refuse.
func (s *Slice) InlineCounters() bool { return s.inlineCounters }

// Published is the number of devices in the slice.
func (s *Slice) Published() int32 {
	var n int32
	for i := range s.parts {
		n += s.parts[i].published
	}
	return n
}

// Nodes are the names of the nodes that the slice names, itself or through its devices, sorted.
func (s *Slice) Nodes() []string {
	var names []string
	for i := range s.parts {
		if p := s.parts[i].place; p.scope == scopeNode {
			names = append(names, p.node.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namesNoNode is true when something in the slice, or all of an empty one, is bound to no node by name.
func (s *Slice) namesNoNode() bool {
	return len(s.parts) == 0 || slices.ContainsFunc(s.parts, func(p part) bool { return p.place.scope != scopeNode })
}

// Equal is true when both digests say the same of the cluster, whatever their metadata. Where an update of a slice gives
// an equal digest, nothing has to be computed again.
func (s *Slice) Equal(other *Slice) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.driver == other.driver && s.pool == other.pool && s.generation == other.generation &&
		s.announced == other.announced && s.countersOnly == other.countersOnly && s.inlineCounters == other.inlineCounters &&
		slices.EqualFunc(s.parts, other.parts, part.equal)
}

func (p part) equal(other part) bool {
	return p.place == other.place && p.published == other.published && p.tainted == other.tainted &&
		p.loose == other.loose && p.looseWhole == other.looseWhole &&
		slices.Equal(p.cards, other.cards) && slices.Equal(p.groups, other.groups) && slices.Equal(p.devices, other.devices)
}

// GetObjectKind returns no kind: a digest is never sent anywhere.
func (s *Slice) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject copies the metadata and shares the rest, which never changes.
func (s *Slice) DeepCopyObject() runtime.Object {
	if s == nil {
		return nil
	}
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}
