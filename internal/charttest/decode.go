package charttest

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// untyped kinds have no Go types here; their fields are not checked.
var untyped = map[string]bool{
	"autoscaling.k8s.io/v1, Kind=VerticalPodAutoscaler":  true,
	"deckhouse.io/v1alpha1, Kind=NodeGroupConfiguration": true,
	// security_policy_test.go looks at these.
	"deckhouse.io/v1alpha1, Kind=SecurityPolicyException": true,
	"cert-manager.io/v1, Kind=Issuer":                     true,
	"cert-manager.io/v1, Kind=Certificate":                true,
	// monitoring_test.go looks at these.
	"monitoring.coreos.com/v1, Kind=PodMonitor":        true,
	"monitoring.coreos.com/v1, Kind=PrometheusRule":    true,
	"deckhouse.io/v1, Kind=GrafanaDashboardDefinition": true,
}

// clusterScoped kinds that the chart makes.
var clusterScoped = map[string]bool{
	"Namespace": true, "ClusterRole": true, "ClusterRoleBinding": true, "DeviceClass": true, "GPUClaimTemplate": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "NodeGroupConfiguration": true,
	"MutatingWebhookConfiguration": true,
	"GrafanaDashboardDefinition":   true,
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionv1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// Decode reads rendered documents strictly: an unknown field, a key that stands twice, an unknown kind, an object twice, a
// namespaced object without a namespace or a cluster-scoped one with it are errors.
func Decode(documents []string) ([]client.Object, error) {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	seen := map[string]bool{}
	out := make([]client.Object, 0, len(documents))
	for _, d := range documents {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(d), u); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, d)
		}
		kind := u.GroupVersionKind()
		id := fmt.Sprintf("%s %s/%s", kind, u.GetNamespace(), u.GetName())
		if seen[id] {
			return nil, fmt.Errorf("%s is rendered twice", id)
		}
		seen[id] = true
		if clusterScoped[kind.Kind] == (u.GetNamespace() != "") {
			return nil, fmt.Errorf("%s: wrong about its namespace", id)
		}
		if untyped[kind.String()] {
			out = append(out, u)
			continue
		}
		object, _, err := strict.Decode([]byte(d), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", id, err, d)
		}
		typed, ok := object.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%s is no object", id)
		}
		out = append(out, typed)
	}
	return out, nil
}

// Find returns the object of a type with a name, or the zero value.
func Find[T client.Object](objects []client.Object, name string) (found T) {
	for _, o := range objects {
		if t, ok := o.(T); ok && o.GetName() == name {
			return t
		}
	}
	return found
}
