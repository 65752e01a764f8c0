package fakenodes

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

type stage struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		ResourceRef struct {
			Kind string `json:"kind"`
		} `json:"resourceRef"`
		Selector struct {
			MatchExpressions []struct {
				Key      string `json:"key"`
				Operator string `json:"operator"`
			} `json:"matchExpressions"`
		} `json:"selector"`
		Next struct {
			Delete         bool   `json:"delete"`
			StatusTemplate string `json:"statusTemplate"`
		} `json:"next"`
	} `json:"spec"`
}

func parsed(t *testing.T) map[string]stage {
	t.Helper()
	text, err := render("1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]stage{}
	for _, document := range strings.Split(string(text), "---\n")[1:] {
		var s stage
		if err := yaml.Unmarshal([]byte(document), &s); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		found[s.Metadata.Name] = s
	}
	return found
}

func TestStagesParse(t *testing.T) {
	found := parsed(t)
	var names []string
	for name, s := range found {
		names = append(names, name)
		if s.APIVersion != "kwok.x-k8s.io/v1alpha1" || s.Kind != "Stage" || len(s.Spec.Selector.MatchExpressions) == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if s.Spec.Next.Delete == (s.Spec.Next.StatusTemplate != "") {
			t.Errorf("%s: expected either a deletion or a status", name)
		}
	}
	slices.Sort(names)
	want := []string{"node-heartbeat", "node-ready", "pod-complete", "pod-delete", "pod-ready"}
	if !slices.Equal(names, want) {
		t.Errorf("stages %v, want %v", names, want)
	}
}

// A status template with a slip in it would show only as a node that never gets Ready.
func TestStatusTemplatesGiveYAML(t *testing.T) {
	quote := func(v any) string { out, _ := yaml.Marshal(v); return strings.TrimSpace(string(out)) }
	functions := template.FuncMap{
		"Now": func() string { return "2026-01-01T00:00:00Z" }, "Quote": quote, "Version": func() string { return "v0" },
		"NodeIP": func() string { return "10.0.0.1" }, "dict": func() map[string]any { return map[string]any{} },
		"list":        func(items ...any) []any { return items },
		"YAML":        func(v any, _ int) string { return "  " + quote(v) },
		"NodeIPsWith": func(string) []string { return []string{"10.0.0.1"} },
		"PodIPsWith":  func(string, bool, string, string, string) []string { return []string{"10.244.0.2"} },
	}
	object := map[string]any{
		"metadata": map[string]any{"name": "n", "namespace": "ns", "uid": "u"},
		"spec": map[string]any{"nodeName": "n", "containers": []any{map[string]any{"name": "c", "image": "i"}},
			"initContainers": []any{map[string]any{"name": "a", "image": "i"}, map[string]any{"name": "b", "image": "i", "restartPolicy": "Always"}}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}
	for name, s := range parsed(t) {
		if s.Spec.Next.Delete {
			continue
		}
		tmpl, err := template.New(name).Funcs(functions).Parse(s.Spec.Next.StatusTemplate)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := tmpl.Execute(&out, object); err != nil {
			t.Fatal(err)
		}
		var status map[string]any
		if err := yaml.Unmarshal(out.Bytes(), &status); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, out.String())
		}
		if name == "node-ready" && !strings.Contains(out.String(), "v1.34.4") {
			t.Errorf("the fake kubelet does not report the cluster's version:\n%s", out.String())
		}
	}
}
