package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// validPlugin uses every part of the shape.
func validPlugin() *Plugin {
	return &Plugin{
		Image:         PluginImage{Repository: "registry.acme.example:5000/npu/plugin", Tag: "v1.2.0-rc.1"},
		KubeletRoot:   "/var/lib/kubelet",
		PerPodSockets: true,
		LogLevels:     &LogLevels{Min: 1, Max: 5},
		Tolerations:   []corev1.Toleration{{Key: "acme.example/npu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		WaitFor:       []Wait{{What: "acme driver", HostPath: "{driverRootParent}", AnyOf: []string{"{driverRootName}/lib/libacme.so", "lib"}}},
		Containers: []Container{
			{
				Name: "npu", Command: []string{"/bin/sh", "-c", "echo ${HOME}; exec /npu"}, Args: []string{"--gates={featureGates}", "-v={logLevel}"},
				Env: []Env{
					{Name: "POD_UID", Field: "metadata.uid"},
					{Name: "LIBRARY", Value: "{driverRoot}/lib:${HOME}", When: &When{Gate: "Slices", Since: "1.1"}},
				},
				Privileged: "it opens the device nodes", HealthPort: 51515, MetricsPort: 8080,
				Mounts: []Mount{
					{Name: "plugins", HostPath: "{kubeletRoot}/plugins", Propagation: corev1.MountPropagationBidirectional},
					{Name: "driver", HostPath: "{driverRoot}", Type: corev1.HostPathDirectory, Path: "/driver", ReadOnly: true},
				},
				Resources: &ContainerResources{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("10m")},
					Limits:   corev1.ResourceList{"cpu": resource.MustParse("1")},
				},
			},
			{
				Name: "links", When: &When{ComputeDomains: true}, Capabilities: []string{"SYS_ADMIN"}, HealthPort: 51516,
				Mounts: []Mount{{Name: "driver", HostPath: "{driverRoot}", Type: corev1.HostPathDirectory}},
			},
		},
		Rules: []Rule{{
			APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims/driver"}, ResourceNames: []string{"npu.acme.example"},
			Verbs: []string{"associated-node:update"}, When: &When{KubernetesSince: "1.36"},
		}},
		NamespaceRules: []Rule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
		Unverified:     []string{"whether it works"},
	}
}

func TestValidateNamesTheFieldOfThePlugin(t *testing.T) {
	const path, wildcard = "expected an absolute path", "by name: a wildcard is not accepted"
	for name, c := range map[string]struct {
		breakIt func(p *Plugin)
		want    string
	}{
		"repository":        {func(p *Plugin) { p.Image.Repository = "" }, `plugin.image.repository: found "", expected a repository`},
		"tag":               {func(p *Plugin) { p.Image.Tag = "a b" }, `plugin.image.tag: found "a b", expected a tag`},
		"tag of no version": {func(p *Plugin) { p.Image.Tag = "latest" }, `plugin.image.tag: found "latest", expected the version of the driver, since the profile says`},
		"kubelet root":      {func(p *Plugin) { p.KubeletRoot = "kubelet" }, `plugin.kubeletRoot: found "kubelet", expected an absolute path without tokens`},
		"kubelet token":     {func(p *Plugin) { p.KubeletRoot = "/{cdiRoot}" }, `plugin.kubeletRoot: found "/{cdiRoot}", expected an absolute path without tokens`},
		"log levels":        {func(p *Plugin) { p.LogLevels.Min = 6 }, `plugin.logLevels: found 6 to 5, expected a range within 0 to 10, its lower end first`},
		"log level too low": {func(p *Plugin) { p.LogLevels.Min = -1 }, `plugin.logLevels: found -1 to 5, expected a range within 0 to 10`},
		"log level too big": {func(p *Plugin) { p.LogLevels.Max = 11 }, `plugin.logLevels: found 1 to 11, expected a range within 0 to 10`},
		"no log level":      {func(p *Plugin) { p.Containers[0].Args = nil }, `plugin.logLevels: found 1 to 5, expected none: no container has {logLevel} in its env or args`},
		"operator":          {func(p *Plugin) { p.Tolerations[0].Operator = "Is" }, `plugin.tolerations[0].operator: found "Is", expected one of "", "Exists", "Equal"`},
		"effect":            {func(p *Plugin) { p.Tolerations[0].Effect = "Never" }, `plugin.tolerations[0].effect: found "Never"`},
		"toleration key":    {func(p *Plugin) { p.Tolerations[0] = corev1.Toleration{Value: "a"} }, `plugin.tolerations[0].key: found "", expected the key of a taint`},
		"toleration value":  {func(p *Plugin) { p.Tolerations[0].Value = "a" }, `plugin.tolerations[0].value: found "a", expected none with the operator Exists`},
		"key of a taint":    {func(p *Plugin) { p.Tolerations[0].Key = "a..b/c" }, `plugin.tolerations[0].key: found "a..b/c", expected the key of a taint: a name`},
		"value of a taint":  {func(p *Plugin) { p.Tolerations[0] = corev1.Toleration{Key: "a", Value: "b c"} }, `plugin.tolerations[0].value: found "b c", expected the value of a taint`},
		"no execute":        {func(p *Plugin) { p.Tolerations[0].TolerationSeconds = new(int64) }, `plugin.tolerations[0].tolerationSeconds: found 0, expected none without the effect NoExecute`},
		"two tags":          {func(p *Plugin) { p.Image.Repository = "r.example/npu:v1" }, `plugin.image.repository: found "r.example/npu:v1", expected a repository with its registry host, without a tag`},
		"empty element":     {func(p *Plugin) { p.Image.Repository = "r.example//npu" }, `plugin.image.repository: found "r.example//npu"`},
		"what":              {func(p *Plugin) { p.WaitFor[0].What = "a=b" }, `plugin.waitFor[0].what: found "a=b", expected what is awaited`},
		"wait root":         {func(p *Plugin) { p.WaitFor[0].HostPath = "lib" }, `plugin.waitFor[0].hostPath: found "lib", ` + path},
		"no paths":          {func(p *Plugin) { p.WaitFor[0].AnyOf = nil }, `plugin.waitFor[0].anyOf: found none, expected at least one path`},
		"absolute":          {func(p *Plugin) { p.WaitFor[0].AnyOf[1] = "/lib" }, `plugin.waitFor[0].anyOf[1]: found "/lib", expected a path below hostPath`},
		"comma":             {func(p *Plugin) { p.WaitFor[0].AnyOf[1] = "a,b" }, `plugin.waitFor[0].anyOf[1]: found "a,b"`},
		"upwards":           {func(p *Plugin) { p.WaitFor[0].AnyOf[1] = "a/../../b" }, `plugin.waitFor[0].anyOf[1]: found "a/../../b"`},
		"token below":       {func(p *Plugin) { p.WaitFor[0].AnyOf[1] = "a/{cdiRoot}" }, `plugin.waitFor[0].anyOf[1]: found "{cdiRoot}", expected one of the tokens {driverRootName}`},

		"no container":        {func(p *Plugin) { p.Containers, p.PerPodSockets, p.LogLevels = nil, false, nil }, `plugin.containers: found 0, none of them without when, expected at least one that always runs`},
		"none always":         {func(p *Plugin) { p.Containers, p.PerPodSockets, p.LogLevels = p.Containers[1:], false, nil }, `plugin.containers: found 1, none of them without when`},
		"container name":      {func(p *Plugin) { p.Containers[0].Name = "Npu" }, `plugin.containers[0].name: found "Npu", expected a lower case name`},
		"container twice":     {func(p *Plugin) { p.Containers[1].Name = "npu" }, `plugin.containers[1].name: found "npu", expected a lower case name that no other`},
		"the guard's name":    {func(p *Plugin) { p.Containers[1].Name = "guard" }, `plugin.containers[1].name: found "guard"`},
		"token in a command":  {func(p *Plugin) { p.Containers[0].Command[2] = "/npu {logLevel}" }, `plugin.containers[0].command[2]: found "/npu {logLevel}", expected no token`},
		"unknown token":       {func(p *Plugin) { p.Containers[0].Args[1], p.LogLevels = "-v={loglevel}", nil }, `plugin.containers[0].args[1]: found "{loglevel}", expected one of the tokens {featureGates}, {logLevel}`},
		"unknown token value": {func(p *Plugin) { p.Containers[0].Env[1].Value = "{root}" }, `plugin.containers[0].env[1].value: found "{root}", expected one of the tokens`},
		"variable":            {func(p *Plugin) { p.Containers[0].Env[0].Name = "pod-uid" }, `plugin.containers[0].env[0].name: found "pod-uid", expected the name of a variable`},
		"variable twice":      {func(p *Plugin) { p.Containers[0].Env[1].Name = "POD_UID" }, `plugin.containers[0].env[1].name: found "POD_UID", expected the name of a variable that the container does not already have`},
		"value and field":     {func(p *Plugin) { p.Containers[0].Env[0].Value = "x" }, `plugin.containers[0].env[0]: found value "x" and field "metadata.uid", expected exactly one of the two`},
		"no value":            {func(p *Plugin) { p.Containers[0].Env[1].Value = "" }, `plugin.containers[0].env[1]: found value "" and field "", expected exactly one of the two`},
		"field":               {func(p *Plugin) { p.Containers[0].Env[0].Field, p.PerPodSockets = "spec.node", false }, `plugin.containers[0].env[0].field: found "spec.node", expected one of "metadata.name"`},
		"uid":                 {func(p *Plugin) { p.Containers[0].Env[0].Field = "metadata.name" }, `plugin.perPodSockets: found true, expected an environment variable with the field metadata.uid`},
		"both privileges":     {func(p *Plugin) { p.Containers[1].Privileged = "it may" }, `plugin.containers[1].capabilities: found [SYS_ADMIN], expected none in a privileged container`},
		"capability":          {func(p *Plugin) { p.Containers[1].Capabilities[0] = "CAP_SYS_ADMIN" }, `plugin.containers[1].capabilities[0]: found "CAP_SYS_ADMIN", expected one capability`},
		"every capability":    {func(p *Plugin) { p.Containers[1].Capabilities[0] = "ALL" }, `plugin.containers[1].capabilities[0]: found "ALL"`},
		"port":                {func(p *Plugin) { p.Containers[0].HealthPort = 65536 }, `plugin.containers[0].healthPort: found 65536, expected a port from 1 to 65535`},
		"negative port":       {func(p *Plugin) { p.Containers[0].MetricsPort = -1 }, `plugin.containers[0].metricsPort: found -1`},
		"port twice":          {func(p *Plugin) { p.Containers[1].HealthPort = 8080 }, `plugin.containers[1].healthPort: found 8080, expected a port that nothing else in the pod listens on`},

		"volume name":      {func(p *Plugin) { p.Containers[0].Mounts[0].Name = "a.b" }, `plugin.containers[0].mounts[0].name: found "a.b", expected a lower case name`},
		"the guard's":      {func(p *Plugin) { p.Containers[0].Mounts[0].Name = "guard-wait-0" }, `plugin.containers[0].mounts[0].name: found "guard-wait-0", expected a lower case name that does not begin with guard-wait-`},
		"one volume":       {func(p *Plugin) { p.Containers[1].Mounts[0].HostPath = "/opt" }, `plugin.containers[1].mounts[0].name: found "driver", expected the hostPath "{driverRoot}" and the type "Directory" that this name has before`},
		"one type":         {func(p *Plugin) { p.Containers[1].Mounts[0].Type = "" }, `plugin.containers[1].mounts[0].name: found "driver"`},
		"host path":        {func(p *Plugin) { p.Containers[0].Mounts[0].HostPath = "plugins" }, `plugin.containers[0].mounts[0].hostPath: found "plugins", ` + path},
		"host path up":     {func(p *Plugin) { p.Containers[0].Mounts[0].HostPath = "/a/../b" }, `plugin.containers[0].mounts[0].hostPath: found "/a/../b", ` + path},
		"token in path":    {func(p *Plugin) { p.Containers[0].Mounts[0].HostPath = "/a/{logLevel}" }, `plugin.containers[0].mounts[0].hostPath: found "{logLevel}", expected one of the tokens {driverRootName}, {kubeletRoot}`},
		"rootless token":   {func(p *Plugin) { p.Containers[0].Mounts[0].HostPath = "{driverRootName}/a" }, `plugin.containers[0].mounts[0].hostPath: found "{driverRootName}/a", ` + path},
		"token's neighbor": {func(p *Plugin) { p.Containers[0].Mounts[0].HostPath = "{kubeletRoot}plugins" }, `plugin.containers[0].mounts[0].hostPath: found "{kubeletRoot}plugins", ` + path},
		"mount path":       {func(p *Plugin) { p.Containers[0].Mounts[1].Path = "driver" }, `plugin.containers[0].mounts[1].path: found "driver", ` + path},
		"colon":            {func(p *Plugin) { p.Containers[0].Mounts[1].Path = "/a:b" }, `plugin.containers[0].mounts[1].path: found "/a:b", ` + path},
		"one place":        {func(p *Plugin) { p.Containers[0].Mounts[1].Path = "{kubeletRoot}/plugins" }, `plugin.containers[0].mounts[1].path: found "{kubeletRoot}/plugins", expected a path where the container has nothing else`},
		"mount type":       {func(p *Plugin) { p.Containers[0].Mounts[0].Type = "Folder" }, `plugin.containers[0].mounts[0].type: found "Folder", expected one of "", "DirectoryOrCreate"`},
		"propagation":      {func(p *Plugin) { p.Containers[0].Mounts[0].Propagation = "Both" }, `plugin.containers[0].mounts[0].propagation: found "Both", expected one of "", "None"`},
		"propagation without privilege": {func(p *Plugin) { p.Containers[1].Mounts[0].Propagation = corev1.MountPropagationBidirectional },
			`plugin.containers[1].mounts[0].propagation: found "Bidirectional", expected another one, or a container that is privileged`},
		"negative amount":   {func(p *Plugin) { p.Containers[0].Resources.Requests["cpu"] = resource.MustParse("-1") }, `plugin.containers[0].resources.requests[cpu]: found "-1", expected an amount that is not negative`},
		"over the limit":    {func(p *Plugin) { p.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2") }, `plugin.containers[0].resources.requests[cpu]: found "2", expected at most the limit 1`},
		"resource name":     {func(p *Plugin) { p.Containers[0].Resources.Limits["c p u"] = resource.MustParse("2") }, `plugin.containers[0].resources.limits[c p u]: found "c p u", expected cpu, memory, ephemeral-storage, hugepages-<size>, or a domain, a slash and a name`},
		"misspelt resource": {func(p *Plugin) { p.Containers[0].Resources.Limits["memroy"] = resource.MustParse("2Gi") }, `plugin.containers[0].resources.limits[memroy]: found "memroy", expected cpu, memory`},
		"huge pages without a limit": {func(p *Plugin) { p.Containers[0].Resources.Requests["hugepages-2Mi"] = resource.MustParse("2Mi") },
			`plugin.containers[0].resources.requests[hugepages-2Mi]: found "2Mi", expected the same amount as limits[hugepages-2Mi], of which there is none`},
		"half of a resource": {func(p *Plugin) { p.Containers[0].Resources.Limits["a.example/b"] = resource.MustParse("1500m") },
			`plugin.containers[0].resources.limits[a.example/b]: found "1500m", expected a whole number`},
		"half a huge page": {func(p *Plugin) { p.Containers[0].Resources.Limits["hugepages-2Mi"] = resource.MustParse("3Mi") },
			`plugin.containers[0].resources.limits[hugepages-2Mi]: found "3Mi", expected a multiple of the size of the pages`},
		"huge pages alone": {func(p *Plugin) {
			p.Containers[0].Resources = &ContainerResources{Limits: corev1.ResourceList{"hugepages-1Gi": resource.MustParse("1Gi")}}
		}, `plugin.containers[0].resources.limits[hugepages-1Gi]: found "1Gi", expected cpu or memory beside huge pages`},
		"no size of pages": {func(p *Plugin) { p.Containers[0].Resources.Limits["hugepages-x"] = resource.MustParse("1Gi") },
			`plugin.containers[0].resources.limits[hugepages-x]: found "hugepages-x", expected cpu, memory`},
		"a quota's name": {func(p *Plugin) { p.Containers[0].Resources.Limits["requests.a/b"] = resource.MustParse("1") },
			`plugin.containers[0].resources.limits[requests.a/b]: found "requests.a/b", expected cpu, memory`},
		"the token's place": {func(p *Plugin) { p.Containers[0].Mounts[1].Path = tokenPath + "/" },
			`plugin.containers[0].mounts[1].path: found "/var/run/secrets/kubernetes.io/serviceaccount/", expected a path where the container has nothing else`},
		"one place, written otherwise": {func(p *Plugin) { p.Containers[0].Mounts[1].Path = "{kubeletRoot}//plugins" },
			`plugin.containers[0].mounts[1].path: found "{kubeletRoot}//plugins", expected a path where the container has nothing else`},
		"less of an extended resource": {func(p *Plugin) {
			p.Containers[0].Resources.Requests["a.example/b"] = resource.MustParse("1")
			p.Containers[0].Resources.Limits["a.example/b"] = resource.MustParse("2")
		}, `plugin.containers[0].resources.requests[a.example/b]: found "1", expected the same amount as limits[a.example/b], which is 2`},

		"no groups":          {func(p *Plugin) { p.Rules[0].APIGroups = nil }, `plugin.rules[0].apiGroups: found none, expected at least one`},
		"no resources":       {func(p *Plugin) { p.Rules[0].Resources = nil }, `plugin.rules[0].resources: found none`},
		"no verbs":           {func(p *Plugin) { p.NamespaceRules[0].Verbs = nil }, `plugin.namespaceRules[0].verbs: found none`},
		"any group":          {func(p *Plugin) { p.Rules[0].APIGroups[0] = "*" }, `plugin.rules[0].apiGroups[0]: found "*", expected the API group, ` + wildcard},
		"any resource":       {func(p *Plugin) { p.Rules[0].Resources[0] = "*" }, `plugin.rules[0].resources[0]: found "*", expected the plural of a resource, ` + wildcard},
		"any subresource":    {func(p *Plugin) { p.Rules[0].Resources[0] = "pods/*" }, `plugin.rules[0].resources[0]: found "pods/*"`},
		"any verb":           {func(p *Plugin) { p.NamespaceRules[0].Verbs[0] = "*" }, `plugin.namespaceRules[0].verbs[0]: found "*", expected a verb, ` + wildcard},
		"any name":           {func(p *Plugin) { p.Rules[0].ResourceNames[0] = "*" }, `plugin.rules[0].resourceNames[0]: found "*", expected the name of an object, ` + wildcard},
		"empty doubt":        {func(p *Plugin) { p.Unverified[0] = " " }, `plugin.unverified[0]: found " ", expected what is not known for sure`},
		"empty when":         {func(p *Plugin) { p.Containers[1].When = &When{} }, `plugin.containers[1].when: found nothing, expected at least one of gate`},
		"gate of when":       {func(p *Plugin) { p.Containers[0].Env[1].When.Gate = "Slice" }, `plugin.containers[0].env[1].when.gate: found "Slice", expected a gate that the profile lists in gates`},
		"since of when":      {func(p *Plugin) { p.Containers[0].Env[1].When.Since = "one" }, `plugin.containers[0].env[1].when.since: found "one", expected a version of the driver`},
		"since of a mount":   {func(p *Plugin) { p.Containers[0].Mounts[0].When = &When{Since: "v1"} }, `plugin.containers[0].mounts[0].when.since: found "v1"`},
		"Kubernetes of when": {func(p *Plugin) { p.Rules[0].When.KubernetesSince = "1.36.0" }, `plugin.rules[0].when.kubernetesSince: found "1.36.0", expected a minor version of Kubernetes`},
		"when of a role":     {func(p *Plugin) { p.NamespaceRules[0].When = &When{Gate: "X"} }, `plugin.namespaceRules[0].when.gate: found "X"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := valid()
			c.breakIt(d.Plugin)
			err := d.Validate()
			require.ErrorContains(t, err, c.want)
			require.Len(t, strings.Split(err.Error(), "\n"), 1, "one fault is one line: %v", err)
		})
	}
}

// A version is compared only where the profile says since when something is there.
func TestTagThatIsNoVersion(t *testing.T) {
	d := valid()
	d.Plugin.Image.Tag = "latest"
	d.Gates[0].Since, d.Plugin.Containers[0].Env[1].When.Since = "", ""
	require.NoError(t, d.Validate())
}
