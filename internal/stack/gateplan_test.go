package stack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

func TestDuplicatedGateIsNamedWithAllThatIsKnownOfIt(t *testing.T) {
	in := healthy(t)
	in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", "--feature-gates=DRAConsumableCapacity=true", "--feature-gates=DRAConsumableCapacity=false")
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	off := false
	require.Equal(t, []v1alpha1.GateConflict{{
		Gate: "DRAConsumableCapacity", Component: "kube-scheduler", Instance: "sched-a", Values: []bool{true, false}, Effective: &off,
		Message: "kube-scheduler sched-a: sets it to true, then false: the last value (false) wins without a warning, keep one",
	}}, s.FeatureGates.Conflicts)
	require.Equal(t, condition.StackGatesConflict, get(t, s, condition.FeatureGatesConsistent).Reason)

	// While its flags can't be read the conflict stays, and goes with them when they can.
	in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", "$(ARGS)")
	unread := stack.Compute(s, in, start.Add(time.Second))
	require.Equal(t, s.FeatureGates.Conflicts, unread.FeatureGates.Conflicts)
	require.Equal(t, unread.FeatureGates.Conflicts, stack.Compute(unread, in, start.Add(2*time.Second)).FeatureGates.Conflicts)
	clean := stack.Compute(unread, healthy(t), start.Add(3*time.Second))
	require.Empty(t, clean.FeatureGates.Conflicts)
	require.Equal(t, metav1.ConditionTrue, get(t, clean, condition.FeatureGatesConsistent).Status)
}

// Two masters that agree: it is said who is told twice, and nothing is wrong.
func TestTheSameValueTwiceIsNoFault(t *testing.T) {
	in := healthy(t)
	in.Instances = plane("v1.34.4", "--feature-gates=DRAConsumableCapacity=true", "--feature-gates=DRAConsumableCapacity=true")
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	on := true
	require.Len(t, s.FeatureGates.Conflicts, 3)
	require.Equal(t, v1alpha1.GateConflict{Gate: "DRAConsumableCapacity", Component: "kube-apiserver", Instance: "api-a", Values: []bool{true, true}, Effective: &on,
		Message: "kube-apiserver api-a: sets it to true 2 times: nothing behaves otherwise, but a later change of one of them may do nothing, keep one"}, s.FeatureGates.Conflicts[0])
	c := get(t, s, condition.FeatureGatesConsistent)
	require.Equal(t, metav1.ConditionTrue, c.Status)
	require.Equal(t, condition.StackGatesOn, c.Reason)
	require.Contains(t, c.Message, "given more than once: DRAConsumableCapacity: kube-apiserver api-a, kube-controller-manager kcm-a, kube-scheduler sched-a: sets it to true 2 times")

	// While its flags can't be read it stays, as other conflicts do.
	in.Instances[0] = instance(featuregate.APIServer, "api-a", "v1.34.4", "$(ARGS)")
	require.Equal(t, s.FeatureGates.Conflicts, stack.Compute(s, in, start.Add(time.Second)).FeatureGates.Conflicts)

	// A fault beside it is still one.
	in.Instances = plane("v1.34.4", "--feature-gates=DRAConsumableCapacity=true,DRAConsumableCapacity=true,DRAExtendedResource=true,DRAExtendedResource=false")
	c = get(t, stack.Compute(v1alpha1.GPUStackStatus{}, in, start), condition.FeatureGatesConsistent)
	require.Equal(t, condition.StackGatesConflict, c.Reason)
	require.Contains(t, c.Message, "the last value (false) wins")
	require.Contains(t, c.Message, "given more than once: ")
}

// One component that was told and one that goes by its default: the API server takes what the scheduler passes over.
func TestAGateOfOneComponentAlone(t *testing.T) {
	in := healthy(t)
	in.Instances[0] = instance(featuregate.APIServer, "api-a", "v1.34.4", "--feature-gates=DRAConsumableCapacity=true")
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, []v1alpha1.GateConflict{{Gate: "DRAConsumableCapacity", Values: []bool{true},
		Message: "on in kube-apiserver api-a (set by its flags), off in kube-scheduler sched-a (off by default in 1.34): these components read it, set one value"}}, s.FeatureGates.Conflicts)
	require.Equal(t, condition.StackGatesConflict, get(t, s, condition.FeatureGatesConsistent).Reason)
}

