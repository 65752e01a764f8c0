package webhook

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	admissions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gpu_dra_sidecar_admissions_total",
		Help: "Pods that asked this replica for the exporter sidecar, by result (injected, refused) and the reason of a refusal.",
	}, []string{"result", "reason"})
	// expiry has no labels, but is a vector all the same: it has a sample only where the webhook is served. A 0 of a controller
	// that serves none would look like a certificate that is over.
	expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gpu_dra_webhook_certificate_expiry_seconds",
		Help: "When the certificate that the admission webhook serves expires, in Unix time; 0 while it has none, absent where no webhook is served.",
	}, nil)
)

func init() { metrics.Registry.MustRegister(admissions, expiry) }
