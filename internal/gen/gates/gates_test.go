package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
)

// sources downloads every version that the Go proxy serves, once for all tests. A version that it refuses is named and left out.
var sources = sync.OnceValues(func() (map[int]*source, error) {
	out := map[int]*source{}
	for _, version := range versions {
		dir, err := download(version)
		var refused *refusedError
		if errors.As(err, &refused) {
			fmt.Fprintf(os.Stderr, "not compared: %s\n", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := parse(version, dir)
		if err != nil {
			return nil, err
		}
		out[s.minor] = s
	}
	return out, nil
})

func served(t *testing.T) map[int]*source {
	t.Helper()
	all, err := sources()
	require.NoError(t, err)
	require.NotEmpty(t, all, "the Go proxy served no version of Kubernetes, so nothing was compared")
	return all
}

// Where the proxy serves everything the generated file is compared as a whole.
func TestTableIsAsTheSourcesHaveIt(t *testing.T) {
	all := served(t)
	if len(all) < len(versions) {
		t.Logf("%d of %d versions were served: TestEveryServedMinor compares those", len(all), len(versions))
		return
	}
	var list []*source
	for _, version := range versions {
		minor, err := minorOf(version)
		require.NoError(t, err)
		list = append(list, all[minor])
	}
	want, err := write(list)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join("..", "..", "..", generatedFile))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run `make generate-gates`")
}

// Each minor by itself: what a component of it has must be what the product says, for every gate of the table.
func TestEveryServedMinor(t *testing.T) {
	for minor, s := range served(t) {
		t.Run(s.version, func(t *testing.T) {
			for _, gate := range featuregate.Gates() {
				list := s.specs[gate]
				got := featuregate.At(gate, minor)
				require.Equal(t, len(list) > 0, got.Present, gate)
				if !got.Present {
					continue
				}
				want := list[0]
				for _, one := range list {
					if one.from <= minor && one.minCompat < minor {
						want = one
					}
				}
				require.Equal(t, featuregate.Stage{Present: true, Name: strings.ToLower(want.stage), On: want.on, Locked: want.locked, Needs: got.Needs},
					featuregate.Stage{Present: true, Name: strings.ToLower(got.Name), On: got.On, Locked: got.Locked, Needs: got.Needs}, gate)
				if s.needs != nil {
					require.ElementsMatch(t, s.needs[gate], got.Needs, gate)
				}
			}
			for gate := range s.specs {
				if chosen.MatchString(gate) {
					require.True(t, featuregate.InTable(gate), "%s of %s is not in the table: run `make generate-gates`", gate, s.version)
				}
			}
		})
	}
}

// The hand-written columns name files of the sources: they must say what they are named for.
func TestReadersReadTheirGates(t *testing.T) {
	all := served(t)
	for _, gate := range featuregate.Gates() {
		require.NotEmpty(t, featuregate.ReadersOf(gate), gate)
		for _, r := range featuregate.ReadersOf(gate) {
			s := all[r.Minor]
			if r.Minor == 0 {
				s = newestWith(gate)
			}
			if s == nil || all[s.minor] == nil {
				continue
			}
			data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(r.File)))
			require.NoError(t, err, "%s in Kubernetes %s", gate, s.version)
			require.Regexp(t, `features\.`+gate+`\b`, string(data), "%s of Kubernetes %s", r.File, s.version)
			require.Contains(t, componentsOf(r.File), r.Component, "%s: %s is no code of %s", gate, r.File, r.Component)
		}
	}
}

// newestWith is the newest of all sources that has a gate, nil where that one is not served.
func newestWith(gate string) *source {
	all, _ := sources()
	for _, version := range slices.Backward(versions) {
		minor, _ := minorOf(version)
		if featuregate.At(gate, minor).Present {
			return all[minor]
		}
	}
	return nil
}

