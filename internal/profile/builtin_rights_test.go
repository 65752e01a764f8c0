package profile

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vendorRights are the rights that a vendor's own chart or manifest gives its plugin, and what of them it does without.
type vendorRights struct {
	// source is where the vendor says so.
	source string
	// given by the vendor: `scope group/resource: verbs`.
	given []string
	// dropped of them, with the reason before it.
	dropped map[string][]string
	// narrowed to the namespace of gpu-dra, where the vendor gives them for the whole cluster.
	narrowed []string
}

// usual is what the kubelet plugin library of k8s.io/dynamic-resource-allocation asks for.
var usual = []string{
	"cluster /nodes: get",
	"cluster resource.k8s.io/resourceclaims: get",
	"cluster resource.k8s.io/resourceslices: get list watch create update patch delete",
}

var rightsOfVendors = map[string]vendorRights{
	"nvidia": {
		source: "kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0, deployments/helm/dra-driver-nvidia-gpu/templates/rbac-kubeletplugin.yaml",
		given: []string{
			"cluster /nodes: get list watch update patch",
			"cluster /pods: get list watch",
			"cluster resource.k8s.io/resourceclaims: get list watch",
			"cluster resource.k8s.io/resourceslices: get list watch create update delete",
			"cluster resource.nvidia.com/computedomains: get list watch",
			"namespace apps/deployments: get list watch create update patch delete",
			"namespace resource.nvidia.com/computedomaincliques: get",
		},
		dropped: map[string][]string{
			"cmd/gpu-kubelet-plugin/sharing.go gets, creates and deletes MPS Deployments, no more": {"namespace apps/deployments: list watch update patch"},
		},
		// cmd/gpu-kubelet-plugin/sharing.go lists the pods of an MPS Deployment.
		narrowed: []string{"namespace /pods: list"},
	},
	"amd": {
		source: "ROCm/k8s-gpu-dra-driver v1.0.1, its chart's ClusterRole without the option for KMM",
		given:  usual,
	},
	"intel-gpu": {
		source: "intel/intel-resource-drivers-for-kubernetes gpu-v0.11.0, charts/intel-gpu-resource-driver/templates/clusterrole.yaml",
		given:  usual,
	},
	"intel-gaudi": {
		source: "intel/intel-resource-drivers-for-kubernetes gaudi-v0.7.2, charts/intel-gaudi-resource-driver/templates/clusterrole.yaml",
		given:  append([]string{"cluster resource.k8s.io/devicetaintrules: get list watch create"}, usual...),
		dropped: map[string][]string{
			"health monitoring is off: DeviceTaintRule v1alpha3 is served nowhere by default": {"cluster resource.k8s.io/devicetaintrules: get list watch create"},
		},
	},
	"ascend": {
		source: "Project-HAMi/ascend-dra-driver chart 0.1.1, deployments/helm/ascend-dra-driver",
		given: []string{
			"cluster /nodes: get list create",
			"cluster /namespaces: get list create",
			"cluster resource.k8s.io/resourceclaims: get create",
			"cluster resource.k8s.io/deviceclasses: get list watch create update patch delete",
			"cluster resource.k8s.io/resourceslices: get list watch create update patch delete",
		},
		dropped: map[string][]string{
			"classes are made in the mode that is not run":            {"cluster resource.k8s.io/deviceclasses: get list watch create update patch delete"},
			"nothing in cmd/ascend-dra-kubeletplugin makes use of it": {"cluster /nodes: list create", "cluster /namespaces: get list create", "cluster resource.k8s.io/resourceclaims: create"},
		},
	},
	"hygon": {
		source: "HYGON-AI/k8s-hcu-dra-driver v1.0.0, deployments/static/hcu-dra-driver.yaml",
		given: []string{
			"cluster /nodes: get list watch update",
			"cluster resource.k8s.io/resourceclaims: get list watch",
			"cluster resource.k8s.io/resourceclaims/status: update",
			"cluster resource.k8s.io/resourceclaimtemplates: get list watch create update delete",
			"cluster resource.k8s.io/resourceslices: get list watch create update delete",
		},
		dropped: map[string][]string{
			"internal/driver lists claims and writes slices, no more": {
				"cluster /nodes: list watch update", "cluster resource.k8s.io/resourceclaims: watch",
				"cluster resource.k8s.io/resourceclaims/status: update",
				"cluster resource.k8s.io/resourceclaimtemplates: get list watch create update delete",
			},
		},
	},
	"rebellions": {
		source: "RBLN-SW/rbln-k8s-dra-driver, deployments/helm/k8s-dra-driver-npu/templates/clusterrole.yaml",
		given:  usual,
	},
	"example": {
		source: "kubernetes-sigs/dra-example-driver v0.2.1, its chart's ClusterRole",
		given:  usual,
		dropped: map[string][]string{
			"resourceslice/resourceslicecontroller.go of the library lists, watches, creates, updates and deletes; test/e2e sees it so": {"cluster resource.k8s.io/resourceslices: get patch"},
		},
	},
}

