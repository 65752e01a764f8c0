package guard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/guard"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// The chart's pods pass these flags: their names and meanings are an interface.
func TestFlags(t *testing.T) {
	c := New()
	for flag, want := range map[string]string{
		"node": "", "plugin-resource": "[]", "manager-label": "[]", "wait-for": "[]", "timeout": "2m0s", "kubeconfig": "",
		"termination-log": "/dev/termination-log",
	} {
		f := c.Flags().Lookup(flag)
		require.NotNil(t, f, flag)
		require.Equal(t, want, f.DefValue, flag)
	}
}

func TestParse(t *testing.T) {
	o := options{
		node:            "gpu-1.example.org",
		pluginResources: []string{"acme.example/npu", "acme.example/part-*", "acme.example/*"},
		managerLabels:   []string{"acme.example/operator", "acme.example/managed=true", "plain=a,b"},
		waitFor:         []string{"the driver=/host/a", "module x=1=/host/b,/host/c"},
	}
	rules, waits, err := o.parse()
	require.NoError(t, err)
	require.Equal(t, guard.Rules{
		PluginResources: o.pluginResources,
		Labels: []profile.ManagerTrace{
			{NodeLabel: "acme.example/operator"},
			{NodeLabel: "acme.example/managed", NodeLabelValues: []string{"true"}},
			{NodeLabel: "plain", NodeLabelValues: []string{"a", "b"}},
		},
	}, rules)
	require.Equal(t, []wait{{"the driver", []string{"/host/a"}}, {"module x=1", []string{"/host/b", "/host/c"}}}, waits)
}

func TestWrongFlagsNameThemselves(t *testing.T) {
	for name, c := range map[string]struct{ flag, want string }{
		"no node":           {"--node=", `--node: found "", expected the name of a Node, here or in the variable NODE_NAME`},
		"variable not set":  {"--node=$(NODE_NAME)", `--node: found "$(NODE_NAME)", expected the name of a Node`},
		"no domain":         {"--plugin-resource=npu", `--plugin-resource: found "npu", expected domain/name of an extended resource`},
		"empty domain":      {"--plugin-resource=/npu", `--plugin-resource: found "/npu"`},
		"every resource":    {"--plugin-resource=*", `--plugin-resource: found "*"`},
		"inner star":        {"--plugin-resource=acme.example/*-1g", `--plugin-resource: found "acme.example/*-1g"`},
		"two stars":         {"--plugin-resource=acme.example/**", `--plugin-resource: found "acme.example/**"`},
		"no label":          {"--manager-label=", `--manager-label: found "", expected the key of a label, or key=value[,value]`},
		"bad key":           {"--manager-label=a b=c", `--manager-label: found "a b=c"`},
		"no value":          {"--manager-label=a=", `--manager-label: found "a="`},
		"a value is empty":  {"--manager-label=a=b,", `--manager-label: found "a=b,"`},
		"bad value":         {"--manager-label=a=b c", `--manager-label: found "a=b c"`},
		"no path":           {"--wait-for=the driver", `--wait-for: found "the driver", expected what=/path[,/path], the paths absolute`},
		"no words":          {"--wait-for= =/a", `--wait-for: found " =/a"`},
		"path alone":        {"--wait-for=/a", `--wait-for: found "/a"`},
		"relative path":     {"--wait-for=x=a/b", `--wait-for: found "x=a/b"`},
		"one path relative": {"--wait-for=x=/a,b", `--wait-for: found "x=/a,b"`},
		"path missing":      {"--wait-for=x=/a,", `--wait-for: found "x=/a,"`},
		"negative":          {"--timeout=-1s", `--timeout: found "-1s", expected a duration of 0 or more`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			err := r.run(t.Context(), c.flag)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, cli.ExitUsage, cli.ExitCode(err))
			require.Equal(t, err.Error(), r.message(t), "a chart that is wrong is seen in the pod's status")
			require.Empty(t, r.server.asked)
		})
	}
	r := newRig(t)
	require.ErrorContains(t, r.run(t.Context(), "--timeout=soon"), `"--timeout" flag`)
	require.ErrorContains(t, r.run(t.Context(), "gpu-2"), "gpu-2")
}

func TestNodeOfTheEnvironment(t *testing.T) {
	r := newRig(t)
	t.Setenv("NODE_NAME", "gpu-1")
	require.NoError(t, r.runBare(t.Context()))
	t.Setenv("NODE_NAME", "gpu-2")
	require.NoError(t, r.runBare(t.Context(), "--node=gpu-1"))
	require.Equal(t, []string{readsOneNode, readsOneNode}, r.server.asked)
}

// What stands in the profiles can be passed on the command line and comes out as it was.
func TestProfilesArePassedOn(t *testing.T) {
	drivers, err := profile.Builtin()
	require.NoError(t, err)
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	o := options{node: "gpu-1"}
	var want guard.Rules
	var waits []wait
	traces := func(list []profile.ManagerTrace) {
		for _, m := range list {
			if m.NodeLabel == "" {
				continue
			}
			flag := m.NodeLabel
			if len(m.NodeLabelValues) > 0 {
				flag += "=" + strings.Join(m.NodeLabelValues, ",")
			}
			o.managerLabels = append(o.managerLabels, flag)
			want.Labels = append(want.Labels, profile.ManagerTrace{NodeLabel: m.NodeLabel, NodeLabelValues: m.NodeLabelValues})
		}
	}
	for _, d := range distributions {
		traces(d.Managers)
	}
	for _, d := range drivers {
		traces(d.Managers)
		o.pluginResources = append(o.pluginResources, d.PluginResources...)
		if d.Plugin == nil {
			continue
		}
		for _, w := range d.Plugin.WaitFor {
			expected := wait{what: w.What}
			for _, path := range w.AnyOf {
				expected.anyOf = append(expected.anyOf, "/host/"+path)
			}
			o.waitFor = append(o.waitFor, w.What+"="+strings.Join(expected.anyOf, ","))
			waits = append(waits, expected)
		}
	}
	want.PluginResources = o.pluginResources
	require.NotEmpty(t, want.PluginResources)
	require.NotEmpty(t, want.Labels)
	rules, parsed, err := o.parse()
	require.NoError(t, err)
	require.Equal(t, want, rules)
	require.Equal(t, waits, parsed)
}
