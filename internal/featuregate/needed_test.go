package featuregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

func TestNeeded(t *testing.T) {
	drivers, err := profile.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := profile.NewSet(drivers...)
	if err != nil {
		t.Fatal(err)
	}
	memory := resource.MustParse("16Gi")
	group := func(edit func(*settings.NodeGroup)) settings.Settings {
		g := settings.NodeGroup{Name: "a", Drivers: []string{"nvidia", "no-such-profile"}, Partitioning: "None"}
		edit(&g)
		return settings.Settings{NodeGroups: []settings.NodeGroup{g}}
	}
	with := func(s settings.Settings, edit func(*settings.Settings)) settings.Settings { edit(&s); return s }
	nothing := func(*settings.NodeGroup) {}
	dra, watched := Need{DynamicResourceAllocation, []string{"nodeGroups"}}, Need{Gate: ExtendedResource}
	for name, tc := range map[string]struct {
		settings settings.Settings
		want     []Need
	}{
		"nothing": {},
		"a group": {settings: group(nothing), want: []Need{watched, dra}},
		"passive": {settings: group(func(g *settings.NodeGroup) { g.Passive, g.Partitioning = true, "Dynamic" })},
		"dynamic partitions": {settings: group(func(g *settings.NodeGroup) { g.Partitioning = "Dynamic" }),
			want: []Need{watched, {"DRAPartitionableDevices", []string{"nodeGroups[name=a].partitioning"}}, dra}},
		"passthrough that switches a gate on": {settings: group(func(g *settings.NodeGroup) { g.Drivers, g.Passthrough = []string{"amd"}, true }),
			want: []Need{watched, {"DRAPartitionableDevices", []string{"nodeGroups[name=a].passthrough"}}, dra}},
		"pod labels of the exporter": {settings: with(group(nothing), func(s *settings.Settings) { s.Exporter.Mode = "DaemonSet" }),
			want: []Need{{AdminAccess, nil}, {DeviceTaints, nil}, watched, dra, {"KubeletPodResourcesDynamicResources", []string{"exporter.mode"}}}},
		"no exporter on the nodes": {settings: with(group(nothing), func(s *settings.Settings) { s.Exporter.Mode = "Sidecar" }), want: []Need{watched, dra}},
		"an exporter of nothing":   {settings: settings.Settings{Exporter: settings.Exporter{Mode: "DaemonSet"}}},
		"static partitions":        {settings: group(func(g *settings.NodeGroup) { g.Partitioning = "Static" }), want: []Need{watched, dra}},
		"a driver's gate": {settings: with(group(nothing), func(s *settings.Settings) {
			s.Drivers = map[string]settings.DriverConfig{"nvidia": {FeatureGates: map[string]bool{"NVMLDeviceHealthCheck": true}}}
		}), want: []Need{{"DRADeviceTaints", []string{"drivers.nvidia.featureGates.NVMLDeviceHealthCheck"}}, watched, dra}},
		"a driver's gate, not here": {settings: with(group(func(g *settings.NodeGroup) {
			g.DriverOverrides = map[string]settings.DriverConfig{"nvidia": {FeatureGates: map[string]bool{"NVMLDeviceHealthCheck": false, "ConsumableShares": true}}}
		}), func(s *settings.Settings) {
			s.Drivers = map[string]settings.DriverConfig{"nvidia": {FeatureGates: map[string]bool{"NVMLDeviceHealthCheck": true}}}
		}), want: []Need{{"DRAConsumableCapacity", []string{"nodeGroups[name=a].driverOverrides.nvidia.featureGates.ConsumableShares"}}, watched, dra}},
		"a driver's gate of the same name": {settings: with(group(nothing), func(s *settings.Settings) {
			s.Drivers = map[string]settings.DriverConfig{"nvidia": {FeatureGates: map[string]bool{"DRAListTypeAttributes": true}}}
		}), want: []Need{watched, {"DRAListTypeAttributes", []string{"drivers.nvidia.featureGates.DRAListTypeAttributes"}}, dra}},
		"extended always": {settings: with(group(nothing), func(s *settings.Settings) { s.DeviceClasses.ExtendedResources = "Always" }),
			want: []Need{{ExtendedResource, []string{"deviceClasses.extendedResources"}}, dra}},
		"extended never": {settings: with(group(nothing), func(s *settings.Settings) { s.DeviceClasses.ExtendedResources = "Never" }), want: []Need{dra}},
		"extended for one class": {settings: with(group(nothing), func(s *settings.Settings) {
			s.DeviceClasses = settings.DeviceClasses{ExtendedResources: "Never", Classes: map[string]settings.ClassChoice{"gpu.nvidia.com": {ExtendedResources: "Always"}}}
		}), want: []Need{{ExtendedResource, []string{"deviceClasses.classes.gpu.nvidia.com.extendedResources"}}, dra}},
		"extended of no class": {settings: with(group(nothing), func(s *settings.Settings) {
			s.DeviceClasses = settings.DeviceClasses{Create: "Never", ExtendedResources: "Always"}
		}), want: []Need{dra}},
		"extended of a class of one's own": {settings: settings.Settings{DeviceClasses: settings.DeviceClasses{ExtendedResources: "Always",
			Extra: []settings.ExtraClass{{Name: "mine", ExtendedResourceName: "example.com/gpu"}}}},
			want: []Need{{ExtendedResource, []string{"deviceClasses.extendedResources"}}}},
		"no extended name": {settings: settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "a", Drivers: []string{"example"}}}}, want: []Need{dra}},
		"templates": {settings: settings.Settings{ClaimTemplates: []settings.ClaimTemplate{
			{Name: "z", GPUClaimTemplateSpec: v1alpha1.GPUClaimTemplateSpec{Fit: v1alpha1.FitSmallest, MinMemory: &memory}},
			{Name: "a", GPUClaimTemplateSpec: v1alpha1.GPUClaimTemplateSpec{MinMemory: &memory}},
			{Name: "b", GPUClaimTemplateSpec: v1alpha1.GPUClaimTemplateSpec{Fit: v1alpha1.FitFirst, MinMemory: &memory}},
			{Name: "c"},
		}}, want: []Need{{PrioritizedList, []string{"claimTemplates[name=a].fit", "claimTemplates[name=z].fit"}}, {DynamicResourceAllocation, []string{"claimTemplates"}}}},
		"extra": {settings: settings.Settings{KubernetesFeatureGates: settings.KubernetesFeatureGates{ExtraRequired: []string{"DRAAdminAccess"}}},
			want: []Need{{"DRAAdminAccess", []string{"kubernetesFeatureGates.extraRequired"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Needed(&tc.settings, profiles), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := Needed(nil, profiles); got != nil {
		t.Errorf("no settings need %v", got)
	}
}
