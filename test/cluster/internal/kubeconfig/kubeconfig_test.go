package kubeconfig

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
)

func TestBothKindsLoad(t *testing.T) {
	dir := t.TempDir()
	if err := pki.Generate(dir, nil); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	server := Server{URL: "https://127.0.0.1:21000", CAFile: at(pki.CA + ".crt"), Name: "x"}
	if err := WithCertificate(at("admin"), server, at(pki.Admin+".crt"), at(pki.Admin+".key")); err != nil {
		t.Fatal(err)
	}
	if err := WithTokenFile(at("sa"), server, "ns", at("token")); err != nil {
		t.Fatal(err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", at("admin"))
	if err != nil || admin.Host != server.URL || len(admin.CertData) == 0 || len(admin.CAData) == 0 {
		t.Errorf("certificate: %+v, %v", admin, err)
	}
	if err := os.WriteFile(at("token"), []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: at("sa")}, nil)
	account, err := loaded.ClientConfig()
	if err != nil || account.BearerTokenFile != at("token") {
		t.Errorf("token: %+v, %v", account, err)
	}
	if namespace, _, err := loaded.Namespace(); err != nil || namespace != "ns" {
		t.Errorf("namespace %q, %v", namespace, err)
	}
	if info, err := os.Stat(at("admin")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