// componentsOf tells whose code a file is.
func componentsOf(file string) []string {
	for prefix, components := range map[string][]string{
		"cmd/kube-controller-manager/": {featuregate.ControllerManager}, "pkg/controller/": {featuregate.ControllerManager},
		"pkg/scheduler/": {featuregate.Scheduler}, "pkg/kubelet/": {featuregate.Kubelet},
		"pkg/registry/": {featuregate.APIServer}, "plugin/": {featuregate.APIServer}, "pkg/apis/": {featuregate.APIServer}, "pkg/api/": {featuregate.APIServer},
	} {
		if strings.HasPrefix(file, prefix) {
			return components
		}
	}
	return nil
}

func TestGatesThatWaitForAnAPI(t *testing.T) {
	all := served(t)
	for _, a := range featuregate.APIs() {
		for minor, s := range all {
			if minor < a.From || minor > a.To {
				continue
			}
			data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(a.File)))
			require.NoError(t, err, a.Gate)
			require.Contains(t, string(data), a.Symbol, "%s in %s of Kubernetes %s", a.Gate, a.File, s.version)
			require.Contains(t, s.groupVersions, a.GroupVersion, s.version)
			requireInstalled(t, s, a)
		}
	}
}

// requireInstalled looks up that the API server serves the resources in that version, each by an entry of --runtime-config of its own.
func requireInstalled(t *testing.T, s *source, a featuregate.API) {
	t.Helper()
	groupName, version, _ := strings.Cut(a.GroupVersion, "/")
	group, _, _ := strings.Cut(groupName, ".")
	data, err := os.ReadFile(filepath.Join(s.dir, "pkg", "registry", group, "rest", "storage_"+group+".go"))
	require.NoError(t, err)
	require.NotEmpty(t, a.Resources, a.Gate)
	for _, resource := range a.Resources {
		require.Regexp(t, `resource := "`+resource+`"; apiResourceConfigSource\.ResourceEnabled\(\w+`+version+`\.SchemeGroupVersion`, string(data), "%s of Kubernetes %s", a.GroupVersion, s.version)
	}
}

