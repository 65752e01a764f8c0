package nodes

import (
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

const (
	// guard is the init container that holds a driver back while somebody else manages the node's accelerators. It says why
	// when it gives up, which it does every few minutes.
	guard = "guard"
	// maxMessage is how many bytes of that a GPUNode keeps.
	maxMessage = 256
)

func driverPod(p *corev1.Pod) v1alpha1.DriverPod {
	out := v1alpha1.DriverPod{Name: p.Name, Phase: p.Status.Phase, Reason: p.Status.Reason}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	if out.Reason == "" {
		out.Reason, out.Message = held(p)
	}
	return out
}

// held says what keeps the first container that does not run from running. Init containers come first: as long as one of them
// is not done the others only say that they wait for it.
func held(p *corev1.Pod) (reason, message string) {
	for _, s := range p.Status.InitContainerStatuses {
		switch r := notRunning(s); {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			continue
		case s.Name == guard && (r == "" || lastWords(s) != ""):
			// Whether it looks just now or waits to look again is no difference to a reader, and would be a write each time.
			return "Init:" + guard, cut(lastWords(s))
		case r != "":
			return "Init:" + r, ""
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if r := notRunning(s); r != "" {
			return r, ""
		}
	}
	return "", ""
}

func notRunning(s corev1.ContainerStatus) string {
	switch {
	case s.State.Waiting != nil:
		return s.State.Waiting.Reason
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		return s.State.Terminated.Reason
	}
	return ""
}

// lastWords is what a container left when it last ended.
func lastWords(s corev1.ContainerStatus) string {
	for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if t != nil && t.Message != "" {
			return t.Message
		}
	}
	return ""
}

// cut puts a text on one line of at most maxMessage bytes.
func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxMessage {
		return text
	}
	const more = "..."
	end := maxMessage - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
