package featuregate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func says(version string, gates map[string]bool) Answer {
	return Answer{Version: version, Gates: gates}
}

func on(gate string) map[string]bool  { return map[string]bool{gate: true} }
func off(gate string) map[string]bool { return map[string]bool{gate: false} }

func TestCrossCheck(t *testing.T) {
	const version = "v1.34.4"
	byDefault := running("kube-apiserver/a@" + version)
	flag := running("kube-apiserver/a@"+version, "--feature-gates=DRAExtendedResource=true")
	another := running("kube-apiserver/b@"+version, "--feature-gates=DRAExtendedResource=false")
	unread := running("kube-apiserver/b@"+version, "$(ARGS)")
	emulating := running("kube-apiserver/a@v1.36.3", "--emulated-version=1.34")
	saidOn, saidOff := says(version, on(ExtendedResource)), says(version, off(ExtendedResource))
	times := func(n int, a Answer) (out []Answer) {
		for range n {
			out = append(out, a)
		}
		return out
	}
	for name, tc := range map[string]struct {
		instances []Instance
		answers   []Answer
		before    bool
		differ    bool
		compared  bool
	}{
		"as the flags":                          {[]Instance{flag}, times(5, saidOn), false, false, true},
		"as by default":                         {[]Instance{byDefault}, times(5, saidOff), false, false, true},
		"as the emulated version":               {[]Instance{emulating}, times(5, says("v1.36.3", off(ExtendedResource))), false, false, true},
		"another, once":                         {[]Instance{flag}, times(1, saidOff), false, false, true},
		"another, twice":                        {[]Instance{flag}, times(2, saidOff), false, false, true},
		"another, confirmed":                    {[]Instance{flag}, times(3, saidOff), false, true, true},
		"as it was before a restart":            {[]Instance{flag}, append(times(2, saidOff), saidOn), false, false, true},
		"one of two":                            {[]Instance{flag, another}, append(times(5, saidOn), times(5, saidOff)...), false, false, true},
		"perhaps the one that can't be read":    {[]Instance{flag, unread}, times(5, saidOff), false, false, true},
		"no version of the pod":                 {[]Instance{running("kube-apiserver/a@")}, times(5, saidOn), false, false, true},
		"no version in the answer":              {[]Instance{flag}, times(5, says("", off(ExtendedResource))), false, true, true},
		"of a version whose pod is not seen":    {[]Instance{flag}, times(5, says("v1.35.4", off(ExtendedResource))), false, false, false},
		"no API server seen":                    {[]Instance{running("kube-scheduler/a@" + version)}, times(5, saidOn), false, false, false},
		"nothing of the gate":                   {[]Instance{flag}, times(5, says(version, nil)), false, false, true},
		"differed, and still does":              {[]Instance{flag}, append(times(9, saidOn), saidOff), true, true, true},
		"differed, and has been as the flags":   {[]Instance{flag}, times(AnswersKept, saidOn), true, false, true},
		"differed, by the controller before":    {[]Instance{flag}, times(2, saidOn), true, true, true},
		"differed, and the flags are new":       {[]Instance{another}, times(3, saidOff), true, false, true},
		"differed, no answer of that gate now":  {[]Instance{flag}, times(5, says(version, nil)), true, false, true},
		"differed, the controller started anew": {[]Instance{flag}, nil, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var before []Conflict
			if tc.before {
				before = []Conflict{{Gate: ExtendedResource, Component: APIServer, Text: "as before"}}
			}
			differ, compared := CrossCheck(tc.instances, tc.answers, before)
			require.Equal(t, tc.compared, compared)
			require.Equal(t, tc.differ, len(differ) > 0, "%+v", differ)
			for _, c := range differ {
				require.Equal(t, ExtendedResource, c.Gate)
				require.Equal(t, APIServer, c.Component)
				require.Empty(t, c.Instance, "nobody knows which instance answered")
				require.Nil(t, c.Effective)
			}
		})
	}

	differ, _ := CrossCheck([]Instance{flag}, times(3, saidOff), nil)
	require.Equal(t, "/metrics of the API server says off; by the flags it is on in kube-apiserver a (set by its flags): "+
		"see whether it was started anew after its manifest changed, and whether an API server answers that is not seen", differ[0].Text)
	differ, _ = CrossCheck([]Instance{flag}, append(times(1, saidOn), times(3, saidOff)...), nil)
	require.Contains(t, differ[0].Text, "says now on, now off; by the flags it is on in kube-apiserver a (set by its flags): more API servers answer than are seen")
}

// An answer is compared with the flags under which it was given.
func TestServerFlagsTellThemApart(t *testing.T) {
	const gate = "--feature-gates=DRAExtendedResource=true"
	a, b := running("kube-apiserver/a@v1.34.4", gate), running("kube-apiserver/b@v1.34.4")
	flags := ServerFlags([]Instance{a, b})
	require.Equal(t, flags, ServerFlags([]Instance{b, a, running("kube-scheduler/a@v1.34.4", gate)}), "their order and other components mean nothing")
	require.Equal(t, flags, ServerFlags([]Instance{running("kube-apiserver/a@v1.34.4", gate, "--v=4"), b}), "nor other flags")
	for name, other := range map[string]Instance{
		"a gate": running("kube-apiserver/a@v1.34.4"), "its value": running("kube-apiserver/a@v1.34.4", "--feature-gates=DRAExtendedResource=false"),
		"one more": running("kube-apiserver/a@v1.34.4", gate, "--feature-gates=DRAAdminAccess=false"), "the version": running("kube-apiserver/a@v1.34.5", gate),
		"the emulated one": running("kube-apiserver/a@v1.34.4", gate, "--emulated-version=1.33"), "the instance": running("kube-apiserver/c@v1.34.4", gate),
		"a file": running("kube-apiserver/a@v1.34.4", gate, "--openshift-config=/c"), "not readable": running("kube-apiserver/a@v1.34.4", "$(ARGS)"),
	} {
		require.NotEqual(t, flags, ServerFlags([]Instance{other, b}), name)
	}
	require.NotEqual(t, flags, ServerFlags([]Instance{a}))
	require.Empty(t, ServerFlags(nil))
}
