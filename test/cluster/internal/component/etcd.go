package component

import "github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"

const etcdName = "etcd"

var etcd = Kind{
	Name:  etcdName,
	Ports: []string{"client", "peer", "metrics"},
	Args: func(s Setting) []string {
		client := "https://" + s.address(etcdName, "client")
		peer := "http://" + s.address(etcdName, "peer")
		return []string{
			"--name=etcd",
			"--data-dir=" + s.Dir.Data(etcdName),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=etcd=" + peer,
			"--listen-metrics-urls=http://" + s.address(etcdName, "metrics"),
			"--cert-file=" + s.Dir.Cert(pki.Etcd),
			"--key-file=" + s.Dir.Key(pki.Etcd),
			"--client-cert-auth",
			"--trusted-ca-file=" + s.Dir.Cert(pki.EtcdCA),
			// Survives a killed process, not a power cut: far faster on a shared disk.
			"--unsafe-no-fsync",
			// The largest bench keeps 5,000 nodes with all their slices.
			"--quota-backend-bytes=8589934592",
			"--log-level=warn",
		}
	},
	Ready: func(s Setting) Probe {
		return Probe{URL: "http://" + s.address(etcdName, "metrics") + "/readyz"}
	},
	Endpoint: func(s Setting) string { return "https://" + s.address(etcdName, "client") },
}