func TestWhatStopsTheNextVersionIsNoFaultYet(t *testing.T) {
	in := healthy(t)
	in.Instances = plane("v1.36.3", "--feature-gates=SidecarContainers=true")
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Len(t, s.FeatureGates.Conflicts, 3)
	for _, c := range s.FeatureGates.Conflicts {
		require.Equal(t, "1.37", c.Ahead)
		require.True(t, *c.Effective)
	}
	c := get(t, s, condition.FeatureGatesConsistent)
	require.Equal(t, metav1.ConditionTrue, c.Status)
	require.Contains(t, c.Message, "SidecarContainers: kube-apiserver api-a, kube-controller-manager kcm-a, kube-scheduler sched-a: 1.37 does not have this gate")
	require.Len(t, s.FeatureGates.Upgrade, 3)
	require.Equal(t, v1alpha1.UpgradeFinding{To: "1.37", Stops: true, Gate: "SidecarContainers", Component: "kube-apiserver", Instances: []string{"api-a"},
		Message: s.FeatureGates.Upgrade[0].Message}, s.FeatureGates.Upgrade[0])
}

func TestActionsAndFragments(t *testing.T) {
	in := healthy(t)
	in.Settings.NodeGroups[0].Partitioning = "Dynamic"
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, []v1alpha1.GateAction{
		{Component: "kube-apiserver", Version: "v1.34.4", Instances: []string{"api-a"}, Action: "SetGate", Message: "off by default in 1.34"},
		{Component: "kube-scheduler", Version: "v1.34.4", Instances: []string{"sched-a"}, Action: "SetGate", Message: "off by default in 1.34"},
	}, gateOf(t, s, "DRAPartitionableDevices").Actions)
	require.Empty(t, gateOf(t, s, featuregate.DynamicResourceAllocation).Actions)
	require.Empty(t, gateOf(t, s, featuregate.ExtendedResource).Actions, "off, but nobody needs it")
	require.Contains(t, s.FeatureGates.Fragments.Kubeadm, "value: DRAPartitionableDevices=true")
	require.Empty(t, s.FeatureGates.Fragments.KubeletConfiguration)

	distributions, err := profile.Distributions()
	require.NoError(t, err)
	in.Distribution = distributions["Deckhouse"]
	s = stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, v1alpha1.GateFragments{}, s.FeatureGates.Fragments, "nobody may edit its manifests")
	require.Equal(t, "Deckhouse", s.FeatureGates.Distribution)
	require.Contains(t, gateOf(t, s, "DRAPartitionableDevices").Actions[0].Message, "the platform sets it by itself in 1.34, but it is not seen")
}

func TestSlicesOfTheOldLayout(t *testing.T) {
	in := healthy(t)
	in.InlineCounters = []string{"gpu.nvidia.com"}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Len(t, s.FeatureGates.Upgrade, 2)
	require.True(t, s.FeatureGates.Upgrade[1].Stops)
	require.Contains(t, s.FeatureGates.Upgrade[1].Message, "slices of gpu.nvidia.com hold counters beside devices")
}

// The same doubts, one after the other: what was on stays on as long as nothing shows otherwise.
func TestAGateThatWasOnStaysOnThroughDoubt(t *testing.T) {
	const flag = "--feature-gates=DRAExtendedResource=true"
	in := healthy(t)
	in.Instances = plane("v1.36.3")
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.36.3"))}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	effective := func(s v1alpha1.GPUStackStatus) metav1.ConditionStatus {
		return gateOf(t, s, featuregate.ExtendedResource).Effective
	}
	require.Equal(t, metav1.ConditionTrue, effective(s))

	for name, tc := range map[string]struct {
		change func(*stack.Input)
		want   metav1.ConditionStatus
	}{
		"one can't be read": {func(in *stack.Input) {
			in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.36.3", "$(ARGS)")
		}, metav1.ConditionTrue},
		"its pod is being replaced": {func(in *stack.Input) { in.Instances = in.Instances[1:] }, metav1.ConditionTrue},
		"no pod can be read": {func(in *stack.Input) {
			in.Instances, in.Unreadable = nil, map[stack.Fact]string{stack.FactInstances: "x"}
		}, metav1.ConditionTrue},
		"switched off": {func(in *stack.Input) {
			in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.36.3", "--feature-gates=DRAExtendedResource=false")
		}, metav1.ConditionFalse},
		"a new one can't be read": {func(in *stack.Input) {
			in.Instances = append(in.Instances, instance(featuregate.Scheduler, "sched-b", "v1.36.3", "$(ARGS)"))
		}, metav1.ConditionUnknown},
		"another version, not read": {func(in *stack.Input) {
			in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.35.4", "$(ARGS)")
		}, metav1.ConditionUnknown},
		"an older kubelet":             {func(in *stack.Input) { in.Nodes = append(in.Nodes, node("n2", kubelet("v1.35.4"))) }, metav1.ConditionUnknown},
		"an older kubelet, of no gate": {func(in *stack.Input) { in.Nodes = append(in.Nodes, node("n2", kubelet("v1.33.4"))) }, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			next := in
			next.Instances = append([]featuregate.Instance(nil), in.Instances...)
			next.Nodes = append([]v1alpha1.GPUNode(nil), in.Nodes...)
			tc.change(&next)
			after := stack.Compute(s, next, start.Add(time.Second))
			require.Equal(t, tc.want, effective(after))
			require.Equal(t, tc.want, effective(stack.Compute(after, next, start.Add(2*time.Second))), "and so on")
			require.Equal(t, metav1.ConditionTrue, effective(stack.Compute(after, in, start.Add(3*time.Second))))
		})
	}

	// What was never seen on everywhere is not assumed to be.
	in.Instances = plane("v1.35.4", flag)
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.35.4"))}
	require.Equal(t, metav1.ConditionUnknown, effective(stack.Compute(v1alpha1.GPUStackStatus{}, in, start)))
}

