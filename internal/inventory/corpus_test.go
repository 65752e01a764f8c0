package inventory

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"
)

// corpusEnv names a folder with slices that drivers have really published, in files below slices/.
const corpusEnv = "GPU_DRA_CORPUS"

// corpusRow is what is expected of one file of the corpus.
type corpusRow struct {
	// notV1 is the apiVersion of a file that is not resource.k8s.io/v1: gpu-dra does not read it.
	notV1 string
	// strict is part of the error of strict decoding; an API server that is not asked to be strict takes such an object with
	// the unknown fields left out, and so does the test.
	strict string
	rows   []string
}

// whole expects n whole devices of one product in one complete pool named as its node.
func whole(node string, slices, n int, product string) corpusRow {
	counts := fmt.Sprintf("%d cards, %d devices, %d whole", n, n, n)
	return corpusRow{rows: []string{
		node + " gpu.nvidia.com registered: " + counts,
		fmt.Sprintf("%s   %s@1 %d/%d complete: %s", node, node, slices, slices, counts),
		fmt.Sprintf("%s  %d Whole gpu %s", node, n, product),
	}}
}

// unknown expects n devices without counters of a driver that no profile knows.
func unknown(node, driver string, generation, n int) []string {
	counts := fmt.Sprintf("%d cards, %d devices, %d whole", n, n, n)
	return []string{
		node + " " + driver + " (unknown) registered: " + counts,
		fmt.Sprintf("%s   %s@%d 1/1 complete: %s", node, node, generation, counts),
		fmt.Sprintf("%s  %d Other", node, n),
	}
}

func unknownOnly(node, driver string, generation, n int) corpusRow {
	return corpusRow{rows: append(unknown(node, driver, generation, n), "unknown driver "+driver)}
}

// dynamicA100 expects one A100 in MIG mode: every possible partition, no whole device.
func dynamicA100(node string, slices int) corpusRow {
	return corpusRow{rows: []string{
		node + " gpu.nvidia.com registered: 1 cards, 25 devices, 0 whole",
		fmt.Sprintf("%s   %s@1 %d/%d complete: 1 cards, 25 devices, 0 whole", node, node, slices, slices),
		node + "  7 Partition mig NVIDIA A100-SXM4-40GB 1g.5gb 4864Mi",
		node + "  7 Partition mig NVIDIA A100-SXM4-40GB 1g.5gb+me 4864Mi",
		node + "  4 Partition mig NVIDIA A100-SXM4-40GB 1g.10gb 9984Mi",
		node + "  3 Partition mig NVIDIA A100-SXM4-40GB 2g.10gb 9984Mi",
		node + "  2 Partition mig NVIDIA A100-SXM4-40GB 3g.20gb 20096Mi",
		node + "  1 Partition mig NVIDIA A100-SXM4-40GB 4g.20gb 20096Mi",
		node + "  1 Partition mig NVIDIA A100-SXM4-40GB 7g.40gb 40320Mi",
	}}
}

