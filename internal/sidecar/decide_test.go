package sidecar

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func list(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func config() Config {
	return Config{
		Namespaces: []string{"inference"}, Image: "registry.example/gpu-dra:v1", Interval: 5 * time.Second,
		Drivers: map[string]Driver{
			"acme": {Name: "npu.acme.example", Others: []string{"link.acme.example"}, Exporter: &Exporter{
				Image: "registry.example/exporter:v2", Command: []string{"/usr/bin/exporter"}, Args: []string{"--listen={listen}"},
				Env: []corev1.EnvVar{{Name: "INTERVAL", Value: "5000"}}, Port: 9400, Path: "/metrics", Collect: time.Second, Limits: list("100m", "256Mi"),
			}},
			"beta":   {Name: "beta.example", Exporter: &Exporter{Image: "b", Command: []string{"/b"}, Port: 9500, Path: "/m"}},
			"rights": {Name: "rights.example", Without: "has no exporter that works without rights"},
		},
		Classes: map[string]string{"npu.acme.example": "acme", "beta.example": "beta", "rights.example": "rights"},
		Unshown: map[string]bool{"vfio.acme.example": true},
	}
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "engine", Labels: map[string]string{v1alpha1.LabelExporter: "sidecar", "app": "engine"}},
		Spec: corev1.PodSpec{
			ResourceClaims:                []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu-16gb-min")}},
			InitContainers:                []corev1.Container{{Name: "download"}},
			Containers:                    []corev1.Container{{Name: "engine", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}},
			TerminationGracePeriodSeconds: ptr.To[int64](60),
		},
	}
}

func claims() map[string]Claim {
	return map[string]Claim{"gpu": {Name: "gpu-16gb-min", Classes: []string{"npu.acme.example"}}}
}

func input() Input { return Input{Namespace: "inference", Pod: pod(), Claims: claims()} }

func TestInjects(t *testing.T) {
	in := input()
	v := Decide(config(), in)
	require.Equal(t, pod(), in.Pod, "the pod that was given is not changed")
	require.Nil(t, v.Refusal)
	require.Empty(t, v.Warnings)
	require.Equal(t, "acme", v.Driver)
	got := v.Pod

	names := []string{}
	for _, c := range got.Spec.InitContainers {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{Installer, Container, "download"}, names)
	require.Equal(t, pod().Spec.Containers, got.Spec.Containers)
	require.Equal(t, map[string]string{v1alpha1.LabelExporter: "sidecar", "app": "engine", v1alpha1.LabelClaim: "gpu-16gb-min"}, got.Labels)
	require.Equal(t, map[string]string{v1alpha1.AnnotationSidecar: "injected: acme", safeVolumes: Volume}, got.Annotations)
	require.Len(t, got.Spec.Volumes, 1)
	require.NotNil(t, got.Spec.Volumes[0].EmptyDir)

	installer, c := got.Spec.InitContainers[0], got.Spec.InitContainers[1]
	require.Equal(t, "registry.example/gpu-dra:v1", installer.Image)
	require.Empty(t, installer.Command, "the entry point of our image")
	require.Nil(t, installer.RestartPolicy)
	require.Empty(t, installer.Resources.Claims)
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *c.RestartPolicy)
	require.Nil(t, c.StartupProbe, "an exporter that does not start must not hold the engine")
	require.Nil(t, c.ReadinessProbe, "nor take the pod out of its Services")
	require.Nil(t, c.LivenessProbe)
	require.Equal(t, []string{binary}, c.Command)
	require.Equal(t, []string{"sidecar", "run", "--listen=:9400", "--path=/metrics", "--interval=5s", "--grace=1m0s", "--collect=1s", "--", "/usr/bin/exporter", "--listen={listen}"}, c.Args)
	require.Equal(t, []corev1.EnvVar{{Name: "INTERVAL", Value: "5000"}, {Name: "GOMAXPROCS", Value: "1"}}, c.Env)
	require.Equal(t, []corev1.ContainerPort{{Name: PortName, ContainerPort: 9400, Protocol: corev1.ProtocolTCP}}, c.Ports)
	require.Equal(t, []string{binary, "sidecar", "ending", "--port=9400"}, c.Lifecycle.PreStop.Exec.Command)
	require.Equal(t, []corev1.ResourceClaim{{Name: "gpu"}}, c.Resources.Claims)
	for _, c := range got.Spec.InitContainers[:2] {
		restricted(t, c)
		masked := false
		for _, m := range c.VolumeMounts {
			require.Equal(t, Volume, m.Name)
			masked = masked || m.MountPath == tokenDir
		}
		require.True(t, masked, "the API server puts no token where something is mounted")
	}

	again := Decide(config(), Input{Namespace: "inference", Pod: got, Claims: claims()})
	require.Equal(t, Verdict{}, again, "a second time changes nothing")
}

