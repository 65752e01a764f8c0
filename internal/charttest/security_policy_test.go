package charttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

const (
	exceptionAPI   = "deckhouse.io/v1alpha1/SecurityPolicyException"
	exceptionLabel = "security.deckhouse.io/security-policy-exception"
)

type reason struct {
	Metadata struct {
		Description string `json:"description"`
	} `json:"metadata"`
}

type allowed struct {
	Value bool `json:"allowedValue"`
	reason
}

// exception is the spec of a SecurityPolicyException, as far as we use it; an unknown field is an error.
type exception struct {
	SecurityContext struct {
		Privileged   *allowed `json:"privileged,omitempty"`
		Escalation   *allowed `json:"allowPrivilegeEscalation,omitempty"`
		ReadOnlyRoot *allowed `json:"readOnlyRootFilesystem,omitempty"`
		NonRoot      *allowed `json:"runAsNonRoot,omitempty"`
		User         *struct {
			Values []int64 `json:"allowedValues"`
			reason
		} `json:"runAsUser,omitempty"`
		Capabilities *struct {
			Values struct {
				Add  []string `json:"add"`
				Drop []string `json:"drop"`
			} `json:"allowedValues"`
			reason
		} `json:"capabilities,omitempty"`
	} `json:"securityContext,omitempty"`
	Volumes *struct {
		Types struct {
			Values []string `json:"allowedValues"`
			reason
		} `json:"types"`
		HostPath struct {
			Values []struct {
				Path     string `json:"path"`
				ReadOnly bool   `json:"readOnly"`
				reason
			} `json:"allowedValues"`
		} `json:"hostPath"`
	} `json:"volumes,omitempty"`
}

// allows lists what an exception allows, in the words of asks.
func (e exception) allows(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	allow := func(what string, why reason) {
		require.NotEmpty(t, why.Metadata.Description, what)
		require.False(t, out[what], "%s stands twice", what)
		out[what] = true
	}
	c := e.SecurityContext
	for what, is := range map[string]*allowed{"privileged": c.Privileged, "escalation": c.Escalation, "writable root": c.ReadOnlyRoot, "root, perhaps": c.NonRoot} {
		if is != nil {
			require.Equal(t, what == "privileged" || what == "escalation", is.Value, what)
			allow(what, is.reason)
		}
	}
	if c.User != nil {
		require.Equal(t, []int64{0}, c.User.Values)
		allow("root", c.User.reason)
	}
	if c.Capabilities != nil {
		require.Equal(t, []string{"ALL"}, c.Capabilities.Values.Drop)
		for _, name := range c.Capabilities.Values.Add {
			allow("capability "+name, c.Capabilities.reason)
		}
	}
	if e.Volumes != nil {
		require.Equal(t, []string{"hostPath"}, e.Volumes.Types.Values)
		require.NotEmpty(t, e.Volumes.Types.Metadata.Description)
		for _, p := range e.Volumes.HostPath.Values {
			allow(fmt.Sprintf("path %s, read-only %t", p.Path, p.ReadOnly), p.reason)
		}
	}
	return out
}

// asks adds what a pod asks for beyond the standard `restricted`, as Deckhouse's policies see it: an unset field is what it is by default, and
// of a volume that is mounted in two ways they cannot tell.
func asks(t *testing.T, pod corev1.PodSpec, out map[string]bool) {
	t.Helper()
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	readOnly := map[string]bool{}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		s := c.SecurityContext
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, s.SeccompProfile.Type, c.Name)
		require.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop, c.Name)
		for _, name := range s.Capabilities.Add {
			out["capability "+string(name)] = true
		}
		for what, is := range map[string]bool{
			"privileged":    s.Privileged != nil && *s.Privileged,
			"escalation":    s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation,
			"writable root": s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem,
		} {
			if is {
				out[what] = true
			}
		}
		user, nonRoot := s.RunAsUser, s.RunAsNonRoot
		if pod.SecurityContext != nil && user == nil {
			user = pod.SecurityContext.RunAsUser
		}
		if pod.SecurityContext != nil && nonRoot == nil {
			nonRoot = pod.SecurityContext.RunAsNonRoot
		}
		// An exception compares both with what it allows: unset is not false.
		require.NotNil(t, user, c.Name)
		require.NotNil(t, nonRoot, c.Name)
		require.Equal(t, *user != 0, *nonRoot, c.Name)
		if *user == 0 {
			out["root"], out["root, perhaps"] = true, true
		}
		for _, m := range c.VolumeMounts {
			before, mounted := readOnly[m.Name]
			require.True(t, !mounted || before == m.ReadOnly, "%s is mounted read-only and not", m.Name)
			readOnly[m.Name] = m.ReadOnly
		}
	}
	for _, v := range pod.Volumes {
		switch {
		case v.HostPath != nil:
			out[fmt.Sprintf("path %s, read-only %t", v.HostPath.Path, readOnly[v.Name])] = true
		default:
			require.True(t, v.ConfigMap != nil || v.Projected != nil || v.EmptyDir != nil, "%s is of a type that needs an exception", v.Name)
		}
	}
}

