package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// sample of a series. At is when the scrape began, as in Prometheus; Labels has the name too.
type sample struct {
	At     time.Time         `json:"at"`
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

// scrape appends samples of a pod to a file until it is told to end. A scrape that fails leaves none.
func scrape(ctx context.Context, monitors, monitor, podFile, samples string) error {
	m, err := readMonitor(monitors, monitor)
	if err != nil {
		return err
	}
	pod, err := readPod(podFile)
	if err != nil {
		return err
	}
	t, err := m.target(pod)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(samples, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--samples: %w", err)
	}
	defer file.Close()
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		if taken, err := t.scrape(ctx); err == nil {
			encoder := json.NewEncoder(file)
			for _, s := range taken {
				if err := encoder.Encode(s); err != nil {
					return fmt.Errorf("--samples: %w", err)
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// scrape takes one sample of each series, or none where the answer breaks off.
func (t *target) scrape(ctx context.Context) ([]sample, error) {
	ctx, cancel := context.WithTimeout(ctx, t.interval)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return nil, err
	}
	began := time.Now().UTC()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", answer.Status)
	}
	decoder := &expfmt.SampleDecoder{Dec: expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header)), Opts: &expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(began.UnixNano())}}
	var out []sample
	for {
		var vector model.Vector
		if err := decoder.Decode(&vector); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		for _, s := range vector {
			out = append(out, sample{At: began, Labels: t.label(s.Metric), Value: float64(s.Value)})
		}
	}
}

// label puts the target's labels on a series. Its own of the same names go to exported_*, as without honorLabels.
func (t *target) label(metric model.Metric) map[string]string {
	out := maps.Clone(t.labels)
	for name, value := range metric {
		if _, taken := t.labels[string(name)]; taken {
			name = "exported_" + name
		}
		out[string(name)] = string(value)
	}
	return out
}