// restricted is what the Pod Security level asks of a container.
func restricted(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	require.True(t, *s.RunAsNonRoot)
	require.NotZero(t, *s.RunAsUser)
	require.False(t, *s.AllowPrivilegeEscalation)
	require.False(t, *s.Privileged)
	require.True(t, *s.ReadOnlyRootFilesystem)
	require.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, s.Capabilities)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, s.SeccompProfile.Type)
	for _, p := range c.Ports {
		require.Zero(t, p.HostPort)
	}
}

// Every reason is met, and its words name what was found.
func TestRefusals(t *testing.T) {
	seen := map[Reason]bool{}
	for name, c := range map[string]struct {
		change func(*Config, *Input)
		reason Reason
		words  string
	}{
		"namespace":       {func(_ *Config, in *Input) { in.Namespace = "other" }, NamespaceNotListed, "does not name namespace other"},
		"no claim":        {func(_ *Config, in *Input) { in.Pod.Spec.ResourceClaims = nil }, NoClaim, "spec.resourceClaims is empty"},
		"claim not read":  {func(_ *Config, in *Input) { in.Claims = nil }, ClaimUnreadable, "claim gpu: "},
		"claim not there": {func(_ *Config, in *Input) { in.Claims["gpu"] = Claim{Problem: "not found"} }, ClaimUnreadable, "claim gpu: not found"},
		"unknown class":   {func(_ *Config, in *Input) { in.Claims["gpu"] = Claim{Classes: []string{"own"}} }, DriverUnknown, "DeviceClass own: "},
		"no sidecar":      {func(_ *Config, in *Input) { in.Claims["gpu"] = Claim{Classes: []string{"rights.example"}} }, NoSidecar, "driver rights has no exporter"},
		"for machines":    {func(_ *Config, in *Input) { in.Claims["gpu"] = Claim{Classes: []string{"vfio.acme.example"}} }, NoSidecar, "DeviceClass vfio.acme.example: no exporter shows such devices"},
		"machines, allocated": {func(_ *Config, in *Input) {
			in.Claims["gpu"] = Claim{Classes: []string{"vfio.acme.example"}, Drivers: []string{"npu.acme.example"}}
		}, NoSidecar, "DeviceClass vfio.acme.example: no exporter shows such devices"},
		"a link": {func(_ *Config, in *Input) {
			in.Claims["gpu"] = Claim{Classes: []string{"npu.acme.example"}, Drivers: []string{"link.acme.example"}}
		}, NoSidecar, "driver link.acme.example: no exporter shows such devices"},
		"no device": {func(_ *Config, in *Input) { in.Claims["gpu"] = Claim{Name: "empty"} }, NoClaim, "its claims ask for no device"},
		"two drivers": {func(_ *Config, in *Input) {
			in.Claims["gpu"] = Claim{Classes: []string{"npu.acme.example", "beta.example"}}
		}, SeveralDrivers, "acme and beta"},
		"host network":     {func(_ *Config, in *Input) { in.Pod.Spec.HostNetwork = true }, HostNetwork, "spec.hostNetwork"},
		"windows":          {func(_ *Config, in *Input) { in.Pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }, NotLinux, "windows"},
		"pod resources":    {func(_ *Config, in *Input) { in.Pod.Spec.Resources = &corev1.ResourceRequirements{} }, PodResources, "spec.resources"},
		"container's name": {func(_ *Config, in *Input) { in.Pod.Spec.Containers[0].Name = Container }, NameTaken, "container " + Container},
		"installer's name": {func(_ *Config, in *Input) { in.Pod.Spec.InitContainers[0].Name = Installer }, NameTaken, "container " + Installer},
		"somebody's own": {func(_ *Config, in *Input) {
			in.Pod.Spec.InitContainers[0] = corev1.Container{Name: Container, Command: []string{"/x"}}
		}, NameTaken, Container},
		"volume's name": {func(_ *Config, in *Input) { in.Pod.Spec.Volumes = []corev1.Volume{{Name: Volume}} }, NameTaken, "volume " + Volume},
		"port's name": {func(_ *Config, in *Input) {
			in.Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: PortName, ContainerPort: 1}}
		}, NameTaken, "port " + PortName},
		"port": {func(_ *Config, in *Input) {
			in.Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9400}}
		}, PortTaken, "container engine listens on port 9400"},
		"no pull secret": {func(c *Config, _ *Input) { c.PullSecrets = []string{"mirror"} }, PullSecretMissing, "namespace inference has no Secret mirror"},
		"one of two is not": {func(c *Config, in *Input) {
			c.PullSecrets = []string{"a", "b"}
			in.Secrets = map[string]Secret{"a": {}}
		}, PullSecretMissing, "Secret b"},
		"nobody knows": {func(c *Config, in *Input) {
			c.PullSecrets = []string{"mirror"}
			in.Secrets = map[string]Secret{"mirror": {Problem: "timed out"}}
		}, PullSecretUnreadable,
			"Secret mirror in namespace inference could not be read, create the pod again when it can be: timed out"},
	} {
		with, in := config(), input()
		c.change(&with, &in)
		before := in.Pod.DeepCopy()
		v := Decide(with, in)
		require.NotNil(t, v.Refusal, name)
		require.Equal(t, c.reason, v.Refusal.Reason, name)
		require.Contains(t, v.Refusal.Words, c.words, name)
		require.Empty(t, v.Driver, name)
		require.Len(t, v.Warnings, 1, name)
		require.Equal(t, v.Refusal.Warning(), v.Warnings[0])
		require.LessOrEqual(t, len(v.Warnings[0]), 256, name)
		seen[c.reason] = true
		// All that changed is what the pod says of itself.
		require.True(t, strings.HasPrefix(v.Pod.Annotations[v1alpha1.AnnotationSidecar], "refused: "+string(c.reason)+": "), name)
		delete(v.Pod.Annotations, v1alpha1.AnnotationSidecar)
		if before.Annotations == nil {
			v.Pod.Annotations = nil
		}
		require.Equal(t, before, v.Pod, name)
	}
	for _, r := range reasons {
		require.True(t, seen[r], "no case for %s", r)
	}
}

