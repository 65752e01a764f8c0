package claim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// Error is one thing that is wrong with a claim template.
type Error struct {
	// Reason for the condition Ready of the GPUClaimTemplate: one of the Template reasons of package condition.
	Reason string
	// Field is the path of what is wrong (`spec.minMemory`).
	Field string
	// Message says what was found, what was expected and what to do.
	Message string
}

// Error is the field and the message.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// Errors is everything that is wrong with one claim template, in the order in which it was found.
type Errors []*Error

// Error joins all messages.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "; ")
}

// Unwrap makes each Error visible to errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i := range e {
		out[i] = e[i]
	}
	return out
}

// reasonOf returns the condition reason that an error carries, the first of several; InvalidSpec when it carries none.
func reasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return condition.TemplateInvalid
}

// problems collects Errors, so that a user sees all of them at once.
type problems struct{ list Errors }

func (p *problems) add(reason, field, format string, args ...any) {
	p.list = append(p.list, &Error{Reason: reason, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) invalid(field, format string, args ...any) {
	p.add(condition.TemplateInvalid, field, format, args...)
}

func (p *problems) unsupported(field, format string, args ...any) {
	p.add(condition.TemplateUnsupported, field, format, args...)
}

// err is nil, not an empty list, when nothing is wrong.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return p.list
}
