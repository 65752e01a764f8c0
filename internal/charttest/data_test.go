package charttest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// hostile strings are what YAML or the template engine may take for something else than text.
var hostile = []string{
	`{{ .Values }}`, `{{- fail "no" -}}`, `}}`, `"`, `'`, `\`, `\n`, "line\nline", "line\r\nline\n", "\n", "two\n\n", "\ttab", " leading", "trailing ",
	"# comment", "a # b", "a: b", "- a", "? a", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "---", "...", "---\nkind: Secret", "{a: b}", "[a]",
	"yes", "no", "on", "off", "y", "n", "true", "null", "~", "Null", "0", "007", "0x1F", "1e3", "1_000", "12:30:45", ".inf", "2026-01-01", "=", "<<",
	"  indented\nless", "\n  indented", "   \nfirst", "last\n  ", "bell\x07", "\x1b[0m", "\x7f", "\u009b", "\uffff", "\u2028", "\u0085", "\ufeff", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", strings.Repeat("long ", 40),
}

// Whatever stands in a string stays in it: in the objects, and in the file of the controller.
func TestHostileStringsStayData(t *testing.T) {
	t.Parallel()
	chart, err := Load()
	require.NoError(t, err)
	for _, s := range hostile {
		in := map[string]any{
			"drivers": map[string]any{"example": map[string]any{"extraEnv": []any{map[string]any{"name": "A", "value": s}}}},
			"customDrivers": []any{map[string]any{"name": "acme", "driverName": "acme.example",
				"classes": []any{map[string]any{"name": "acme.example", "expression": s}},
				"exporter": map[string]any{"image": map[string]any{"repository": "r.example/x", "tag": "v1"}, "port": 9000,
					"config": map[string]any{"path": "/etc/acme", "files": map[string]any{"a.conf": s}}}}},
			"nodeGroups":     []any{map[string]any{"name": "a", "drivers": []any{"acme"}, "nodeSelector": map[string]any{"a": "b"}}},
			"claimTemplates": []any{map[string]any{"name": "1e3", "namespaces": []any{"007"}, "driver": "acme", "product": cut(s, 64), "selectors": []any{s}}},
			"deviceClasses": map[string]any{"extra": []any{map[string]any{"name": "0.1", "selectors": []any{s},
				"config": []any{map[string]any{"driver": "acme.example", "parameters": map[string]any{cut(s, 20): s, "list": []any{s, nil, 1, true}}}}}}},
		}
		documents, _, err := Render(chart, Options{Values: in, Release: "1e3", Namespace: "007"})
		require.NoError(t, err, s)
		rendered, err := Decode(documents)
		require.NoError(t, err, s)

		require.Equal(t, s, Find[*resourcev1.DeviceClass](rendered, "acme.example").Spec.Selectors[0].CEL.Expression)
		extra := Find[*resourcev1.DeviceClass](rendered, "0.1").Spec
		require.Equal(t, s, extra.Selectors[0].CEL.Expression)
		parameters := map[string]any{}
		require.NoError(t, json.Unmarshal(extra.Config[0].Opaque.Parameters.Raw, &parameters))
		require.Equal(t, s, parameters[cut(s, 20)])
		template := Find[*v1alpha1.GPUClaimTemplate](rendered, "1e3").Spec
		require.Equal(t, []string{s}, template.Selectors)
		require.Equal(t, cut(s, 64), template.Product)

		// A file ends in a line break.
		require.Equal(t, strings.TrimSuffix(s, "\n")+"\n", Find[*corev1.ConfigMap](rendered, "exporter-acme").Data["a.conf"])

		config, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](rendered, "controller-config").Data["config.yaml"]))
		require.NoError(t, err, s)
		require.Equal(t, "007", config.Namespace)
		data, err := json.Marshal(in)
		require.NoError(t, err)
		direct, err := settings.Parse(data)
		require.NoError(t, err, s)
		require.Equal(t, settings.Hash(direct), settings.Hash(config.Settings), "%q is another string for the controller", s)
	}
}

func cut(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

// Hooks and the controller must agree on the hash of the settings, or no group would ever be Ready.
func TestControllerHasTheHashOfTheHooks(t *testing.T) {
	for _, name := range distributions {
		v := example(t, name)
		if name == "vanilla" {
			for _, g := range v["nodeGroups"].([]any) {
				g.(map[string]any)["memoryReservation"] = map[string]any{"overhead": 1.25, "minDevices": 1000}
			}
		}
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		written, err := settings.Parse(raw)
		require.NoError(t, err)
		o := Options{Values: underHooks(t, v, values.Internal{}), APIVersions: []string{"deckhouse.io/v1alpha1/ModuleConfig"}}
		raw, err = json.Marshal(o.Values["gpuDra"])
		require.NoError(t, err)
		hooks, err := settings.FromValues(raw)
		require.NoError(t, err)
		config, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](objects(t, o), "controller-config").Data["config.yaml"]))
		require.NoError(t, err)
		require.Equal(t, settings.Hash(written), settings.Hash(hooks))
		require.Equal(t, settings.Hash(hooks), settings.Hash(config.Settings))
		set, problems := config.Profiles()
		require.Empty(t, problems)
		require.Empty(t, settings.Problems(config.Settings, set, config.Distribution))
	}
}

// The controller works with the profiles that the chart renders, not with those that its own binary may carry.
func TestControllerHasTheProfiles(t *testing.T) {
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	config, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](objects(t, Options{}), "controller-config").Data["config.yaml"]))
	require.NoError(t, err)
	require.Len(t, config.Drivers, len(builtin))
	for _, d := range builtin {
		want, err := json.Marshal(d)
		require.NoError(t, err)
		got, err := json.Marshal(config.Drivers[d.Name])
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), d.Name)
	}
}

// A Helm user takes a default away with null; the templates then have the schema's again.
func TestNullIsTheDefault(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	want, _, err := Render(chart, Options{})
	require.NoError(t, err)
	for key := range chart.Values {
		got, _, err := Render(chart, Options{Values: map[string]any{key: nil}})
		require.NoError(t, err, key)
		require.Equal(t, want, got, key)
	}
	got, _, err := Render(chart, Options{Values: parse(t, "controller: {replicas: null, webhook: {failurePolicy: null}}\ndeviceClasses: {create: null}")})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// The rule which drivers' classes are created stands in a template and in Go, for the hook that looks for foreign classes.
func TestWantedDriversInBothLanguages(t *testing.T) {
	t.Parallel()
	chart, err := Load()
	require.NoError(t, err)
	names := []string{"example", "nvidia", "a", "b"}
	custom := []any{}
	for _, n := range names[2:] {
		custom = append(custom, map[string]any{"name": n, "driverName": n + ".example",
			"classes": []any{map[string]any{"name": n + ".example", "expression": "true"}}})
	}
	first := map[string]string{"gpu.example.com": "example", "gpu.nvidia.com": "nvidia", "a.example": "a", "b.example": "b"}
	rapid.Check(t, func(t *rapid.T) {
		groups, claims := []any{}, []any{}
		for i := range rapid.IntRange(0, 3).Draw(t, "groups") {
			groups = append(groups, map[string]any{
				"name": "g" + string(rune('0'+i)), "nodeSelector": map[string]any{"a": "b"}, "passive": rapid.Bool().Draw(t, "passive"),
				"drivers": rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID[string]).Draw(t, "drivers"),
			})
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "claims") {
			claims = append(claims, map[string]any{"name": "c" + string(rune('0'+i)), "namespaces": []string{"x"},
				"driver": rapid.SampledFrom(names).Draw(t, "driver")})
		}
		data, err := json.Marshal(map[string]any{"nodeGroups": groups, "claimTemplates": claims, "customDrivers": custom})
		if err != nil {
			t.Fatal(err)
		}
		s, err := settings.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]any{}
		if err := json.Unmarshal(data, &in); err != nil {
			t.Fatal(err)
		}
		documents, _, err := Render(chart, Options{Values: in})
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := Decode(documents)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range []string{"a.example", "b.example", "gpu.example.com", "gpu.nvidia.com"} {
			if Find[*resourcev1.DeviceClass](rendered, n) != nil {
				got = append(got, first[n])
			}
		}
		if want := settings.WantedDrivers(s); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Fatalf("the chart creates classes of %v, Go says %v", got, want)
		}
	})
}
