package podspec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const deployment = `
metadata: {name: controller, namespace: d8-gpu-dra}
spec:
  template:
    spec:
      serviceAccountName: controller
      volumes:
      - {name: config, configMap: {name: config}}
      - {name: one, configMap: {name: config, items: [{key: a.yaml, path: sub/b.yaml}]}}
      - {name: cert, secret: {secretName: cert}}
      - {name: tmp, emptyDir: {}}
      - {name: unused, hostPath: {path: /}}
      containers:
      - name: controller
        command: [/app/gpu-dra, controller]
        args:
        - --config=/etc/gpu-dra/a.yaml
        - --inner=/etc/gpu-dra/inner/sub/b.yaml
        - --other=/etc/gpu-dra-other
        - --metrics-bind-address=:8080
        - --health-probe-bind-address
        - ":8081"
        - --webhook-port=9443
        - --pprof-bind-address=0
        - --cert-dir=/cert
        - --namespace=$(NS)
        - --kept=$(NOBODY)$$
        env:
        - {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
        - {name: FILE, value: /etc/gpu-dra/a.yaml}
        - {name: BOTH, value: $(NS)/$(POD)}
        resources: {limits: {memory: 300Mi}}
        volumeMounts:
        - {name: config, mountPath: /etc/gpu-dra}
        - {name: one, mountPath: /etc/gpu-dra/inner}
        - {name: cert, mountPath: /cert/}
        - {name: tmp, mountPath: /tmp}
`

type objects struct{}

func (objects) ConfigMap(name string) (*corev1.ConfigMap, error) {
	if name != "config" {
		return nil, fmt.Errorf("ConfigMap %s not found", name)
	}
	return &corev1.ConfigMap{Data: map[string]string{"a.yaml": "x: 1"}}, nil
}

func (objects) Secret(string) (*corev1.Secret, error) {
	return &corev1.Secret{Data: map[string][]byte{"tls.crt": []byte("pem")}}, nil
}

func plan(t *testing.T, change func(*corev1.PodSpec)) (*Plan, error) {
	t.Helper()
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(deployment), &d); err != nil {
		t.Fatal(err)
	}
	change(&d.Spec.Template.Spec)
	port := 21000
	return Make(&d, objects{}, "/state/volumes", func(string) (int, error) { port++; return port, nil })
}

func TestMake(t *testing.T) {
	made, err := plan(t, func(*corev1.PodSpec) {})
	if err != nil {
		t.Fatal(err)
	}
	wantArgs := []string{"controller",
		"--config=/state/volumes/config/a.yaml",
		"--inner=/state/volumes/one/sub/b.yaml",
		"--other=/etc/gpu-dra-other",
		"--metrics-bind-address=127.0.0.1:21001",
		"--health-probe-bind-address=127.0.0.1:21002",
		"--webhook-port=21003",
		"--pprof-bind-address=0",
		"--cert-dir=/state/volumes/cert",
		"--namespace=d8-gpu-dra",
		"--kept=$(NOBODY)$",
	}
	if !slices.Equal(made.Args, wantArgs) {
		t.Errorf("arguments\n%s\nwant\n%s", strings.Join(made.Args, "\n"), strings.Join(wantArgs, "\n"))
	}
	wantEnv := []string{"NS=d8-gpu-dra", "POD=" + PodName, "LIMIT=300", "FILE=/state/volumes/config/a.yaml", "BOTH=d8-gpu-dra/" + PodName}
	if !slices.Equal(made.Env, wantEnv) {
		t.Errorf("environment %q, want %q", made.Env, wantEnv)
	}
	for path, want := range map[string]string{"config/a.yaml": "x: 1", "one/sub/b.yaml": "x: 1", "cert/tls.crt": "pem"} {
		if got := string(made.Files[path]); got != want {
			t.Errorf("file %s: %q, want %q", path, got, want)
		}
	}
	if len(made.Files) != 3 || !slices.Equal(made.Folders, []string{"tmp"}) || made.ServiceAccount != "controller" {
		t.Errorf("plan %+v", made)
	}
	if made.Listens["health-probe-bind-address"] != "127.0.0.1:21002" || len(made.Listens) != 3 {
		t.Errorf("listens %v", made.Listens)
	}
}

