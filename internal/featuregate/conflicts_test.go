package featuregate

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConflicts(t *testing.T) {
	const on, off = "--feature-gates=DRAConsumableCapacity=true", "--feature-gates=DRAConsumableCapacity=false"
	for name, tc := range map[string]struct {
		instances []Instance
		want      []string // "gate: part of the message"; a leading > marks Ahead
	}{
		"nothing set":          {instances: plane("v1.34.4")},
		"set alike":            {instances: plane("v1.34.4", on)},
		"set where it is read": {instances: []Instance{running("kube-apiserver/a@v1.34.4", on), running("kube-scheduler/a@v1.34.4", on), running("kube-controller-manager/a@v1.34.4", off)}},
		"two components": {instances: []Instance{running("kube-apiserver/a@v1.34.4", on), running("kube-scheduler/a@v1.34.4", off)},
			want: []string{"DRAConsumableCapacity: set to true in kube-apiserver a, to false in kube-scheduler a"}},
		"two instances": {instances: []Instance{running("kube-scheduler/a@v1.34.4", on), running("kube-scheduler/b@v1.34.4", off)},
			want: []string{"DRAConsumableCapacity: on in kube-scheduler a (set by its flags), off in kube-scheduler b (set by its flags)"}},
		"one instance forgotten": {instances: []Instance{running("kube-scheduler/a@v1.34.4", on), running("kube-scheduler/b@v1.34.4")},
			want: []string{"off in kube-scheduler b (off by default in 1.34)"}},
		"forgotten where on by default": {instances: []Instance{running("kube-scheduler/a@v1.36.4", on), running("kube-scheduler/b@v1.36.4")}},
		"twice in one": {instances: []Instance{running("kube-scheduler/a@v1.34.4", on, off, on)},
			want: []string{"DRAConsumableCapacity: kube-scheduler a: sets it to true, then false, then true: the last value (true) wins"}},
		"twice alike": {instances: []Instance{running("kube-scheduler/a@v1.34.4", on, on)},
			want: []string{"DRAConsumableCapacity: kube-scheduler a: sets it to true 2 times: nothing behaves otherwise, but a later change of one of them may do nothing, keep one"}},
		"one component told": {instances: []Instance{running("kube-apiserver/a@v1.34.4", on), running("kube-scheduler/a@v1.34.1")},
			want: []string{"DRAConsumableCapacity: on in kube-apiserver a (set by its flags), off in kube-scheduler a (off by default in 1.34): these components read it, set one value"}},
		"one component told off": {instances: []Instance{running("kube-apiserver/a@v1.36.3"), running("kube-apiserver/b@v1.36.3"), running("kube-scheduler/a@v1.36.3", off)},
			want: []string{"DRAConsumableCapacity: on in kube-apiserver a (on by default in 1.36), kube-apiserver b (on by default in 1.36), off in kube-scheduler a (set by its flags): these components read it"}},
		"one component told what is so":        {instances: []Instance{running("kube-apiserver/a@v1.36.3", on), running("kube-scheduler/a@v1.36.3")}},
		"one component told, another version":  {instances: []Instance{running("kube-apiserver/a@v1.36.3", on), running("kube-scheduler/a@v1.35.4")}},
		"one component told, another emulated": {instances: []Instance{running("kube-apiserver/a@v1.36.3", on), running("kube-scheduler/a@v1.36.3", "--emulated-version=1.35")}},
		"one component told, none of the rest known": {instances: []Instance{running("kube-apiserver/a@v1.34.4", on), running("kube-scheduler/a@v1.34.4", "$(ARGS)"),
			running("kube-scheduler/b"), running("kube-scheduler/c@v1.34.4", "--openshift-config=/c")}},
		"one component told, that does not read it": {instances: []Instance{running("kube-controller-manager/a@v1.34.4", on), running("kube-apiserver/a@v1.34.4"), running("kube-scheduler/a@v1.34.4")}},
		"told, and a kubelet that was not":          {instances: append(plane("v1.35.4", "--feature-gates=DRAExtendedResource=true"), kubelet("a@v1.35.4", "KubeletPodResourcesGet", true))},
		// Which of the two schedulers has it by itself is no fault of their flags.
		"one component told, an upgrade": {instances: []Instance{running("kube-apiserver/a@v1.36.3", on), running("kube-apiserver/b@v1.35.4", on), running("kube-scheduler/a@v1.36.3"), running("kube-scheduler/b@v1.35.4")},
			want: []string{"DRAConsumableCapacity: on in kube-apiserver b (set by its flags), off in kube-scheduler b (off by default in 1.35): these components read it"}},
		"twice foreign": {instances: []Instance{running("kube-scheduler/a@v1.34.4", "--feature-gates=Foo=true,Foo=false")}},
		"unknown": {instances: plane("v1.33.4", "--feature-gates=DRAControlPlaneController=true"),
			want: []string{"DRAControlPlaneController: kube-apiserver a, kube-controller-manager a, kube-scheduler a: 1.33 does not have this gate any more (removed in 1.32), take it away: the component does not start"}},
		"not yet":   {instances: plane("v1.33.4", on), want: []string{"DRAConsumableCapacity: kube-apiserver a, kube-controller-manager a, kube-scheduler a: 1.33 does not have this gate yet"}},
		"misspelt":  {instances: plane("v1.34.4", "--feature-gates=DRAExtendedResources=true"), want: []string{"DRAExtendedResources: kube-apiserver a, kube-controller-manager a, kube-scheduler a: 1.34 has no gate of this name, perhaps DRAExtendedResource is meant"}},
		"not ours":  {instances: plane("v1.36.4", "--feature-gates=TopologyAwareHints=true,CRDSensitiveData=true")},
		"too new":   {instances: plane("v1.38.0", "--feature-gates=DRASomethingNew=true,SidecarContainers=true")},
		"lock":      {instances: plane("v1.36.4", "--feature-gates=DRAAdminAccess=false"), want: []string{"DRAAdminAccess: kube-apiserver a, kube-controller-manager a, kube-scheduler a: it is set to false, but locked to true since 1.36"}},
		"its value": {instances: plane("v1.36.4", "--feature-gates=DRAAdminAccess=true")},
		"lock ahead": {instances: plane("v1.35.4", "--feature-gates=DRAAdminAccess=false"),
			want: []string{">DRAAdminAccess: after an upgrade to 1.36"}},
		"removed ahead": {instances: plane("v1.36.4", "--feature-gates=GangScheduling=true,GenericWorkload=true"),
			want: []string{">GangScheduling: kube-apiserver a, kube-controller-manager a, kube-scheduler a: 1.37 does not have this gate any more"}},
		"dependency": {instances: plane("v1.36.4", "--feature-gates=DRADeviceTaintRules=true,DRADeviceTaints=false"),
			want: []string{"DRADeviceTaintRules: depends on DRADeviceTaints, which is off (set by its flags): the component does not start"}},
		"dependency ahead": {instances: plane("v1.34.4", "--feature-gates=DRAResourceClaimDeviceStatus=false,DRADeviceBindingConditions=true"),
			want: []string{">DRADeviceBindingConditions: depends on DRAResourceClaimDeviceStatus"}},
		"on by default, parent off": {instances: plane("v1.36.4", "--feature-gates=DRAResourceClaimDeviceStatus=false"),
			want: []string{"DRADeviceBindingConditions: depends on", "DRAResourceClaimGranularStatusAuthorization: depends on", ">DRAResourceClaimDeviceStatus: locked to true since 1.37"}},
		"emulated, not there": {instances: plane("v1.36.4", "--emulated-version=1.35", "--feature-gates=DRAListTypeAttributes=true"),
			want: []string{"DRAListTypeAttributes: 1.35, which is emulated, does not have this gate yet"}},
		"v1 off": {instances: []Instance{running("kube-apiserver/a@v1.34.4", "--runtime-config=api/all=false,resource.k8s.io/v1beta1=true")},
			want: []string{"DynamicResourceAllocation: kube-apiserver a: does not serve resource.k8s.io/v1"}},
		"v1 on after all": {instances: []Instance{running("kube-apiserver/a@v1.34.4", "--runtime-config=api/all=false,resource.k8s.io/v1=true")}},
		"a resource of v1 off": {instances: []Instance{running("kube-apiserver/a@v1.34.4", "--runtime-config=resource.k8s.io/v1/resourceslices=false")},
			want: []string{"DynamicResourceAllocation: kube-apiserver a: does not serve resource.k8s.io/v1/resourceslices because of --runtime-config"}},
		"resources of v1 on, the rest off": {instances: []Instance{running("kube-apiserver/a@v1.34.4", "--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1/resourceslices=true,resource.k8s.io/v1/resourceclaims=true,"+
			"resource.k8s.io/v1/resourceclaimtemplates=true,resource.k8s.io/v1/deviceclasses=true")}},
		"another resource of v1 off": {instances: []Instance{running("kube-apiserver/a@v1.37.2", "--runtime-config=resource.k8s.io/v1/devicetaintrules=false")}},
		"all of a stage in one instance": {instances: []Instance{running("kube-scheduler/a@v1.34.4", "--feature-gates=AllAlpha=true"), running("kube-scheduler/b@v1.34.4"), running("kube-scheduler/c@v1.34.4", "--feature-gates=AllAlpha=false")},
			want: []string{"AllAlpha: not set in kube-scheduler b, set to false in kube-scheduler c, set to true in kube-scheduler a: give all instances of kube-scheduler the same flags"}},
		"all of a stage, in an upgrade":      {instances: []Instance{running("kube-scheduler/a@v1.35.4", "--feature-gates=AllBeta=false"), running("kube-scheduler/b@v1.34.4")}},
		"all of a stage everywhere":          {instances: []Instance{running("kube-scheduler/a@v1.36.3", "--feature-gates=AllAlpha=false"), running("kube-scheduler/b@v1.36.3", "--feature-gates=AllAlpha=false")}},
		"all of a stage, one can't be read":  {instances: []Instance{running("kube-scheduler/a@v1.36.3", "--feature-gates=AllAlpha=false"), running("kube-scheduler/b@v1.36.3", "$(ARGS)")}},
		"kubelets that differ on purpose":    {instances: []Instance{kubelet("a@v1.34.4", ExtendedResource, true), kubelet("b@v1.34.4", ExtendedResource, false)}},
		"a kubelet that does not start then": {instances: []Instance{kubelet("a@v1.36.4", "SidecarContainers", true)}, want: []string{">SidecarContainers: kubelet a: 1.37 does not have this gate any more"}},
		"API version unknown": {instances: plane("v1.34.4", "--runtime-config=resource.k8s.io/v1alpha1=true"),
			want: []string{"DynamicResourceAllocation: kube-apiserver a: --runtime-config names resource.k8s.io/v1alpha1, which 1.34 does not have, take the entry away: the component does not start"}},
		"API version unknown, off": {instances: plane("v1.36.3", "--runtime-config=scheduling.k8s.io/v1alpha1/workloads=false"),
			want: []string{"GenericWorkload: kube-apiserver a: --runtime-config names scheduling.k8s.io/v1alpha1/workloads, which 1.36 does not have"}},
		"API version unknown ahead": {instances: plane("v1.35.4", "--runtime-config=scheduling.k8s.io/v1alpha1=true"),
			want: []string{">GenericWorkload: kube-apiserver a: --runtime-config names scheduling.k8s.io/v1alpha1, which 1.36 does not have, take the entry away: after an upgrade to 1.36"}},
		"API of others":        {instances: plane("v1.34.4", "--runtime-config=other.example.com/v1alpha9=true,api/beta=true")},
		"API of a new version": {instances: plane("v1.38.0", "--runtime-config=resource.k8s.io/v1alpha1=true")},
		"version unread":       {instances: plane("", "--feature-gates=DRAControlPlaneController=true")},
		"nothing readable":     {instances: []Instance{running("kube-scheduler/a@v1.34.4", "$(ARGS)"), running("kube-scheduler/b@v1.34.4", on)}},
	} {
		t.Run(name, func(t *testing.T) {
			var now, ahead []Conflict
			for _, c := range Conflicts(tc.instances) {
				if c.Ahead != 0 {
					ahead = append(ahead, c)
				} else {
					now = append(now, c)
				}
			}
			got := append([]string(nil), Lines(now)...)
			for _, line := range Lines(ahead) {
				got = append(got, ">"+line)
			}
			rest := slices.Clone(got)
			for _, want := range tc.want {
				gate, text, both := strings.Cut(want, ": ")
				at := slices.IndexFunc(rest, func(line string) bool {
					if !both {
						return strings.HasPrefix(line, ">") == strings.HasPrefix(want, ">") && strings.Contains(line, strings.TrimPrefix(want, ">"))
					}
					return strings.HasPrefix(line, gate+": ") && strings.Contains(line, text)
				})
				require.GreaterOrEqual(t, at, 0, "no %q in %q", want, got)
				rest = slices.Delete(rest, at, at+1)
			}
			require.Empty(t, rest, "more than expected")
		})
	}
}