// single spells lines of the tables out: one verb on one resource each.
func single(lines []string) []string {
	var out []string
	for _, l := range lines {
		what, verbs, _ := strings.Cut(l, ": ")
		for _, v := range strings.Fields(verbs) {
			out = append(out, what+" "+v)
		}
	}
	slices.Sort(out)
	return out
}

// rightsOf spells the rules of a plugin out, and says on what each depends.
func rightsOf(p *Plugin) map[string]When {
	out := map[string]When{}
	for scope, rules := range map[string][]Rule{"cluster": p.Rules, "namespace": p.NamespaceRules} {
		for _, r := range rules {
			when := When{}
			if r.When != nil {
				when = *r.When
			}
			for _, g := range r.APIGroups {
				for _, res := range r.Resources {
					for _, v := range r.Verbs {
						out[scope+" "+g+"/"+res+" "+v] = when
					}
				}
			}
		}
	}
	return out
}

// rightsLeft are the rights that the vendor of a driver gives, less those that were dropped.
func rightsLeft(t *testing.T, vendors map[string]vendorRights, name string) (vendor vendorRights, left []string) {
	t.Helper()
	vendor, known := vendors[name]
	require.True(t, known, "%s: say where its vendor's rights stand", name)
	require.NotEmpty(t, vendor.source)
	left = single(vendor.given)
	for why, lines := range vendor.dropped {
		for _, right := range single(lines) {
			require.Contains(t, left, right, "%s: %s", name, why)
			left = slices.DeleteFunc(left, func(s string) bool { return s == right })
		}
	}
	return vendor, left
}

func TestRightsAreTheVendorsLessWhatIsNotUsed(t *testing.T) {
	for _, d := range plugins(t) {
		vendor, want := rightsLeft(t, rightsOfVendors, d.Name)
		for _, right := range single(vendor.narrowed) {
			require.Contains(t, want, strings.Replace(right, "namespace", "cluster", 1), d.Name)
			want = append(want, right)
		}
		require.ElementsMatch(t, want, sortedKeys(rightsOf(d.Plugin)), "%s, compared with %s", d.Name, vendor.source)
	}
}

// A right that one part needs is not given without it.
func TestRightsComeWithWhatNeedsThem(t *testing.T) {
	domains, mps := When{ComputeDomains: true}, When{Gate: "MPSSupport"}
	want := map[string]When{
		"cluster /nodes list": domains, "cluster /nodes watch": domains, "cluster /nodes update": domains,
		"cluster /nodes patch": {ComputeDomains: true, Since: "0.5.0"},
		"cluster /pods get":    domains, "cluster /pods list": domains, "cluster /pods watch": domains,
		"cluster resource.nvidia.com/computedomains get":         domains,
		"cluster resource.nvidia.com/computedomains list":        domains,
		"cluster resource.nvidia.com/computedomains watch":       domains,
		"namespace resource.nvidia.com/computedomaincliques get": domains,
		"namespace apps/deployments get":                         mps,
		"namespace apps/deployments create":                      mps,
		"namespace apps/deployments delete":                      mps,
		"namespace /pods list":                                   mps,
	}
	for _, d := range plugins(t) {
		for right, when := range rightsOf(d.Plugin) {
			if d.Name != "nvidia" {
				require.Equal(t, When{}, when, "%s: %s", d.Name, right)
				continue
			}
			require.Equal(t, want[right], when, right)
			delete(want, right)
		}
	}
	require.Empty(t, want)
}
