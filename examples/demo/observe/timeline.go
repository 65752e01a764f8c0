package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const engineContainer, sidecarContainer = "engine", "gpu-dra-exporter"

// event is something that happened, and where that is known from.
type event struct {
	at           time.Time
	what, source string
	// whole: at is the second in which it was; after is something of the same container before it.
	whole bool
	after time.Time
}

// order is by the time, or by what must have been before it in the same second.
func (e event) order() time.Time {
	if e.whole && e.after.After(e.at) {
		return e.after
	}
	return e.at
}

// ending is how a pod ended.
type ending struct {
	deleted, lastRequest, engineLast, lastSample time.Time
	taken                                        int
	gap                                          time.Duration
	events                                       []event
}

// timeline prints how a pod ended, and fails where the last sample is not after the last request and the end of the engine.
func timeline(out io.Writer, podFile, sampleFile, engineFile, sidecarFile string, deleted time.Time) error {
	pod, err := readPod(podFile)
	if err != nil {
		return err
	}
	samples, err := readSamples(sampleFile)
	if err != nil {
		return err
	}
	engine, err := readLog(engineFile)
	if err != nil {
		return err
	}
	sidecar, err := readLog(sidecarFile)
	if err != nil {
		return err
	}
	e, err := endingOf(pod, samples, engine, sidecar, deleted)
	if err != nil {
		return err
	}
	e.print(out)
	return e.judge()
}

// endingOf puts together what is known of the end of a pod.
func endingOf(pod *corev1.Pod, samples []sample, engine, sidecar []event, deleted time.Time) (*ending, error) {
	e := &ending{deleted: deleted, events: []event{{at: deleted, what: "kubectl delete pod", source: "the demo"}}}
	for _, line := range engine {
		if strings.HasPrefix(line.what, "request ") && strings.HasSuffix(line.what, " answered") {
			e.lastRequest = line.at
		}
	}
	e.sample(samples)
	if e.lastRequest.IsZero() || e.lastSample.IsZero() {
		return nil, fmt.Errorf("the engine's log has no answered request, or no sample was taken: %d lines, %d samples", len(engine), len(samples))
	}
	e.events = append(e.events, event{at: e.lastSample, source: "samples", what: fmt.Sprintf(
		"LAST SAMPLE: number %d since the deletion, at most %.1f s between two", e.taken, e.gap.Seconds())})
	for _, part := range []struct {
		container string
		lines     []event
		statuses  []corev1.ContainerStatus
	}{{engineContainer, engine, pod.Status.ContainerStatuses}, {sidecarContainer, sidecar, pod.Status.InitContainerStatuses}} {
		var last time.Time
		for _, line := range part.lines {
			last = line.at
			if line.at.Before(deleted) {
				continue
			}
			source := part.container + "'s log"
			if line.at.Equal(e.lastRequest) {
				line.what = "LAST REQUEST: " + line.what
			}
			e.events = append(e.events, event{at: line.at, what: line.what, source: source})
		}
		ended := terminated(part.statuses, part.container)
		if ended == nil {
			return nil, fmt.Errorf("the last status of pod %s does not say how container %s ended", pod.Name, part.container)
		}
		if part.container == engineContainer {
			e.engineLast = last
		} else if last.Before(e.lastSample) {
			last = e.lastSample // it gave it
		}
		e.events = append(e.events, event{at: ended.FinishedAt.UTC(), whole: true, after: last, source: "pod status",
			what: fmt.Sprintf("container %s has exited, code %d", part.container, ended.ExitCode)})
	}
	slices.SortStableFunc(e.events, func(a, b event) int { return a.order().Compare(b.order()) })
	return e, nil
}

// sample notes when the pod was scraped last, how often since its deletion, and the longest time between two scrapes.
func (e *ending) sample(samples []sample) {
	before := e.deleted
	for _, s := range samples {
		if !s.At.After(e.lastSample) {
			continue
		}
		e.lastSample = s.At
		if s.At.After(e.deleted) {
			e.taken++
			e.gap = max(e.gap, s.At.Sub(before))
			before = s.At
		}
	}
}

func terminated(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStateTerminated {
	for _, s := range statuses {
		if s.Name == name {
			return s.State.Terminated
		}
	}
	return nil
}

// judge says what is wrong with the order.
func (e *ending) judge() error {
	var wrong []error
	for _, before := range []struct {
		what string
		at   time.Time
	}{{"the last request was answered at", e.lastRequest}, {"the engine logged its last line at", e.engineLast}} {
		if !e.lastSample.After(before.at) {
			wrong = append(wrong, fmt.Errorf("a hole: the last sample is of %s, %s %s",
				e.lastSample.Format(clock), before.what, before.at.Format(clock)))
		}
	}
	return errors.Join(wrong...)
}
