package featuregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Newest is the newest minor that the table was made from: what is said of later ones is what the sources announce.
const Newest = newest

// Finding is something to know before an upgrade of Kubernetes.
type Finding struct {
	// To is the minor from which it holds.
	To int
	// Stops says that something does not start or does not work any more; else it is only good to know.
	Stops bool
	// Gate, Component and Instances that it is about, where it is about such.
	Gate, Component string
	Instances       []string
	Text            string
}

// Cluster is what the preflight looks at.
type Cluster struct {
	Instances []Instance
	// Version that the API server says of itself, for where no instance of it is seen.
	Version string
	// ResourceAPIs are the served versions of resource.k8s.io (`v1`); empty when they are not known.
	ResourceAPIs []string
	Kubelets     []v1alpha1.VersionCount
	// Needs are the gates that the settings need.
	Needs []Need
	// InlineCounters are drivers with slices that hold counters beside devices, as up to 1.34; nil when it was not looked at.
	InlineCounters []string
	// Rules of the platform.
	Rules profile.GateRules
}

// Preflight returns what of this configuration gets in the way of upgrades up to a minor, by the minor from which it does.
// A component that is that new already is not looked at; of what can't be seen it says so, since silence would pass for a clean
// bill.
func Preflight(c Cluster, to int) []Finding {
	from := OldestServer(c.Instances, c.Version)
	if from == 0 {
		return []Finding{{To: to, Component: APIServer, Text: "its version is not known, so nothing is known of what an upgrade would stop"}}
	}
	found := findings{}
	found.unseen(c, from, to)
	for _, i := range c.Instances {
		found.refused(i, to)
		found.apis(i, to)
	}
	found.platform(c, from, to)
	found.kubeletAPI(c, from, to)
	found.slices(c, from, to)
	if from < 35 && to >= 35 {
		found.add(Finding{To: 35, Text: "objects of resource.k8s.io are stored as v1 from 1.35 on, which 1.33 cannot read: once written there is no way back below 1.34"})
	}
	return found.sorted()
}

// OldestServer is the minor of the oldest API server that is seen, of the one that answers where none is; 0 when neither is known.
func OldestServer(instances []Instance, version string) int {
	from := 0
	for _, i := range instances {
		if minor, ok := Minor(i.Version); ok && i.Component == APIServer && (from == 0 || minor < from) {
			from = minor
		}
	}
	if from == 0 {
		from, _ = Minor(version)
	}
	return from
}

// findings joins those that differ in nothing but the instance.
type findings map[string]*Finding

func (f findings) add(one Finding) {
	key := fmt.Sprint(one.To, one.Stops, one.Gate, one.Component, one.Text)
	if have := f[key]; have != nil {
		have.Instances = append(have.Instances, one.Instances...)
		return
	}
	f[key] = &one
}

func (f findings) sorted() []Finding {
	var out []Finding
	for _, one := range f {
		slices.Sort(one.Instances)
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Text, b.Text))
	})
	return out
}

// platform reports gates that the platform sets by itself and that a minor refuses, each in the first such minor above that of the
// component. Kubelets may be older than the API server by minors, and it is theirs that counts for them.
func (f findings) platform(c Cluster, from, to int) {
	for _, fixed := range c.Rules.Fixed {
		for _, component := range fixed.Components {
			runs := from
			if component == Kubelet {
				runs = cmp.Or(c.oldestKubelet(), from)
			}
			for minor := runs + 1; minor <= to; minor++ {
				if text := refusedOfPlatform(fixed, minor); text != "" && refusedOfPlatform(fixed, minor-1) == "" {
					f.add(Finding{To: minor, Stops: fixed.When == "", Gate: fixed.Gate, Component: component,
						Text: "the platform sets it by itself, as far as is known of it: " + text})
				}
			}
		}
	}
}

// refusedOfPlatform says why a minor refuses a gate that the platform sets, "" where it does not.
func refusedOfPlatform(fixed profile.FixedGate, minor int) string {
	if !fixed.Holds(minor) {
		return ""
	}
	text := refusal(fixed.Gate, true, minor, minor)
	// Whether the condition is met is not known here.
	if text != "" && fixed.When != "" {
		text = "where " + fixed.When + ": " + text
	}
	return text
}

// slices: the layout of partitions changed in 1.35.
func (f findings) slices(c Cluster, from, to int) {
	if from >= 35 || to < 35 {
		return
	}
	if len(c.InlineCounters) > 0 {
		f.add(Finding{To: 35, Stops: true, Gate: PartitionableDevices, Text: fmt.Sprintf("slices of %s hold counters beside devices, which 1.35 refuses: "+
			"upgrade the driver to a version that writes them apart, with the control plane", strings.Join(c.InlineCounters, ", "))})
		return
	}
	if c.InlineCounters == nil && slices.ContainsFunc(c.Needs, func(n Need) bool { return n.Gate == PartitionableDevices && len(n.By) > 0 }) {
		f.add(Finding{To: 35, Gate: PartitionableDevices, Text: "1.35 refuses slices that hold counters beside devices, as drivers for 1.34 write them: " +
			"make sure that the driver's version writes them apart"})
	}
}