// A pod that does not ask, or has the sidecar, is none of our business: not even a warning.
func TestOtherPodsStayAsTheyAre(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"no labels": nil, "another label": {"app": "x"}, "another value": {v1alpha1.LabelExporter: "daemonset"}, "empty": {v1alpha1.LabelExporter: ""},
	} {
		in := input()
		in.Pod.Labels = labels
		require.Equal(t, Verdict{}, Decide(config(), in), name)
		require.False(t, Asks(in.Pod))
	}
}

func TestDriverOfAClaim(t *testing.T) {
	for name, c := range map[string]struct {
		claim Claim
		want  string
	}{
		"by class":                       {Claim{Classes: []string{"npu.acme.example"}}, "acme"},
		"by what was allocated":          {Claim{Drivers: []string{"npu.acme.example"}, Classes: []string{"own"}}, "acme"},
		"allocation goes over the class": {Claim{Drivers: []string{"npu.acme.example"}, Classes: []string{"beta.example"}}, "acme"},
		"a driver nobody knows":          {Claim{Drivers: []string{"nic.example"}, Classes: []string{"npu.acme.example"}}, "acme"},
		"one class of two is known":      {Claim{Classes: []string{"nic", "npu.acme.example"}}, "acme"},
		"beside one without a sidecar":   {Claim{Classes: []string{"rights.example", "npu.acme.example"}}, "acme"},
	} {
		in := input()
		in.Claims["gpu"] = c.claim
		require.Equal(t, c.want, Decide(config(), in).Driver, name)
	}
}

// Of several claims the sidecar gets those of its driver.
func TestClaimsOfTheSidecar(t *testing.T) {
	in := input()
	in.Pod.Spec.ResourceClaims = append(in.Pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "nic"}, corev1.PodResourceClaim{Name: "second"})
	in.Claims["nic"] = Claim{Name: "nic", Classes: []string{"nic"}}
	in.Claims["second"] = Claim{Name: "shared", Classes: []string{"npu.acme.example"}}
	v := Decide(config(), in)
	require.Equal(t, []corev1.ResourceClaim{{Name: "gpu"}, {Name: "second"}}, v.Pod.Spec.InitContainers[1].Resources.Claims)
	require.Equal(t, "gpu-16gb-min_shared", v.Pod.Labels[v1alpha1.LabelClaim])
	in.Pod.Labels[v1alpha1.LabelClaim] = "mine"
	require.Equal(t, "mine", Decide(config(), in).Pod.Labels[v1alpha1.LabelClaim])
	in.Pod.Labels[v1alpha1.LabelClaim] = ""
	got := Decide(config(), in).Pod.Labels
	require.Contains(t, got, v1alpha1.LabelClaim)
	require.Empty(t, got[v1alpha1.LabelClaim], "one that is empty is one that was set")
}

