package featuregate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Metrics that every Kubernetes component serves.
const (
	enabledMetric = "kubernetes_feature_enabled"
	buildMetric   = "kubernetes_build_info"
)

const (
	// maxMetrics is how many bytes of an answer are read: API servers of large clusters serve some tens of megabytes.
	maxMetrics = 128 << 20
	// maxMetricsLine is how long a line may be that is looked at; longer ones are skipped.
	maxMetricsLine = 64 << 10
)

// ErrNoGates says that an answer came and no gate is in it.
var ErrNoGates = errors.New("/metrics of the API server names no feature gate")

// Answer is what one instance of a component says of itself in its /metrics.
type Answer struct {
	// Version of the instance (`v1.34.4`), empty when it does not say.
	Version string
	// Gates of the table that it has, and whether they are on.
	Gates map[string]bool
}

// ReadMetrics reads an answer in Prometheus' text format. It goes through the text line by line, keeps nothing but the answer,
// and stops after the family it looks for. The error is ErrNoGates where there is no gate in it.
func ReadMetrics(r io.Reader) (Answer, error) {
	out := Answer{Gates: map[string]bool{}}
	limited := &io.LimitedReader{R: r, N: maxMetrics}
	lines := bufio.NewReaderSize(limited, maxMetricsLine)
	seen := false
	for {
		line, err := nextLine(lines)
		name, labels, value, ok := sample(line)
		switch {
		case ok && name == enabledMetric:
			seen = true
			if gate := labels["name"]; InTable(gate) {
				out.Gates[gate] = value != 0
			}
		case ok && name == buildMetric:
			out.Version = labels["git_version"]
		case ok && seen:
			// A family stands together.
			return out, nil
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return Answer{}, fmt.Errorf("/metrics broke off: %w", err)
		case seen:
			return out, nil
		case limited.N <= 0:
			return Answer{}, fmt.Errorf("%w: found no %s in the first %d MiB", ErrNoGates, enabledMetric, maxMetrics>>20)
		default:
			return Answer{}, fmt.Errorf("%w: found no %s, expected one for each gate", ErrNoGates, enabledMetric)
		}
	}
}

// nextLine returns the next line, empty where it is too long. At the end it may come with io.EOF.
func nextLine(lines *bufio.Reader) (string, error) {
	line, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return string(line), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = lines.ReadSlice('\n')
	}
	return "", err
}

// sample reads one line; ok is false for comments, empty lines and what is no sample.
func sample(line string) (name string, labels map[string]string, value float64, ok bool) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 || line[0] == '#' {
		return "", nil, 0, false
	}
	name = line[:end]
	if name != enabledMetric && name != buildMetric {
		return name, nil, 0, true
	}
	rest := line[end:]
	if strings.HasPrefix(rest, "{") {
		if labels, rest, ok = labelsOf(rest[1:]); !ok {
			return "", nil, 0, false
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", nil, 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err == nil
}

// labelsOf reads `name="value",...}` and returns what follows it.
func labelsOf(text string) (labels map[string]string, rest string, ok bool) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, " ,")
		if after, closed := strings.CutPrefix(text, "}"); closed {
			return labels, after, true
		}
		name, after, found := strings.Cut(text, `="`)
		if !found {
			return nil, "", false
		}
		end := closingQuote(after)
		if end < 0 {
			return nil, "", false
		}
		labels[strings.TrimSpace(name)] = unescape.Replace(after[:end])
		text = after[end+1:]
	}
}

func closingQuote(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
