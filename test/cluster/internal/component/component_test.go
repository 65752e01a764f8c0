package component

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/gates"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

func setting(options state.Options) Setting {
	s := Setting{Dir: layout.Dir("/clusters/x"), Ports: map[string]int{}, Options: options}
	for i, name := range PortNames(Kinds) {
		s.Ports[name] = 21000 + i
	}
	return s
}

// Nothing of a test cluster may be reached from another machine.
func TestEverythingListensOnLoopbackOnly(t *testing.T) {
	s := setting(state.Options{})
	for _, kind := range Kinds {
		args := strings.Join(kind.Args(s), "\n")
		if strings.Contains(args, "0.0.0.0") || strings.Contains(args, "[::]") {
			t.Errorf("%s listens everywhere:\n%s", kind.Name, args)
		}
		if !strings.Contains(args, "127.0.0.1") {
			t.Errorf("%s is not told to listen on loopback:\n%s", kind.Name, args)
		}
		_, address, _ := strings.Cut(kind.Endpoint(s), "://")
		if host, _, err := net.SplitHostPort(address); err != nil || host != "127.0.0.1" {
			t.Errorf("%s: endpoint %s, %v", kind.Name, kind.Endpoint(s), err)
		}
		if url := kind.Ready(s).URL; !strings.Contains(url, "://127.0.0.1:2100") {
			t.Errorf("%s: readiness is asked at %s", kind.Name, url)
		}
		for _, port := range kind.Ports {
			if s.Ports[PortName(kind.Name, port)] == 0 {
				t.Errorf("%s has no port %s", kind.Name, port)
			}
		}
	}
}

func TestGatesReachTheirComponentOnly(t *testing.T) {
	set, err := gates.Parse([]string{"kube-scheduler=A=true"})
	if err != nil {
		t.Fatal(err)
	}
	s := setting(state.Options{Gates: set, RuntimeConfig: "resource.k8s.io/v1beta1=true", AdmissionPlugins: []string{"P"}})
	for _, kind := range Kinds {
		args := kind.Args(s)
		if got, want := slices.Contains(args, "--feature-gates=A=true"), kind.Name == "kube-scheduler"; got != want {
			t.Errorf("%s has the gate: %t, want %t", kind.Name, got, want)
		}
		if got, want := slices.Contains(args, "--runtime-config=resource.k8s.io/v1beta1=true"), kind.Name == APIServer; got != want {
			t.Errorf("%s has the runtime config: %t, want %t", kind.Name, got, want)
		}
		if got, want := slices.Contains(args, "--enable-admission-plugins=NodeRestriction,P"), kind.Name == APIServer; got != want {
			t.Errorf("%s has the admission plugin: %t, want %t", kind.Name, got, want)
		}
	}
}

func TestSelect(t *testing.T) {
	kinds, err := Select([]string{"kube-apiserver", "etcd"})
	if err != nil || len(kinds) != 2 || kinds[0].Name != "etcd" {
		t.Errorf("%v, %v: want etcd first", kinds, err)
	}
	if all, err := Select(Names()); err != nil || len(all) != len(Kinds) {
		t.Errorf("all: %d kinds, %v", len(all), err)
	}
	for say, names := range map[string][]string{
		`"kubelet" is not one of`:           {"etcd", "kubelet"},
		"kube-apiserver needs etcd: add it": {"kube-apiserver"},
		"no component is named":             nil,
	} {
		if _, err := Select(names); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v: error %v, want one with %q", names, err, say)
		}
	}
}

// Without a real node the API server has nobody to ask for logs, and its Services nobody behind them.
func TestTheAPIServerKnowsARealNode(t *testing.T) {
	for nodes, want := range []bool{false, true} {
		args := apiServer.Args(setting(state.Options{RealNodes: nodes}))
		for _, flag := range []string{"--enable-aggregator-routing=true", "--kubelet-preferred-address-types=InternalIP"} {
			if got := slices.Contains(args, flag); got != want {
				t.Errorf("%d real nodes: %s is there: %t, want %t", nodes, flag, got, want)
			}
		}
	}
}
