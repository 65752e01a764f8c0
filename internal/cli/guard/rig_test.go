package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
)

// apiServer serves one Node, or an error in its place.
type apiServer struct {
	mu     sync.Mutex
	node   corev1.Node
	failed apierrors.APIStatus
	// asked is every request so far.
	asked []string
	// before runs in the middle of a request.
	before func(r *http.Request)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	if s.before != nil {
		s.before(r)
	}
	w.Header().Set("Content-Type", "application/json")
	if s.failed == nil {
		_ = json.NewEncoder(w).Encode(s.node)
		return
	}
	status := s.failed.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// fails makes the server answer with err, nil with the Node.
func (s *apiServer) fails(err apierrors.APIStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// advertises sets what of one resource is allocatable on the Node.
func (s *apiServer) advertises(name corev1.ResourceName, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node.Status.Allocatable = corev1.ResourceList{name: *resource.NewQuantity(amount, resource.DecimalSI)}
}

// labels sets the labels of the Node.
func (s *apiServer) labels(labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node.Labels = labels
}

// fakeClock lets time pass at once and tells the test.
type fakeClock struct {
	now   time.Time
	slept []time.Duration
	// then runs in each sleep with the number of sleeps so far.
	then func(sleeps int)
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) Sleep(_ context.Context, d time.Duration) {
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	if len(c.slept) > 1000 {
		panic("the guard waits for ever")
	}
	if c.then != nil {
		c.then(len(c.slept))
	}
}

// rig is the command with an API server of its own.
type rig struct {
	server     *apiServer
	clock      *fakeClock
	kubeconfig string
	// terminationLog as the kubelet makes it: there and empty.
	terminationLog string
	log            bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Setenv("NODE_NAME", "")
	r := &rig{
		server: &apiServer{node: corev1.Node{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"},
		}},
		clock:          &fakeClock{now: time.Unix(1_000_000_000, 0)},
		terminationLog: filepath.Join(t.TempDir(), "termination-log"),
	}
	server := httptest.NewServer(r.server)
	t.Cleanup(server.Close)
	r.kubeconfig = kubeconfigtest.File(t, server.URL)
	require.NoError(t, os.WriteFile(r.terminationLog, nil, 0o600))
	return r
}

// run runs the command on the node gpu-1 until it ends.
func (r *rig) run(ctx context.Context, args ...string) error {
	return r.runBare(ctx, append([]string{"--node=gpu-1"}, args...)...)
}

func (r *rig) runBare(ctx context.Context, args ...string) error {
	c := command(r.clock)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetErr(&r.log)
	c.SetArgs(append([]string{"--kubeconfig=" + r.kubeconfig, "--termination-log=" + r.terminationLog}, args...))
	return c.ExecuteContext(ctx)
}

// lines are what the command logged.
func (r *rig) lines() []string { return strings.Split(strings.TrimSuffix(r.log.String(), "\n"), "\n") }

// message is what the command left for the pod's status.
func (r *rig) message(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(r.terminationLog)
	require.NoError(t, err)
	return string(data)
}
