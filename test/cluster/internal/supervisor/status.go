package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/podspec"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
)

// Phase says what the supervisor is doing.
type Phase string

const (
	// Waiting means that something the process needs is not there yet.
	Waiting Phase = "Waiting"
	// Running means that the process runs.
	Running Phase = "Running"
	// BackOff means that it crashed and is started again in a moment.
	BackOff Phase = "BackOff"
	// Stopped means that the supervisor was told to end.
	Stopped Phase = "Stopped"
)

// Status is what `cluster controller status` shows.
type Status struct {
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason,omitempty"`
	// Process is the controller itself; zero while none runs.
	Process process.Identity `json:"process"`
	Since   time.Time        `json:"since,omitzero"`
	// Starts counts how often it was started.
	Starts   int           `json:"starts"`
	LastExit string        `json:"lastExit,omitempty"`
	Plan     *podspec.Plan `json:"plan,omitempty"`
}

// Load reads the status a supervisor wrote; nil when there is none.
func Load(paths Paths) (*Status, error) {
	raw, err := os.ReadFile(paths.status())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("status of the controller: %w", err)
	}
	status := &Status{}
	if err := json.Unmarshal(raw, status); err != nil {
		return nil, fmt.Errorf("status of the controller: %s is damaged: %w", paths.status(), err)
	}
	return status, nil
}

// save writes the status when it changed.
func (s *Supervisor) save(phase Phase, reason string) error {
	next := s.status
	next.Phase, next.Reason = phase, reason
	next.Process, next.Since = process.Identity{}, time.Time{}
	if s.current != nil {
		next.Process, next.Since = s.current.id, s.current.started.UTC().Truncate(time.Millisecond)
	}
	if reflect.DeepEqual(next, s.status) {
		return nil
	}
	if next.Phase != s.status.Phase {
		s.Say("%s: %s", phase, reason)
	}
	s.status = next
	raw, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("status of the controller: %w", err)
	}
	partial := s.Paths.status() + ".partial"
	if err := os.WriteFile(partial, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("status of the controller: %w", err)
	}
	if err := os.Rename(partial, s.Paths.status()); err != nil {
		return fmt.Errorf("status of the controller: %w", err)
	}
	return nil
}