// The command line knows a cluster by its status only, and must say the same.
func TestGatesFromTheStatus(t *testing.T) {
	in := full(t)
	in.Instances = plane("v1.35.4", "--feature-gates=MemoryManager=true,DRADeviceTaints=true", "--runtime-config=resource.k8s.io/v1beta1=true", "--emulated-version=1.34")
	in.Instances[1] = instance(featuregate.ControllerManager, "kcm-a", "v1.35.4", "$(ARGS)")
	in.Instances = append(in.Instances, instance(featuregate.APIServer, "api-b", "v1.35.4", "--openshift-config=/c"))
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, "/c", s.FeatureGates.Instances[1].ConfigFile)
	require.Contains(t, gateOf(t, s, featuregate.PartitionableDevices).Message, "perhaps in /c")
	require.Equal(t, "1.34", s.FeatureGates.Instances[0].EmulatedVersion)
	require.Equal(t, map[string]bool{"resource.k8s.io/v1beta1": true}, s.FeatureGates.Instances[0].RuntimeConfig)
	got := stack.Gates(s, profile.Distribution{}, featuregate.Newest+1, nil)
	require.Equal(t, s.FeatureGates, got)
	require.Less(t, len(stack.Gates(s, profile.Distribution{}, 35, nil).Upgrade), len(got.Upgrade))
}

// Of a control plane that nobody can look into, what is known otherwise is told to the preflight.
func TestPreflightOfAControlPlaneWithoutPods(t *testing.T) {
	in := healthy(t)
	in.Instances, in.InlineCounters = nil, []string{"gpu.nvidia.com"}
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.33.4"))}
	told := func(s v1alpha1.GPUStackStatus) (out []string) {
		for _, f := range s.FeatureGates.Upgrade {
			out = append(out, fmt.Sprint(f.To, " ", f.Stops, " ", f.Gate, f.Component))
		}
		return out
	}
	want := []string{"1.34 true kube-apiserver", "1.35 false ", "1.35 false kube-apiserver", "1.35 false kube-controller-manager", "1.35 false kube-scheduler", "1.35 true DRAPartitionableDevices"}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, want, told(s))
	require.Equal(t, s.FeatureGates, stack.Gates(s, profile.Distribution{}, featuregate.Newest+1, nil), "the command line says the same")
	// While the API server can't be asked, by what it said last.
	in.KubernetesVersion, in.ResourceAPIs = "", nil
	in.Unreadable = map[stack.Fact]string{stack.FactKubernetesVersion: "timeout", stack.FactResourceAPIs: "timeout"}
	require.Equal(t, want, told(stack.Compute(s, in, start)))
}

