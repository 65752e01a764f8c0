//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// Settings that need many gates. %s is what is required besides.
const manyGates = `
distribution: Vanilla
nodeGroups:
- {name: mig, drivers: [nvidia], partitioning: Dynamic, nodeSelector: {gpu: mig}}
- name: whole
  drivers: [nvidia]
  nodeSelector: {gpu: whole}
  driverOverrides: {nvidia: {featureGates: {NVMLDeviceHealthCheck: true}}}
deviceClasses: {extendedResources: Always}
claimTemplates:
- {name: gpu-16gb-min, namespaces: [inference], driver: nvidia, minMemory: 16Gi}
kubernetesFeatureGates: {extraRequired: [%s]}
`

// mistake is something wrong behind the planned flags of a component.
type mistake struct {
	what, component string
	flag            string
	// says is what the component ends with; empty where it starts all the same.
	says string
}

// ofBoth are mistakes that API server and scheduler meet alike.
func ofBoth(what, flag, says string) []mistake {
	return []mistake{{what, apiServer, flag, says}, {what, scheduler, flag, says}}
}

// The oldest supported Kubernetes checks no dependencies of gates; what is only wrong with them it starts with.
func TestPlannedGates(t *testing.T) {
	t.Parallel()
	plannedGates(t, "1.34.4", slices.Concat(
		ofBoth("misspelt", "--feature-gates=DRAExtendedResources=true", "unrecognized feature gate: DRAExtendedResources"),
		ofBoth("of a later version", "--feature-gates=DRAListTypeAttributes=true", "unrecognized feature gate: DRAListTypeAttributes"),
		ofBoth("removed", "--feature-gates=DevicePluginCDIDevices=true", "unrecognized feature gate: DevicePluginCDIDevices"),
		ofBoth("lock broken", "--feature-gates=SidecarContainers=false", "cannot set feature gate SidecarContainers to false, feature is locked to true"),
		ofBoth("prefix mixed", "--feature-gates=kube:DRAAdminAccess=true", "do not mix use"),
		ofBoth("dependency off", "--feature-gates=DRAResourceClaimDeviceStatus=false,DRADeviceBindingConditions=true", ""),
		[]mistake{{"API of another version", apiServer, "--runtime-config=resource.k8s.io/v1alpha1=true", "resource.k8s.io/v1alpha1"}},
	))
}

// plannedGates starts API server and scheduler of a version, lets the plan say which flags the settings need there, and starts both
// with exactly these; then with one thing wrong, which both must refuse as the core says they do.
func plannedGates(t *testing.T, kubernetes string, mistakes []mistake) {
	r := up(t, "--kubernetes-version", kubernetes, "--components", "etcd,"+apiServer+","+scheduler)
	minor, ok := featuregate.Minor(kubernetes)
	require.True(t, ok)
	r.requireGates(minor)

	// The plans of components without any flag of theirs: exactly these flags have to do.
	few, all := fmt.Sprintf(manyGates, ""), fmt.Sprintf(manyGates, strings.Join(featuregate.Gates(), ", "))
	planned := r.planned(few)
	for _, plan := range []struct {
		needed, settings string
		flags            map[string][]string
	}{{"by the settings", few, planned}, {"by the settings, and every gate there is", all, r.planned(all)}} {
		for _, name := range []string{apiServer, scheduler} {
			t.Logf("%s %s, needed %s: %s", name, kubernetes, plan.needed, strings.Join(plan.flags[name], " "))
			said, err := r.restart(name, plan.flags[name]...)
			require.NoError(t, err, said)
		}
		r.requireGates(minor)
		r.servesWhatIsPlanned(plan.flags[apiServer])
		require.Empty(t, r.planned(plan.settings), "needed %s: nothing is left to do", plan.needed)
	}

	// The scheduler needs its API server, so that one's turn is the last.
	for _, name := range []string{scheduler, apiServer} {
		for _, m := range mistakes {
			if m.component == name {
				r.mistake(m, planned[name])
			}
		}
	}
}

// mistake starts a component with the planned flags and a wrong one: it must end with its message, or start, and the core must
// have known.
func (r *rig) mistake(m mistake, planned []string) {
	r.t.Helper()
	said, err := r.restart(m.component, append(slices.Clone(planned), m.flag)...)
	is := r.component(m.component)
	expected := stopsNow(featuregate.NewInstance(is.Name, is.Name, is.Version, is.Args))
	if m.says == "" {
		require.NoError(r.t, err, "%s, %s: %s", m.what, m.component, said)
		require.True(r.t, is.Ready)
		require.Empty(r.t, expected, "%s, %s", m.what, m.component)
		r.t.Logf("%s %s starts with %s", m.component, is.Version, m.flag)
		return
	}
	require.ErrorContains(r.t, err, "the process ended before it was ready", "%s, %s", m.what, m.component)
	require.False(r.t, is.Alive)
	require.Contains(r.t, said, m.says, "%s, %s", m.what, m.component)
	require.NotEmpty(r.t, expected, "%s, %s: the core takes these flags", m.what, m.component)
	r.t.Logf("%s %s with %s: %s; gpu-dra says: %s", m.component, is.Version, m.flag, lineWith(said, m.says), expected)
}

