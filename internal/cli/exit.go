// Package cli holds what the commands of gpu-dra share.
package cli

import "errors"

// Exit codes of gpu-dra.
const (
	// ExitFailed means that the command did not do what it was asked to: most often, what it read is wrong.
	ExitFailed = 1
	// ExitUsage means that the command line is wrong.
	ExitUsage = 2
)

// Failure marks an error as one of the command's work rather than of its command line.
type Failure struct{ Err error }

// Error is the text of the error that is marked.
func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap returns the error that is marked.
func (e *Failure) Unwrap() error { return e.Err }

// ExitCode returns the code to exit with after a command returned err: 0 without one. Errors that are not marked come from
// parsing the command line.
func ExitCode(err error) int {
	var failure *Failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure):
		return ExitFailed
	}
	return ExitUsage
}