// On, but without the API that it waits for, a gate does nothing.
func TestAGateWhoseAPIIsNotServedIsAFault(t *testing.T) {
	in := healthy(t)
	in.Settings.KubernetesFeatureGates.ExtraRequired = []string{"DRAResourcePoolStatus"}
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.36.3"))}
	in.Instances = plane("v1.36.3", "--feature-gates=DRAResourcePoolStatus=true")
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, metav1.ConditionTrue, gateOf(t, s, "DRAResourcePoolStatus").State)
	c := get(t, s, condition.FeatureGatesConsistent)
	require.Equal(t, metav1.ConditionFalse, c.Status)
	require.Equal(t, condition.StackGatesOff, c.Reason)
	require.Contains(t, c.Message, "DRAResourcePoolStatus (needed by kubernetesFeatureGates.extraRequired): on, but the API server does not serve resource.k8s.io/v1alpha3: add it to --runtime-config")

	in.Instances[0] = instance(featuregate.APIServer, "api-a", "v1.36.3", "--feature-gates=DRAResourcePoolStatus=true", "--runtime-config=resource.k8s.io/v1alpha3=true")
	require.Equal(t, condition.StackGatesOn, get(t, stack.Compute(v1alpha1.GPUStackStatus{}, in, start), condition.FeatureGatesConsistent).Reason)
}

// A worse fault hides neither a misspelt name nor what can't be told.
func TestTheConditionNamesAllThatIsWrong(t *testing.T) {
	in := healthy(t)
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.33.4"))}
	in.Instances[0] = instance(featuregate.APIServer, "api-a", "v1.34.4", "--runtime-config=resource.k8s.io/v1beta1=true")
	in.Settings.KubernetesFeatureGates.ExtraRequired = []string{"DRAExtendedResources", "DRAListTypeAttributes", "KubeletPodResourcesDynamicResources"}
	c := get(t, stack.Compute(v1alpha1.GPUStackStatus{}, in, start), condition.FeatureGatesConsistent)
	require.Equal(t, condition.StackGatesOff, c.Reason)
	for _, part := range []string{"DRAListTypeAttributes (needed by", "knows no Kubernetes feature gate DRAExtendedResources", "KubeletPodResourcesDynamicResources (needed by"} {
		require.Contains(t, c.Message, part)
	}
	in.Settings.KubernetesFeatureGates.ExtraRequired = []string{"DRAExtendedResources", "KubeletPodResourcesDynamicResources"}
	in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", "--feature-gates=DRAConsumableCapacity=true,DRAConsumableCapacity=false")
	c = get(t, stack.Compute(v1alpha1.GPUStackStatus{}, in, start), condition.FeatureGatesConsistent)
	require.Equal(t, condition.StackGatesConflict, c.Reason)
	for _, part := range []string{"the last value (false) wins", "knows no Kubernetes feature gate DRAExtendedResources", "KubeletPodResourcesDynamicResources (needed by"} {
		require.Contains(t, c.Message, part)
	}
}

// What kubelets say of themselves, once they were asked.
func TestGatesWithKubeletsThatWereRead(t *testing.T) {
	in := healthy(t)
	in.Settings.DeviceClasses.ExtendedResources = "Always"
	in.Instances = plane("v1.35.4", "--feature-gates=DRAExtendedResource=true")
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.35.4")), node("n2", kubelet("v1.35.4"))}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, metav1.ConditionUnknown, gateOf(t, s, featuregate.ExtendedResource).State)
	read := func(node string, set map[string]bool) featuregate.Instance {
		return featuregate.Instance{Component: featuregate.Kubelet, Name: node, Version: "v1.35.4", Flags: featuregate.Flags{Set: set}}
	}
	on := map[string]bool{featuregate.ExtendedResource: true}
	state := func(kubelets ...featuregate.Instance) metav1.ConditionStatus {
		s := v1alpha1.GPUStackStatus{FeatureGates: stack.Gates(s, profile.Distribution{}, 37, kubelets)}
		return gateOf(t, s, featuregate.ExtendedResource).State
	}
	require.Equal(t, metav1.ConditionTrue, state(read("n1", on), read("n2", on)))
	require.Equal(t, metav1.ConditionUnknown, state(read("n1", on)))
	require.Equal(t, metav1.ConditionFalse, state(read("n1", on), read("n2", nil)))
	got := stack.Gates(s, profile.Distribution{}, 37, []featuregate.Instance{read("n1", map[string]bool{"SidecarContainers": true, "MemoryManager": false})})
	require.Contains(t, stack.ConflictLines(got), "MemoryManager: kubelet n1: it is set to false, but locked to true since 1.32, take it away: the component does not start with these flags")
	require.Len(t, s.FeatureGates.Conflicts, 0)
	require.Equal(t, "kubelet", got.Upgrade[len(got.Upgrade)-1].Component)
}

