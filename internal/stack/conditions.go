package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// maxNamed caps what a message names; the rest stands in the status.
const maxNamed = 5

func conditions(in Input, s v1alpha1.GPUStackStatus) []metav1.Condition {
	return []metav1.Condition{
		synced(in),
		gatesConsistent(in, s),
		soleManager(in, s),
		found(condition.NodeGroupsListed, s.Unmanaged, describeGroup, in.doubt(FactSlices), texts{
			good: condition.StackGroupsListed, bad: condition.StackUnmanagedGroup, doubtful: condition.StackGroupsUnknown,
			none: "every group of nodes with slices of known drivers is listed",
			some: "nodes with slices that nodeGroups does not list: %s; add their group to nodeGroups, or ignore this if others run it",
		}),
		found(condition.DriversKnown, s.UnknownDrivers, itself, in.doubt(FactSlices), texts{
			good: condition.StackDriversKnown, bad: condition.StackUnknownDriver, doubtful: condition.StackDriversUnknown,
			none: "a profile describes every driver that published slices",
			some: "no profile describes %s; if it drives accelerators, describe it in customDrivers",
		}),
		found(condition.DeviceClassesOwned, s.ForeignDeviceClasses, itself, in.doubt(FactDeviceClasses), texts{
			good: condition.StackClassesOwned, bad: condition.StackForeignClass, doubtful: condition.StackClassesUnknown,
			none: "the DeviceClasses of known drivers are ours or absent",
			some: "somebody else created %s, which is left alone; delete it to let gpu-dra create its own, or keep it",
		}),
		settingsAccepted(in),
	}
}

func synced(in Input) metav1.Condition {
	if !in.Synced {
		return condition.New(condition.ControllerSynced, metav1.ConditionFalse, condition.StackNotSynced,
			"the controller is still reading the cluster; if this lasts, see the log of Deployment controller")
	}
	var lines []string
	for _, f := range slices.Sorted(maps.Keys(in.Unreadable)) {
		if f != FactSettings {
			lines = append(lines, fmt.Sprintf("%s (%s)", f, in.Unreadable[f]))
		}
	}
	if len(lines) > 0 {
		return condition.New(condition.ControllerSynced, metav1.ConditionUnknown, condition.StackFactsUnreadable, fmt.Sprintf(
			"could not read %s; the last known values stand. Check the rights of ServiceAccount controller", strings.Join(lines, ", ")))
	}
	return condition.New(condition.ControllerSynced, metav1.ConditionTrue, condition.StackSynced,
		"the controller has read the whole cluster with the present settings")
}

func soleManager(in Input, s v1alpha1.GPUStackStatus) metav1.Condition {
	doubt := in.doubt(FactManagers)
	if doubt == "" {
		doubt = in.doubt(FactNodeGroups)
	}
	return found(condition.SoleManager, s.Conflicts, describeConflict, doubt, texts{
		good: condition.StackSoleManager, bad: condition.StackOtherManager, doubtful: condition.StackManagersUnknown,
		none: "no trace of another manager outside passive nodes",
		some: "other managers of accelerators: %s; give each node to one: remove the other, or set passive for the group or the node label " + v1alpha1.LabelPassive + "=true",
	})
}

func settingsAccepted(in Input) metav1.Condition {
	if reason, ok := in.Unreadable[FactSettings]; ok || in.Settings == nil {
		message := "the settings were not read yet"
		if ok {
			message = reason + "; the last good settings stay in force, correct the settings"
		}
		return condition.New(condition.SettingsAccepted, metav1.ConditionFalse, condition.StackSettingsUnreadble, message)
	}
	problems := slices.Clone(in.Problems)
	slices.SortFunc(problems, func(a, b settings.Problem) int { return strings.Compare(a.String(), b.String()) })
	return found(condition.SettingsAccepted, problems, settings.Problem.String, "", texts{
		good: condition.StackSettingsAccepted, bad: condition.StackSettingsProblem,
		none: "the controller acts on all of the settings",
		some: "%s; the rest of the settings is in force",
	})
}

// texts of a condition about a list that should be empty.
type texts struct {
	good, bad, doubtful string // reasons
	none, some          string // messages; some has one %s for what was found
}

// found makes the condition about a list: False when there is something in it, else Unknown while it is in doubt, else True.
func found[T any](conditionType string, list []T, describe func(T) string, doubt string, t texts) metav1.Condition {
	switch {
	case len(list) > 0:
		message := fmt.Sprintf(t.some, named(list, describe))
		if doubt != "" {
			message += " (last known: " + doubt + ")"
		}
		return condition.New(conditionType, metav1.ConditionFalse, t.bad, message)
	case doubt != "":
		return condition.New(conditionType, metav1.ConditionUnknown, t.doubtful, doubt)
	}
	return condition.New(conditionType, metav1.ConditionTrue, t.good, t.none)
}

// named joins the first of a list.
func named[T any](list []T, describe func(T) string) string {
	var out []string
	for i, x := range list {
		if i == maxNamed {
			out = append(out, fmt.Sprintf("and %d more", len(list)-maxNamed))
			break
		}
		out = append(out, describe(x))
	}
	return strings.Join(out, ", ")
}

func itself(s string) string { return s }

func describeGroup(g v1alpha1.UnmanagedGroup) string {
	name := g.Name
	if name == "" {
		name = "nodes of no group"
	}
	return fmt.Sprintf("%s (%d node(s), %s)", name, g.Nodes, strings.Join(g.Drivers, " "))
}

func describeConflict(c v1alpha1.Conflict) string {
	if c.Nodes == 0 {
		return fmt.Sprintf("%s (%s)", c.Manager, c.Evidence)
	}
	return fmt.Sprintf("%s (%s, %d node(s))", c.Manager, c.Evidence, c.Nodes)
}
