package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/podspec"
)

// absentError means that no process is wanted, as opposed to one that cannot be started.
type absentError struct{ reason string }

func (e *absentError) Error() string { return e.reason }

// plan reads the Deployment and all it refers to. The hash covers whatever makes a new
// process necessary.
func (s *Supervisor) plan(ctx context.Context) (*podspec.Plan, string, error) {
	deployment, err := s.Client.AppsV1().Deployments(s.Namespace).Get(ctx, s.Deployment, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "", &absentError{fmt.Sprintf("Deployment %s/%s is not there: the chart renders it", s.Namespace, s.Deployment)}
	}
	if err != nil {
		return nil, "", fmt.Errorf("the Deployment %s/%s: %w", s.Namespace, s.Deployment, err)
	}
	if deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == 0 {
		return nil, "", &absentError{fmt.Sprintf("Deployment %s/%s has 0 replicas", s.Namespace, s.Deployment)}
	}
	used := 0
	plan, err := podspec.Make(deployment, &objects{ctx: ctx, s: s}, s.Paths.volumes(), func(flag string) (int, error) {
		if used == len(s.Ports) {
			return 0, fmt.Errorf("the process would listen on more than %d ports: raise the number in test/cluster/controller.go", used)
		}
		used++
		return s.Ports[used-1], nil
	})
	if err != nil {
		return nil, "", err
	}
	account, err := s.Client.CoreV1().ServiceAccounts(s.Namespace).Get(ctx, plan.ServiceAccount, metav1.GetOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("ServiceAccount %s/%s: %w", s.Namespace, plan.ServiceAccount, err)
	}
	raw, err := json.Marshal(struct {
		Args, Env []string
		Files     map[string][]byte
		// A ServiceAccount that was made anew makes the old tokens worthless.
		Account string
	}{plan.Args, plan.Env, plan.Files, string(account.UID)})
	if err != nil {
		return nil, "", err
	}
	hash := sha256.Sum256(raw)
	return plan, hex.EncodeToString(hash[:]), nil
}

type objects struct {
	ctx context.Context
	s   *Supervisor
}

func (o *objects) ConfigMap(name string) (*corev1.ConfigMap, error) {
	object, err := o.s.Client.CoreV1().ConfigMaps(o.s.Namespace).Get(o.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", o.s.Namespace, name, err)
	}
	return object, nil
}

func (o *objects) Secret(name string) (*corev1.Secret, error) {
	object, err := o.s.Client.CoreV1().Secrets(o.s.Namespace).Get(o.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", o.s.Namespace, name, err)
	}
	return object, nil
}
