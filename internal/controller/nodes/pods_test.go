package nodes

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func TestDriverPods(t *testing.T) {
	pod := func(name string, created int, on string, labels map[string]string, waiting string) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-dra", Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(start.Add(time.Duration(created) * time.Minute))},
			Spec:       corev1.PodSpec{NodeName: on},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
		if waiting != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}}}}
		}
		return p
	}
	ours := map[string]string{"app": "driver-example"}
	w := newWorld(t, node("n1", "1", inGroup),
		pod("older", 1, "n1", ours, ""), pod("newer", 2, "n1", ours, "CrashLoopBackOff"),
		pod("foreign", 3, "n1", map[string]string{"app": "x"}, ""), pod("elsewhere", 4, "n2", ours, ""))
	w.step("n1")
	g := &v1alpha1.GPUNode{}
	require.NoError(t, w.client.Get(context.Background(), types.NamespacedName{Name: "n1"}, g))
	require.Equal(t, &v1alpha1.DriverPod{Name: "newer", Phase: corev1.PodRunning, Ready: true, Reason: "CrashLoopBackOff"}, g.Status.Drivers[0].Pod)
	require.Equal(t, []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "n1"}}}, w.requestOfPod(context.Background(), pod("p", 1, "n1", ours, "")))
	unplaced := pod("p", 1, "", ours, "")
	require.Empty(t, w.requestOfPod(context.Background(), unplaced))
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func waiting(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func ended(name string, code int32, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}
}

// endedBefore is a container that ended before it came to where it is.
func endedBefore(s corev1.ContainerStatus, message string) corev1.ContainerStatus {
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message}
	return s
}

func TestStateOfADriverPod(t *testing.T) {
	const why = "node n1 still advertises example.com/gpu: 8"
	initializing := waiting("driver", "PodInitializing")
	for name, c := range map[string]struct {
		init, main      []corev1.ContainerStatus
		reason, message string
	}{
		"nothing reported":           {},
		"runs":                       {init: []corev1.ContainerStatus{ended(guard, 0, "Completed", "")}, main: []corev1.ContainerStatus{running("driver")}},
		"crashes":                    {init: []corev1.ContainerStatus{ended(guard, 0, "Completed", "")}, main: []corev1.ContainerStatus{running("a"), waiting("b", "CrashLoopBackOff")}, reason: "CrashLoopBackOff"},
		"failed":                     {main: []corev1.ContainerStatus{ended("driver", 2, "Error", "text that changes each time")}, reason: "Error"},
		"guard looks":                {init: []corev1.ContainerStatus{running(guard)}, main: []corev1.ContainerStatus{initializing}, reason: "Init:guard"},
		"guard has given up":         {init: []corev1.ContainerStatus{ended(guard, 1, "Error", why)}, main: []corev1.ContainerStatus{initializing}, reason: "Init:guard", message: why},
		"guard waits to look again":  {init: []corev1.ContainerStatus{endedBefore(waiting(guard, "CrashLoopBackOff"), why)}, main: []corev1.ContainerStatus{initializing}, reason: "Init:guard", message: why},
		"guard looks again":          {init: []corev1.ContainerStatus{endedBefore(running(guard), why)}, main: []corev1.ContainerStatus{initializing}, reason: "Init:guard", message: why},
		"guard was killed":           {init: []corev1.ContainerStatus{ended(guard, 137, "OOMKilled", "")}, main: []corev1.ContainerStatus{initializing}, reason: "Init:OOMKilled"},
		"no image of the guard":      {init: []corev1.ContainerStatus{waiting(guard, "ImagePullBackOff")}, main: []corev1.ContainerStatus{initializing}, reason: "Init:ImagePullBackOff"},
		"guard done, another is not": {init: []corev1.ContainerStatus{ended(guard, 0, "Completed", why), waiting("prepare", "CrashLoopBackOff")}, main: []corev1.ContainerStatus{initializing}, reason: "Init:CrashLoopBackOff"},
		"several lines":              {init: []corev1.ContainerStatus{ended(guard, 1, "Error", "one;\n two\n")}, reason: "Init:guard", message: "one; two"},
	} {
		t.Run(name, func(t *testing.T) {
			got := driverPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: c.init, ContainerStatuses: c.main}})
			require.Equal(t, v1alpha1.DriverPod{Name: "p", Phase: corev1.PodPending, Reason: c.reason, Message: c.message}, got)
		})
	}
	evicted := driverPod(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", ContainerStatuses: []corev1.ContainerStatus{waiting("driver", "x")}}})
	require.Equal(t, "Evicted", evicted.Reason, "what the pod itself says goes first")
}

func TestLongMessagesOfTheGuardAreCut(t *testing.T) {
	require.Equal(t, strings.Repeat("a", maxMessage), cut(strings.Repeat("a", maxMessage)))
	for shift := range 3 {
		got := cut(strings.Repeat("a", shift) + strings.Repeat("é", maxMessage))
		require.LessOrEqual(t, len(got), maxMessage)
		require.Greater(t, len(got), maxMessage-3)
		require.True(t, utf8.ValidString(got))
		require.True(t, strings.HasSuffix(got, "é..."))
	}
}
