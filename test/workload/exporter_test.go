package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

func TestOptionsAreFlagsOverVariables(t *testing.T) {
	t.Setenv("DCGM_EXPORTER_LISTEN", "127.0.0.1:9400")
	t.Setenv("DCGM_EXPORTER_KUBERNETES", "true")
	t.Setenv("DCGM_EXPORTER_INTERVAL", "500")
	t.Setenv("NODE_NAME", "real-1")
	o, err := exporterOptions([]string{"-c", "250", "--kubernetes-enable-dra"})
	if err != nil || o.listen != "127.0.0.1:9400" || !o.kubernetes || !o.claims || o.interval != 250 || o.node != "real-1" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, wrong := range [][]string{{"--no-such-flag"}, {"-c", "0"}} {
		if _, err := exporterOptions(wrong); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	t.Setenv("DCGM_EXPORTER_INTERVAL", "soon")
	if _, err := exporterOptions(nil); err == nil || !strings.Contains(err.Error(), "DCGM_EXPORTER_INTERVAL") {
		t.Errorf("error %v", err)
	}
}

func TestCollectors(t *testing.T) {
	all, err := readCollectors(defaultCollectors)
	if err != nil || len(all) != len(figures) {
		t.Errorf("%d fields, %v; want all %d", len(all), err, len(figures))
	}
	file := filepath.Join(t.TempDir(), "counters.csv")
	if _, err := readCollectors(file); err == nil {
		t.Error("a file that is named and not there is no error")
	}
	for text, want := range map[string]string{
		"# comment\nDCGM_FI_DEV_GPU_TEMP, gauge, \"degrees, Celsius\"\nDCGM_FI_DEV_NVLINK, counter, x\n": "DCGM_FI_DEV_GPU_TEMP",
		"DCGM_FI_DEV_GPU_TEMP, gauge\n":    "",
		"DCGM_FI_DEV_GPU_TEMP, meter, x\n": "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		names, err := readCollectors(file)
		if got := strings.Join(names, " "); got != want || (want == "") != (err != nil) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestDevicesOfTheContainer(t *testing.T) {
	t.Setenv("GPU_DEVICE_5", "gpu-5")
	t.Setenv("GPU_DEVICE_5_RESOURCE_CLAIM", "uid")
	devices, err := injected(t.Context())
	if err != nil || len(devices) != 1 || devices[0].uuid != "gpu-5" {
		t.Fatalf("%+v, %v", devices, err)
	}
	page := render([]string{"DCGM_FI_DEV_FB_USED"}, devices, "n")
	want := "# HELP DCGM_FI_DEV_FB_USED made up by a stand-in of dcgm-exporter\n# TYPE DCGM_FI_DEV_FB_USED gauge\n" +
		`DCGM_FI_DEV_FB_USED{gpu="0",UUID="gpu-5",device="nvidia0",modelName="stand-in",hostname="n"} 20480` + "\n"
	if page != want {
		t.Errorf("page\n%swant\n%s", page, want)
	}
}

type kubelet struct {
	podresources.UnimplementedPodResourcesListerServer
}

func (kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	claim := func(device string) *podresources.DynamicResource {
		return &podresources.DynamicResource{ClaimName: "c-" + device, ClaimNamespace: "inference", ClaimResources: []*podresources.ClaimResource{
			{DriverName: "gpu.example.com", PoolName: "real-1", DeviceName: device}}}
	}
	return &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{
		{Name: "two", Namespace: "inference", Containers: []*podresources.ContainerResources{{Name: "engine",
			DynamicResources: []*podresources.DynamicResource{claim("gpu-3"), claim("gpu-1")}}}},
		{Name: "none", Namespace: "inference", Containers: []*podresources.ContainerResources{{Name: "web"}}},
	}}, nil
}

func TestDevicesOfTheNode(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "kubelet.sock")
	if _, err := inUse(t.Context(), socket, true); err == nil {
		t.Error("no socket is no error")
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, kubelet{})
	go server.Serve(listener)
	defer server.Stop()
	for claims, want := range map[bool]string{
		true: `DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="gpu-1",device="nvidia0",modelName="stand-in",hostname="n",container="engine",namespace="inference",pod="two",` +
			`dra_claim_name="c-gpu-1",dra_claim_namespace="inference",dra_driver_name="gpu.example.com",dra_pool_name="real-1",dra_device_name="gpu-1"} 73`,
		false: `hostname="n",container="engine",namespace="inference",pod="two"} 73`,
	} {
		devices, err := inUse(t.Context(), socket, claims)
		if err != nil || len(devices) != 2 {
			t.Fatalf("%+v, %v", devices, err)
		}
		if page := render([]string{"DCGM_FI_DEV_GPU_UTIL"}, devices, "n"); !strings.Contains(page, want+"\n") {
			t.Errorf("claims %t: page\n%swant\n%s", claims, page, want)
		}
	}
}
