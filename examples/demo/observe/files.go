package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// readPod returns the newest of the pods in a file.
func readPod(path string) (*corev1.Pod, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--pod: %w", err)
	}
	defer file.Close()
	var newest *corev1.Pod
	for decoder := json.NewDecoder(file); ; {
		pod := &corev1.Pod{}
		if err := decoder.Decode(pod); err == io.EOF && newest != nil {
			return newest, nil
		} else if err != nil {
			return nil, fmt.Errorf("--pod %s: expected a pod in JSON: %w", path, err)
		}
		newest = pod
	}
}

// readLog reads what `kubectl logs --timestamps` printed: the time that the container runtime noted, then the line. A time that the
// program put into the line itself is left out.
func readLog(path string) ([]event, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	var out []event
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		stamp, text, _ := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return nil, fmt.Errorf("log %s: expected a line with a timestamp: %w", path, err)
		}
		if own, rest, _ := strings.Cut(text, " "); rest != "" {
			if _, err := time.Parse(time.RFC3339Nano, own); err == nil {
				text = rest
			}
		}
		out = append(out, event{at: at, what: text})
	}
	return out, nil
}
