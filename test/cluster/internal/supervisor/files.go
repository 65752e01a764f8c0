package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/podspec"
)

// tokenLifetime is what a kubelet asks for; it asks again after four fifths of it.
const tokenLifetime = time.Hour

// Paths are the places the process and its supervisor use.
type Paths struct {
	// Root is a folder of its own.
	Root string
	// Log is the process's output.
	Log string
}

// Kubeconfig is the kubeconfig of the process: the ServiceAccount's token.
func (p Paths) Kubeconfig() string { return filepath.Join(p.Root, "kubeconfig") }

func (p Paths) token() string   { return filepath.Join(p.Root, "token") }
func (p Paths) volumes() string { return filepath.Join(p.Root, "volumes") }
func (p Paths) status() string  { return filepath.Join(p.Root, "status.json") }

// writeVolumes writes the volumes anew, as a new Pod gets them: emptyDirs are empty again.
func (p Paths) writeVolumes(plan *podspec.Plan) error {
	if err := os.RemoveAll(p.volumes()); err != nil {
		return fmt.Errorf("volumes of the controller: %w", err)
	}
	for _, folder := range plan.Folders {
		if err := os.MkdirAll(filepath.Join(p.volumes(), folder), 0o755); err != nil {
			return fmt.Errorf("volumes of the controller: %w", err)
		}
	}
	for name, content := range plan.Files {
		path := filepath.Join(p.volumes(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("volumes of the controller: %w", err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("volumes of the controller: %w", err)
		}
	}
	return nil
}

type token struct {
	account string
	refresh time.Time
}

// refreshToken asks for a token of the ServiceAccount when there is none for it or the
// one there is grows old. Clients read the file again, so the process goes on.
func (s *Supervisor) refreshToken(ctx context.Context, account string) error {
	// A process that has to be started gets a fresh token: its predecessor's may belong to
	// a ServiceAccount that has been made anew.
	if s.current != nil && s.token.account == account && time.Now().Before(s.token.refresh) {
		return nil
	}
	seconds := int64(tokenLifetime.Seconds())
	answer, err := s.Client.CoreV1().ServiceAccounts(s.Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of ServiceAccount %s/%s: %w", s.Namespace, account, err)
	}
	partial := s.Paths.token() + ".partial"
	if err := os.WriteFile(partial, []byte(answer.Status.Token), 0o600); err != nil {
		return fmt.Errorf("token of ServiceAccount %s/%s: %w", s.Namespace, account, err)
	}
	if err := os.Rename(partial, s.Paths.token()); err != nil {
		return fmt.Errorf("token of ServiceAccount %s/%s: %w", s.Namespace, account, err)
	}
	lifetime := time.Until(answer.Status.ExpirationTimestamp.Time)
	s.token = token{account: account, refresh: time.Now().Add(lifetime * 4 / 5)}
	return nil
}