// corpus maps every slice file to its rows. A driver whose profile is added gets rows of its own here.
var corpus = map[string]corpusRow{
	"driver-run/nvidia-a100-default.yaml": whole("n1", 1, 8, "NVIDIA A100-SXM4-40GB 40Gi"),
	"driver-run/nvidia-a100-dynmig.yaml":  whole("n1", 8, 8, "NVIDIA A100-SXM4-40GB 40Gi"),
	"driver-run/nvidia-h100-default.yaml": whole("n1", 1, 8, "NVIDIA H100 80GB HBM3 80Gi"),
	"driver-run/nvidia-h100-dynmig.yaml":  whole("n1", 8, 8, "NVIDIA H100 80GB HBM3 80Gi"),
	"driver-run/nvidia-l40s-default.yaml": whole("n1", 1, 8, "NVIDIA L40S 48Gi"),
	"driver-run/nvidia-t4-dynmig.yaml":    whole("n1", 4, 4, "NVIDIA T4 16Gi"),
	"nvidia-a100-8gpu-numanode-v1.yaml":   whole("a100-numa-0", 1, 8, "NVIDIA A100-SXM4-40GB 40Gi"),
	"nvidia-a100-sxm4-40gb-1gpu-v1.yaml":  whole("gke-gpu-pool-n1", 1, 1, "NVIDIA A100-SXM4-40GB 40Gi"),
	"nvidia-l4-consumable-memory-v1.yaml": whole("share-node", 1, 1, "NVIDIA L4 23034Mi"),
	"nvidia-t4-2gpu-v1.yaml":              whole("gpu-t4-0", 1, 2, "Tesla T4 15Gi"),
	"nvidia-h100-8gpu-2nodes-v1.yaml": {rows: append(
		whole("gpu-worker-a", 1, 8, "NVIDIA H100 80GB HBM3 81559Mi").rows,
		whole("gpu-worker-b", 1, 8, "NVIDIA H100 80GB HBM3 81559Mi").rows...)},

	// Of four cards two carry NoSchedule; the taint with effect None only informs.
	"nvidia-h100-health-taints-v1.yaml": {rows: []string{
		"h100-sick gpu.nvidia.com registered: 4 cards, 4 devices, 4 whole, 2 tainted",
		"h100-sick   h100-sick@1 1/1 complete: 4 cards, 4 devices, 4 whole, 2 tainted",
		"h100-sick  4 Whole gpu NVIDIA H100 80GB HBM3 81559Mi, 2 tainted",
	}},
	"nvidia-t4-two-generations-one-pool-v1.yaml": {rows: []string{
		"t4-rollout gpu.nvidia.com registered: 1 cards, 1 devices, 1 whole",
		"t4-rollout   t4-rollout@4 1/1 complete 1 stale: 1 cards, 1 devices, 1 whole",
		"t4-rollout  1 Whole gpu Tesla T4 15Gi",
	}},

	// The cut card shows only as the parent of four partitions.
	"nvidia-a100-static-mig-plus-full-v1.yaml": {rows: []string{
		"a100-mig-static gpu.nvidia.com registered: 2 cards, 5 devices, 1 whole",
		"a100-mig-static   a100-mig-static@1 1/1 complete: 2 cards, 5 devices, 1 whole",
		"a100-mig-static  1 Whole gpu NVIDIA A100-SXM4-40GB 40Gi",
		"a100-mig-static  2 Partition mig NVIDIA A100-SXM4-40GB 1g.5gb 4864Mi",
		"a100-mig-static  1 Partition mig NVIDIA A100-SXM4-40GB 2g.10gb 9984Mi",
		"a100-mig-static  1 Partition mig NVIDIA A100-SXM4-40GB 3g.20gb 20096Mi",
	}},
	// gpu-0 is offered whole and in three parts, and nothing tells the scheduler.
	"nvidia-a100-80gb-mig-and-whole-gpu-both-v1.yaml": {rows: []string{
		"a100-pcie-mig gpu.nvidia.com registered: 2 cards, 5 devices, 2 whole, 1 twice",
		"a100-pcie-mig   a100-pcie-mig@1 1/1 complete: 2 cards, 5 devices, 2 whole",
		"a100-pcie-mig  2 Whole gpu NVIDIA A100 80GB PCIe 80Gi",
		"a100-pcie-mig  2 Partition mig NVIDIA A100 80GB PCIe 1g.10gb 9728Mi",
		"a100-pcie-mig  1 Partition mig NVIDIA A100 80GB PCIe 3g.40gb 40192Mi",
	}},
	// gpu-0 and gpu-vfio-0 are one card; gpu-vfio-1 is a card for virtual machines only.
	"nvidia-a100-vfio-and-gpu-v1.yaml": {rows: []string{
		"vfio-node gpu.nvidia.com registered: 2 cards, 3 devices, 1 whole",
		"vfio-node   vfio-node@1 1/1 complete: 2 cards, 3 devices, 1 whole",
		"vfio-node  1 Whole gpu NVIDIA A100-PCIE-40GB 40Gi",
		"vfio-node  2 Passthrough vfio NVIDIA A100-PCIE-40GB",
	}},

	"nvidia-a100-dynamic-mig-inline-counters-k8s134-v1.yaml": dynamicA100("mig-k8s134", 1),
	"nvidia-a100-dynamic-mig-split-counters-k8s135-v1.yaml":  dynamicA100("mig-k8s135", 2),
	"nvidia-a30-dynamic-mig-split-k8s136-v1.yaml": {rows: []string{
		"a30-node gpu.nvidia.com registered: 1 cards, 13 devices, 0 whole",
		"a30-node   a30-node@1 2/2 complete: 1 cards, 13 devices, 0 whole",
		"a30-node  4 Partition mig NVIDIA A30 1g.6gb 5952Mi",
		"a30-node  4 Partition mig NVIDIA A30 1g.6gb+me 5952Mi",
		"a30-node  2 Partition mig NVIDIA A30 2g.12gb 11968Mi",
		"a30-node  2 Partition mig NVIDIA A30 2g.12gb+me 11968Mi",
		"a30-node  1 Partition mig NVIDIA A30 4g.24gb 24000Mi",
	}},
	// Two cards, each whole or in 25 possible parts, tied by counters.
	"nvidia-h100-2gpu-dynamic-mig-split-k8s135-v1.yaml": {rows: []string{
		"h100-dynmig gpu.nvidia.com registered: 2 cards, 52 devices, 2 whole",
		"h100-dynmig   h100-dynmig@1 3/3 complete: 2 cards, 52 devices, 2 whole",
		"h100-dynmig  2 Whole gpu NVIDIA H100 80GB HBM3 81152Mi",
		"h100-dynmig  14 Partition mig NVIDIA H100 80GB HBM3 1g.10gb 9984Mi",
		"h100-dynmig  14 Partition mig NVIDIA H100 80GB HBM3 1g.10gb+me 9984Mi",
		"h100-dynmig  8 Partition mig NVIDIA H100 80GB HBM3 1g.20gb 20096Mi",
		"h100-dynmig  6 Partition mig NVIDIA H100 80GB HBM3 2g.20gb 20096Mi",
		"h100-dynmig  4 Partition mig NVIDIA H100 80GB HBM3 3g.40gb 40448Mi",
		"h100-dynmig  2 Partition mig NVIDIA H100 80GB HBM3 4g.40gb 40448Mi",
		"h100-dynmig  2 Partition mig NVIDIA H100 80GB HBM3 7g.80gb 81152Mi",
	}},
	// 8 whole devices and 8 × 25 partitions in 8 slices behind one of counter sets.
	"nvidia-b200-8gpu-dynamic-mig-split-k8s136-v1.yaml": {rows: []string{
		"b200-dynmig gpu.nvidia.com registered: 8 cards, 208 devices, 8 whole",
		"b200-dynmig   b200-dynmig@1 9/9 complete: 8 cards, 208 devices, 8 whole",
		"b200-dynmig  8 Whole gpu NVIDIA B200 182784Mi",
		"b200-dynmig  56 Partition mig NVIDIA B200 1g.23gb 20992Mi",
		"b200-dynmig  56 Partition mig NVIDIA B200 1g.23gb+me 20992Mi",
		"b200-dynmig  32 Partition mig NVIDIA B200 1g.45gb 45312Mi",
		"b200-dynmig  24 Partition mig NVIDIA B200 2g.45gb 45312Mi",
		"b200-dynmig  16 Partition mig NVIDIA B200 3g.90gb 89Gi",
		"b200-dynmig  8 Partition mig NVIDIA B200 4g.90gb 89Gi",
		"b200-dynmig  8 Partition mig NVIDIA B200 7g.180gb 182784Mi",
	}},

	// No GPUs.
	"nvidia-compute-domain-2nodes-v1.yaml": {rows: []string{
		"gpu-worker-a compute-domain.nvidia.com (no accelerators) registered: 0 cards, 0 devices, 0 whole",
		"gpu-worker-a   gpu-worker-a@1 1/1 complete: 0 cards, 0 devices, 0 whole",
		"gpu-worker-b compute-domain.nvidia.com (no accelerators) registered: 0 cards, 0 devices, 0 whole",
		"gpu-worker-b   gpu-worker-b@1 1/1 complete: 0 cards, 0 devices, 0 whole",
	}},

	"example-driver-8gpu-v1.yaml": {rows: []string{
		"kind-worker gpu.example.com registered: 8 cards, 8 devices, 8 whole",
		"kind-worker   kind-worker@1 1/1 complete: 8 cards, 8 devices, 8 whole",
		"kind-worker  8 Whole LATEST-GPU-MODEL 80Gi",
	}},
	// The driver has no word for parts: all ten devices are whole ones, on two cards by their counter sets.
	"example-driver-2gpu-partitionable-split-v1.yaml": {rows: []string{
		"kind-worker2 gpu.example.com registered: 2 cards, 10 devices, 2 whole",
		"kind-worker2   kind-worker2@1 2/2 complete: 2 cards, 10 devices, 2 whole",
		"kind-worker2  8 Whole LATEST-GPU-MODEL 20Gi",
		"kind-worker2  2 Whole LATEST-GPU-MODEL 80Gi",
	}},

	"amd-mi300x-2gpu-cpx-16partitions-v1.yaml": {rows: []string{
		"mi300x-cpx gpu.amd.com registered: 2 cards, 16 devices, 0 whole",
		"mi300x-cpx   mi300x-cpx@1 1/1 complete: 2 cards, 16 devices, 0 whole",
		"mi300x-cpx  16 Partition amdgpu-partition AMD_Instinct_MI300X_OAM cpx_nps1 24574Mi",
	}},
	"amd-mi300x-4gpu-spx-v1-driver0.1.yaml": {rows: []string{
		"mi300x-node gpu.amd.com registered: 4 cards, 4 devices, 4 whole",
		"mi300x-node   mi300x-node@1 1/1 complete: 4 cards, 4 devices, 4 whole",
		"mi300x-node  4 Whole amdgpu AMD_Instinct_MI300X_OAM 196592Mi",
	}},
	"ascend-310p3-vnpu-v1.yaml": {rows: []string{
		"ascend-310p ascend.project-hami.io registered: 2 cards, 2 devices, 2 whole",
		"ascend-310p   ascend-310p@1 1/1 complete: 2 cards, 2 devices, 2 whole",
		"ascend-310p  2 Whole HAMivNPUCore Ascend310P3 21525Mi",
	}},
	"hygon-hcu-2-v1.yaml": {rows: []string{
		"hygon-node dra.hygon.com registered: 2 cards, 2 devices, 2 whole",
		"hygon-node   hygon-node@1 1/1 complete: 2 cards, 2 devices, 2 whole",
		"hygon-node  2 Whole hcu K100_AI 65520Mi",
	}},
	"intel-gaudi2-2-v1.yaml": {rows: []string{
		"gaudi-node gaudi.intel.com registered: 2 cards, 2 devices, 2 whole",
		"gaudi-node   gaudi-node@1 1/1 complete: 2 cards, 2 devices, 2 whole",
		"gaudi-node  2 Whole Gaudi2",
	}},
	// An integrated GPU shows 0: not known.
	"intel-igpu-and-b50-v1.yaml": {rows: []string{
		"intel-node gpu.intel.com registered: 2 cards, 2 devices, 2 whole",
		"intel-node   intel-node@0 1/1 complete: 2 cards, 2 devices, 2 whole",
		"intel-node  1 Whole Unknown",
		"intel-node  1 Whole Unknown 24480Mi",
	}},
	"mixed-nvidia-amd-intel-v1.yaml": {rows: []string{
		"gpu-arc-01 gpu.intel.com registered: 1 cards, 1 devices, 1 whole",
		"gpu-arc-01   gpu-arc-01@1 1/1 complete: 1 cards, 1 devices, 1 whole",
		"gpu-arc-01  1 Whole Unknown 16288Mi",
		"gpu-h100-01 compute-domain.nvidia.com (no accelerators) registered: 0 cards, 0 devices, 0 whole",
		"gpu-h100-01   gpu-h100-01@1 1/1 complete: 0 cards, 0 devices, 0 whole",
		"gpu-h100-01 gpu.nvidia.com registered: 2 cards, 2 devices, 2 whole",
		"gpu-h100-01   gpu-h100-01@1 1/1 complete: 2 cards, 2 devices, 2 whole",
		"gpu-h100-01  2 Whole gpu NVIDIA H100 80GB HBM3 81559Mi",
		"gpu-mi300x-01 gpu.amd.com registered: 2 cards, 2 devices, 2 whole",
		"gpu-mi300x-01   gpu-mi300x-01@1 1/1 complete: 2 cards, 2 devices, 2 whole",
		"gpu-mi300x-01  2 Whole amdgpu AMD_Instinct_MI300X_OAM 196592Mi",
	}},

	// Drivers that no profile describes: a card for each device, or for each counter set.
	"deckhouse-prototype-rtx3090ti-v1.yaml": unknownOnly("k8s-w1-gpu", "gpu.deckhouse.io", 1, 1),
	"google-tpu-v6e-8-v1.yaml":              unknownOnly("tpu-v6e-0", "tpu.google.com", 1, 8),
	"hami-core-t4-v1.yaml":                  unknownOnly("hami-node", "hami-core-gpu.project-hami.io", 1, 1),
	"tenstorrent-n300-v1.yaml":              unknownOnly("tt-n300", "tenstorrent.com", 1, 2),
	// 13 partitions on one counter set, and the whole card that consumes none: without a profile nothing ties the two.
	"deckhouse-prototype-a30-mig-and-whole-card-v1.yaml": {rows: []string{
		"k8s-w3-gpu gpu.deckhouse.io (unknown) registered: 2 cards, 14 devices, 1 whole",
		"k8s-w3-gpu   k8s-w3-gpu@1 2/2 complete: 2 cards, 14 devices, 1 whole",
		"k8s-w3-gpu  14 Other",
		"unknown driver gpu.deckhouse.io",
	}},

	"amd-mi300x-2gpu-dpx-v1beta1.yaml":             {notV1: "resource.k8s.io/v1beta1"},
	"nvidia-gb200-4gpu-v1beta1-driver25.3.yaml":    {notV1: "resource.k8s.io/v1beta1"},
	"nvidia-a10-2gpu-v1beta2.yaml":                 {notV1: "resource.k8s.io/v1beta2"},
	"wrong/attributes-plain-strings-v1alpha3.yaml": {notV1: "resource.k8s.io/v1alpha3"},
	// Without strictness model has no value, and memory is a quantity of zero.
	"wrong/capacity-quantity-key.yaml": {
		strict: `unknown field "intValue"`,
		rows: []string{
			"gpu-node-1 gpu.example.com registered: 1 cards, 1 devices, 1 whole",
			"gpu-node-1   gpu-node-1@1 1/1 complete: 1 cards, 1 devices, 1 whole",
			"gpu-node-1  1 Whole 0",
		},
	},
	"wrong/v1-with-basic.yaml": {
		strict: `unknown field "basic"`,
		rows:   unknownOnly("npu-node-1", "npu.huawei.com", 1, 1).rows,
	},
	// It decodes; the API server refuses it, since it says nothing of nodes.
	"wrong/counters-without-node.yaml": {},
}

