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
	// answers, the newest last, at most featuregate.AnswersKept.
	answers    []taken
	unreadable string
}

// taken is an answer with the flags that API servers had by then: it says nothing of other ones.
type taken struct {
	answer featuregate.Answer
	under  string
}

// fill puts the last answers in that were given under the flags of in.Instances, asking once more when it is time to. Answers given
// under others are kept for a while: a pod that is not to be seen for a moment comes back with the flags that it had.
func (m *Metrics) fill(ctx context.Context, in *stack.Input) {
	flags := featuregate.ServerFlags(in.Instances)
	if now := m.Clock.Now(); m.asked.IsZero() || now.Sub(m.asked) >= metricsEvery {
		m.asked = now
		m.unreadable = ""
		if answer, err := m.ask(ctx); err != nil {
			m.unreadable = metricsReason(err)
		} else {
			m.answers = append(m.answers, taken{answer, flags})
			m.answers = m.answers[max(0, len(m.answers)-featuregate.AnswersKept):]
		}
	}
	in.Metrics = stack.Metrics{Unreadable: m.unreadable}
	for _, t := range m.answers {
		if t.under == flags {
			in.Metrics.Answers = append(in.Metrics.Answers, t.answer)
		}
	}
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
