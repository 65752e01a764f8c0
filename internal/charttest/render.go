// Package charttest renders the chart in process, as `helm template` and addon-operator do, for tests.
package charttest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Options of a render. Zero fields are those of a plain Helm install on a cluster of the oldest supported version.
type Options struct {
	// Values as a user gives them; addon-operator gives {global, gpuDra}.
	Values map[string]any
	// KubeVersion such as v1.34.4.
	KubeVersion string
	// APIVersions that the cluster serves, besides Kubernetes' own.
	APIVersions []string
	Namespace   string
	Release     string
}

// Root is the root of the repository, which is the root of the chart too.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Load loads the chart from the tree, .helmignore applied.
func Load() (*chart.Chart, error) { return loader.LoadDir(Root()) }

// Render renders the chart: a YAML document an object, in the order in which Helm installs the files, and NOTES.txt apart.
func Render(c *chart.Chart, o Options) (documents []string, notes string, err error) {
	capabilities := *chartutil.DefaultCapabilities
	if o.KubeVersion == "" {
		o.KubeVersion = "v1.34.0"
	}
	version, err := chartutil.ParseKubeVersion(o.KubeVersion)
	if err != nil {
		return nil, "", err
	}
	capabilities.KubeVersion = *version
	capabilities.APIVersions = append(append(chartutil.VersionSet{}, chartutil.DefaultVersionSet...), o.APIVersions...)
	if !chartutil.IsCompatibleRange(c.Metadata.KubeVersion, version.Version) {
		return nil, "", fmt.Errorf("chart requires kubeVersion: %s, the cluster has %s", c.Metadata.KubeVersion, version.Version)
	}
	release := chartutil.ReleaseOptions{Name: o.Release, Namespace: o.Namespace, Revision: 1, IsInstall: true}
	if release.Name == "" {
		release.Name = "gpu-dra"
	}
	if release.Namespace == "" {
		release.Namespace = "gpu-dra-system"
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(c, o.Values, release, &capabilities, false)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Render(c, values)
	if err != nil {
		return nil, "", err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		split, err := split(files[name])
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		documents = append(documents, split...)
	}
	return documents, notes, nil
}

// split cuts a rendered file into documents, without those that are empty or comments only.
func split(file string) ([]string, error) {
	var out []string
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(file)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		document = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(document), []byte("---")))
		if hasContent(document) {
			out = append(out, string(document)+"\n")
		}
	}
}

func hasContent(document []byte) bool {
	for _, line := range bytes.Split(document, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}
