package inventory

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFixtures maps the fixtures in testdata, one for each kind of pool, to what they mean.
func TestFixtures(t *testing.T) {
	expected := map[string][]string{
		"whole.yaml": {
			"alpha gpu.nvidia.com registered: 2 cards, 2 devices, 2 whole",
			"alpha   alpha@1 1/1 complete: 2 cards, 2 devices, 2 whole",
			"alpha  2 Whole gpu NVIDIA L40S 46068Mi",
		},
		"static-mig.yaml": {
			"cut gpu.nvidia.com registered: 2 cards, 4 devices, 1 whole",
			"cut   cut@1 1/1 complete: 2 cards, 4 devices, 1 whole",
			"cut  1 Whole gpu NVIDIA H100 PCIe 81559Mi",
			"cut  2 Partition mig NVIDIA H100 PCIe 1g.10gb 9984Mi",
			"cut  1 Partition mig NVIDIA H100 PCIe 3g.40gb 40448Mi",
		},
		"dynamic-mig-inline.yaml": {
			"inline gpu.nvidia.com registered: 2 cards, 4 devices, 1 whole",
			"inline   inline@1 2/2 complete: 2 cards, 4 devices, 1 whole",
			"inline  1 Whole gpu 40Gi",
			"inline  3 Partition mig 1g.5gb 4864Mi",
		},
		"dynamic-mig-split.yaml": {
			"split gpu.nvidia.com registered: 3 cards, 4 devices, 1 whole",
			"split   split@5 3/3 complete: 3 cards, 4 devices, 1 whole",
			"split  1 Whole gpu 81152Mi",
			"split  2 Partition mig 1g.10gb 9984Mi",
			"split  1 Partition mig 7g.80gb 80384Mi",
		},
		"all-nodes.yaml": {
			"shared AllNodes gpu.example.com fabric@2 1/1 complete: 3 cards, 3 devices, 3 whole",
		},
		"node-selector.yaml": {
			"shared NodeSelector gpu.example.com rack-r7@1 1/2 incomplete: 1 cards, 1 devices, 1 whole, 1 tainted",
		},
		"per-device.yaml": {
			"left gpu.nvidia.com registered: 1 cards, 1 devices, 1 whole",
			"left   chassis@1 2/2 complete: 4 cards, 4 devices, 3 whole",
			"left  1 Whole gpu 40Gi",
			"right gpu.nvidia.com registered: 2 cards, 2 devices, 1 whole",
			"right   chassis@1 2/2 complete: 4 cards, 4 devices, 3 whole",
			"right  1 Whole gpu 40Gi",
			"right  1 Partition mig 1g.5gb 4864Mi",
			"shared NodeSelector gpu.nvidia.com chassis@1 2/2 complete: 1 cards, 1 devices, 1 whole",
		},
		"per-device-inline.yaml": {
			"sled compute-domain.nvidia.com (no accelerators) registered: 0 cards, 0 devices, 0 whole",
			"sled   sleds@1 1/1 complete: 0 cards, 0 devices, 0 whole",
			"sled gpu.example.com registered: 1 cards, 2 devices, 1 whole",
			"sled   sleds@1 1/1 complete: 2 cards, 2 devices, 1 whole",
			"sled  2 Whole",
		},
		"two-generations.yaml": {
			"renew gpu.nvidia.com registered: 1 cards, 1 devices, 1 whole",
			"renew   renew@9 1/1 complete 2 stale: 1 cards, 1 devices, 1 whole",
			"renew  1 Whole gpu 15Gi",
		},
		"slice-counts.yaml": {
			"few gpu.example.com not registered: 1 cards, 1 devices, 1 whole",
			"few   few@1 1/2 incomplete: 1 cards, 1 devices, 1 whole",
			"few  1 Whole",
			"many gpu.example.com not registered: 2 cards, 2 devices, 2 whole",
			"many   many@1 2/1 incomplete: 2 cards, 2 devices, 2 whole",
			"many  2 Whole",
			"none gpu.example.com not registered: 1 cards, 1 devices, 1 whole",
			"none   none@1 1/0 incomplete: 1 cards, 1 devices, 1 whole",
			"none  1 Whole",
			"torn gpu.example.com not registered: 2 cards, 2 devices, 2 whole",
			"torn   torn@1 2/2 incomplete: 2 cards, 2 devices, 2 whole",
			"torn  2 Whole",
		},
		"zero-devices.yaml": {
			"empty gpu.nvidia.com not registered: 1 cards, 1 devices, 1 whole",
			"empty   empty@1 1/1 complete: 0 cards, 0 devices, 0 whole",
			"empty   empty-extra@1 1/2 incomplete: 1 cards, 1 devices, 1 whole",
			"empty  1 Whole gpu",
		},
		"taints.yaml": {
			"sick gpu.nvidia.com registered: 4 cards, 4 devices, 4 whole, 2 tainted",
			"sick   sick@1 1/1 complete: 4 cards, 4 devices, 4 whole, 2 tainted",
			"sick  4 Whole gpu, 2 tainted",
		},
		"compute-domain.yaml": {
			"imex compute-domain.nvidia.com (no accelerators) registered: 0 cards, 0 devices, 0 whole",
			"imex   imex@1 1/1 complete: 0 cards, 0 devices, 0 whole",
			"shared AllNodes compute-domain.nvidia.com imex-all@1 1/1 complete: 0 cards, 0 devices, 0 whole",
		},
		"unknown-driver.yaml": {
			"strange npu.strange.example (unknown) registered: 3 cards, 4 devices, 2 whole, 1 tainted",
			"strange   strange@1 1/1 complete: 3 cards, 4 devices, 2 whole, 1 tainted",
			"strange  4 Other, 1 tainted",
			"unknown driver npu.strange.example",
		},
		"amd-partitions.yaml": {
			"cpx gpu.amd.test registered: 3 cards, 4 devices, 1 whole",
			"cpx   cpx@1 1/1 complete: 3 cards, 4 devices, 1 whole",
			"cpx  1 Whole amdgpu MI300X 196592Mi",
			"cpx  3 Partition amdgpu-partition MI300X cpx_nps1 24574Mi",
		},
		"memory.yaml": {
			"mem gpu.attr.test registered: 6 cards, 6 devices, 6 whole",
			"mem   mem@1 1/1 complete: 6 cards, 6 devices, 6 whole",
			"mem gpu.example.com registered: 7 cards, 7 devices, 7 whole",
			"mem   mem@1 1/1 complete: 7 cards, 7 devices, 7 whole",
			"mem  5 Whole", // zero, negative, a string, too large, absent
			"mem  1 Whole 65520Mi",
			"mem  2 Whole", // negative, too large
			"mem  1 Whole 0",
			"mem  1 Whole 2", // 1500m is rounded up
			"mem  1 Whole 80G",
			"mem  2 Whole 81559Mi", // one written in bytes
		},
		// Cards: those of gpu-0, gpu-2 and gpu-4-mig, which nothing identifies; that of the uuid GPU-o1, which two devices of one
		// name have and one names as its parent; the two counter sets of the pair.
		"odd-types.yaml": {
			"odd gpu.nvidia.com registered: 6 cards, 7 devices, 3 whole",
			"odd   @-3 1/1 complete: 6 cards, 7 devices, 3 whole",
			"odd  1 Whole gpu",
			"odd  1 Whole gpu 15Gi",
			"odd  1 Partition mig 1g.5gb",
			"odd  3 Other",
			"odd  1 Other vgpu half",
		},
		"published-twice.yaml": {
			"twice gpu.nvidia.com registered: 3 cards, 6 devices, 3 whole, 2 twice",
			"twice   twice@1 1/1 complete: 3 cards, 6 devices, 3 whole",
			"twice  3 Whole gpu",
			"twice  3 Partition mig",
		},
		"passthrough.yaml": {
			"vm gpu.nvidia.com registered: 2 cards, 3 devices, 1 whole",
			"vm   vm@1 1/1 complete: 2 cards, 3 devices, 1 whole",
			"vm  1 Whole gpu 40Gi",
			"vm  2 Passthrough vfio",
		},
		"unplaced.yaml": {
			"here gpu.example.com registered: 1 cards, 1 devices, 1 whole",
			"here   half@1 1/1 complete: 2 cards, 2 devices, 2 whole",
			"here  1 Whole",
		},
		"counters-for-all.yaml": {
			"wide gpu.example.com registered: 1 cards, 2 devices, 1 whole",
			"wide   wide@1 2/2 complete: 2 cards, 2 devices, 1 whole",
			"wide  2 Whole",
		},
	}
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, len(expected), "every fixture has its rows and the other way round")
	d := NewDigester(testProfiles(t))
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			require.Contains(t, expected, name)
			require.Equal(t, expected[name], rows(Build(digestAll(d, fixture(t, file)))))
		})
	}
}
