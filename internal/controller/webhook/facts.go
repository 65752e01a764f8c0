package webhook

import (
	"context"
	"fmt"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/metadata"

	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

// live is the facts of the cluster that a decision needs. It asks the API server: a replica that stands by keeps no copy of the
// cluster, and a claim may be as new as its pod.
type live struct {
	resources resourceclient.ResourceV1Interface
	// metadata: that a Secret is there is all that matters, its contents stay where they are.
	metadata metadata.Interface
	flights  singleflight.Group
}

// claims of a pod by the pod's own names for them.
func (l *live) claims(ctx context.Context, namespace string, pod *corev1.Pod) map[string]sidecar.Claim {
	out := map[string]sidecar.Claim{}
	for _, named := range pod.Spec.ResourceClaims {
		out[named.Name] = l.claim(ctx, namespace, named)
	}
	return out
}

func (l *live) claim(ctx context.Context, namespace string, named corev1.PodResourceClaim) sidecar.Claim {
	switch {
	case named.ResourceClaimName != nil:
		name := *named.ResourceClaimName
		claim, err := together(ctx, &l.flights, "claim/"+namespace+"/"+name, func(ctx context.Context) (*resourcev1.ResourceClaim, error) {
			return l.resources.ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		})
		if err != nil {
			return unread("ResourceClaim", namespace, name, err)
		}
		out := sidecar.Claim{Name: name, Classes: classesOf(claim.Spec), Devices: devicesOf(claim.Spec)}
		if a := claim.Status.Allocation; a != nil {
			for _, r := range a.Devices.Results {
				out.Drivers = append(out.Drivers, r.Driver)
			}
			out.Devices = int64(len(a.Devices.Results))
		}
		return out
	case named.ResourceClaimTemplateName != nil:
		name := *named.ResourceClaimTemplateName
		template, err := together(ctx, &l.flights, "template/"+namespace+"/"+name, func(ctx context.Context) (*resourcev1.ResourceClaimTemplate, error) {
			return l.resources.ResourceClaimTemplates(namespace).Get(ctx, name, metav1.GetOptions{})
		})
		if err != nil {
			return unread("ResourceClaimTemplate", namespace, name, err)
		}
		return sidecar.Claim{Name: name, Classes: classesOf(template.Spec.Spec), Devices: devicesOf(template.Spec.Spec)}
	}
	return sidecar.Claim{Problem: "it names neither a claim nor a template"}
}

func unread(kind, namespace, name string, err error) sidecar.Claim {
	if apierrors.IsNotFound(err) {
		return sidecar.Claim{Problem: fmt.Sprintf("there is no %s %s in namespace %s: create it before the pod", kind, name, namespace)}
	}
	return sidecar.Claim{Problem: fmt.Sprintf("%s %s cannot be read: %s", kind, name, err)}
}

func classesOf(spec resourcev1.ResourceClaimSpec) []string {
	var out []string
	for _, r := range spec.Devices.Requests {
		if r.Exactly != nil {
			out = append(out, r.Exactly.DeviceClassName)
		}
		for _, s := range r.FirstAvailable {
			out = append(out, s.DeviceClassName)
		}
	}
	return out
}

// secrets of those named that a namespace has, and those of which that could not be found out.
func (l *live) secrets(ctx context.Context, namespace string, names []string) map[string]sidecar.Secret {
	out := map[string]sidecar.Secret{}
	for _, name := range names {
		_, err := together(ctx, &l.flights, "secret/"+namespace+"/"+name, func(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
			return l.metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		})
		switch {
		case err == nil:
			out[name] = sidecar.Secret{}
		case !apierrors.IsNotFound(err):
			out[name] = sidecar.Secret{Problem: err.Error()}
		}
	}
	return out
}
