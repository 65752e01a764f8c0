package sidecar

import "fmt"

// Reason why a pod that asks for the sidecar goes without.
type Reason string

// Reasons. docs/sidecar.md says what to do about each.
const (
	NamespaceNotListed   Reason = "NamespaceNotListed"
	NoClaim              Reason = "NoClaim"
	ClaimUnreadable      Reason = "ClaimUnreadable"
	DriverUnknown        Reason = "DriverUnknown"
	NoSidecar            Reason = "NoSidecar"
	SeveralDrivers       Reason = "SeveralDrivers"
	HostNetwork          Reason = "HostNetwork"
	NotLinux             Reason = "NotLinux"
	PodResources         Reason = "PodResources"
	NameTaken            Reason = "NameTaken"
	PortTaken            Reason = "PortTaken"
	PullSecretMissing    Reason = "PullSecretMissing"
	PullSecretUnreadable Reason = "PullSecretUnreadable"
)

// reasons are all of them.
var reasons = []Reason{NamespaceNotListed, NoClaim, ClaimUnreadable, DriverUnknown, NoSidecar, SeveralDrivers, HostNetwork, NotLinux,
	PodResources, NameTaken, PortTaken, PullSecretMissing, PullSecretUnreadable}

// Refusal says why a pod goes without the sidecar.
type Refusal struct {
	Reason Reason
	// Words name what was found and the next step.
	Words string
}

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Words: fmt.Sprintf(format, args...)}
}

// warningLimit is what the API server leaves of one warning, in bytes.
const warningLimit = 256

// Warning is the refusal as a warning of an admission response.
func (r *Refusal) Warning() string {
	return cut(fmt.Sprintf("gpu-dra: the pod goes without the exporter sidecar: %s: %s", r.Reason, r.Words), warningLimit)
}

// cut shortens a text to a number of bytes without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := 0
	for i := range text {
		if i > limit-len("...") {
			break
		}
		end = i
	}
	return text[:end] + "..."
}
