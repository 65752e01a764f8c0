package component

import (
	"strconv"
	"strings"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/audit"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
)

// APIServer is the name of the component that everything else talks to.
const APIServer = "kube-apiserver"

var apiServer = Kind{
	Name:  APIServer,
	Needs: []string{etcdName},
	Ports: []string{"secure"},
	Args: func(s Setting) []string {
		args := []string{
			"--bind-address=127.0.0.1",
			"--advertise-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(s.Ports[PortName(APIServer, "secure")]),
			// Endpoints may not hold a loopback address, so the Service "kubernetes" stays
			// without any: nothing in such a cluster reaches it through a Pod network.
			"--endpoint-reconciler-type=none",
			"--etcd-servers=https://" + s.address(etcdName, "client"),
			"--etcd-cafile=" + s.Dir.Cert(pki.EtcdCA),
			"--etcd-certfile=" + s.Dir.Cert(pki.APIServerEtcd),
			"--etcd-keyfile=" + s.Dir.Key(pki.APIServerEtcd),
			"--tls-cert-file=" + s.Dir.Cert(pki.APIServer),
			"--tls-private-key-file=" + s.Dir.Key(pki.APIServer),
			"--client-ca-file=" + s.Dir.Cert(pki.CA),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=" + strings.Join(append([]string{"NodeRestriction"}, s.Options.AdmissionPlugins...), ","),
			"--enable-bootstrap-token-auth=true",
			"--allow-privileged=true",
			"--audit-policy-file=" + audit.Policy(s.Dir),
			"--audit-log-path=" + audit.Log(s.Dir),
			"--service-cluster-ip-range=10.96.0.0/16",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + s.Dir.Public(pki.ServiceAccount),
			"--service-account-signing-key-file=" + s.Dir.Key(pki.ServiceAccount),
			"--requestheader-client-ca-file=" + s.Dir.Cert(pki.FrontProxyCA),
			"--requestheader-allowed-names=" + pki.FrontProxyUser,
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + s.Dir.Cert(pki.FrontProxyClient),
			"--proxy-client-key-file=" + s.Dir.Key(pki.FrontProxyClient),
		}
		if s.Options.RuntimeConfig != "" {
			args = append(args, "--runtime-config="+s.Options.RuntimeConfig)
		}
		if s.Options.RealNodes > 0 {
			args = append(args,
				"--kubelet-preferred-address-types=InternalIP",
				"--kubelet-certificate-authority="+s.Dir.Cert(pki.CA),
				"--kubelet-client-certificate="+s.Dir.Cert(pki.APIServerKubelet),
				"--kubelet-client-key="+s.Dir.Key(pki.APIServerKubelet),
				// Straight to the Pods of a Service (webhooks): the machine has a route to them, and no kube-proxy.
				"--enable-aggregator-routing=true",
			)
		}
		return withGates(args, s, APIServer)
	},
	Ready: func(s Setting) Probe {
		return Probe{URL: "https://" + s.address(APIServer, "secure") + "/readyz", Authority: s.Dir.Cert(pki.CA)}
	},
	Endpoint:     func(s Setting) string { return APIServerURL(s.Ports) },
	ControlPlane: true,
}

// APIServerURL is where clients reach the API server.
func APIServerURL(recorded map[string]int) string { return "https://" + APIServerAddress(recorded) }

// APIServerAddress is the loopback address that it listens on.
func APIServerAddress(recorded map[string]int) string {
	return Setting{Ports: recorded}.address(APIServer, "secure")
}

func withGates(args []string, s Setting, component string) []string {
	if flag := s.Options.Gates.Flag(component); flag != "" {
		args = append(args, flag)
	}
	return args
}
