package component

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/gates"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

func TestExtraArgumentsStandLastAndAsTheyAre(t *testing.T) {
	set, err := gates.Parse([]string{"kube-scheduler=A=true"})
	if err != nil {
		t.Fatal(err)
	}
	extra, err := ParseExtra([]string{"kube-scheduler=--feature-gates=A=false,A=true", "kube-scheduler=--feature-gates=A=false", "kube-apiserver=--v=4"})
	if err != nil {
		t.Fatal(err)
	}
	s := setting(state.Options{Gates: set, ExtraArgs: extra})
	line := scheduler.CommandLine(s)
	want := []string{"--feature-gates=A=true", "--feature-gates=A=false,A=true", "--feature-gates=A=false"}
	if line[0] != "kube-scheduler" || !slices.Equal(line[len(line)-3:], want) {
		t.Errorf("scheduler: %q, want %q at the end", line, want)
	}
	if line := apiServer.CommandLine(s); line[len(line)-1] != "--v=4" || slices.Contains(line, "--feature-gates=A=false") {
		t.Errorf("apiserver: %q", line)
	}
	if line := etcd.CommandLine(s); slices.Contains(line, "--v=4") {
		t.Errorf("etcd: %q", line)
	}
}

func TestExtraArgumentsMayBeTakenAway(t *testing.T) {
	extra, err := ParseExtra([]string{"etcd=--a", "etcd=", "kwok="})
	if want := map[string][]string{"etcd": nil, "kwok": nil}; err != nil || !reflect.DeepEqual(extra, want) {
		t.Errorf("%v, %v: want %v", extra, err, want)
	}
	have := map[string][]string{"etcd": {"--a"}, "kube-apiserver": {"--b"}}
	merged := MergeExtra(have, map[string][]string{"etcd": nil, "kwok": {"--c"}})
	if want := map[string][]string{"kube-apiserver": {"--b"}, "kwok": {"--c"}}; !reflect.DeepEqual(merged, want) || len(have) != 2 {
		t.Errorf("%v out of %v, want %v", merged, have, want)
	}
	if merged := MergeExtra(merged, map[string][]string{"kube-apiserver": nil, "kwok": nil}); merged != nil {
		t.Errorf("%v, want none", merged)
	}
	if extra, err := ParseExtra(nil); extra != nil || err != nil {
		t.Errorf("%v, %v for none", extra, err)
	}
}

func TestExtraArgumentsSayWhatIsWrong(t *testing.T) {
	for entry, want := range map[string]string{
		"kube-proxy=--v=4":    `component "kube-proxy" is not one of`,
		"kube-apiserver":      "expected COMPONENT=--FLAG",
		"kube-apiserver=v=4":  "expected COMPONENT=--FLAG",
		"kubelet=--v=4":       `component "kubelet" is not one of etcd`,
		"kube-apiserver=-v=4": "expected COMPONENT=--FLAG",
	} {
		if _, err := ParseExtra([]string{entry}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", entry, err, want)
		}
	}
}
