package gates

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	set, err := Parse([]string{"kube-apiserver=B=true,A=false", "kube-scheduler=A=true", "kube-apiserver=A=true"})
	if err != nil {
		t.Fatal(err)
	}
	for component, want := range map[string]string{
		"kube-apiserver":          "--feature-gates=A=true,B=true",
		"kube-scheduler":          "--feature-gates=A=true",
		"kube-controller-manager": "",
	} {
		if got := set.Flag(component); got != want {
			t.Errorf("%s: %q, want %q", component, got, want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for entry, want := range map[string]string{
		"A=true":                  `component "A"`,
		"kube-apiserver":          "expected COMPONENT=Gate=true",
		"kube-apiserver=":         "expected COMPONENT=Gate=true",
		"kube-apiserver=A":        "expected Gate=true or Gate=false",
		"kube-apiserver=A=maybe":  "expected Gate=true or Gate=false",
		"kube-apiserver=A=true,,": "expected Gate=true or Gate=false",
		"etcd=A=true":             "kube-apiserver, kube-controller-manager, kube-scheduler",
	} {
		if _, err := Parse([]string{entry}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", entry, err, want)
		}
	}
}

func TestOwnGatesWinOverThePreset(t *testing.T) {
	own, err := Parse([]string{"kube-scheduler=DRAExtendedResource=false"})
	if err != nil {
		t.Fatal(err)
	}
	merged := own.Over(Deckhouse())
	if got := merged.Flag("kube-scheduler"); !strings.Contains(got, "DRAExtendedResource=false") || !strings.Contains(got, "DRAPartitionableDevices=true") {
		t.Errorf("scheduler: %q", got)
	}
	if got := merged.Flag("kube-apiserver"); !strings.Contains(got, "DRAExtendedResource=true") {
		t.Errorf("apiserver: %q", got)
	}
	if got := Deckhouse().Flag("kube-scheduler"); !strings.Contains(got, "DRAExtendedResource=true") {
		t.Errorf("the preset itself changed: %q", got)
	}
}
