package realnode

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func newSpec(t *testing.T) *Spec {
	t.Helper()
	s := &Spec{Name: Name, Network: 3, Folder: t.TempDir(), Cgroup: CgroupName("ABCDEFGHIJKLMNOP"), Snapshotter: "overlayfs",
		Gates: map[string]bool{"DRADeviceTaints": true}}
	if err := s.WriteRoot(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRootFolder(t *testing.T) {
	s := newSpec(t)
	if s.Cgroup != "gpu-dra-abcdefghijkl" {
		t.Errorf("cgroup %s", s.Cgroup)
	}
	raw, err := os.ReadFile(s.Path(kubeletConfig))
	if err != nil {
		t.Fatal(err)
	}
	var kubelet struct {
		CgroupRoot   string            `json:"cgroupRoot"`
		Address      string            `json:"address"`
		ResolvConf   *string           `json:"resolvConf"`
		FeatureGates map[string]bool   `json:"featureGates"`
		EvictionHard map[string]string `json:"evictionHard"`
	}
	if err := yaml.Unmarshal(raw, &kubelet); err != nil {
		t.Fatal(err)
	}
	if kubelet.CgroupRoot != "/"+s.Cgroup || kubelet.Address != "198.18.3.2" || !kubelet.FeatureGates["DRADeviceTaints"] ||
		kubelet.ResolvConf == nil || *kubelet.ResolvConf != "" || kubelet.EvictionHard["memory.available"] == "" {
		t.Errorf("configuration of the kubelet:\n%s", raw)
	}
	if raw, err = os.ReadFile(s.Path(networkConfig)); err != nil || !json.Valid(raw) || !strings.Contains(string(raw), s.Network.Pods()) {
		t.Errorf("network: %s, %v", raw, err)
	}
	if info, err := os.Stat(s.Path("/tmp")); err != nil || info.Mode()&os.ModeSticky == 0 || info.Mode().Perm() != 0o777 {
		t.Errorf("/tmp: %v, %v", info, err)
	}
	// A second start clears what a reboot clears, and keeps what it keeps.
	write(t, s.Path("/run/socket"), "")
	write(t, s.Path("/var/lib/kubelet/state"), "")
	if err := s.WriteRoot(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Path("/run/socket")); !os.IsNotExist(err) {
		t.Errorf("/run was not cleared: %v", err)
	}
	if _, err := os.Stat(s.Path("/var/lib/kubelet/state")); err != nil {
		t.Error(err)
	}
}

func TestDropIn(t *testing.T) {
	s := newSpec(t)
	good := []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
	for name, content := range map[string][]byte{"50-x.yaml": good, "../x.conf": good, "50-x.conf": []byte("kind: Pod\n")} {
		if err := s.WriteDropIn(name, content); err == nil {
			t.Errorf("%s with %q is accepted", name, content)
		}
	}
	if err := s.WriteDropIn("50-x.conf", good); err != nil {
		t.Fatal(err)
	}
	path := s.Path(kubeletDropIns + "/50-x.conf")
	if raw, err := os.ReadFile(path); err != nil || string(raw) != string(good) {
		t.Errorf("%q, %v", raw, err)
	}
	for range 2 {
		if err := s.WriteDropIn("50-x.conf", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("an empty file does not take the drop-in away: %v", err)
	}
}

func TestSpecIsReadAsItWasWritten(t *testing.T) {
	s := newSpec(t)
	s.Programs = map[string]string{"kubelet": "/k"}
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := LoadSpec(s.File())
	if err != nil || again.Network != s.Network || again.Programs["kubelet"] != "/k" || again.Root() != s.Root() {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := again.Containerd(); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("error %v, want that it does not run", err)
	}
	write(t, s.File(), "no json")
	if _, err := LoadSpec(s.File()); err == nil || !strings.Contains(err.Error(), "no spec") {
		t.Errorf("error %v", err)
	}
}
