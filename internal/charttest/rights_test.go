package charttest

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// readOnly verbs.
var readOnly = map[string]bool{"get": true, "list": true, "watch": true}

// writes are all that anything the chart creates may do besides reading, in the whole cluster; who may do it stands in the
// golden files.
var writes = map[string][]string{
	"/nodes":                                        {"patch"},
	"resource.k8s.io/resourceclaimtemplates":        {"create", "update", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpunodes":                 {"create", "update", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpunodes/status":          {"update", "patch"},
	"gpu-dra.deckhouse.io/gpustacks":                {"create", "update", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpustacks/status":         {"update", "patch"},
	"gpu-dra.deckhouse.io/gpunodegroups":            {"create", "update", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpunodegroups/status":     {"update", "patch"},
	"gpu-dra.deckhouse.io/gpuclaimtemplates":        {"create", "update", "patch", "delete", "deletecollection"},
	"gpu-dra.deckhouse.io/gpuclaimtemplates/status": {"update", "patch"},
	"deckhouse.io/moduleconfigs":                    {"create", "update", "patch", "delete"},
}

func TestRightsAreNoWiderThanNeeded(t *testing.T) {
	for _, o := range []Options{plain(t, "rosa", "v1.34.4", true), deckhouse(t, "v1.37.2", true)} {
		for _, object := range objects(t, o) {
			switch r := object.(type) {
			case *rbacv1.ClusterRole:
				for _, rule := range r.Rules {
					check(t, rule, writes)
				}
			case *rbacv1.Role:
				for _, rule := range r.Rules {
					check(t, rule, map[string][]string{
						"coordination.k8s.io/leases": {"create", "update"},
						"/events":                    {"create", "patch"},
						"events.k8s.io/events":       {"create", "patch"},
					})
				}
			}
		}
	}
}

func check(t *testing.T, rule rbacv1.PolicyRule, allowed map[string][]string) {
	t.Helper()
	require.Empty(t, rule.NonResourceURLs)
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			require.NotEqual(t, "*", group)
			require.NotContains(t, resource, "*")
			for _, verb := range rule.Verbs {
				if !readOnly[verb] {
					require.Contains(t, allowed[group+"/"+resource], verb, "%s of %s/%s", verb, group, resource)
				}
			}
			// Nobody here has business with the contents of Secrets.
			require.NotEqual(t, "secrets", resource)
		}
	}
}

// The controller fits the Pod Security level restricted.
func TestControllerIsRestricted(t *testing.T) {
	pod := Find[*appsv1.Deployment](objects(t, Options{}), "controller").Spec.Template.Spec
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	for _, v := range pod.Volumes {
		require.NotNil(t, v.ConfigMap, "%s: only the settings are mounted", v.Name)
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		require.False(t, *s.AllowPrivilegeEscalation)
		require.True(t, *s.ReadOnlyRootFilesystem)
		require.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop)
		require.Empty(t, s.Capabilities.Add)
		for _, p := range c.Ports {
			require.Greater(t, p.ContainerPort, int32(1024))
		}
	}
}
