package wrapper

import (
	"strings"
	"testing"
)

const upstream = `// This is a generated file.

module k8s.io/kubernetes

go 1.24.0

godebug default=go1.24

require (
	github.com/spf13/cobra v1.9.1
	k8s.io/api v0.0.0
	k8s.io/component-base v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/component-base => ./staging/src/k8s.io/component-base
)
`

const want = `// This is a generated file.

module gpu-dra.invalid/wrapper/kubernetes

go 1.24.0

godebug default=go1.24

require (
	github.com/spf13/cobra v1.9.1
	k8s.io/api v0.0.0
	k8s.io/component-base v0.0.0
)

replace (
	k8s.io/api => k8s.io/api v0.34.4
	k8s.io/component-base => k8s.io/component-base v0.34.4
)

require k8s.io/kubernetes v1.34.4
`

func TestKubernetes(t *testing.T) {
	got, err := Kubernetes("kubernetes", upstream, "1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
	got, err = Kubernetes("kubernetes", upstream, "1.34.4", Requirement{"example.com/driver", "v0.2.1"})
	if err != nil || got != want+"require example.com/driver v0.2.1\n" {
		t.Errorf("with a driver: %v\n%s", err, got)
	}
}

func TestKubernetesRefusesWhatItDoesNotKnow(t *testing.T) {
	for text, say := range map[string]string{
		"go 1.24.0\n": "no module line",
		upstream + "\nreplace example.com/x => ../elsewhere\n":  "elsewhere",
		upstream + "\nreplace example.com/x => ./third_party\n": "third_party",
	} {
		if _, err := Kubernetes("kubernetes", text, "1.34.4"); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("error %v, want one with %q", err, say)
		}
	}
}

func TestPlain(t *testing.T) {
	got := Plain("tools", Requirement{"example.com/a", "v1.0.0"}, Requirement{"example.com/b", "v2.0.0"})
	want := "module gpu-dra.invalid/wrapper/tools\n\ngo 1.26.0\n\nrequire example.com/a v1.0.0\nrequire example.com/b v2.0.0\n"
	if got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
}

func TestBesideKeepsTheVersionsOfWhatItFollows(t *testing.T) {
	const gomod = "module example.com/product\n\ngo 1.26.0\n\nrequire k8s.io/api v0.37.2\n"
	got, err := Beside("helm", gomod, Requirement{"helm.sh/helm/v3", "v3.22.0"})
	if err != nil {
		t.Fatal(err)
	}
	want := "module gpu-dra.invalid/wrapper/helm\n\ngo 1.26.0\n\nrequire k8s.io/api v0.37.2\n\nrequire helm.sh/helm/v3 v3.22.0\n"
	if got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
	for what, text := range map[string]string{
		"no module line": "go 1.26.0\n",
		"by a folder":    gomod + "\nreplace k8s.io/api => ../api\n",
	} {
		if _, err := Beside("helm", text); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one that says %q", err, what)
		}
	}
}