func TestCorpus(t *testing.T) {
	root := os.Getenv(corpusEnv)
	if root == "" {
		t.Logf("%s is not set: the corpus is not here, and the fixtures in testdata stand alone", corpusEnv)
		return
	}
	root = filepath.Join(root, "slices")
	d := NewDigester(testProfiles(t))
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			row, ok := corpus[name]
			require.True(t, ok, "the corpus has a file that no row expects")
			row.check(t, d, path)
		})
		return nil
	})
	require.NoError(t, err)
	for name := range corpus {
		require.True(t, seen[name], "a row expects %s, which the corpus does not have", name)
	}
}

func (row corpusRow) check(t *testing.T, d *Digester, path string) {
	var all []*Slice
	for _, doc := range documents(t, path) {
		require.Equal(t, "ResourceSlice", doc.Kind)
		if row.notV1 != "" {
			require.Equal(t, row.notV1, doc.APIVersion)
			continue
		}
		require.Equal(t, resourcev1.SchemeGroupVersion.String(), doc.APIVersion)
		s := &resourcev1.ResourceSlice{}
		err := yaml.UnmarshalStrict(doc.raw, s)
		if row.strict != "" {
			require.ErrorContains(t, err, row.strict)
			s = &resourcev1.ResourceSlice{}
			err = yaml.Unmarshal(doc.raw, s)
		}
		require.NoError(t, err)
		all = append(all, d.Digest(s))
	}
	require.Equal(t, row.rows, rows(Build(all)))
}
