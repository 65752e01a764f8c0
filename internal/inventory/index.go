package inventory

import (
	"slices"
	"strings"
)

// Names of the indices that an informer over digests needs, each with the function of the same name below.
const (
	// IndexNode finds slices by the names of the nodes that they name, and under NoNode those that name none in some part.
	IndexNode = "gpu-dra/node"
	// IndexPool finds slices by PoolKey.
	IndexPool = "gpu-dra/pool"
	// IndexUnknownDriver finds slices of drivers that no profile knows by the driver's name.
	IndexUnknownDriver = "gpu-dra/unknown-driver"
	// IndexInlineCounters finds slices with counter sets beside devices by the driver's name.
	IndexInlineCounters = "gpu-dra/inline-counters"
)

// NoNode is the value in IndexNode of slices with a part that names no node.
const NoNode = ""

// NodeIndex is the client-go IndexFunc of IndexNode. Objects that are no digests have no values; there is no error,
// because an informer panics on one.
func NodeIndex(obj any) ([]string, error) {
	s, ok := obj.(*Slice)
	if !ok || s == nil {
		return nil, nil
	}
	names := s.Nodes()
	if s.namesNoNode() {
		names = append(names, NoNode)
	}
	return names, nil
}

// PoolIndex is the client-go IndexFunc of IndexPool.
func PoolIndex(obj any) ([]string, error) {
	s, ok := obj.(*Slice)
	if !ok || s == nil {
		return nil, nil
	}
	return []string{s.PoolKey()}, nil
}

// UnknownDriverIndex is the client-go IndexFunc of IndexUnknownDriver.
func UnknownDriverIndex(obj any) ([]string, error) {
	s, ok := obj.(*Slice)
	if !ok || s == nil || s.Profile() != "" {
		return nil, nil
	}
	return []string{s.Driver()}, nil
}

// InlineCountersIndex is the client-go IndexFunc of IndexInlineCounters.
func InlineCountersIndex(obj any) ([]string, error) {
	s, ok := obj.(*Slice)
	if !ok || s == nil || !s.inlineCounters {
		return nil, nil
	}
	return []string{s.Driver()}, nil
}

// PoolKey names the slice's pool among all pools of all drivers, as PoolKeyOf.
func (s *Slice) PoolKey() string { return PoolKeyOf(s.Driver(), s.Pool()) }

// PoolKeyOf names a pool among all pools of all drivers: driver, slash, pool. Driver names have no slash.
func PoolKeyOf(driver, pool string) string { return driver + "/" + pool }

// DriverOfPool is the driver's name in a PoolKey.
func DriverOfPool(poolKey string) string {
	driver, _, _ := strings.Cut(poolKey, "/")
	return driver
}

// Indexer is what is needed of a client-go cache.Indexer over digests with these indices.
type Indexer interface {
	ByIndex(indexName, indexedValue string) ([]any, error)
	ListIndexFuncValues(indexName string) []string
}

// NodeFrom returns what a node has, reading only the pools that name it.
func NodeFrom(ix Indexer, name string) (Node, error) {
	all, err := poolsOf(ix, name)
	if err != nil {
		return Node{}, err
	}
	return ForNode(name, all), nil
}

// ClusterWideFrom returns what belongs to no node, reading only the pools with such a part.
func ClusterWideFrom(ix Indexer) (ClusterWide, error) {
	all, err := poolsOf(ix, NoNode)
	if err != nil {
		return ClusterWide{}, err
	}
	out := ForCluster(all)
	// The pools at hand are not all; the indices know every driver.
	out.InlineCounters = append([]string{}, ix.ListIndexFuncValues(IndexInlineCounters)...)
	slices.Sort(out.InlineCounters)
	out.UnknownDrivers = nil
	if names := ix.ListIndexFuncValues(IndexUnknownDriver); len(names) > 0 {
		slices.Sort(names)
		out.UnknownDrivers = names
	}
	return out, nil
}

// Touched returns the names of the nodes whose result a change of slices may have changed, sorted: those that the changed
// slices name, before and after, and those that their pools name, since whether a pool is complete, and which generation
// is its newest, depends on all of its slices. NoNode among them says that shared pools may have changed. nil
// slices are skipped, so that an added or deleted slice needs no other half.
func Touched(ix Indexer, changed ...*Slice) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, s := range changed {
		if s == nil {
			continue
		}
		names, _ := NodeIndex(s)
		out = append(out, names...)
		if seen[s.PoolKey()] {
			continue
		}
		seen[s.PoolKey()] = true
		members, err := ix.ByIndex(IndexPool, s.PoolKey())
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			names, _ := NodeIndex(m)
			out = append(out, names...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// poolsOf returns all slices of the pools that name a node.
func poolsOf(ix Indexer, node string) ([]*Slice, error) {
	named, err := ix.ByIndex(IndexNode, node)
	if err != nil {
		return nil, err
	}
	var out []*Slice
	seen := map[string]bool{}
	for _, obj := range named {
		s, ok := obj.(*Slice)
		if !ok || seen[s.PoolKey()] {
			continue
		}
		seen[s.PoolKey()] = true
		members, err := ix.ByIndex(IndexPool, s.PoolKey())
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if member, ok := m.(*Slice); ok {
				out = append(out, member)
			}
		}
	}
	return out, nil
}
