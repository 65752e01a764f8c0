package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

const version = "v1.34.4"

func said(on bool) featuregate.Answer {
	return featuregate.Answer{Version: version, Gates: map[string]bool{featuregate.ExtendedResource: on, featuregate.DynamicResourceAllocation: true}}
}

// extended is a cluster whose flags all set the gate.
func extended(t testing.TB) stack.Input {
	in := healthy(t)
	in.Instances = plane(version, "--feature-gates=DRAExtendedResource=true")
	return in
}

func TestCrossCheckOfTheStack(t *testing.T) {
	in := extended(t)
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Nil(t, s.FeatureGates.CrossCheck, "nobody looked")
	flags := s.FeatureGates
	require.Equal(t, metav1.ConditionTrue, get(t, s, condition.FeatureGatesConsistent).Status)

	check := func(m stack.Metrics, state, message string, conflicts int) {
		t.Helper()
		in.Metrics = m
		s = stack.Compute(s, in, start)
		require.Equal(t, &v1alpha1.GateCrossCheck{State: state, Message: message}, s.FeatureGates.CrossCheck)
		require.Len(t, s.FeatureGates.Conflicts, conflicts)
		require.Equal(t, flags.Needed, s.FeatureGates.Needed, "the flags' verdict stands")
		require.Equal(t, s.FeatureGates, stack.Gates(s, profile.Distribution{}, featuregate.Newest+1, nil), "the command line says the same")
	}
	check(stack.Metrics{Answers: []featuregate.Answer{said(true)}}, "Agrees", "", 0)
	check(stack.Metrics{Answers: []featuregate.Answer{said(true)}, Unreadable: "forbidden"}, "Unreadable", "forbidden", 0)
	require.Equal(t, condition.StackSynced, get(t, s, condition.ControllerSynced).Reason, "a cross-check that can't be done is no doubt about the cluster")
	require.Equal(t, metav1.ConditionTrue, get(t, s, condition.FeatureGatesConsistent).Status)
	check(stack.Metrics{Answers: []featuregate.Answer{{Version: "v1.35.4"}}}, "NotCompared", "no flags of an API server of the version that answers are known", 0)

	differs := stack.Metrics{Answers: []featuregate.Answer{said(false), said(false), said(false)}}
	check(differs, "Differs", "", 1)
	c := s.FeatureGates.Conflicts[0]
	require.Equal(t, "metrics", c.Source)
	require.Equal(t, featuregate.ExtendedResource, c.Gate)
	require.Contains(t, c.Message, "/metrics of the API server says off")
	is := get(t, s, condition.FeatureGatesConsistent)
	require.Equal(t, metav1.ConditionUnknown, is.Status)
	require.Equal(t, condition.StackGatesMetrics, is.Reason)
	require.Contains(t, is.Message, "DRAExtendedResource: /metrics of the API server says off")

	// The next controller has no answers, or few: what the one before it found stands.
	before := s.FeatureGates
	check(stack.Metrics{Unreadable: "away"}, "Unreadable", "away", 1)
	require.Equal(t, before.Conflicts, s.FeatureGates.Conflicts)
	check(stack.Metrics{Answers: []featuregate.Answer{said(true)}}, "Differs", "", 1)
	check(stack.Metrics{Answers: []featuregate.Answer{said(true), said(true), said(true)}}, "Agrees", "", 0)
	require.Equal(t, metav1.ConditionTrue, get(t, s, condition.FeatureGatesConsistent).Status)

	// What is wrong by the flags themselves comes first.
	in.Instances[2] = instance(featuregate.Scheduler, "sched-a", version, "--feature-gates=DRAExtendedResource=false")
	in.Metrics = differs
	is = get(t, stack.Compute(s, in, start), condition.FeatureGatesConsistent)
	require.Equal(t, condition.StackGatesConflict, is.Reason)
	require.Contains(t, is.Message, "/metrics of the API server says off")
}

// One address, several API servers, of which another answers each time: whatever they answer, no gate changes what gpu-dra goes
// by, and of what is said about them nothing comes and goes with each answer.
func TestAnswersOfManyAPIServersFlipNothing(t *testing.T) {
	cluster := extended(t)
	rapid.Check(t, func(t *rapid.T) {
		in := cluster
		want := stack.Compute(v1alpha1.GPUStackStatus{}, in, start).FeatureGates.Needed
		s := v1alpha1.GPUStackStatus{}
		changes := 0
		answers := rapid.SliceOfN(rapid.Bool(), 30, 60).Draw(t, "answers")
		for i, on := range answers {
			in.Metrics.Answers = append(in.Metrics.Answers, said(on))
			if n := len(in.Metrics.Answers); n > featuregate.AnswersKept {
				in.Metrics.Answers = in.Metrics.Answers[n-featuregate.AnswersKept:]
			}
			next := stack.Compute(s, in, start.Add(time.Duration(i)*time.Minute))
			if i > 0 && len(next.FeatureGates.Conflicts) != len(s.FeatureGates.Conflicts) {
				changes++
			}
			s = next
			if len(want) != len(s.FeatureGates.Needed) {
				t.Fatalf("found %+v, want %+v", s.FeatureGates.Needed, want)
			}
			for n := range want {
				if s.FeatureGates.Needed[n].Effective != want[n].Effective || s.FeatureGates.Needed[n].State != want[n].State {
					t.Fatalf("found %+v, want %+v", s.FeatureGates.Needed[n], want[n])
				}
			}
		}
		// To be said it takes three that differ in a row, to be taken back as many answers as are kept.
		if most := 2*len(answers)/(featuregate.AnswersKept+3) + 1; changes > most {
			t.Fatalf("%d changes in %d answers, at most %d can be", changes, len(answers), most)
		}
	})
}
