package recipe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/wrapper"
)

// DefaultKubernetes is the oldest version the product supports.
const DefaultKubernetes = "1.34.4"

const (
	etcdVersion = "v3.6.16"
	// exampleVersion is what the profile profiles/drivers/example.yaml runs.
	exampleVersion = "v0.2.1"
	// containerdVersion: from 2.0 on containerd injects CDI devices; Debian's 1.6 silently does not.
	containerdVersion = "v2.2.9"
	operatorModule    = "github.com/flant/addon-operator"
	oldestSupported   = 34
)

// Names of all programs in the order in which building them wastes least: each group
// shares its module, and the largest comes first.
var Names = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl",
	"etcd", "helm", "kwok", "addon-operator", ExampleDriver, "containerd", "containerd-shim-runc-v2", "ctr", Workload, Promtool}

// Workload is the program of this repository that plays workloads on a real node: test/workload.
const Workload = "workload"

// Promtool checks and tests rules of Prometheus; no cluster runs it.
const Promtool = "promtool"

// ExampleDriver is the DRA driver that needs no hardware.
const ExampleDriver = "dra-example-kubeletplugin"

var versionForm = regexp.MustCompile(`^1\.(\d+)\.\d+$`)

// ParseKubernetes accepts "1.34.4" and "v1.34.4" and returns the form without "v".
func ParseKubernetes(version string) (string, error) {
	version = strings.TrimPrefix(version, "v")
	match := versionForm.FindStringSubmatch(version)
	if match == nil {
		return "", fmt.Errorf("kubernetes version %q: expected a form such as %s", version, DefaultKubernetes)
	}
	if minor, err := strconv.Atoi(match[1]); err != nil || minor < oldestSupported {
		return "", fmt.Errorf("kubernetes version %q: resource.k8s.io/v1 came with 1.%d, take that or a newer one", version, oldestSupported)
	}
	return version, nil
}

// For returns the recipe of one program. dir is the folder of the module in this repository that Committed names for it, if it does.
func For(component, kubernetes, dir string) (Recipe, error) {
	switch component {
	case "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl":
		return kubernetesRecipe(component, kubernetes), nil
	case "etcd":
		const module = "go.etcd.io/etcd/server/v3"
		return Recipe{Component: component, Version: etcdVersion, Package: module,
			Module: Module{Name: "etcd", Requires: []wrapper.Requirement{{Module: module, Version: etcdVersion}}}}, nil
	case "kwok":
		return kwokRecipe(dir)
	case "helm":
		return helmRecipe(dir)
	case ExampleDriver:
		return exampleDriverRecipe(), nil
	case "containerd", "containerd-shim-runc-v2", "ctr":
		return containerdRecipe(component), nil
	case Promtool:
		return promtoolRecipe(dir)
	case "addon-operator":
		return operatorRecipe(dir)
	case Workload:
		return workloadRecipe(dir)
	}
	return Recipe{}, fmt.Errorf("program %q is not one of %s", component, strings.Join(Names, ", "))
}

func kubernetesRecipe(component, kubernetes string) Recipe {
	minor := strings.Split(kubernetes, ".")[1]
	variables := map[string]string{}
	// Without these the API server says v0.0.0-master+$Format:%H$ and clients that compare
	// versions go astray.
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		variables[pkg+".gitVersion"] = "v" + kubernetes
		variables[pkg+".gitMajor"] = "1"
		variables[pkg+".gitMinor"] = minor
		variables[pkg+".gitTreeState"] = "clean"
	}
	return Recipe{Component: component, Version: "v" + kubernetes, Variables: variables,
		Package: "k8s.io/kubernetes/cmd/" + component,
		Module:  Module{Name: "kubernetes-" + kubernetes, Kubernetes: kubernetes}}
}

// exampleDriverRecipe builds the driver with the libraries of DefaultKubernetes, which are compiled already: a few patches newer than
// its own pins (v0.34.0), with the same kubeletplugin and resourceslice, which decide the rights it uses. All else it uses is pinned
// as Kubernetes pins it.
func exampleDriverRecipe() Recipe {
	const module = "sigs.k8s.io/dra-example-driver"
	return Recipe{Component: ExampleDriver, Version: exampleVersion, Package: module + "/cmd/" + ExampleDriver,
		Module: Module{Name: "dra-example-driver", Kubernetes: DefaultKubernetes,
			Requires: []wrapper.Requirement{{Module: module, Version: exampleVersion}}}}
}

// containerdRecipe leaves out the snapshotters that need C libraries or devices.
func containerdRecipe(component string) Recipe {
	const module = "github.com/containerd/containerd/v2"
	return Recipe{Component: component, Version: containerdVersion, Package: module + "/cmd/" + component,
		Module:    Module{Name: "containerd", Requires: []wrapper.Requirement{{Module: module, Version: containerdVersion}}},
		Tags:      []string{"no_btrfs", "no_zfs", "no_devmapper"},
		Variables: map[string]string{module + "/version.Version": containerdVersion}}
}
