package main

import (
	"strings"
	"testing"
)

func TestRealNodesThatCannotBe(t *testing.T) {
	all := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	for say, flags := range map[string]upFlags{
		"--real-nodes 2: expected 0 or 1":   {realNodes: 2, components: all},
		"--real-nodes -1: expected 0 or 1":  {realNodes: -1, components: all},
		"needs kube-controller-manager":     {realNodes: 1, components: all[:2]},
		"needs kube-scheduler among --comp": {realNodes: 1, components: all[:3]},
		"start it with --real-nodes 1":      {components: all, gates: []string{"kube-scheduler=A=true", "kubelet=B=true"}},
	} {
		flags.kubernetes = "1.34.4"
		if _, err := flags.options(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("error %v, want one with %q", err, say)
		}
	}
	flags := upFlags{kubernetes: "1.34.4", realNodes: 1, components: all, gates: []string{"kubelet=A=true"}}
	if o, err := flags.options(); err != nil || o.RealNodes != 1 || !o.Gates["kubelet"]["A"] {
		t.Errorf("%+v, %v", o, err)
	}
}

// Gates of Deckhouse's are none of the kubelet's: fake nodes do with them.
func TestGatesWithoutARealNode(t *testing.T) {
	flags := upFlags{kubernetes: "1.34.4", components: []string{"etcd", "kube-apiserver"}, deckhouse: true, gates: []string{"kube-apiserver=A=true"}}
	if o, err := flags.options(); err != nil || !o.Gates["kube-apiserver"]["A"] || len(o.Gates["kube-apiserver"]) < 2 {
		t.Errorf("%+v, %v", o, err)
	}
}