// bound compares exceptions with the DaemonSets whose pods are bound to them, and returns the names of the exceptions.
func bound(t *testing.T, list []client.Object) []string {
	t.Helper()
	asked, allows := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, o := range list {
		switch o := o.(type) {
		case *appsv1.DaemonSet:
			name := o.Spec.Template.Labels[exceptionLabel]
			require.NotContains(t, o.Spec.Selector.MatchLabels, exceptionLabel, "a selector can never change")
			if name == "" {
				continue
			}
			require.Equal(t, o.Name, name)
			if asked[name] == nil {
				asked[name] = map[string]bool{}
			}
			asks(t, o.Spec.Template.Spec, asked[name])
		case *appsv1.Deployment:
			require.NotContains(t, o.Spec.Template.Labels, exceptionLabel)
		case *unstructured.Unstructured:
			if o.GetKind() != "SecurityPolicyException" {
				continue
			}
			require.Equal(t, "d8-gpu-dra", o.GetNamespace())
			raw, err := yaml.Marshal(o.Object["spec"])
			require.NoError(t, err)
			var e exception
			require.NoError(t, yaml.UnmarshalStrict(raw, &e))
			allows[o.GetName()] = e.allows(t)
		}
	}
	require.Equal(t, asked, allows)
	var names []string
	for name := range allows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// An exception allows what the pods of its component on one group ask for, all of it and nothing else.
func TestExceptionsCoverExactlyWhatPodsAskFor(t *testing.T) {
	require.Equal(t, []string{"driver-acme-npu", "driver-nvidia-gpu-a100", "exporter-nvidia-gpu-a100"}, bound(t, objects(t, deckhouse(t, versions[0], true))))
	for _, metrics := range []string{"Default", "Profiling"} {
		all := everything(t)
		all.Values["exporter"] = map[string]any{"metrics": metrics}
		all.Values = underHooks(t, all.Values, values.Internal{Cluster: values.Cluster{Distribution: "Deckhouse"}})
		all.APIVersions = []string{exceptionAPI}
		names := bound(t, objects(t, all))
		require.Contains(t, names, "driver-amd-amd-a")
		require.Contains(t, names, "exporter-amd-amd-a")
		require.NotContains(t, names, "exporter-example-example-a")

		all.APIVersions = nil
		require.Empty(t, bound(t, objects(t, all)), "nobody knows the kind")
	}
	in := everything(t)
	in.APIVersions = []string{exceptionAPI}
	require.Empty(t, bound(t, objects(t, in)), "a plain Helm install is in no system namespace")
}

// A pod names its exception in a label, and a label holds 63 characters.
func TestLongNamesOfExceptions(t *testing.T) {
	exceptions := func(groups ...string) []string {
		in := npu + "nodeGroups:\n"
		for _, g := range groups {
			in += "- {name: " + g + ", drivers: [npu]}\n"
		}
		o := Options{Values: underHooks(t, parse(t, in), values.Internal{}), APIVersions: []string{exceptionAPI}}
		var names []string
		for _, o := range objects(t, o) {
			if u, ok := o.(*unstructured.Unstructured); ok && u.GetKind() == "SecurityPolicyException" {
				names = append(names, u.GetName())
			}
			if ds, ok := o.(*appsv1.DaemonSet); ok {
				require.Empty(t, validation.IsValidLabelValue(ds.Spec.Template.Labels[exceptionLabel]))
				names = append(names, ds.Spec.Template.Labels[exceptionLabel])
			}
		}
		require.Len(t, names, 2*len(groups))
		slices.Sort(names)
		return slices.Compact(names)
	}
	fits := strings.Repeat("g", 63-len("driver-npu-"))
	require.Equal(t, []string{"driver-npu-" + fits}, exceptions(fits))
	long := exceptions(strings.Repeat("g", 62)+"a", strings.Repeat("g", 62)+"b", strings.Repeat("g", 42)+"-"+strings.Repeat("g", 20))
	require.Len(t, long, 3, "alike at their beginning, and still different")
	for _, name := range long {
		require.LessOrEqual(t, len(name), 63)
		require.Regexp(t, `^driver-npu-g+-[0-9a-f]{8}$`, name)
	}
}