// featuregate.ForOldKubelets: kubelets read claims as v1beta1 up to 1.33 and as v1 from then on, and try no other version.
func TestKubeletsReadClaimsInOneVersion(t *testing.T) {
	for minor, s := range served(t) {
		if minor < 32 {
			continue
		}
		want := "ResourceV1()"
		if minor < 34 {
			want = "ResourceV1beta1()"
		}
		data, err := os.ReadFile(filepath.Join(s.dir, "pkg", "kubelet", "cm", "dra", "manager.go"))
		require.NoError(t, err)
		spoken := regexp.MustCompile(`ResourceV1\w*\(\)`).FindAllString(string(data), -1)
		slices.Sort(spoken)
		require.Equal(t, []string{want}, slices.Compact(spoken), s.version)
		require.Contains(t, s.groupVersions, "resource.k8s.io/v1beta1", s.version)
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no Go":           {"package features\nvar x = ", "expected operand"},
		"unknown field":   {"package features\nvar defaultVersionedKubernetesFeatureGates = m{A: {{Version: version.MustParse(\"1.34\"), Odd: true}}}", "gate A: a field Odd that is not known"},
		"odd version":     {"package features\nvar defaultVersionedKubernetesFeatureGates = m{A: {{Version: v134}}}", "gate A: a version that is not written"},
		"no literal":      {"package features\nvar defaultKubernetesFeatureGates = m{A: spec()}", `the entry of gate "A" is no literal`},
		"no dependencies": {"package features\nvar defaultKubernetesFeatureGateDependencies = m{A: needs()}", "the dependencies of A are no literal"},
		"too few gates":   {"package features\n", "found 0 feature gates"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, "pkg", "features")
			require.NoError(t, os.MkdirAll(folder, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "kube_features.go"), []byte(tc.text), 0o644))
			_, err := parse("1.34.4", dir)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestStages(t *testing.T) {
	at := func(minor int, specs ...spec) *source {
		s := &source{version: fmt.Sprintf("1.%d.0", minor), minor: minor, specs: map[string][]spec{}}
		if specs != nil {
			s.specs["A"] = specs
		}
		return s
	}
	a, b := spec{from: 30, stage: "Alpha"}, spec{from: 32, stage: "Beta", on: true}
	g := spec{from: 34, stage: "GA", on: true, locked: true}
	got, err := stages("A", []*source{at(31, a), at(32, a, b), at(33, a, b), at(34, a, b, g), at(35), at(36)})
	require.NoError(t, err)
	require.Equal(t, []spec{a, b, g, {from: 35, stage: "removed", on: true, locked: true}}, got)

	// Switched off again in a later minor, as has happened to beta gates.
	off := spec{from: 33, stage: "Beta"}
	again := spec{from: 34, stage: "Beta", on: true}
	got, err = stages("A", []*source{at(31), at(32, b), at(33, b, off), at(34, b, off, again)})
	require.NoError(t, err)
	require.Equal(t, []spec{b, off, again}, got)

	// New in a minor, with a history that no older binary knows.
	got, err = stages("A", []*source{at(31), at(32), at(33, spec{from: 1, stage: "GA"}, spec{from: 32, stage: "Deprecated", on: true})})
	require.NoError(t, err)
	require.Equal(t, []spec{{from: 33, stage: "Deprecated", on: true}}, got)

	_, err = stages("A", []*source{at(31, spec{from: 40, stage: "Alpha"})})
	require.ErrorContains(t, err, "gate A: Kubernetes 1.31.0 has it, but no stage of it")
}

// Only what the proxy says it does not have is left out; a network that fails must not pass for that.
func TestRefused(t *testing.T) {
	for text, want := range map[string]bool{
		"k8s.io/kubernetes@v1.99.0: reading https://proxy.example.com/k8s.io/kubernetes/@v/v1.99.0.info: 404 Not Found":      true,
		"k8s.io/kubernetes@v1.99.0: reading https://proxy.example.com/k8s.io/kubernetes/@v/v1.99.0.zip: 410 Gone":            true,
		"k8s.io/kubernetes@v1.99.0: reading https://proxy.example.com/k8s.io/kubernetes/@v/v1.99.0.zip: 403 Forbidden":       true,
		"k8s.io/kubernetes@v1.99.0: invalid version: unknown revision v1.99.0":                                               true,
		"k8s.io/kubernetes@v1.34.4: Get \"https://proxy.example.com/...\": dial tcp: lookup proxy.example.com: no such host": false,
		"k8s.io/kubernetes@v1.34.4: reading https://proxy.example.com/...: 500 Internal Server Error":                        false,
		"k8s.io/kubernetes@v1.34.4: reading https://proxy.example.com/...: 502 Bad Gateway":                                  false,
		"k8s.io/kubernetes@v1.34.4: verifying module: checksum mismatch":                                                     false,
		"write /go/pkg/mod/cache: no space left on device":                                                                   false,
		"": false,
	} {
		err := failed("1.99.0", text, errors.New("exit status 1"))
		var refused *refusedError
		require.Equal(t, want, errors.As(err, &refused), text)
		require.ErrorContains(t, err, "k8s.io/kubernetes@v1.99.0")
		require.ErrorContains(t, err, text)
	}
}

func TestAnnounced(t *testing.T) {
	for comment, want := range map[string][2]int{
		"GA in 1.36; remove in 1.39": {0, 39}, "LockToDefault: true in 1.38; remove in 1.41": {38, 41},
		"lock to default in 1.38, remove in 1.39": {38, 39}, "remove in v1.38": {0, 38}, "remove after it is GA": {}, "": {},
	} {
		lock, removal := announced(comment)
		require.Equal(t, want, [2]int{lock, removal}, comment)
	}
}