// What the platform sets in its kubelets counts as on.
func TestKubeletsOfAPlatformThatSetsTheGate(t *testing.T) {
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	in := healthy(t)
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.33.4"))}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, metav1.ConditionUnknown, gateOf(t, s, featuregate.DynamicResourceAllocation).State)
	in.Distribution = distributions["Deckhouse"]
	s = stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, metav1.ConditionTrue, gateOf(t, s, featuregate.DynamicResourceAllocation).State)
	// That is not all they need: what they speak is dropped by the same platform.
	require.Equal(t, []v1alpha1.GateAction{{Component: "kube-apiserver", Version: "v1.34.4", Instances: []string{"api-a"}, Action: "ServeAPI", RuntimeConfig: []string{"resource.k8s.io/v1beta1"},
		Message: "1 kubelet(s) below 1.34 speak no other version, so pods with claims do not start there: upgrade them, or serve it until they are; " +
			"the platform has no setting for --runtime-config: resource.k8s.io/v1beta1 cannot be switched on"}},
		gateOf(t, s, featuregate.DynamicResourceAllocation).Actions)
	in.Nodes = []v1alpha1.GPUNode{node("n1")}
	s = stack.Compute(s, in, start)
	require.Empty(t, gateOf(t, s, featuregate.DynamicResourceAllocation).Actions, "they were upgraded")
}

// Once the control plane is there, kubelets that are not can't read claims: a fault now, not before the next upgrade.
func TestKubeletsThatTheAPIServerLeftBehind(t *testing.T) {
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	const says = "DynamicResourceAllocation (needed by nodeGroups): "
	const why = "the API server does not serve resource.k8s.io/v1beta1: add it to --runtime-config (2 kubelet(s) below 1.34 speak no other version, " +
		"so pods with claims do not start there: upgrade them, or serve it until they are"
	for name, tc := range map[string]struct {
		change func(*stack.Input)
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"not served":            {func(*stack.Input) {}, "False", condition.StackGatesOff, says + why + "); not known: kubelet v1.33.4 on 2 node(s)"},
		"not served, Deckhouse": {func(in *stack.Input) { in.Distribution = distributions["Deckhouse"] }, "False", condition.StackGatesOff, says + "on, but " + why + "; the platform has no setting for --runtime-config"},
		"not served, no pods of the control plane": {func(in *stack.Input) { in.Instances = nil }, "False", condition.StackGatesOff, says + why},
		"served, Deckhouse": {func(in *stack.Input) {
			in.Distribution, in.ResourceAPIs = distributions["Deckhouse"], []string{"v1", "v1beta1"}
			in.Instances[0] = instance(featuregate.APIServer, "api-a", "v1.34.4", "--runtime-config=resource.k8s.io/v1beta1=true")
		}, "True", condition.StackGatesOn, ""},
		"not known": {func(in *stack.Input) {
			in.Distribution, in.Instances, in.ResourceAPIs = distributions["Deckhouse"], nil, nil
			in.Unreadable = map[stack.Fact]string{stack.FactResourceAPIs: "timeout", stack.FactInstances: "timeout"}
		}, "Unknown", condition.StackGatesUnknown, ""},
		"nobody needs DRA": {func(in *stack.Input) { in.Settings.NodeGroups[0].Passive = true }, "True", condition.StackGatesOn, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy(t)
			in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.33.4")), node("n2", kubelet("v1.33.4")), node("n3")}
			tc.change(&in)
			s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
			c := get(t, s, condition.FeatureGatesConsistent)
			require.Equal(t, tc.status, c.Status, c.Message)
			require.Equal(t, tc.reason, c.Reason)
			require.Contains(t, c.Message, tc.says)
			if name == "not served" {
				require.Contains(t, s.FeatureGates.Fragments.Kubeadm, "  - name: runtime-config\n    value: resource.k8s.io/v1beta1=true\n")
			}
			require.Equal(t, s.FeatureGates, stack.Gates(s, in.Distribution, featuregate.Newest+1, nil), "the command line says the same")
		})
	}
}

