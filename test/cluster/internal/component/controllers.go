package component

import (
	"strconv"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
)

// ControllerManager makes, among others, the ServiceAccount "default" of each namespace.
const ControllerManager = "kube-controller-manager"

// Scheduler allocates devices to claims.
const Scheduler = "kube-scheduler"

var controllerManager = Kind{
	Name:  ControllerManager,
	Needs: []string{APIServer},
	Ports: []string{"secure"},
	Args: func(s Setting) []string {
		return withGates(append(clientArgs(s, ControllerManager, pki.Controllers),
			"--service-account-private-key-file="+s.Dir.Key(pki.ServiceAccount),
			"--root-ca-file="+s.Dir.Cert(pki.CA),
			"--cluster-signing-cert-file="+s.Dir.Cert(pki.CA),
			"--cluster-signing-key-file="+s.Dir.Key(pki.CA),
			"--use-service-account-credentials=true",
			// The default of 20 makes a fresh namespace wait for its ServiceAccount.
			"--kube-api-qps=200",
			"--kube-api-burst=400",
			// Pods of a node whose lease is late become unready. Unlike a kubelet, kwok never makes them ready again, and on a busy
			// machine it is late without any fault.
			"--node-monitor-grace-period=10m",
		), s, ControllerManager)
	},
	Ready:        func(s Setting) Probe { return healthz(s, ControllerManager) },
	Endpoint:     func(s Setting) string { return "https://" + s.address(ControllerManager, "secure") },
	ControlPlane: true,
}

var scheduler = Kind{
	Name:  Scheduler,
	Needs: []string{APIServer},
	Ports: []string{"secure"},
	Args: func(s Setting) []string {
		return withGates(clientArgs(s, Scheduler, pki.Scheduler), s, Scheduler)
	},
	Ready:        func(s Setting) Probe { return healthz(s, Scheduler) },
	Endpoint:     func(s Setting) string { return "https://" + s.address(Scheduler, "secure") },
	ControlPlane: true,
}

// clientArgs are common to the two that serve only their own state and otherwise are
// clients of the API server.
func clientArgs(s Setting, component, identity string) []string {
	kubeconfig := s.Dir.Kubeconfig(identity)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.Ports[PortName(component, "secure")]),
		"--tls-cert-file=" + s.Dir.Cert(identity),
		"--tls-private-key-file=" + s.Dir.Key(identity),
		// There is one of each; without a lease a restart does not wait for the old one's.
		"--leader-elect=false",
	}
}

func healthz(s Setting, component string) Probe {
	return Probe{URL: "https://" + s.address(component, "secure") + "/healthz", Authority: s.Dir.Cert(pki.CA)}
}
