package settings

import (
	"fmt"
	"path"
	"slices"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func groupProblems(s *Settings, profiles *profile.Set, d profile.Distribution) []Problem {
	var out []Problem
	first, podsOf := map[string]int{}, map[string]pair{}
	for i, g := range s.NodeGroups {
		path := fmt.Sprintf("nodeGroups[%d]", i)
		if j, taken := first[g.Name]; taken {
			out = append(out, Problem{path + ".name", fmt.Sprintf("found %q, which nodeGroups[%d] has already; merge the two", g.Name, j)})
		} else {
			first[g.Name] = i
		}
		if _, ok := g.Selector(d); !ok {
			out = append(out, Problem{path + ".nodeSelector", fmt.Sprintf(
				"found none, expected labels of the group's nodes: the distribution %s does not label nodes with the name of their group", d.Name)})
		}
		out = append(out, labelProblems(path+".nodeSelector", g.NodeSelector)...)
		for j, name := range g.Drivers {
			if _, ok := profiles.ByName(name); !ok {
				out = append(out, Problem{fmt.Sprintf("%s.drivers[%d]", path, j), unknownProfile(name, profiles)})
			}
		}
		out = append(out, kubeletRootProblems(path, g, profiles)...)
		out = append(out, sameObjects(i, g, profiles, podsOf)...)
		for _, name := range sortedKeys(g.DriverOverrides) {
			if !slices.Contains(g.Drivers, name) {
				out = append(out, Problem{path + ".driverOverrides." + name, fmt.Sprintf(
					"the group does not run this driver; add it to %s.drivers or remove the override", path)})
			}
		}
	}
	return out
}

// kubeletRootProblems are drivers of a group whose plugin works with another root directory of the kubelet than the settings say. What
// the platform says of it is a condition of the group (internal/nodegroup).
func kubeletRootProblems(at string, g NodeGroup, profiles *profile.Set) []Problem {
	var out []Problem
	for _, name := range g.Drivers {
		p, ok := profiles.ByName(name)
		if !ok || p.Plugin == nil || p.Plugin.KubeletRoot == "" || g.KubeletRootDir == "" || path.Clean(g.KubeletRootDir) == path.Clean(p.Plugin.KubeletRoot) {
			continue
		}
		out = append(out, Problem{at + ".kubeletRootDir", fmt.Sprintf(
			"found %q, expected %q: the plugin of the driver %s works with no other; move the kubelets, or take the driver off %s.drivers",
			g.KubeletRootDir, p.Plugin.KubeletRoot, name, at)})
	}
	return out
}

// pair is a driver on a node group: its number in nodeGroups, and its name.
type pair struct {
	index         int
	group, driver string
}

// sameObjects are drivers of the group number i whose DaemonSets would have the name of another pair's: `a` on `b-c` and `a-b` on
// `c` are one name. podsOf gathers the pairs by the name of their objects.
func sameObjects(i int, g NodeGroup, profiles *profile.Set, podsOf map[string]pair) []Problem {
	var out []Problem
	for _, name := range g.Drivers {
		p, ok := profiles.ByName(name)
		if !ok {
			continue
		}
		for _, kind := range []struct {
			prefix string
			runs   bool
		}{{"driver", p.Plugin != nil}, {"exporter", p.Exporter != nil}} {
			if !kind.runs {
				continue
			}
			object := fmt.Sprintf("%s-%s-%s", kind.prefix, name, g.Name)
			other, taken := podsOf[object]
			if !taken {
				podsOf[object] = pair{i, g.Name, name}
			} else if other.group != g.Name {
				out = append(out, Problem{fmt.Sprintf("nodeGroups[%d].name", i), fmt.Sprintf(
					"found %q, with which the DaemonSet of %s is called %s, as that of %s on nodeGroups[%d]; rename the group", g.Name, name, object, other.driver, other.index)})
			}
		}
	}
	return out
}
