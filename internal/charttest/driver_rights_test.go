package charttest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

const slices1 = "get resource.k8s.io/resourceslices"

// What one group needs all groups of the driver may: they share a ServiceAccount.
func TestRightsOfADriver(t *testing.T) {
	common := []string{"create resource.k8s.io/resourceslices", "delete resource.k8s.io/resourceslices", "get /nodes", slices1,
		"list resource.k8s.io/resourceslices", "patch resource.k8s.io/resourceslices", "update resource.k8s.io/resourceslices", "watch resource.k8s.io/resourceslices"}
	role := func(o Options) ([]string, *rbacv1.Role) {
		all := objects(t, o)
		binding := Find[*rbacv1.ClusterRoleBinding](all, "gpu-dra:driver-npu")
		require.Equal(t, "gpu-dra:driver-npu", binding.RoleRef.Name)
		require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "driver-npu", Namespace: "gpu-dra-system"}}, binding.Subjects)
		require.False(t, *Find[*corev1.ServiceAccount](all, "driver-npu").AutomountServiceAccountToken)
		own := Find[*rbacv1.Role](all, "driver-npu")
		require.Equal(t, own != nil, Find[*rbacv1.RoleBinding](all, "driver-npu") != nil)
		return rules(Find[*rbacv1.ClusterRole](all, "gpu-dra:driver-npu").Rules), own
	}
	got, own := role(Options{Values: parse(t, npuGroup)})
	require.Equal(t, common, got)
	require.Nil(t, own)

	two := npu + `
nodeGroups:
- {name: a, drivers: [npu], nodeSelector: {a: b}, driverOverrides: {npu: {computeDomains: true}}}
- {name: b, drivers: [npu], nodeSelector: {a: c}, driverOverrides: {npu: {featureGates: {Share: true}}}}
`
	got, own = role(Options{Values: parse(t, two), KubeVersion: "v1.36.3"})
	require.ElementsMatch(t, append([]string{"list /pods", "associated-node:update resource.k8s.io/resourceclaims/driver npu.acme.example"}, common...), got)
	require.Equal(t, []string{"create apps/deployments"}, rules(own.Rules))

	// Under hooks, as everything cluster-wide of a Deckhouse module.
	all := objects(t, hooks(t, npu+"nodeGroups: [{name: a, drivers: [npu]}]", values.NodeGroup{}))
	require.NotNil(t, Find[*rbacv1.ClusterRole](all, "d8:gpu-dra:driver-npu"))
	require.Equal(t, "d8-gpu-dra", Find[*rbacv1.ClusterRoleBinding](all, "d8:gpu-dra:driver-npu").Subjects[0].Namespace)
}

// The guard reads its node where the profile says nothing of nodes, or only of some.
func TestGuardMayReadItsNode(t *testing.T) {
	for rule, want := range map[string]int{
		`{apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}`:         1,
		`{apiGroups: [""], resources: [pods, nodes], verbs: [list, get]}`:                   1,
		`{apiGroups: [""], resources: [nodes], verbs: [list]}`:                              1,
		`{apiGroups: [""], resources: [nodes], resourceNames: [x], verbs: [get]}`:           1,
		`{apiGroups: [""], resources: [nodes], verbs: [get], when: {computeDomains: true}}`: 1,
	} {
		in := "customDrivers: [{name: x, driverName: x.example, plugin: {image: {repository: r.example/x, tag: v1}, containers: [{name: x}], rules: [" + rule + "]}}]\n" +
			"nodeGroups: [{name: a, drivers: [x], nodeSelector: {a: b}}]"
		n := 0
		for _, r := range Find[*rbacv1.ClusterRole](objects(t, Options{Values: parse(t, in)}), "gpu-dra:driver-x").Rules {
			for _, right := range rules([]rbacv1.PolicyRule{r}) {
				if right == "get /nodes" {
					n++
				}
			}
		}
		require.Equal(t, want, n, rule)
	}
}

// A driver that is installed by other means, or runs nowhere, leaves nothing behind.
func TestDriversThatDoNotRun(t *testing.T) {
	for _, in := range []string{npu, acme + "nodeGroups: [{name: a, drivers: [acme], nodeSelector: {a: b}}]", npu + "claimTemplates: [{name: a, driver: npu, namespaces: [x]}]"} {
		for id := range byID(t, objects(t, Options{Values: parse(t, in)})) {
			require.NotContains(t, id, "driver-")
		}
	}
}
