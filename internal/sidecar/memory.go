package sidecar

import (
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ours is memory for our process beside the exporter: it uses under 10 MiB of its own and maps the rest of the program.
var ours = resource.MustParse("48Mi")

// manyDevices are taken for a claim of which nobody can tell how many devices it brings, as for a node that nobody has seen.
const manyDevices = 8

// devicesOf claims of a pod.
func devicesOf(in Input, claims []string) int64 {
	var n int64
	for _, name := range claims {
		if d := in.Claims[name].Devices; d > 0 {
			n += d
		} else {
			n += manyDevices
		}
	}
	return n
}

// limits of an exporter that watches a number of devices.
func (e *Exporter) limits(devices int64) corev1.ResourceList {
	out := e.Limits.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	if m := e.Memory; m != nil {
		out[corev1.ResourceMemory] = *resource.NewQuantity(m.Base+m.PerDevice*devices, resource.BinarySI)
	}
	return out
}

// runtime tells a Go runtime what it may use. Left to itself it takes the node's processors, and the memory that goes with them
// (pytorch/ci-infra#1018). In a DaemonSet templates/exporter/_resources.tpl does the same.
func (e *Exporter) runtime(limits corev1.ResourceList) []corev1.EnvVar {
	var out []corev1.EnvVar
	add := func(name string, value int64) {
		if !slices.ContainsFunc(e.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
			out = append(out, corev1.EnvVar{Name: name, Value: strconv.FormatInt(value, 10)})
		}
	}
	if memory, ok := limits[corev1.ResourceMemory]; ok && e.GoPercent > 0 {
		bytes, percent := memory.Value(), int64(e.GoPercent)
		if bytes <= 0 {
			// So says a quantity of what does not fit.
			bytes = math.MaxInt64
		}
		// Parts first: the product may not fit either.
		add("GOMEMLIMIT", bytes/100*percent+bytes%100*percent/100)
	}
	if cpu, ok := limits[corev1.ResourceCPU]; ok {
		// Value rounds up.
		add("GOMAXPROCS", max(1, cpu.Value()))
	}
	return out
}
