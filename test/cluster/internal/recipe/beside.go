package recipe

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/wrapper"
)

const (
	kwokVersion     = "v0.8.0"
	helmVersion     = "v3.22.0"
	promtoolVersion = "v0.316.0"
	// helmKubernetes is the minor of the Kubernetes libraries this Helm is made with; Helm
	// reports it as the cluster's version where it has no cluster, as its own releases do.
	helmKubernetes = "37"
)

// beside is a module of the repository's versions and one more requirement. dir is the repository.
func beside(dir, name, module, version string) (Module, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return Module{}, fmt.Errorf("%s is built with the versions of this repository: %w", name, err)
	}
	return Module{Name: name, Beside: string(raw), Requires: []wrapper.Requirement{{Module: module, Version: version}}}, nil
}

func kwokRecipe(dir string) (Recipe, error) {
	const module = "sigs.k8s.io/kwok"
	m, err := beside(dir, "kwok", module, kwokVersion)
	return Recipe{Component: "kwok", Version: kwokVersion, Module: m, Package: module + "/cmd/kwok"}, err
}

func helmRecipe(dir string) (Recipe, error) {
	const module = "helm.sh/helm/v3"
	m, err := beside(dir, "helm", module, helmVersion)
	return Recipe{Component: "helm", Version: helmVersion, Module: m, Package: module + "/cmd/helm",
		Variables: map[string]string{
			module + "/internal/version.version":       helmVersion,
			module + "/internal/version.gitTreeState":  "clean",
			module + "/pkg/chartutil.k8sVersionMajor":  "1",
			module + "/pkg/chartutil.k8sVersionMinor":  helmKubernetes,
			module + "/pkg/lint/rules.k8sVersionMajor": "1",
			module + "/pkg/lint/rules.k8sVersionMinor": helmKubernetes,
		}}, err
}

// promtoolRecipe leaves the clients of all clouds out, which are most of what it would compile.
func promtoolRecipe(dir string) (Recipe, error) {
	const module = "github.com/prometheus/prometheus"
	m, err := beside(dir, Promtool, module, promtoolVersion)
	return Recipe{Component: Promtool, Version: promtoolVersion, Module: m, Package: module + "/cmd/promtool",
		Tags: []string{"remove_all_sd", "enable_kubernetes_sd"}}, err
}
