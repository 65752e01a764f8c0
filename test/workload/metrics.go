package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// defaultCollectors is where dcgm-exporter's image has its list of fields; without one the stand-in has all that it knows.
const defaultCollectors = "/etc/dcgm-exporter/default-counters.csv"

// figures are the fields that the stand-in knows. MiB, percent, degrees, watts and millijoules, as up to dcgm-exporter 4.8.
var figures = map[string]struct {
	kind  string
	value float64
}{
	"DCGM_FI_DEV_FB_USED":                  {"gauge", 20480},
	"DCGM_FI_DEV_FB_FREE":                  {"gauge", 60416},
	"DCGM_FI_DEV_FB_RESERVED":              {"gauge", 1024},
	"DCGM_FI_DEV_GPU_UTIL":                 {"gauge", 73},
	"DCGM_FI_DEV_MEM_COPY_UTIL":            {"gauge", 41},
	"DCGM_FI_DEV_GPU_TEMP":                 {"gauge", 54},
	"DCGM_FI_DEV_MEMORY_TEMP":              {"gauge", 61},
	"DCGM_FI_DEV_POWER_USAGE":              {"gauge", 402.5},
	"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": {"counter", 1.25e9},
	"DCGM_FI_DEV_SM_CLOCK":                 {"gauge", 1980},
	"DCGM_FI_DEV_MEM_CLOCK":                {"gauge", 2619},
	"DCGM_FI_DEV_XID_ERRORS":               {"gauge", 0},
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE":        {"gauge", 0.71},
	"DCGM_FI_PROF_DRAM_ACTIVE":             {"gauge", 0.38},
}

// readCollectors reads a file of three columns: field, kind, help. Fields that the stand-in has no figure for are left out, as
// dcgm-exporter leaves out those that a card does not have.
func readCollectors(path string) ([]string, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && path == defaultCollectors {
		var all []string
		for name := range figures {
			all = append(all, name)
		}
		slices.Sort(all)
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("collectors: %w", err)
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comment, reader.TrimLeadingSpace, reader.FieldsPerRecord = '#', true, 3
	rows, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("collectors %s: %w", path, err)
	}
	var names []string
	for _, row := range rows {
		name, kind := strings.TrimSpace(row[0]), strings.TrimSpace(row[1])
		if !slices.Contains([]string{"gauge", "counter", "histogram", "summary", "label"}, kind) {
			return nil, fmt.Errorf("collectors %s: field %s has the kind %q", path, name, kind)
		}
		if _, ok := figures[name]; ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// device is one card and who uses it.
type device struct {
	index  int
	uuid   string
	at     place
	labels []label
}

type label struct{ name, value string }

// render writes the page that a scrape gets.
func render(names []string, devices []device, node string) string {
	var out strings.Builder
	for _, name := range names {
		figure := figures[name]
		fmt.Fprintf(&out, "# HELP %s made up by a stand-in of dcgm-exporter\n# TYPE %s %s\n", name, name, figure.kind)
		for _, d := range devices {
			all := append([]label{{"gpu", fmt.Sprint(d.index)}, {"UUID", d.uuid}, {"device", fmt.Sprintf("nvidia%d", d.index)},
				{"modelName", "stand-in"}, {"hostname", node}}, d.labels...)
			var parts []string
			for _, l := range all {
				parts = append(parts, fmt.Sprintf("%s=%q", l.name, l.value))
			}
			fmt.Fprintf(&out, "%s{%s} %g\n", name, strings.Join(parts, ","), figure.value)
		}
	}
	return out.String()
}

// collected is the last page.
type collected struct {
	mu   sync.Mutex
	page string
}

func (c *collected) set(page string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page = page
}

func (c *collected) get() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.page
}
