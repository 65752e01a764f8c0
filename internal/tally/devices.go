package tally

import (
	"github.com/gpu-dra/gpu-dra/internal/claimstate"
)

// row is what one row of the table of devices is about.
type row struct{ group, driver, product string }

// counts of one row.
type counts struct {
	published, tainted, allocated int
	// both tainted and allocated.
	both int
}

func (c counts) free() int { return max(0, c.published-c.tainted-c.allocated+c.both) }

// table counts devices. Published are those of the nodes' statuses and of shared pools, which are in no group.
type table map[row]counts

func (t table) add(r row, c counts) {
	sum := t[r]
	sum.published += c.published
	sum.tainted += c.tainted
	sum.allocated += c.allocated
	sum.both += c.both
	t[r] = sum
}

func (in Input) devices() table {
	out := table{}
	groups := make(map[string]string, len(in.Nodes))
	for i := range in.Nodes {
		n := &in.Nodes[i]
		groups[n.Name] = groupOf(n)
		for _, d := range n.Status.Devices {
			if in.accelerator(d.Driver) {
				out.add(row{groups[n.Name], d.Driver, d.Product}, counts{published: int(d.Count), tainted: int(d.Tainted)})
			}
		}
	}
	if in.Stack != nil {
		for _, p := range in.Stack.Status.SharedPools {
			if in.accelerator(p.Driver) {
				out.add(row{driver: p.Driver}, counts{published: int(p.Devices.Published), tainted: int(p.Devices.Tainted)})
			}
		}
	}
	claimstate.Each(in.Claims, func(c *claimstate.Claim, h claimstate.Held) {
		driver := h.Driver()
		if !in.accelerator(driver) {
			return
		}
		r, one := row{group: groups[c.Node()], driver: driver}, counts{allocated: 1}
		// A device that is not published just now is allocated all the same: its driver may be on its way back.
		if found, ok := in.Locate(h.Pool(), h.ID); ok {
			r.group = ""
			if found.Node != "" {
				// Products of shared pools are not known by count.
				r.group, r.product = groups[found.Node], found.Product
			}
			if found.Tainted {
				one.both = 1
			}
		}
		out.add(r, one)
	})
	return out
}

func (t table) samples() []Sample {
	var out []Sample
	for r, c := range t {
		for state, n := range map[string]int{stateAllocated: c.allocated, stateTainted: max(0, c.tainted-c.both), stateFree: c.free()} {
			out = append(out, devices.sample(float64(n), r.group, r.driver, r.product, state))
		}
	}
	return out
}

// supply sums the rows of each driver.
func (t table) supply() (usable, free map[string]int) {
	usable, free = map[string]int{}, map[string]int{}
	for r, c := range t {
		usable[r.driver] += c.published - c.tainted
		free[r.driver] += c.free()
	}
	return usable, free
}
