//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inventoryTarget is what the digest of all slices may take of the time of decoding them.
const inventoryTarget = 0.2

// TestInventory runs the benchmarks that lie beside internal/inventory, which need its inner types, and reads their ratios.
func TestInventory(t *testing.T) {
	var names []string
	for _, s := range sizes(t) {
		names = append(names, regexp.QuoteMeta(s.name))
	}
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "./^("+strings.Join(names, "|")+")$", "-benchtime", "3x", "./internal/inventory/")
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, os.Stdout)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Run())

	line := regexp.MustCompile(`^Benchmark(\w+)/(\w+?)(?:-\d+)?\s`)
	unmarshal := map[string]float64{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		values := metrics(lines.Text())
		switch m[1] {
		case "Unmarshal":
			unmarshal[m[2]] = values["ns/op"]
		case "Inventory":
			results.add(sectionInventory, m[2]+": json.Unmarshal, mean of 3", fmt.Sprintf("%.0f ms", unmarshal[m[2]]/1e6), "")
			results.add(sectionInventory, m[2]+": all digests and the cluster, mean of 3", fmt.Sprintf("%.0f ms", values["ns/op"]/1e6), "")
			for _, by := range [][2]string{{"ratio", "by the clock, shortest of 3"}, {"cpu-ratio", "by processor time, mean of 3"}} {
				got := values[by[0]]
				results.judge(sectionInventory, m[2]+": ratio "+by[1], "", fmt.Sprintf("<= %.1fx", inventoryTarget), ratio(got), got <= inventoryTarget)
			}
		}
	}
	if len(unmarshal) == 0 {
		t.Log("internal/inventory has no benchmark of these sizes: nothing of it is in the table")
	}
}

// metrics of one line that a benchmark prints, by unit.
func metrics(line string) map[string]float64 {
	out := map[string]float64{}
	fields := strings.Fields(line)
	for i := 3; i < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i-1], 64); err == nil {
			out[fields[i]] = v
		}
	}
	return out
}
