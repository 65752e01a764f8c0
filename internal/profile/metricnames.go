package profile

// MetricNames say what an exporter's metrics mean, for rules that record the metrics of all vendors under common names.
type MetricNames struct {
	// Labels: a common label (accelerator, model, partition, namespace, pod, container, claim) by the exporter's own.
	Labels map[string]string `json:"labels"`
	// Series by key (memoryUsed, utilization, …). Of several entries the first that has samples holds.
	Series map[string][]MetricSeries `json:"series,omitempty"`
	// Renamed are metrics that a newer version of the exporter calls by another name.
	Renamed []Renamed `json:"renamed,omitempty"`
	// RenamedLabels are labels of which the same is true.
	RenamedLabels []RenamedLabel `json:"renamedLabels,omitempty"`
}

// MetricSeries is a metric, or the sum of some.
type MetricSeries struct {
	Metrics []string          `json:"metrics"`
	Match   map[string]string `json:"match,omitempty"`
	// Factor to the common unit; 0: 1.
	Factor float64 `json:"factor,omitempty"`
	// Aggregate series of one device: max or sum; empty: max.
	Aggregate string `json:"aggregate,omitempty"`
}

// Renamed is a name that changed.
type Renamed struct {
	Was string `json:"was"`
	Now string `json:"now"`
	// Factor from the new unit to the old; 0: 1.
	Factor float64 `json:"factor,omitempty"`
}

// RenamedLabel is a name of a label that changed.
type RenamedLabel struct {
	Was string `json:"was"`
	Now string `json:"now"`
}
