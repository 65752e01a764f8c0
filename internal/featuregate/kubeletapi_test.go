package featuregate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Behind an API server of 1.34 a kubelet of 1.33 can't read a claim unless it is served the old version.
func TestForOldKubelets(t *testing.T) {
	const served = "--runtime-config=resource.k8s.io/v1beta1=true"
	old := []v1alpha1.VersionCount{{Version: "v1.33.5", Count: 2}, {Version: "v1.34.4", Count: 5}}
	needs := needed(DynamicResourceAllocation)
	for name, tc := range map[string]struct {
		cluster Cluster
		want    []string
	}{
		"not served":                      {Cluster{Instances: plane("v1.34.4"), Kubelets: old}, []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta1"}},
		"not served, later":               {Cluster{Instances: plane("v1.36.3"), Kubelets: old}, []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta1"}},
		"not served, on a platform":       {Cluster{Instances: plane("v1.34.4"), Kubelets: old, Rules: deckhouse(t)}, []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta1"}},
		"DRA off":                         {Cluster{Instances: plane("v1.34.4", "--feature-gates=DynamicResourceAllocation=false"), Kubelets: old}, []string{"kube-apiserver a False ServeAPI serve resource.k8s.io/v1beta1"}},
		"served":                          {Cluster{Instances: plane("v1.34.4", served), Kubelets: old}, nil},
		"one resource not served":         {Cluster{Instances: plane("v1.34.4", served+",resource.k8s.io/v1beta1/resourceclaims=false"), Kubelets: old}, []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta1/resourceclaims"}},
		"one that nobody asks for":        {Cluster{Instances: plane("v1.34.4", served+",resource.k8s.io/v1beta1/deviceclasses=false"), Kubelets: old}, nil},
		"kubelets are new":                {Cluster{Instances: plane("v1.34.4"), Kubelets: old[1:]}, nil},
		"no kubelet":                      {Cluster{Instances: plane("v1.34.4")}, nil},
		"a kubelet that was read":         {Cluster{Instances: append(plane("v1.34.4"), kubelet("n@v1.33.5", DynamicResourceAllocation, true))}, []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta1"}},
		"with the gate itself below 1.34": {Cluster{Instances: plane("v1.33.13"), Kubelets: old}, nil},
		"an upgrade on its way":           {Cluster{Instances: []Instance{running("kube-apiserver/a@v1.34.4"), running("kube-apiserver/b@v1.33.13", served)}, Kubelets: old}, []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta1"}},
		"one of three":                    {Cluster{Instances: []Instance{running("kube-apiserver/a@v1.34.4", served), running("kube-apiserver/b@v1.34.4"), running("kube-apiserver/c@v1.34.4", "$(ARGS)")}, Kubelets: old}, []string{"kube-apiserver b True ServeAPI serve resource.k8s.io/v1beta1"}},
		"nothing known":                   {Cluster{Version: "v1.34.4", Kubelets: old}, nil},
		"unreadable":                      {Cluster{Version: "v1.34.4", Instances: []Instance{running("kube-apiserver/a@v1.34.4", "$(ARGS)")}, Kubelets: old}, nil},
		"perhaps in a file":               {Cluster{Version: "v1.34.4", Instances: []Instance{running("kube-apiserver/a@v1.34.4", "--openshift-config=/c")}, Kubelets: old}, nil},
		"not served, as is seen":          {Cluster{Version: "v1.34.4", ResourceAPIs: []string{"v1", "v1beta2"}, Kubelets: old}, []string{"kube-apiserver  Unknown ServeAPI serve resource.k8s.io/v1beta1"}},
		"served, as is seen":              {Cluster{Version: "v1.34.4", ResourceAPIs: []string{"v1", "v1beta1"}, Kubelets: old}, nil},
		"a version that is too new":       {Cluster{Instances: plane("v1.38.0"), Kubelets: old}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.cluster.Needs = needs
			var got []string
			for _, s := range ForOldKubelets(tc.cluster) {
				require.Equal(t, DynamicResourceAllocation, s.Gate)
				require.Regexp(t, `^[12] kubelet\(s\) below 1\.34 speak no other version, so pods with claims do not start there: upgrade them, or serve it until they are$`, s.Why)
				got = append(got, told(s))
			}
			require.Equal(t, tc.want, got)

			// One rule: what is so now is said of an upgrade to that version too, and what is not known is no verdict.
			stops := false
			for _, f := range Preflight(tc.cluster, kubeletAPIUntil) {
				stops = stops || f.Stops && strings.Contains(f.Text, "below 1.34 speak")
			}
			if from := OldestServer(tc.cluster.Instances, tc.cluster.Version); from >= kubeletAPIUntil && from <= newest {
				require.Equal(t, len(got) > 0, stops)
			}
			tc.cluster.Needs = []Need{{Gate: DynamicResourceAllocation}}
			require.Empty(t, ForOldKubelets(tc.cluster), "nobody needs DRA")
		})
	}
}
