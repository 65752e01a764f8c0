package supervisor

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
)

// api answers the few requests of a supervisor from a map of path → object.
type api struct {
	mu      sync.Mutex
	objects map[string]any
}

func (a *api) set(path string, object any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[path] = object
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	object, ok := a.objects[r.URL.Path]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		object = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: r.URL.Path + " not found"}
	}
	json.NewEncoder(w).Encode(object)
}

const (
	base           = "/api/v1/namespaces/ns/"
	deploymentPath = "/apis/apps/v1/namespaces/ns/deployments/controller"
	configPath     = base + "configmaps/config"
	accountPath    = base + "serviceaccounts/sa"
)

func objectsOf(config string) map[string]any {
	var d appsv1.Deployment
	d.APIVersion, d.Kind, d.Name, d.Namespace = "apps/v1", "Deployment", "controller", "ns"
	d.Spec.Template.Spec = corev1.PodSpec{ServiceAccountName: "sa",
		Volumes: []corev1.Volume{{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}},
		Containers: []corev1.Container{{Args: []string{"--config=/etc/c/x", "--metrics-bind-address=:8080"},
			VolumeMounts: []corev1.VolumeMount{{Name: "c", MountPath: "/etc/c"}}}}}
	var token authenticationv1.TokenRequest
	token.APIVersion, token.Kind = "authentication.k8s.io/v1", "TokenRequest"
	token.Status = authenticationv1.TokenRequestStatus{Token: "secret-token", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))}
	return map[string]any{deploymentPath: d, configPath: configMap(config), accountPath: account("1"), accountPath + "/token": token}
}

func configMap(text string) corev1.ConfigMap {
	return corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"x": text}}
}

func account(uid string) corev1.ServiceAccount {
	sa := corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}}
	sa.UID = types.UID(uid)
	return sa
}

// script prints what it was given and stays until it is ended.
const script = `#!/bin/sh
echo "config=$(cat "${1#--config=}") $2 token=$(cat "$(dirname "$KUBECONFIG")/token")"
while :; do sleep 0.05; done
`

func TestFollowsTheDeployment(t *testing.T) {
	dir := t.TempDir()
	server := &api{objects: map[string]any{}}
	endpoint := httptest.NewServer(server)
	defer endpoint.Close()
	binary, ca := filepath.Join(dir, "program"), filepath.Join(dir, "ca.crt")
	for path, text := range map[string]string{binary: script, ca: "pem"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: endpoint.URL, QPS: 1000, Burst: 1000})
	if err != nil {
		t.Fatal(err)
	}
	s := &Supervisor{Client: client, Namespace: "ns", Deployment: "controller", Binary: binary, Mark: "supervisor-test/controller",
		Paths: Paths{Root: filepath.Join(dir, "root"), Log: filepath.Join(dir, "log")}, Ports: []int{21999},
		Server: kubeconfig.Server{Name: "x", URL: endpoint.URL, CAFile: ca}, Say: t.Logf}
	if err := os.MkdirAll(s.Paths.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	await(t, s.Paths, "waiting for the Deployment", func(st Status) bool { return st.Phase == Waiting })
	for path, object := range objectsOf("one") {
		server.set(path, object)
	}
	first := await(t, s.Paths, "the first start", func(st Status) bool { return st.Phase == Running && st.Starts == 1 })
	awaitLog(t, s.Paths, "config=one --metrics-bind-address=127.0.0.1:21999 token=secret-token")

	server.set(configPath, configMap("two"))
	second := await(t, s.Paths, "a start with the changed ConfigMap", func(st Status) bool { return st.Phase == Running && st.Starts == 2 })
	awaitLog(t, s.Paths, "config=two")
	if first.Process.Alive() {
		t.Error("the first process still runs")
	}

	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	third := await(t, s.Paths, "a start after the crash", func(st Status) bool { return st.Phase == Running && st.Starts == 3 })
	if !strings.Contains(third.LastExit, "killed") {
		t.Errorf("last exit %q, want one that says killed", third.LastExit)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if st := await(t, s.Paths, "the end", func(st Status) bool { return st.Phase == Stopped }); third.Process.Alive() || st.Process.PID != 0 {
		t.Errorf("after the end: %+v", st)
	}
}

func await(t *testing.T, paths Paths, what string, reached func(Status) bool) Status {
	t.Helper()
	var last *Status
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, err := Load(paths)
		if err != nil {
			t.Fatal(err)
		}
		if last = status; status != nil && reached(*status) {
			return *status
		}
	}
	t.Fatalf("%s did not come, the last status is %+v", what, last)
	return Status{}
}

func awaitLog(t *testing.T, paths Paths, want string) {
	t.Helper()
	var raw []byte
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		raw, _ = os.ReadFile(paths.Log)
		if strings.Contains(string(raw), want) {
			return
		}
	}
	t.Fatalf("the process did not say %q, it said\n%s", want, raw)
}
