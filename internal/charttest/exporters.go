package charttest

import (
	"bytes"
	_ "embed"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// exporters are blocks `exporter` by profile name.
//
//go:embed testdata/exporters.yaml
var exporters []byte

// WithExporters gives the driver profiles of a loaded chart the metric names of their vendors' exporters, where a profile has none of
// its own.
func WithExporters(c *chart.Chart) error {
	blocks := map[string]any{}
	if err := yaml.Unmarshal(exporters, &blocks); err != nil {
		return fmt.Errorf("testdata/exporters.yaml: %w", err)
	}
	for name, block := range blocks {
		path := "profiles/drivers/" + name + ".yaml"
		data, err := yaml.Marshal(map[string]any{"exporter": block})
		if err != nil {
			return err
		}
		found := false
		for _, f := range c.Files {
			if f.Name != path {
				continue
			}
			found = true
			if !bytes.Contains(f.Data, []byte("\nexporter:")) {
				f.Data = append(append(bytes.Clone(f.Data), '\n'), data...)
			}
		}
		if !found {
			return fmt.Errorf("testdata/exporters.yaml: the chart has no %s", path)
		}
	}
	return nil
}
