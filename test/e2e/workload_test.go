//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claimPod makes a pod that asks for a device by a claim template and runs on one node only, and waits until it runs there. It
// returns the device that the scheduler took.
func (r *rig) claimPod(namespace, name, template, node string) string {
	r.t.Helper()
	r.create(podWithClaim(namespace, name, template, node))
	r.eventually("pod "+namespace+"/"+name+" runs", 60*time.Second, r.podIs(namespace, name, corev1.PodRunning))
	return r.deviceOf(namespace, name)
}

func podWithClaim(namespace, name, template, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeSelector:   map[string]string{corev1.LabelHostname: node},
		Tolerations:    []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}},
		Containers: []corev1.Container{{Name: "engine", Image: "registry.example.com/inference/engine:1.0",
			Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}},
	}}
}

// endPods deletes the pods of a namespace and waits until they are gone, and their claims with them.
func (r *rig) endPods(namespace string) {
	r.t.Helper()
	r.kubectl("delete", "pods", "--all", "--namespace", namespace)
	r.eventually("claims of "+namespace+" go with their pods", 60*time.Second, func(ctx context.Context) error {
		claims := r.kubectl("get", "resourceclaims", "--namespace", namespace, "--output", "name")
		if claims != "" {
			return fmt.Errorf("still there: %s", claims)
		}
		return nil
	})
}

// templatesWritten waits until a claim template is in every one of its namespaces and returns the uids there.
func (r *rig) templatesWritten(name string, namespaces ...string) map[string]string {
	r.t.Helper()
	r.eventually("template "+name+" written", 60*time.Second, r.templateIs(name, "Ready", "True"))
	out := map[string]string{}
	for _, namespace := range namespaces {
		template := r.claimTemplate(namespace, name)
		if template == nil {
			r.t.Fatalf("namespace %s has no ResourceClaimTemplate %s", namespace, name)
		}
		out[namespace] = string(template.UID)
	}
	return out
}

// templatesReplaced waits until a template is another object in every namespace.
func (r *rig) templatesReplaced(name string, was map[string]string) {
	r.t.Helper()
	r.eventually("changed meaning -> template replaced in every namespace", 90*time.Second, func(context.Context) error {
		for namespace, uid := range was {
			if now := r.claimTemplate(namespace, name); now == nil || string(now.UID) == uid {
				return fmt.Errorf("in namespace %s it has not been replaced yet", namespace)
			}
		}
		return nil
	})
}

// uidOf identifies an object for good.
func (r *rig) uidOf(o client.Object) string {
	r.t.Helper()
	if err := r.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
		r.t.Fatalf("%T %s: %v", o, o.GetName(), err)
	}
	return string(o.GetUID())
}
