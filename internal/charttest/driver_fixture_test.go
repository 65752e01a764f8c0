package charttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// npu is a driver of a user's own that uses everything a profile can say of its plugin.
const npu = `
customDrivers:
- name: npu
  driverName: npu.acme.example
  otherDrivers: [link.acme.example]
  pluginResources: [acme.example/npu, acme.example/part-*]
  managers:
  - {name: acme-operator, nodeLabel: acme.example/operator}
  - {name: acme-operator, nodeLabel: acme.example/mode, nodeLabelValues: [plugin, both]}
  - {name: acme-operator, api: acme.example/v1/Policy}
  gates:
  - {name: Cut, partitioning: Dynamic}
  - {name: Pass, passthrough: true}
  - {name: Health, default: true}
  - {name: Share}
  plugin:
    image: {repository: registry.acme.example/npu, tag: v1.2.3}
    perPodSockets: true
    tolerations: [{key: acme.example/npu, operator: Exists}]
    waitFor:
    - {what: library, hostPath: "{driverRootParent}", anyOf: ["{driverRootName}/lib/libnpu.so", "{driverRootName}/lib64/libnpu.so"]}
    - {what: device, hostPath: /dev, anyOf: [npu0]}
    containers:
    - name: npus
      command: [npu-plugin]
      args: ["-v={logLevel}", "--gates={featureGates}"]
      env:
      - {name: NODE_NAME, field: spec.nodeName}
      - {name: POD_UID, field: metadata.uid}
      - {name: CDI, value: "{cdiRoot}"}
      - {name: KUBELET, value: "{kubeletRoot}/plugins"}
      - {name: ROOT, value: "{driverRoot}"}
      - {name: PARENT, value: "{driverRootParent} {driverRootName}"}
      - {name: IMAGE, value: "{image}"}
      - {name: SECRETS, value: "{pullSecrets}"}
      - {name: NAMESPACE, value: "{namespace}"}
      - {name: SHARE, value: "1", when: {gate: Share}}
      - {name: NEW, value: "1", when: {since: 1.3.0}}
      - {name: KUBE, value: "1", when: {kubernetesSince: "1.36"}}
      privileged: opens the device nodes of the cards
      writableRoot: its library logs to /var/log
      healthPort: 51515
      metricsPort: 8080
      mounts:
      - {name: plugins, hostPath: "{kubeletRoot}/plugins", propagation: Bidirectional}
      - {name: root, hostPath: "{driverRoot}/lib", path: /driver, type: DirectoryOrCreate, readOnly: true}
      - {name: share, hostPath: /run/share, when: {gate: Share}}
      resources: {requests: {cpu: 10m}}
    - name: links
      when: {computeDomains: true}
      capabilities: [SYS_ADMIN]
      healthPort: 51516
    rules:
    - {apiGroups: [""], resources: [nodes], verbs: [get]}
    - {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch, create, update, patch, delete]}
    - {apiGroups: [resource.k8s.io], resources: [resourceclaims/driver], resourceNames: [npu.acme.example], verbs: ["associated-node:update"], when: {kubernetesSince: "1.36"}}
    - {apiGroups: [""], resources: [pods], verbs: [list], when: {computeDomains: true}}
    namespaceRules:
    - {apiGroups: [apps], resources: [deployments], verbs: [create], when: {gate: Share}}
`

const npuGroup = npu + "nodeGroups: [{name: a, drivers: [npu], nodeSelector: {a: b}}]\n"

// daemonSet renders and returns the DaemonSet of a driver on a group; it has to be there.
func daemonSet(t testing.TB, o Options, name string) *appsv1.DaemonSet {
	t.Helper()
	ds := Find[*appsv1.DaemonSet](objects(t, o), name)
	require.NotNil(t, ds, name)
	return ds
}

// npus is the first container of the driver npu on the group a.
func npus(t testing.TB, in string) corev1.Container {
	t.Helper()
	return daemonSet(t, Options{Values: parse(t, in)}, "driver-npu-a").Spec.Template.Spec.Containers[0]
}

// env is the environment of a container; a name that stands twice fails.
func env(t testing.TB, c corev1.Container) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, e := range c.Env {
		require.NotContains(t, out, e.Name)
		out[e.Name] = e.Value
		if e.ValueFrom != nil {
			out[e.Name] = "field " + e.ValueFrom.FieldRef.FieldPath
		}
	}
	return out
}

func mounts(c corev1.Container) map[string]corev1.VolumeMount {
	out := map[string]corev1.VolumeMount{}
	for _, m := range c.VolumeMounts {
		out[m.Name] = m
	}
	return out
}

func volumes(ds *appsv1.DaemonSet) map[string]string {
	out := map[string]string{}
	for _, v := range ds.Spec.Template.Spec.Volumes {
		out[v.Name] = v.HostPath.Path
	}
	return out
}

// rules are what a role allows, "verb group/resource[name]" each, sorted.
func rules(list []rbacv1.PolicyRule) []string {
	var out []string
	for _, r := range list {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s", verb, group, resource, strings.Join(r.ResourceNames, ","))))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// byID are objects as JSON, by kind and name.
func byID(t testing.TB, list []client.Object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range list {
		data, err := json.Marshal(o)
		require.NoError(t, err)
		out[fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName())] = string(data)
	}
	return out
}

// merge puts the settings of b over those of a, by top-level key.
func merge(t testing.TB, a, b string) map[string]any {
	t.Helper()
	out := parse(t, a)
	for k, v := range parse(t, b) {
		out[k] = v
	}
	return out
}
