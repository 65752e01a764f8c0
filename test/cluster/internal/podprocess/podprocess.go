// Package podprocess runs one container of a Pod as a process: what a kubelet would start on
// the Pod's node, with a token that is bound to the Pod, so that the API server knows which
// node it comes from. kwok calls such Pods Running and executes nothing.
package podprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/podspec"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/ports"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
)

const (
	// tokenLifetime is what a kubelet asks for; no process here lives as long.
	tokenLifetime = time.Hour
	stopGrace     = 10 * time.Second
)

// Container is what is run and where.
type Container struct {
	Client kubernetes.Interface
	Server kubeconfig.Server
	// Namespace, Pod and Name of the container; "" is the first.
	Namespace, Pod, Name string
	// Binary is the program in place of the image.
	Binary string
	// Root is the folder for its volumes, its kubeconfig and its log. Volumes of the host
	// stay there from one run to the next.
	Root string
	// Env and Args are added to those of the Pod, over them.
	Env, Args []string
	// Mark is put into the process's environment.
	Mark string
}

// Kubeconfig is the kubeconfig of the process.
func (c *Container) Kubeconfig() string { return filepath.Join(c.Root, "kubeconfig") }

// Log is its output; that of one run follows that of the other.
func (c *Container) Log() string { return filepath.Join(c.Root, "log") }

// Run starts the process and waits for its end, which ctx brings about gracefully. It
// returns the process's exit code.
func (c *Container) Run(ctx context.Context) (int, error) {
	pod, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, c.Pod, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("the Pod %s/%s: %w", c.Namespace, c.Pod, err)
	}
	taken := map[int]bool{}
	plan, err := podspec.MakePod(pod, c.Name, objects{ctx, c}, c.Root, func(listener string) (int, error) {
		picked, err := ports.Pick([]string{listener}, taken)
		taken[picked[listener]] = true
		return picked[listener], err
	})
	if err != nil {
		return 0, err
	}
	if err := c.write(plan); err != nil {
		return 0, err
	}
	if err := c.writeToken(ctx, pod, plan.ServiceAccount); err != nil {
		return 0, err
	}
	env := append(append(plan.Env, "KUBECONFIG="+c.Kubeconfig()), c.Env...)
	args := append(append([]string{filepath.Base(c.Binary)}, plan.Args...), c.Args...)
	id, cmd, err := process.Start(process.Spec{Path: c.Binary, Args: args, Env: env, Dir: c.Root, Log: c.Log(), Mark: c.Mark})
	if err != nil {
		return 0, err
	}
	return c.wait(ctx, id, cmd)
}

func (c *Container) wait(ctx context.Context, id process.Identity, cmd *exec.Cmd) (int, error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		if err := id.Stop(stopGrace); err != nil {
			return 0, err
		}
		err = <-ended
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("%s: %w", c.Binary, err)
	}
	return cmd.ProcessState.ExitCode(), nil
}

// write makes the volumes.
func (c *Container) write(plan *podspec.Plan) error {
	for _, folder := range append(plan.Folders, ".") {
		if err := os.MkdirAll(filepath.Join(c.Root, folder), 0o755); err != nil {
			return fmt.Errorf("volumes of Pod %s/%s: %w", c.Namespace, c.Pod, err)
		}
	}
	for name, content := range plan.Files {
		path := filepath.Join(c.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("volumes of Pod %s/%s: %w", c.Namespace, c.Pod, err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("volumes of Pod %s/%s: %w", c.Namespace, c.Pod, err)
		}
	}
	return nil
}

func (c *Container) writeToken(ctx context.Context, pod *corev1.Pod, account string) error {
	seconds := int64(tokenLifetime.Seconds())
	answer, err := c.Client.CoreV1().ServiceAccounts(c.Namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of ServiceAccount %s/%s bound to Pod %s: %w", c.Namespace, account, pod.Name, err)
	}
	token := filepath.Join(c.Root, "token")
	if err := os.WriteFile(token, []byte(answer.Status.Token), 0o600); err != nil {
		return fmt.Errorf("token of Pod %s/%s: %w", c.Namespace, c.Pod, err)
	}
	return kubeconfig.WithTokenFile(c.Kubeconfig(), c.Server, c.Namespace, token)
}

// objects are read as the administrator, as a kubelet reads those of its Pods.
type objects struct {
	ctx context.Context
	c   *Container
}

func (o objects) ConfigMap(name string) (*corev1.ConfigMap, error) {
	object, err := o.c.Client.CoreV1().ConfigMaps(o.c.Namespace).Get(o.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", o.c.Namespace, name, err)
	}
	return object, nil
}

func (o objects) Secret(name string) (*corev1.Secret, error) {
	object, err := o.c.Client.CoreV1().Secrets(o.c.Namespace).Get(o.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", o.c.Namespace, name, err)
	}
	return object, nil
}
