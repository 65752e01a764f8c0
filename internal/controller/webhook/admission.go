// Package webhook is the admission webhook of the controller: it puts the exporter into pods that ask for it, or says why not.
// Every replica serves it, not the leader alone.
//
// It fails open: what it cannot read is a warning and the pod is admitted as it is. What becomes of pods while no replica can be
// reached is the setting controller.webhook.failurePolicy.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

const (
	// Path of the webhook.
	Path = "/pods"
	// bodyLimit in bytes: etcd takes objects of 1.5 MiB, and a review holds two.
	bodyLimit = 8 << 20
	// timeToRead the claims of a pod, well below the timeout of the webhook.
	timeToRead = 3 * time.Second
)

// admission answers reviews of pods.
type admission struct {
	// config in force; nil: there is none.
	config func() *sidecar.Config
	facts  *live
	log    logr.Logger
}

func (a *admission) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, fmt.Sprintf("the review cannot be read: %s", err), http.StatusBadRequest)
		return
	}
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		http.Error(w, fmt.Sprintf("found no AdmissionReview of %s with a request (%v)", admissionv1.SchemeGroupVersion, err), http.StatusBadRequest)
		return
	}
	response := a.answer(r.Context(), review.Request)
	response.UID = review.Request.UID
	answer, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

func (a *admission) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{Allowed: true}
	config := a.config()
	if config == nil || request.Operation != admissionv1.Create || request.Resource.Resource != "pods" || request.SubResource != "" {
		return response
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		response.Warnings = []string{"gpu-dra: the pod goes without the exporter sidecar: it cannot be read"}
		a.log.Error(err, "a pod cannot be read", "namespace", request.Namespace, "name", request.Name)
		return response
	}
	if !sidecar.Asks(pod) {
		return response
	}
	reading, stop := context.WithTimeout(ctx, timeToRead)
	defer stop()
	secrets := make(chan map[string]sidecar.Secret, 1)
	go func() { secrets <- a.facts.secrets(reading, request.Namespace, config.PullSecrets) }()
	v := sidecar.Decide(*config, sidecar.Input{
		Namespace: request.Namespace, Pod: pod,
		Claims:  a.facts.claims(reading, request.Namespace, pod),
		Secrets: <-secrets,
	})
	response.Warnings = v.Warnings
	if !ptr.Deref(request.DryRun, false) {
		a.count(v, request, pod)
	}
	if operations := v.Patch(pod); len(operations) > 0 {
		patch, err := json.Marshal(operations)
		if err != nil {
			a.log.Error(err, "a patch cannot be written", "namespace", request.Namespace)
			return response
		}
		response.Patch, response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	return response
}

func (a *admission) count(v sidecar.Verdict, request *admissionv1.AdmissionRequest, pod *corev1.Pod) {
	name := request.Name
	if name == "" {
		name = pod.GenerateName
	}
	if v.Refusal == nil {
		admissions.WithLabelValues("injected", "").Inc()
		a.log.V(1).Info("a pod carries the exporter", "namespace", request.Namespace, "name", name, "driver", v.Driver)
		return
	}
	admissions.WithLabelValues("refused", string(v.Refusal.Reason)).Inc()
	a.log.Info("a pod goes without the exporter", "namespace", request.Namespace, "name", name, "reason", v.Refusal.Reason, "why", v.Refusal.Words)
}
