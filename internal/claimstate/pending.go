package claimstate

import "unique"

// Reason is why a claim may be without devices: of what is true of it, the class that a person has to look at first.
type Reason string

// Reasons, the gravest first.
const (
	// ClassMissing: it names a DeviceClass that does not exist.
	ClassMissing Reason = "ClassMissing"
	// Unowned: no pod owns it. It gets its devices with the first pod that uses it; whether one wants to is not known, so
	// what it would find is nobody's trouble yet.
	Unowned Reason = "Unowned"
	// NotPublished: no driver has published a device that its class could match and that is not tainted.
	NotPublished Reason = "NotPublished"
	// AllAllocated: other claims hold every device of the driver that is not tainted.
	AllAllocated Reason = "AllAllocated"
	// NotScheduled: devices are free. Its selectors match none of them, they are on nodes that its pod may not or cannot run
	// on, or the scheduler has not come to it yet.
	NotScheduled Reason = "NotScheduled"
)

// Reasons are all reasons, the gravest first.
func Reasons() []Reason {
	return []Reason{ClassMissing, Unowned, NotPublished, AllAllocated, NotScheduled}
}

// Supply is what pending claims are measured by.
type Supply struct {
	// Classes that exist.
	Classes map[string]bool
	// Drivers by the classes of which the driver is known. Classes that exist and are not here say nothing of accelerators.
	Drivers map[string]string
	// Usable is the number of published devices without a taint, Free how many of them nobody holds, by driver.
	Usable, Free map[string]int
}

// Pending says whether a claim waits for accelerators, and the reason. A claim whose classes are all of drivers that are not
// known, or that is being deleted, does not.
func (c *Claim) Pending(s Supply) (Reason, bool) {
	if c.allocated || c.DeletionTimestamp != nil {
		return "", false
	}
	var reason Reason
	for _, ways := range c.requests {
		if r, ok := best(ways, s); ok && (reason == "" || rank(r) < rank(reason)) {
			reason = r
		}
	}
	switch {
	case reason == "":
		return "", false
	case !c.owned && rank(reason) > rank(Unowned):
		return Unowned, true
	}
	return reason, true
}

// best is the least grave reason of the ways to serve a request.
func best(ways []unique.Handle[string], s Supply) (reason Reason, ok bool) {
	for _, way := range ways {
		if r := s.reason(way.Value()); r != "" && rank(r) > rank(reason) {
			reason, ok = r, true
		}
	}
	return reason, ok
}

func (s Supply) reason(class string) Reason {
	driver, known := s.Drivers[class]
	switch {
	case !s.Classes[class]:
		return ClassMissing
	case !known:
		return ""
	case s.Usable[driver] <= 0:
		return NotPublished
	case s.Free[driver] <= 0:
		return AllAllocated
	}
	return NotScheduled
}

// rank is the place in Reasons, -1 for none.
func rank(r Reason) int {
	for i, known := range Reasons() {
		if known == r {
			return i
		}
	}
	return -1
}
