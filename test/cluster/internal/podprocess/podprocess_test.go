package podprocess

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
)

// container is one whose program is a shell script, in a cluster that remembers what tokens were asked for.
func container(t *testing.T, script string) (*Container, *authenticationv1.BoundObjectReference) {
	t.Helper()
	root := t.TempDir()
	binary, authority := filepath.Join(root, "program"), filepath.Join(root, "ca.crt")
	for path, content := range map[string]string{binary: "#!/bin/sh\n" + script, authority: "none"} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gpu", Name: "driver-abc", UID: "42"},
		Spec: corev1.PodSpec{NodeName: "node-1", ServiceAccountName: "driver",
			Volumes: []corev1.Volume{{Name: "plugins", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/plugins"}}}},
			Containers: []corev1.Container{{Name: "plugin", Env: []corev1.EnvVar{{Name: "NODE", Value: "node-1"}},
				Args: []string{"/plugins/socket"}, VolumeMounts: []corev1.VolumeMount{{Name: "plugins", MountPath: "/plugins"}}}}},
	})
	bound := &authenticationv1.BoundObjectReference{}
	client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		request := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest).DeepCopy()
		*bound = *request.Spec.BoundObjectRef
		request.Status.Token = "secret"
		return true, request, nil
	})
	return &Container{Client: client, Server: kubeconfig.Server{URL: "https://127.0.0.1:1", CAFile: authority, Name: "test"},
		Namespace: "gpu", Pod: "driver-abc", Binary: binary, Root: filepath.Join(root, "run")}, bound
}

func TestRun(t *testing.T) {
	c, bound := container(t, `echo "$1 $2 $NODE"; touch "$1"; exit 3`)
	c.Args, c.Env = []string{"extra"}, []string{"NODE=other"}
	code, err := c.Run(context.Background())
	if err != nil || code != 3 {
		t.Fatalf("exit code %d, error %v", code, err)
	}
	if bound.Kind != "Pod" || bound.Name != "driver-abc" || bound.UID != "42" {
		t.Errorf("the token is bound to %+v", bound)
	}
	socket := filepath.Join(c.Root, "plugins", "socket")
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(c.Log())
	if want := socket + " extra other\n"; err != nil || string(log) != want {
		t.Errorf("log %q (%v), want %q", log, err, want)
	}
	written, err := os.ReadFile(c.Kubeconfig())
	if err != nil || !strings.Contains(string(written), filepath.Join(c.Root, "token")) {
		t.Errorf("kubeconfig %s (%v)", written, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	c, _ := container(t, `trap 'exit 7' TERM; touch "$1"; while :; do sleep 0.05; done`)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(c.Root, "plugins", "socket")); err == nil {
				break
			}
		}
		cancel()
	}()
	if code, err := c.Run(ctx); err != nil || code != 7 {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

func TestRunWithoutItsPod(t *testing.T) {
	c, _ := container(t, "")
	c.Pod = "gone"
	if _, err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "Pod gpu/gone") {
		t.Errorf("error %v", err)
	}
}
