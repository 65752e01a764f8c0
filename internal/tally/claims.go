package tally

import (
	"time"

	"github.com/gpu-dra/gpu-dra/internal/claimstate"
)

type pendingKey struct{ namespace, reason string }

type pending struct {
	count  int
	oldest time.Duration
}

func (in Input) claims(t table) []Sample {
	supply := claimstate.Supply{Classes: map[string]bool{}, Drivers: in.driversOfClasses()}
	for _, name := range in.DeviceClasses {
		supply.Classes[name] = true
	}
	supply.Usable, supply.Free = t.supply()
	waiting, idle := map[pendingKey]pending{}, map[string]int{}
	for _, c := range in.Claims {
		if in.idle(c) {
			idle[c.Namespace]++
		}
		reason, ok := c.Pending(supply)
		if !ok {
			continue
		}
		key := pendingKey{c.Namespace, string(reason)}
		sum := waiting[key]
		sum.count++
		sum.oldest = max(sum.oldest, in.Now.Sub(c.CreationTimestamp.Time))
		waiting[key] = sum
	}
	var out []Sample
	for key, sum := range waiting {
		out = append(out, claimsPending.sample(float64(sum.count), key.namespace, key.reason),
			claimPendingSeconds.sample(sum.oldest.Seconds(), key.namespace, key.reason))
	}
	for namespace, n := range idle {
		out = append(out, claimsIdle.sample(float64(n), namespace))
	}
	return out
}

// idle claims hold an accelerator that nobody uses.
func (in Input) idle(c *claimstate.Claim) bool {
	if !c.Idle() {
		return false
	}
	for _, h := range c.Devices() {
		if in.accelerator(h.Driver()) {
			return true
		}
	}
	return false
}

// driversOfClasses are those of the profiles' classes and of the user's own that name a profile.
func (in Input) driversOfClasses() map[string]string {
	out := map[string]string{}
	for _, p := range in.Profiles.All() {
		for _, c := range p.Classes {
			out[c.Name] = p.DriverName
		}
	}
	if in.Settings != nil {
		for _, c := range in.Settings.DeviceClasses.Extra {
			if p, ok := in.Profiles.ByName(c.Driver); ok {
				out[c.Name] = p.DriverName
			}
		}
	}
	return out
}
