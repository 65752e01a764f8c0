// Package certificates is the hook that makes the certificate of the controller's admission webhook: the module SDK's own, which
// keeps it in the values and takes it back from the Secret that the chart makes of them. It runs before Helm, so that the
// webhook's object and the Secret of one release belong together.
//
// Where the exporter's mode is not Sidecar there is no webhook, and where cert-manager makes the certificate nothing to do.
package certificates

import (
	tlscertificate "github.com/deckhouse/module-sdk/common-hooks/tls-certificate"
	"github.com/deckhouse/module-sdk/pkg"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

const (
	namespace = "d8-gpu-dra"
	service   = "controller-webhook." + namespace
)

var config = tlscertificate.GenSelfSignedTLSHookConf{
	CN:                   "controller-webhook",
	Namespace:            namespace,
	TLSSecretName:        "controller-webhook-certificate",
	SANs:                 tlscertificate.DefaultSANs([]string{service + ".svc", service}),
	FullValuesPathPrefix: values.PathWebhookCertificate,
	BeforeHookCheck:      wanted,
}

var _ = tlscertificate.RegisterInternalTLSHookEM(config)

func wanted(input *pkg.HookInput) bool {
	return input.Values.Get("gpuDra.exporter.mode").String() == "Sidecar" &&
		len(input.Values.Get("gpuDra.exporter.sidecar.namespaces").Array()) > 0 &&
		input.Values.Get("gpuDra.controller.webhook.certificates").String() != "CertManager"
}