// Who looks at the status must be able to tell from the fields alone what is set where, and what the component goes by.
func TestConflictsAreStructured(t *testing.T) {
	yes, no := true, false
	const gate = "DRAConsumableCapacity"
	got := Conflicts([]Instance{
		running("kube-scheduler/a@v1.34.4", "--feature-gates="+gate+"=true", "--feature-gates=DRAAdminAccess=true,"+gate+"=false"),
		running("kube-apiserver/a@v1.34.4", "--feature-gates="+gate+"=true"),
		running("kube-apiserver/b@v1.34.4"),
		running("kube-controller-manager/a@v1.35.4", "--feature-gates=DRAAdminAccess=false,MemoryManager=false"),
	})
	for i := range got {
		require.NotEmpty(t, got[i].Text)
		require.Contains(t, got[i].Message(), got[i].Text)
		got[i].Text = ""
	}
	require.Equal(t, []Conflict{
		{Gate: "DRAAdminAccess", Values: []bool{true, false}},
		{Gate: "DRAAdminAccess", Component: ControllerManager, Instance: "a", Values: []bool{false}, Effective: &no, Ahead: 36},
		{Gate: gate, Component: APIServer, Values: []bool{true}},
		{Gate: gate, Component: Scheduler, Instance: "a", Values: []bool{true, false}, Effective: &no},
		{Gate: "MemoryManager", Component: ControllerManager, Instance: "a", Values: []bool{false}},
	}, got)
	last := Conflicts([]Instance{running("kube-scheduler/a@v1.34.4", "--feature-gates="+gate+"=false,"+gate+"=true")})
	require.Len(t, last, 1)
	require.Equal(t, &yes, last[0].Effective)
	require.Equal(t, "kube-scheduler a: sets it to false, then true: the last value (true) wins without a warning, keep one", last[0].Message())
	require.False(t, last[0].Harmless())
	alike := Conflicts([]Instance{running("kube-scheduler/a@v1.34.4", "--feature-gates="+gate+"=true", "--feature-gates="+gate+"=true")})
	require.Len(t, alike, 1)
	require.Equal(t, []bool{true, true}, alike[0].Values)
	require.Equal(t, &yes, alike[0].Effective)
	require.True(t, alike[0].Harmless())
	told := Conflicts([]Instance{running("kube-apiserver/a@v1.34.4", "--feature-gates="+gate+"=true"), running("kube-scheduler/a@v1.34.4")})
	require.Len(t, told, 1)
	told[0].Text = ""
	require.Equal(t, Conflict{Gate: gate, Values: []bool{true}}, told[0])
	require.False(t, told[0].Harmless())
}
