package gpunode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// maxNamed caps how many partition profiles a message names: a card that is cut dynamically has dozens.
const maxNamed = 3

// partitioningDiffers compares the partitions on a node with what its groups' settings say, and names what was found; empty:
// they agree, or it cannot be told. A passive node is cut by whoever manages it.
func partitioningDiffers(in Input, s v1alpha1.GPUNodeStatus) string {
	if s.Passive {
		return ""
	}
	groups := slices.SortedFunc(slices.Values(in.Groups), func(a, b settings.NodeGroup) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range groups {
		if message := groupDiffers(in, s, g); message != "" {
			return message
		}
	}
	return ""
}

func groupDiffers(in Input, s v1alpha1.GPUNodeStatus, g settings.NodeGroup) string {
	drivers := divisible(in, s, g)
	if len(drivers) == 0 {
		return ""
	}
	var parts, whole, passthrough int32
	var named []string
	for _, d := range s.Devices {
		switch {
		case !slices.Contains(drivers, d.Driver):
		case d.Kind == v1alpha1.DevicePartition:
			parts += d.Count
			named = append(named, cmp.Or(d.Partition, d.Type))
		case d.Kind == v1alpha1.DeviceWhole:
			whole += d.Count
		case d.Kind == v1alpha1.DevicePassthrough:
			passthrough += d.Count
		}
	}
	setting := fmt.Sprintf("nodeGroups[name=%s].partitioning", g.Name)
	by := "driver " + strings.Join(drivers, ", ")
	only := fmt.Sprintf("whole devices: %d, passthrough devices: %d", whole, passthrough)
	switch g.Partitioning {
	case "Static":
		if parts == 0 {
			return fmt.Sprintf("%s is Static, but %s publishes no partition here (%s); cut the cards with the vendor's tool and restart the driver's pod, or set None", setting, by, only)
		}
	case "Dynamic":
		if parts == 0 {
			return fmt.Sprintf("%s is Dynamic, but %s publishes nothing here that can be cut (%s); see whether the cards can be, the driver's log and FeatureGatesConsistent of the GPUStack, or set None", setting, by, only)
		}
	default:
		if parts > 0 {
			return fmt.Sprintf("%s is None, but %s publishes %d partitions here (%s); set Static if that is meant, or undo them with the vendor's tool and restart the driver's pod", setting, by, parts, few(named))
		}
	}
	return ""
}

// divisible are the group's drivers that have partitions at all and are registered now: what one that is not has published,
// or has not, says nothing.
func divisible(in Input, s v1alpha1.GPUNodeStatus, g settings.NodeGroup) []string {
	var out []string
	for _, name := range g.Drivers {
		p, ok := in.Profiles.ByName(name)
		if ok && hasPartitions(p) && slices.ContainsFunc(s.Drivers, func(d v1alpha1.NodeDriver) bool { return d.Name == p.DriverName && d.Registered }) {
			out = append(out, p.DriverName)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hasPartitions(p *profile.Driver) bool {
	for _, k := range p.Types {
		if k == v1alpha1.DevicePartition {
			return true
		}
	}
	return false
}

func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