// What a needed gate depends on is needed too, by it, and stays so for who knows the cluster by its status only.
func TestDependenciesOfANeededGate(t *testing.T) {
	in := healthy(t)
	in.Instances = plane("v1.36.3")
	in.Nodes = []v1alpha1.GPUNode{node("n1", kubelet("v1.36.3"))}
	in.Settings.KubernetesFeatureGates.ExtraRequired = []string{"GangScheduling"}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, []v1alpha1.GateAction{
		{Component: "kube-scheduler", Version: "v1.36.3", Instances: []string{"sched-a"}, Action: "SetGate", Also: []string{"GenericWorkload"}, Message: "off by default in 1.36"},
	}, gateOf(t, s, "GangScheduling").Actions)
	workload := gateOf(t, s, "GenericWorkload")
	require.Equal(t, []string{"GangScheduling"}, workload.NeededBy)
	require.Equal(t, []v1alpha1.GateAction{
		{Component: "kube-apiserver", Version: "v1.36.3", Instances: []string{"api-a"}, Action: "SetGate", RuntimeConfig: []string{"scheduling.k8s.io/v1alpha2"}, Message: "off by default in 1.36"},
		{Component: "kube-controller-manager", Version: "v1.36.3", Instances: []string{"kcm-a"}, Action: "SetGate", Message: "off by default in 1.36"},
		{Component: "kube-scheduler", Version: "v1.36.3", Instances: []string{"sched-a"}, Action: "SetGate", Message: "off by default in 1.36"},
	}, workload.Actions)
	require.Contains(t, s.FeatureGates.Fragments.Kubeadm, "apiServer:\n  extraArgs:\n  - name: feature-gates\n    value: GenericWorkload=true\n  - name: runtime-config\n    value: scheduling.k8s.io/v1alpha2=true\n")
	require.Contains(t, get(t, s, condition.FeatureGatesConsistent).Message, "GenericWorkload (needed by GangScheduling): off in kube-apiserver api-a")
	require.Equal(t, s.FeatureGates, stack.Gates(s, profile.Distribution{}, featuregate.Newest+1, nil), "the command line says the same")

	// The scheduler alone was told: it waits, and its own gate is on.
	in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.36.3", "--feature-gates=GangScheduling=true,GenericWorkload=true")
	s = stack.Compute(s, in, start)
	require.Equal(t, metav1.ConditionTrue, gateOf(t, s, "GangScheduling").State)
	require.Equal(t, metav1.ConditionFalse, gateOf(t, s, "GenericWorkload").State)
	require.Equal(t, condition.StackGatesOff, get(t, s, condition.FeatureGatesConsistent).Reason)

	in.Instances = plane("v1.36.3", "--feature-gates=GangScheduling=true,GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
	s = stack.Compute(s, in, start)
	require.Equal(t, condition.StackGatesOn, get(t, s, condition.FeatureGatesConsistent).Reason)
	for _, g := range s.FeatureGates.Needed {
		require.NotEqual(t, "GenericWorkload", g.Name, "it is there, and the settings do not need it")
	}
}

func TestSliceLayoutIsRememberedAndToldToThePreflight(t *testing.T) {
	in := healthy(t)
	in.Settings.NodeGroups[0].Partitioning = "Dynamic"
	about := func(s v1alpha1.GPUStackStatus) (out []string) {
		for _, f := range s.FeatureGates.Upgrade {
			if f.Gate == featuregate.PartitionableDevices {
				out = append(out, fmt.Sprint(f.Stops, " ", f.Message))
			}
		}
		return out
	}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Nil(t, s.FeatureGates.SliceLayout)
	require.Len(t, about(s), 1)
	require.Contains(t, about(s)[0], "false 1.35 refuses slices", "nobody looked")

	in.InlineCounters = []string{}
	s = stack.Compute(s, in, start)
	require.Equal(t, &v1alpha1.SliceLayout{}, s.FeatureGates.SliceLayout)
	require.Empty(t, about(s), "looked, and there are none")
	require.Equal(t, s.FeatureGates, stack.Gates(s, profile.Distribution{}, featuregate.Newest+1, nil), "the command line says the same")

	in.InlineCounters = []string{"b.example.com", "a.example.com"}
	s = stack.Compute(s, in, start)
	require.Equal(t, &v1alpha1.SliceLayout{InlineCounters: []string{"a.example.com", "b.example.com"}}, s.FeatureGates.SliceLayout)
	require.Len(t, about(s), 1)
	require.Contains(t, about(s)[0], "true slices of a.example.com, b.example.com hold counters beside devices")
	require.Equal(t, s.FeatureGates, stack.Gates(s, profile.Distribution{}, featuregate.Newest+1, nil))

	in.InlineCounters = nil
	require.Equal(t, s.FeatureGates, stack.Compute(s, in, start.Add(time.Second)).FeatureGates, "what was seen stands")
}