// Devices of a claim that no exporter shows are no reason for the sidecar to have a share in it.
func TestClaimsThatAreNotShown(t *testing.T) {
	in := input()
	in.Pod.Spec.ResourceClaims = append(in.Pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "machine"}, corev1.PodResourceClaim{Name: "link"})
	in.Claims["machine"] = Claim{Name: "machine", Classes: []string{"vfio.acme.example"}, Drivers: []string{"npu.acme.example"}}
	in.Claims["link"] = Claim{Name: "link", Classes: []string{"own"}, Drivers: []string{"link.acme.example"}}
	v := Decide(config(), in)
	require.Equal(t, []corev1.ResourceClaim{{Name: "gpu"}}, v.Pod.Spec.InitContainers[1].Resources.Claims)
}

// Nodes may be drained of the pod as before.
func TestVolumeKeepsNoNode(t *testing.T) {
	for said, want := range map[string]string{"": Volume, "scratch": "scratch," + Volume, "a," + Volume: "a," + Volume, "x" + Volume: "x" + Volume + "," + Volume} {
		in := input()
		in.Pod.Annotations = map[string]string{safeVolumes: said}
		require.Equal(t, want, Decide(config(), in).Pod.Annotations[safeVolumes])
	}
}

func TestFilesOfTheExporter(t *testing.T) {
	c := config()
	c.Drivers["acme"].Exporter.Files = map[string]string{"b": "2", "a.csv": "costs $5, $(HOME)\n"}
	args := Decide(c, input()).Pod.Spec.InitContainers[1].Args
	at := slices.Index(args, "--")
	require.Equal(t, []string{"--file=a.csv=costs $$5, $$(HOME)\n", "--file=b=2"}, args[at-2:at], "the kubelet makes one dollar of two")
}

func TestPullSecrets(t *testing.T) {
	c, in := config(), input()
	c.PullSecrets = []string{"mirror", "own"}
	in.Pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "own"}}
	in.Secrets = map[string]Secret{"mirror": {}, "own": {Problem: "timed out"}}
	v := Decide(c, in)
	require.Nil(t, v.Refusal)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "own"}, {Name: "mirror"}}, v.Pod.Spec.ImagePullSecrets)
}

func TestShortGracePeriodIsAWarning(t *testing.T) {
	for seconds, warned := range map[int64]bool{0: true, 7: true, 8: false, 30: false} {
		in := input()
		in.Pod.Spec.TerminationGracePeriodSeconds = &seconds
		v := Decide(config(), in)
		require.NotEmpty(t, v.Driver)
		require.Equal(t, warned, len(v.Warnings) == 1, seconds)
	}
}

// A profile of AppArmor that was made for the engine does not hold for our programs; what every host has is not named.
func TestAppArmor(t *testing.T) {
	for said, want := range map[*corev1.AppArmorProfile]*corev1.AppArmorProfile{
		nil: nil,
		{Type: corev1.AppArmorProfileTypeUnconfined}:                                            nil,
		{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: ptr.To("k8s-deny-write")}: {Type: corev1.AppArmorProfileTypeRuntimeDefault},
	} {
		in := input()
		in.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{AppArmorProfile: said}
		for _, c := range Decide(config(), in).Pod.Spec.InitContainers[:2] {
			require.Equal(t, want, c.SecurityContext.AppArmorProfile, c.Name)
		}
	}
}

// A pod without requests and limits gives the exporter no bound to be kept below.
func TestMemoryFlagIsTheContainersLimit(t *testing.T) {
	in := input()
	c := Decide(config(), in).Pod.Spec.InitContainers[1]
	require.Empty(t, c.Resources.Limits)
	require.NotContains(t, strings.Join(c.Args, " "), "--memory")
	in.Pod.Spec.Containers[0].Resources.Requests = list("1", "1Gi")
	c = Decide(config(), in).Pod.Spec.InitContainers[1]
	require.Contains(t, c.Args, "--memory=268435456")
	require.Equal(t, "304Mi", c.Resources.Limits.Memory().String(), "and what is ours")
}

// Whatever the pod says, the sidecar takes it: one that ends at once would keep the engine from starting.
func TestGracePeriods(t *testing.T) {
	for name, c := range map[string]struct {
		seconds *int64
		want    string
		warned  bool
	}{
		"nothing said":        {nil, "30s", false},
		"negative":            {ptr.To[int64](-1), "1s", true},
		"the most negative":   {ptr.To[int64](math.MinInt64), "1s", true},
		"more than a year":    {ptr.To[int64](9_999_999_999), "8760h0m0s", false},
		"the largest of them": {ptr.To[int64](math.MaxInt64), "8760h0m0s", false},
	} {
		in := input()
		in.Pod.Spec.TerminationGracePeriodSeconds = c.seconds
		v := Decide(config(), in)
		require.Equal(t, c.warned, len(v.Warnings) == 1, name)
		require.Contains(t, v.Pod.Spec.InitContainers[1].Args, "--grace="+c.want, name)
	}
}
