package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"path/filepath"
)

// Names of the files that Generate writes, without extension.
const (
	CA               = "ca"
	FrontProxyCA     = "front-proxy-ca"
	EtcdCA           = "etcd-ca"
	ServiceAccount   = "service-account"
	APIServer        = "kube-apiserver"
	APIServerEtcd    = "kube-apiserver-etcd-client"
	FrontProxyClient = "front-proxy-client"
	Etcd             = "etcd"
	Admin            = "admin"
	Controllers      = "kube-controller-manager"
	Scheduler        = "kube-scheduler"
	FakeKubelet      = "kwok"
	Kubelet          = "kubelet"
	APIServerKubelet = "kube-apiserver-kubelet-client"
)

// FrontProxyUser is the only name the API server takes a front proxy for.
const FrontProxyUser = "front-proxy-client"

// serviceIP is the first address of the service range: what pods reach the API server by.
const serviceIP = "10.96.0.1"

// Node is a real node, whose kubelet is a client of the API server and a server for it.
type Node struct{ Name, Address string }

// Generate writes all certificates and keys of a cluster into dir; node is nil where there is no real one. etcd has an
// authority of its own: a client of the API server is none of etcd's.
func Generate(dir string, node *Node) error {
	loopback := []string{"127.0.0.1", "localhost"}
	api := append([]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", serviceIP}, loopback...)
	for _, authority := range []struct {
		name   string
		leaves []Leaf
	}{
		{CA, append(nodeLeaves(node), []Leaf{
			{Name: APIServer, User: "kube-apiserver", Hosts: api},
			{Name: Admin, User: "kubernetes-admin", Groups: masters},
			{Name: Controllers, User: "system:kube-controller-manager", Hosts: loopback},
			{Name: Scheduler, User: "system:kube-scheduler", Hosts: loopback},
			{Name: FakeKubelet, User: "kwok", Groups: masters},
		}...)},
		{FrontProxyCA, []Leaf{{Name: FrontProxyClient, User: FrontProxyUser}}},
		{EtcdCA, []Leaf{
			{Name: Etcd, User: "etcd", Hosts: loopback},
			{Name: APIServerEtcd, User: "kube-apiserver"},
		}},
	} {
		signer, err := NewAuthority(dir, authority.name)
		if err != nil {
			return err
		}
		for _, leaf := range authority.leaves {
			if err := signer.Issue(dir, leaf); err != nil {
				return err
			}
		}
	}
	return writeServiceAccountKeys(dir)
}

// masters are allowed everything.
var masters = []string{"system:masters"}

func nodeLeaves(node *Node) []Leaf {
	if node == nil {
		return nil
	}
	return []Leaf{
		{Name: Kubelet, User: "system:node:" + node.Name, Groups: []string{"system:nodes"}, Hosts: []string{node.Name, node.Address}},
		{Name: APIServerKubelet, User: APIServerKubelet, Groups: masters},
	}
}

func writeServiceAccountKeys(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	if err := writeKey(filepath.Join(dir, ServiceAccount+".key"), key); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, ServiceAccount+".pub"), "PUBLIC KEY", public)
}