func TestMakeSaysWhatItCannotGive(t *testing.T) {
	for say, change := range map[string]func(*corev1.PodSpec){
		"ConfigMap gone not found": func(p *corev1.PodSpec) { p.Volumes[0].ConfigMap.Name = "gone" },
		"has no key nope":          func(p *corev1.PodSpec) { p.Volumes[1].ConfigMap.Items[0].Key = "nope" },
		"expected configMap, secret or emptyDir": func(p *corev1.PodSpec) {
			p.Containers[0].VolumeMounts[3].Name = "unused"
		},
		"no volume lost":         func(p *corev1.PodSpec) { p.Containers[0].VolumeMounts[0].Name = "lost" },
		"envFrom":                func(p *corev1.PodSpec) { p.Containers[0].EnvFrom = []corev1.EnvFromSource{{}} },
		"field metadata.labels":  func(p *corev1.PodSpec) { p.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath = "metadata.labels" },
		"resource limits.memory": func(p *corev1.PodSpec) { p.Containers[0].Resources.Limits = nil },
		"has no container":       func(p *corev1.PodSpec) { p.Containers = nil },
	} {
		if _, err := plan(t, change); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("error %v, want one with %q", err, say)
		}
	}
}

const driverPod = `
metadata: {name: driver-abc, namespace: gpu, uid: "42"}
spec:
  nodeName: node-1
  serviceAccountName: driver
  volumes:
  - {name: plugins, hostPath: {path: /var/lib/kubelet/plugins}}
  - {name: host, hostPath: {path: /opt}}
  - {name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}
  initContainers:
  - name: guard
    command: [gpu-dra, guard, --node=$(NODE_NAME), "--wait-for=libraries=/host/opt/lib,/host/opt/lib64,/opt/host/opt"]
    env: [{name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
    volumeMounts: [{name: host, mountPath: /host/opt}]
  containers:
  - name: plugin
    command: [plugin]
    env:
    - {name: PLUGINS, value: /var/lib/kubelet/plugins}
    - {name: UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
    - {name: HEALTHCHECK_PORT, value: "51515"}
    - {name: METRICS_PORT, value: "-1"}
    volumeMounts:
    - {name: plugins, mountPath: /var/lib/kubelet/plugins}
    - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
`

func TestMakePod(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(driverPod), &pod); err != nil {
		t.Fatal(err)
	}
	next := func(string) (int, error) { return 21001, nil }
	plugin, err := MakePod(&pod, "plugin", objects{}, "/state", next)
	if err != nil {
		t.Fatal(err)
	}
	wantEnv := []string{"PLUGINS=/state/plugins", "UID=42", "HEALTHCHECK_PORT=21001", "METRICS_PORT=-1"}
	if !slices.Equal(plugin.Env, wantEnv) || !slices.Equal(plugin.Folders, []string{"plugins"}) || plugin.ServiceAccount != "driver" {
		t.Errorf("plan %+v, want the environment %q", plugin, wantEnv)
	}
	guard, err := MakePod(&pod, "guard", objects{}, "/state", next)
	wantArgs := []string{"guard", "--node=node-1", "--wait-for=libraries=/state/host/lib,/state/host/lib64,/opt/host/opt"}
	if err != nil || !slices.Equal(guard.Args, wantArgs) {
		t.Errorf("arguments %q (%v), want %q", guard.Args, err, wantArgs)
	}
	if _, err := MakePod(&pod, "gone", objects{}, "/state", next); err == nil || !strings.Contains(err.Error(), `no container "gone"`) {
		t.Errorf("error %v", err)
	}
	pod.Spec.NodeName = ""
	if _, err := MakePod(&pod, "", objects{}, "/state", next); err == nil || !strings.Contains(err.Error(), "on no node yet") {
		t.Errorf("error %v", err)
	}
}
