package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// report is what the command has to say.
type report struct {
	status       v1alpha1.GPUStackStatus
	distribution profile.Distribution
	// outOfDate says why the status is not the present state, empty where it is.
	outOfDate string
	// kubelets that were asked; nil: nobody asked.
	kubelets *asked
	gates    v1alpha1.FeatureGates
}

func (r *report) compute(to int) {
	var read []featuregate.Instance
	if r.kubelets != nil {
		read = r.kubelets.read
	}
	r.gates = stack.Gates(r.status, r.distribution, to, read)
}

// document is the output for machines.
type document struct {
	// OutOfDate says why the status is not the present state, empty where it is.
	OutOfDate         string                  `json:"outOfDate,omitempty"`
	KubernetesVersion string                  `json:"kubernetesVersion,omitempty"`
	KubeletVersions   []v1alpha1.VersionCount `json:"kubeletVersions,omitempty"`
	// KubeletsUnread says why kubelets that were asked were not read.
	KubeletsUnread string                `json:"kubeletsUnread,omitempty"`
	FeatureGates   v1alpha1.FeatureGates `json:"featureGates"`
}

func (r *report) write(out io.Writer, form string) error {
	text := r.text()
	if form == "yaml" {
		d := document{OutOfDate: r.outOfDate, KubernetesVersion: r.status.KubernetesVersion, KubeletVersions: r.status.KubeletVersions, FeatureGates: r.gates}
		if r.kubelets != nil {
			d.KubeletsUnread = r.kubelets.trouble
		}
		data, err := yaml.Marshal(d)
		if err != nil {
			return err
		}
		text = string(data)
	}
	_, err := io.WriteString(out, text)
	return err
}

func (r *report) text() string {
	p := &page{}
	if r.outOfDate != "" {
		p.line("%s", r.outOfDate)
	}
	p.line("Kubernetes %s%s%s", cmp.Or(r.status.KubernetesVersion, "of a version that is not known"), kubelets(r.status), distribution(r.gates, r.distribution))
	p.needed(r.gates)
	p.kubelets(r.kubelets)
	p.conflicts(r.gates)
	p.upgrade(r.gates)
	if r.kubelets == nil && len(r.status.KubeletVersions) > 0 {
		p.line("  Of kubelets only the version is known; with --kubelets their configuration is looked at too.")
	}
	p.platform(stack.ServerMinor(r.status), r.distribution)
	p.fragments(r.gates)
	return p.String()
}

// kubelets prints what kubelets say of themselves, one line for all that say the same.
func (p *page) kubelets(a *asked) {
	if a == nil {
		return
	}
	p.heading("Gates that kubelets set, as they say themselves:")
	nodes := map[string][]string{}
	for _, i := range a.read {
		var set []string
		for _, gate := range slices.Sorted(maps.Keys(i.Set)) {
			if featuregate.InTable(gate) {
				set = append(set, fmt.Sprintf("%s=%t", gate, i.Set[gate]))
			}
		}
		how := fmt.Sprintf("%s: %s", i.Version, cmp.Or(strings.Join(set, ", "), "none that matters here"))
		nodes[how] = append(nodes[how], i.Name)
	}
	for _, how := range slices.Sorted(maps.Keys(nodes)) {
		version, set, _ := strings.Cut(how, ": ")
		p.line("  %s: %s", place(featuregate.Kubelet, version, nodes[how], int32(len(nodes[how]))), set)
	}
	switch {
	case a.of == 0 && a.trouble != "":
		p.line("  kubelets could not be looked for: %s", a.trouble)
	case a.of == 0:
		p.line("  no kubelet of a listed node group was seen")
	case a.trouble != "":
		p.line("  %d of %d kubelets could not be read: %s", a.of-len(a.read), a.of, a.trouble)
	}
}
