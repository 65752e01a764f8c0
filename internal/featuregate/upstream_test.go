package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"pgregory.net/rapid"
)

// TestAgreesWithComponentBase gives the same arguments to the components' own code, loaded with our table, and to ours: both
// must accept or refuse them alike, and agree on every gate. It also proves that the table is one that upstream accepts
// (stages in order, no dependency off by default).
func TestAgreesWithComponentBase(t *testing.T) {
	names := append(slices.Sorted(maps.Keys(table)), AllAlpha, AllBeta, "DRAExtendedResources")
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.IntRange(34, newest).Draw(t, "minor")
		args := []string{}
		if rapid.Bool().Draw(t, "emulates") {
			args = append(args, fmt.Sprintf("--emulated-version=1.%d", rapid.IntRange(minor-1, minor).Draw(t, "emulated")))
		}
		prefix := rapid.SampledFrom([]string{"", "kube:"}).Draw(t, "prefix")
		for range rapid.IntRange(0, 3).Draw(t, "flags") {
			var items []string
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				p := prefix
				if rapid.IntRange(0, 20).Draw(t, "other prefix") == 20 {
					p = rapid.SampledFrom([]string{"", "kube:", "wardle:", " kube :"}).Draw(t, "prefix of one")
				}
				value := rapid.SampledFrom([]string{"true", "true", "true", "false", " 1 ", "F", "", "x"}).Draw(t, "value")
				items = append(items, p+rapid.SampledFrom(names).Draw(t, "gate")+rapid.SampledFrom([]string{"=", "=", "=", "=", " = ", ""}).Draw(t, "equals")+value)
			}
			value := strings.Join(items, rapid.SampledFrom([]string{",", ",,", " , "}).Draw(t, "comma"))
			if rapid.Bool().Draw(t, "apart") {
				args = append(args, "--feature-gates", value)
			} else {
				args = append(args, "--feature-gates="+value)
			}
		}
		enabled, upstream := runUpstream(t, minor, args)
		i := NewInstance(Scheduler, "a", fmt.Sprintf("v1.%d.0", minor), append([]string{Scheduler}, args...))
		refused := refusals(i, minor)
		if ours := i.Unreadable != "" || len(refused) > 0; ours != (upstream != nil) {
			t.Fatalf("1.%d %q: upstream says %v, we say %q %v", minor, args, upstream, i.Unreadable, refused)
		}
		if upstream != nil {
			return
		}
		for name := range table {
			if _, p := lookup(name, minor); p != present {
				continue
			}
			if got := i.value(name); !got.known || got.on != enabled(name) {
				t.Fatalf("1.%d %q: %s is %t upstream, %+v here", minor, args, name, enabled(name), got)
			}
		}
	})
}

// FuzzFeatureGates gives any text to both: neither may panic, and they must agree on what is accepted and what it sets. Run on with
// `go test -fuzz FuzzFeatureGates ./internal/featuregate`.
func FuzzFeatureGates(f *testing.F) {
	for _, seed := range []string{"", ",", "=", "DRAAdminAccess=true", " kube : DRAAdminAccess = 1 ,,", "kube:DRAAdminAccess=F,DRAConsumableCapacity=t",
		"DRAConsumableCapacity=true,DRAConsumableCapacity=false", "AllAlpha=true,AllBeta=false", "DRAExtendedResource", "kube:", "a:b:c=true", "kube::DRAAdminAccess=true",
		"DRAAdminAccess=true=true", "DRAAdminAccess=\x00true", "\u00a0DRAAdminAccess=true", "dradminaccess=TRUE", "DRADeviceTaintRules=true"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		const minor = 36
		flag := "--feature-gates=" + value
		enabled, upstream := runUpstream(t, minor, []string{flag})
		// $(NAME) is replaced by the kubelet before the component sees it, so there is no telling.
		if strings.Contains(value, "$") {
			return
		}
		i := NewInstance(Scheduler, "a", "v1.36.0", []string{Scheduler, flag})
		refused := refusals(i, minor)
		for name := range i.Set {
			// Upstream refuses names that it does not know; here only those of the table are judged.
			if !InTable(name) && refused[name] == "" {
				return
			}
		}
		if ours := i.Unreadable != "" || len(refused) > 0; ours != (upstream != nil) {
			t.Fatalf("%q: upstream says %v, we say %q %v", value, upstream, i.Unreadable, refused)
		}
		if upstream != nil {
			return
		}
		for name := range table {
			if _, p := lookup(name, minor); p == present && i.value(name).on != enabled(name) {
				t.Fatalf("%q: %s is %t upstream", value, name, enabled(name))
			}
		}
	})
}

// runUpstream parses arguments as kube-scheduler of a minor does.
func runUpstream(t interface{ Fatal(...any) }, minor int, args []string) (enabled func(string) bool, err error) {
	binary := version.MajorMinor(1, uint(minor))
	gates := featuregate.NewVersionedFeatureGate(binary)
	known, needs := upstreamTable(minor)
	if err := gates.AddVersioned(known); err != nil {
		t.Fatal(err)
	}
	if minor >= dependenciesSince {
		if err := gates.AddDependencies(needs); err != nil {
			t.Fatal(err)
		}
	}
	registry := compatibility.NewComponentGlobalsRegistry()
	effective := compatibility.NewEffectiveVersion(binary, false, version.MajorMinor(1, uint(minor-3)), version.MajorMinor(1, uint(minor-3)))
	if err := registry.Register("kube", effective, gates); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	registry.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if err := registry.Set(); err != nil {
		return nil, err
	}
	for _, err := range registry.Validate() {
		return nil, err
	}
	return func(name string) bool { return gates.Enabled(featuregate.Feature(name)) }, nil
}

// upstreamTable is our table as the sources of a minor would have it: later stages and removed gates are not there.
func upstreamTable(minor int) (map[featuregate.Feature]featuregate.VersionedSpecs, map[featuregate.Feature][]featuregate.Feature) {
	stages := map[stage]featuregate.FeatureSpec{
		stageAlpha: {PreRelease: featuregate.Alpha}, stageBeta: {PreRelease: featuregate.Beta},
		stageGA: {PreRelease: featuregate.GA}, stageDeprecated: {PreRelease: featuregate.Deprecated},
	}
	known, needs := map[featuregate.Feature]featuregate.VersionedSpecs{}, map[featuregate.Feature][]featuregate.Feature{}
	for name, g := range table {
		if _, p := lookup(name, minor); p != present {
			continue
		}
		for _, s := range g.specs {
			if s.from > minor {
				continue
			}
			f := stages[s.stage]
			if s.stage == stageDeprecated { // upstream asks what it was before
				known[featuregate.Feature(name)] = featuregate.VersionedSpecs{{Version: version.MajorMinor(1, 0)}}
			}
			f.Default, f.LockToDefault, f.Version = s.on, s.locked, version.MajorMinor(1, uint(s.from))
			if s.minCompat != 0 {
				f.MinCompatibilityVersion = version.MajorMinor(1, uint(s.minCompat))
			}
			known[featuregate.Feature(name)] = append(known[featuregate.Feature(name)], f)
		}
		for _, n := range needsOf(name, minor) {
			needs[featuregate.Feature(name)] = append(needs[featuregate.Feature(name)], featuregate.Feature(n))
		}
	}
	return known, needs
}
