package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
)

func load(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	if err != nil {
		t.Fatalf("%s: certificate and key do not fit: %v", name, err)
	}
	return pair.Leaf
}

func pool(t *testing.T, dir, name string) *x509.CertPool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		t.Fatal(err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(raw) {
		t.Fatalf("%s holds no certificate", name)
	}
	return p
}

func TestGenerate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if err := Generate(dir, &Node{Name: "real-1", Address: "198.18.0.2"}); err != nil {
		t.Fatal(err)
	}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	for _, c := range []struct {
		leaf, authority, stranger, host, user, group string
	}{
		{APIServer, CA, EtcdCA, "127.0.0.1", "kube-apiserver", ""},
		{APIServer, CA, FrontProxyCA, "kubernetes.default.svc", "kube-apiserver", ""},
		{Admin, CA, EtcdCA, "", "kubernetes-admin", "system:masters"},
		{Scheduler, CA, EtcdCA, "localhost", "system:kube-scheduler", ""},
		{Controllers, CA, EtcdCA, "127.0.0.1", "system:kube-controller-manager", ""},
		{FakeKubelet, CA, EtcdCA, "", "kwok", "system:masters"},
		{Kubelet, CA, EtcdCA, "198.18.0.2", "system:node:real-1", "system:nodes"},
		{APIServerKubelet, CA, EtcdCA, "", APIServerKubelet, "system:masters"},
		{FrontProxyClient, FrontProxyCA, CA, "", FrontProxyUser, ""},
		{Etcd, EtcdCA, CA, "127.0.0.1", "etcd", ""},
		{APIServerEtcd, EtcdCA, CA, "", "kube-apiserver", ""},
	} {
		cert := load(t, dir, c.leaf)
		if _, err := cert.Verify(x509.VerifyOptions{Roots: pool(t, dir, c.authority), DNSName: c.host, KeyUsages: both}); err != nil {
			t.Errorf("%s for host %q: %v", c.leaf, c.host, err)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: pool(t, dir, c.stranger), KeyUsages: both}); err == nil {
			t.Errorf("%s is accepted by %s too", c.leaf, c.stranger)
		}
		if cert.Subject.CommonName != c.user {
			t.Errorf("%s: user %q, want %q", c.leaf, cert.Subject.CommonName, c.user)
		}
		if got := cert.Subject.Organization; (c.group == "") != (len(got) == 0) || c.group != "" && got[0] != c.group {
			t.Errorf("%s: groups %q, want %q", c.leaf, got, c.group)
		}
	}
	for _, name := range []string{ServiceAccount + ".key", ServiceAccount + ".pub"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", name, info.Mode().Perm())
		}
	}
}
