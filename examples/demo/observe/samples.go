package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// readSamples returns the samples of a file, the oldest first.
func readSamples(path string) ([]sample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--samples: %w", err)
	}
	defer file.Close()
	var out []sample
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("--samples %s, line %d: %w", path, len(out)+1, err)
		}
		out = append(out, s)
	}
	return out, lines.Err()
}

// labels prints the newest sample of a metric.
func labels(out io.Writer, path, metric string) error {
	samples, err := readSamples(path)
	if err != nil {
		return err
	}
	for _, s := range slices.Backward(samples) {
		if s.Labels[model.MetricNameLabel] != metric {
			continue
		}
		fmt.Fprintf(out, "%s %g, sampled at %s, with the labels\n", metric, s.Value, s.At.Format(clock))
		var line string
		for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
			if name == model.MetricNameLabel {
				continue
			}
			next := fmt.Sprintf("  %s=%q", name, s.Labels[name])
			if len(line)+len(next) > width {
				fmt.Fprintln(out, line)
				line = ""
			}
			line += next
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		return nil
	}
	return fmt.Errorf("--samples %s: %d samples, none of %s", path, len(samples), metric)
}