// planned are the flags of the fragment for kubeadm that `gpu-dra plan` prints for the components as they run, by component.
func (r *rig) planned(text string) map[string][]string {
	r.t.Helper()
	s, err := settings.Parse([]byte(text))
	require.NoError(r.t, err)
	profiles, problems := settings.Profiles(s)
	require.Empty(r.t, problems)
	distributions, err := profile.Distributions()
	require.NoError(r.t, err)
	in := stack.Input{Synced: true, ResourceAPIs: []string{"v1"}, Settings: s, Profiles: profiles, Distribution: distributions["Vanilla"]}
	for _, name := range []string{apiServer, scheduler} {
		c := r.component(name)
		in.KubernetesVersion = c.Version
		in.Instances = append(in.Instances, featuregate.NewInstance(name, name, c.Version, c.Args))
	}
	status := stack.Compute(v1alpha1.GPUStackStatus{}, in, time.Now())
	require.Empty(r.t, status.FeatureGates.Conflicts)
	data, err := yaml.Marshal(v1alpha1.GPUStack{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUStack"}, Status: status})
	require.NoError(r.t, err)
	printed, err := exec.Command(controllerPath, "plan", "--file", r.file("stack.yaml", string(data)), "--output", "yaml").CombinedOutput()
	require.NoError(r.t, err, string(printed))

	var plan struct{ FeatureGates v1alpha1.FeatureGates }
	require.NoError(r.t, yaml.Unmarshal(printed, &plan))
	type part struct {
		ExtraArgs []struct{ Name, Value string }
	}
	var fragment struct{ APIServer, ControllerManager, Scheduler part }
	require.NoError(r.t, yaml.Unmarshal([]byte(plan.FeatureGates.Fragments.Kubeadm), &fragment))
	require.Empty(r.t, fragment.ControllerManager, "none runs here")
	out := map[string][]string{}
	for name, p := range map[string]part{apiServer: fragment.APIServer, scheduler: fragment.Scheduler} {
		for _, arg := range p.ExtraArgs {
			out[name] = append(out[name], "--"+arg.Name+"="+arg.Value)
		}
	}
	return out
}

// requireGates compares every gate of the table with what the running components say: which of them this version has, at which
// stage, and whether it is on with the flags it was started with.
func (r *rig) requireGates(minor int) {
	r.t.Helper()
	stages := map[string]string{"alpha": "ALPHA", "beta": "BETA", "deprecated": "DEPRECATED", "GA": ""}
	for _, name := range []string{apiServer, scheduler} {
		c := r.component(name)
		flags, err := featuregate.ParseArgs(name, c.Args)
		require.NoError(r.t, err)
		shown := r.gatesOf(name)
		for _, gate := range featuregate.Gates() {
			at := featuregate.At(gate, minor)
			state, there := shown[gate]
			require.Equal(r.t, at.Present, there, "%s of 1.%d has %s", name, minor, gate)
			if !there {
				continue
			}
			on, set := flags.Set[gate]
			if !set {
				on = at.On
			}
			require.Equal(r.t, gateState{Stage: stages[at.Name], On: on}, state, "%s of 1.%d: %s", name, minor, gate)
		}
	}
}

// servesWhatIsPlanned asks for every API version that --runtime-config switches on.
func (r *rig) servesWhatIsPlanned(flags []string) {
	r.t.Helper()
	read, err := featuregate.ParseArgs(apiServer, append([]string{apiServer}, flags...))
	require.NoError(r.t, err)
	for groupVersion := range read.RuntimeConfig {
		_, err := r.get(context.Background(), r.component(apiServer).Endpoint, "/apis/"+groupVersion)
		require.NoError(r.t, err)
	}
}

// stopsNow is what the core says of flags that keep a component from starting.
func stopsNow(i featuregate.Instance) []string {
	if i.Unreadable != "" {
		return []string{i.Unreadable}
	}
	var out []string
	for _, c := range featuregate.Conflicts([]featuregate.Instance{i}) {
		if c.Ahead == 0 && strings.Contains(c.Text, "does not start") {
			out = append(out, c.Gate+": "+c.Text)
		}
	}
	return out
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
