package featuregate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Kubelets are the kubelets of the nodes that matter. Where none of the instances is of a kubelet, all that is known of it is its
// version and what the platform sets in it.
type Kubelets struct {
	Versions []v1alpha1.VersionCount
	// Rules of the platform.
	Rules profile.GateRules
}

// FromConfigz is the kubelet of a node by what it serves at /configz: its configuration after its files and flags were joined
// (setConfigz in cmd/kubelet/app/server.go), with every gate that one of them sets.
func FromConfigz(node, version string, configz []byte) (Instance, error) {
	var answer struct {
		Config *struct {
			FeatureGates map[string]bool `json:"featureGates"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(configz, &answer); err != nil {
		return Instance{}, fmt.Errorf("/configz is no configuration of a kubelet: %w", err)
	}
	if answer.Config == nil {
		return Instance{}, errors.New("/configz: found no kubeletconfig, expected the kubelet's configuration there")
	}
	return Instance{Component: Kubelet, Name: node, Version: version, Flags: Flags{Set: answer.Config.FeatureGates}}, nil
}

// unread are the kubelets that are not among the instances, sorted by version.
func (k Kubelets) unread(read []Instance) []v1alpha1.VersionCount {
	count := map[string]int32{}
	for _, i := range read {
		count[i.Version]++
	}
	var out []v1alpha1.VersionCount
	for _, v := range slices.SortedFunc(slices.Values(k.Versions), func(a, b v1alpha1.VersionCount) int { return cmp.Compare(a.Version, b.Version) }) {
		if v.Count -= count[v.Version]; v.Count > 0 {
			out = append(out, v)
		}
	}
	return out
}

// value of a gate in a kubelet that was not read. What it has by default may be set otherwise there, which is taken for unlikely
// where it is on and for likely where it is off.
func (k Kubelets) value(gate, version string) value {
	minor, ok := Minor(version)
	if !ok {
		return unknown("not a Kubernetes version")
	}
	if fixed(k.Rules, gate, Kubelet, minor) {
		return value{on: true, known: true, why: fmt.Sprintf("set by the platform in 1.%d", minor)}
	}
	val := Instance{}.valueAt(gate, minor)
	if _, p := lookup(gate, minor); val.known && !val.on && p == present {
		return unknown("%s, and its own configuration can't be seen", val.why)
	}
	return val
}

// step for kubelets of one version that were not read.
func (k Kubelets) step(gate string, v v1alpha1.VersionCount) Step {
	out := Instance{Component: Kubelet, Version: v.Version}.step(gate)
	out.Instances, out.Nodes = nil, v.Count
	val := k.value(gate, v.Version)
	switch {
	case val.known && val.on:
		out.State, out.Do, out.Also, out.Why = metav1.ConditionTrue, Nothing, nil, val.why
	case out.Do == SetGate:
		out.State, out.Why = metav1.ConditionUnknown, val.why
	}
	return out
}
