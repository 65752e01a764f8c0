package component

import (
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/fakenodes"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
)

// Kwok plays the kubelet of the fake nodes.
const Kwok = "kwok"

var kwok = Kind{
	Name:  Kwok,
	Needs: []string{APIServer},
	Ports: []string{"server"},
	Args: func(s Setting) []string {
		return []string{
			"--kubeconfig=" + s.Dir.Kubeconfig(pki.FakeKubelet),
			"--config=" + fakenodes.File(s.Dir),
			// A real node may stand beside the fake ones: never touch one that is not marked.
			"--manage-nodes-with-annotation-selector=" + fakenodes.Annotation + "=" + fakenodes.Value,
			"--node-lease-duration-seconds=40",
			"--cidr=10.244.0.0/16",
			// One documentation address (RFC 5737) for all: nobody listens there.
			"--node-ip=192.0.2.1",
			"--server-address=" + s.address(Kwok, "server"),
		}
	},
	Ready: func(s Setting) Probe {
		return Probe{URL: "http://" + s.address(Kwok, "server") + "/healthz"}
	},
	Endpoint: func(s Setting) string { return "http://" + s.address(Kwok, "server") },
}
