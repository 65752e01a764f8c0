package featuregate

import (
	"slices"
	"strings"
	"testing"
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
			want: []string{"DRAConsumableCapacity: kube-scheduler a: sets it to true, then false, then true: the last value wins"}},
		"twice alike":   {instances: []Instance{running("kube-scheduler/a@v1.34.4", on, on)}},
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
		"removed ahead": {instances: plane("v1.36.4", "--feature-gates=GangScheduling=true"),
			want: []string{">GangScheduling: 1.37 does not have this gate any more"}},
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
		"v1 on after all":  {instances: []Instance{running("kube-apiserver/a@v1.34.4", "--runtime-config=api/all=false,resource.k8s.io/v1=true")}},
		"version unread":   {instances: plane("", "--feature-gates=DRAControlPlaneController=true")},
		"nothing readable": {instances: []Instance{running("kube-scheduler/a@v1.34.4", "$(ARGS)"), running("kube-scheduler/b@v1.34.4", on)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Conflicts(tc.instances)
			rest := slices.Clone(got)
			for _, want := range tc.want {
				ahead := strings.HasPrefix(want, ">")
				gate, text, _ := strings.Cut(strings.TrimPrefix(want, ">"), ": ")
				if !strings.Contains(want, ": ") {
					gate, text = "", want
				}
				at := slices.IndexFunc(rest, func(c Conflict) bool {
					return (gate == "" || c.Gate == gate) && c.Ahead == ahead && strings.Contains(c.Message, text)
				})
				if at < 0 {
					t.Errorf("no %q in %+v", want, got)
					continue
				}
				rest = slices.Delete(rest, at, at+1)
			}
			if len(rest) > 0 {
				t.Errorf("more than expected: %+v", rest)
			}
		})
	}
}
