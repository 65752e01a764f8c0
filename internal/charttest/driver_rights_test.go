package charttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

const slices1 = "get resource.k8s.io/resourceslices"

// What all groups of a driver may hangs on no setting of one; what one group's settings switch on, its pods alone may.
func TestRightsOfADriver(t *testing.T) {
	common := []string{"create resource.k8s.io/resourceslices", "delete resource.k8s.io/resourceslices", "get /nodes", slices1,
		"list resource.k8s.io/resourceslices", "patch resource.k8s.io/resourceslices", "update resource.k8s.io/resourceslices", "watch resource.k8s.io/resourceslices"}
	two := npu + `
nodeGroups:
- {name: a, drivers: [npu], nodeSelector: {a: b}, driverOverrides: {npu: {computeDomains: true}}}
- {name: b, drivers: [npu], nodeSelector: {a: c}, driverOverrides: {npu: {featureGates: {Share: true}}}}
`
	newer := append([]string{"associated-node:update resource.k8s.io/resourceclaims/driver npu.acme.example"}, common...)
	for name, c := range map[string]struct {
		options Options
		// may is what the pods of each group may, in the whole cluster and in the namespace.
		may, inside map[string][]string
	}{
		"one group": {Options{Values: parse(t, npuGroup)}, map[string][]string{"a": common}, nil},
		"two groups": {Options{Values: parse(t, two), KubeVersion: "v1.36.3"},
			map[string][]string{"a": append([]string{"list /pods"}, newer...), "b": newer}, map[string][]string{"b": {"create apps/deployments"}}},
		"for every group": {Options{Values: merge(t, two, "drivers: {npu: {computeDomains: true, featureGates: {Share: true}}}")},
			map[string][]string{"a": append([]string{"list /pods"}, common...), "b": append([]string{"list /pods"}, common...)},
			map[string][]string{"a": {"create apps/deployments"}, "b": {"create apps/deployments"}}},
		"a rule of the namespace for all": {Options{Values: withRule(t, two, "namespaceRules", `{apiGroups: [""], resources: [configmaps], verbs: [get]}`)},
			map[string][]string{"a": append([]string{"list /pods"}, common...), "b": common},
			map[string][]string{"a": {"get /configmaps"}, "b": {"get /configmaps", "create apps/deployments"}}},
		"of a newer driver": {Options{Values: withRule(t, npu+`
nodeGroups:
- {name: a, drivers: [npu], nodeSelector: {a: b}}
- {name: b, drivers: [npu], nodeSelector: {a: c}, driverOverrides: {npu: {image: {tag: v2.0.0}}}}
`, "rules", `{apiGroups: [""], resources: [nodes], verbs: [patch], when: {since: 2.0.0}}`)},
			map[string][]string{"a": common, "b": append([]string{"patch /nodes"}, common...)}, nil},
	} {
		all := objects(t, c.options)
		for group, want := range c.may {
			account := Find[*appsv1.DaemonSet](all, "driver-npu-"+group).Spec.Template.Spec.ServiceAccountName
			require.Equal(t, "driver-npu-"+group, account)
			require.False(t, *Find[*corev1.ServiceAccount](all, account).AutomountServiceAccountToken)
			cluster, inside := granted(t, all, account)
			require.ElementsMatch(t, want, cluster, "%s: %s", name, group)
			require.ElementsMatch(t, c.inside[group], inside, "%s: %s", name, group)
		}
		accounts := 0
		for id := range byID(t, all) {
			if strings.HasPrefix(id, "*v1.ServiceAccount gpu-dra-system/driver-") {
				accounts++
			}
		}
		require.Len(t, c.may, accounts, "%s: an account that no pod has", name)
	}

	// Under hooks, as everything cluster-wide of a Deckhouse module.
	all := objects(t, hooks(t, npu+"nodeGroups: [{name: a, drivers: [npu], driverOverrides: {npu: {computeDomains: true}}}]", values.NodeGroup{}))
	for _, name := range []string{"d8:gpu-dra:driver-npu", "d8:gpu-dra:driver-npu:a"} {
		require.NotNil(t, Find[*rbacv1.ClusterRole](all, name), name)
		require.Equal(t, "d8-gpu-dra", Find[*rbacv1.ClusterRoleBinding](all, name).Subjects[0].Namespace)
	}
}

// withRule adds a rule to those of the plugin of npu.
func withRule(t *testing.T, in, field, rule string) map[string]any {
	t.Helper()
	v := parse(t, in)
	plugin := v["customDrivers"].([]any)[0].(map[string]any)["plugin"].(map[string]any)
	plugin[field] = append(plugin[field].([]any), parse(t, rule))
	return v
}

// granted is what roles allow a ServiceAccount of the release's namespace, in the whole cluster and in the namespace.
func granted(t *testing.T, list []client.Object, account string) (cluster, inside []string) {
	t.Helper()
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: account, Namespace: "gpu-dra-system"}
	for _, o := range list {
		switch b := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			if slices.Contains(b.Subjects, subject) {
				require.Equal(t, b.Name, b.RoleRef.Name)
				cluster = append(cluster, rules(Find[*rbacv1.ClusterRole](list, b.RoleRef.Name).Rules)...)
			}
		case *rbacv1.RoleBinding:
			if slices.Contains(b.Subjects, subject) {
				require.Equal(t, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: b.Name}, b.RoleRef)
				inside = append(inside, rules(Find[*rbacv1.Role](list, b.RoleRef.Name).Rules)...)
			}
		}
	}
	return cluster, inside
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
