package stacks

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// metricsEvery is how often /metrics of the API server are read, whether it answers or not: making them is work for it.
const metricsEvery = time.Minute

// Metrics reads what the API server that answers says of its feature gates in /metrics. It is used by one goroutine at a time.
type Metrics struct {
	// REST has a time limit of its own.
	REST  rest.Interface
	Clock clock.PassiveClock

	asked time.Time
	last  stack.Metrics
}

// fill puts the last answers in, asking once more when it is time to.
func (m *Metrics) fill(ctx context.Context, in *stack.Input) {
	if now := m.Clock.Now(); m.asked.IsZero() || now.Sub(m.asked) >= metricsEvery {
		m.asked = now
		m.last.Unreadable = ""
		if answer, err := m.ask(ctx); err != nil {
			m.last.Unreadable = metricsReason(err)
		} else {
			m.last.Answers = append(m.last.Answers, answer)
			if n := len(m.last.Answers); n > featuregate.AnswersKept {
				m.last.Answers = append([]featuregate.Answer(nil), m.last.Answers[n-featuregate.AnswersKept:]...)
			}
		}
	}
	in.Metrics = m.last
}

func (m *Metrics) ask(ctx context.Context) (featuregate.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := m.REST.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain;version=0.0.4").Stream(ctx)
	if err != nil {
		return featuregate.Answer{}, err
	}
	// Closing it early ends the request: what comes after the gates is not wanted. What was read says more than this error.
	defer func(c io.Closer) { _ = c.Close() }(body)
	return featuregate.ReadMetrics(body)
}

func metricsReason(err error) string {
	if errors.Is(err, featuregate.ErrNoGates) {
		return err.Error()
	}
	return reason(err)
}
