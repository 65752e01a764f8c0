// Package kubeconfig writes kubeconfig files for certificates and for tokens.
package kubeconfig

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// Server is the API server a kubeconfig points at.
type Server struct {
	URL string
	// CAFile is embedded: the kubeconfig stays whole when it is copied elsewhere.
	CAFile string
	// Name is shown by `kubectl config get-contexts`.
	Name string
}

// WithCertificate writes a kubeconfig whose user is a client certificate; certificate and
// key are embedded.
func WithCertificate(path string, server Server, certFile, keyFile string) error {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: client certificate: %w", path, err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: client key: %w", path, err)
	}
	return write(path, server, &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

// WithTokenFile writes a kubeconfig whose user is the token in a file. Clients read that
// file again, so a fresh token needs no new kubeconfig.
func WithTokenFile(path string, server Server, namespace, tokenFile string) error {
	return writeFor(path, server, namespace, &api.AuthInfo{TokenFile: tokenFile})
}

func write(path string, server Server, user *api.AuthInfo) error {
	return writeFor(path, server, "", user)
}

func writeFor(path string, server Server, namespace string, user *api.AuthInfo) error {
	ca, err := os.ReadFile(server.CAFile)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: authority: %w", path, err)
	}
	config := api.NewConfig()
	config.Clusters[server.Name] = &api.Cluster{Server: server.URL, CertificateAuthorityData: ca}
	config.AuthInfos[server.Name] = user
	config.Contexts[server.Name] = &api.Context{Cluster: server.Name, AuthInfo: server.Name, Namespace: namespace}
	config.CurrentContext = server.Name
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("kubeconfig %s: its folder cannot be made: %w", path, err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return fmt.Errorf("kubeconfig %s cannot be written: %w", path, err)
	}
	return nil
}
