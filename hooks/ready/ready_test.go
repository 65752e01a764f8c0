package ready

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

// server starts with some lists of resources and serves one more with each question.
type server struct {
	*fakediscovery.FakeDiscovery
	later []*metav1.APIResourceList
}

func (s *server) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	out, err := s.FakeDiscovery.ServerResourcesForGroupVersion(groupVersion)
	if len(s.later) > 0 {
		s.Resources, s.later = append(s.Resources, s.later[0]), s.later[1:]
	}
	return out, err
}

func list(groupVersion string, names ...string) *metav1.APIResourceList {
	out := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, n := range names {
		out.APIResources = append(out.APIResources, metav1.APIResource{Name: n})
	}
	return out
}

func run(t *testing.T, s *server, wait time.Duration) error {
	h := hook{deadline: wait, interval: time.Millisecond, discovery: func() (discovery.DiscoveryInterface, error) { return s, nil }}
	return h.run(context.Background(), helpers.NewInputBuilder(t).Build())
}

func newServer(now ...*metav1.APIResourceList) *server {
	return &server{FakeDiscovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: now}}}
}

var (
	ours    = list("gpu-dra.deckhouse.io/v1alpha1", "gpunodes", "gpunodes/status", "gpunodegroups", "gpustacks", "gpuclaimtemplates")
	classes = list("resource.k8s.io/v1", "deviceclasses", "resourceslices")
)

func TestServedAtOnce(t *testing.T) {
	require.NoError(t, run(t, newServer(ours, classes), 0))
}

func TestServedAfterAWhile(t *testing.T) {
	s := newServer()
	s.later = []*metav1.APIResourceList{classes, ours}
	require.NoError(t, run(t, s, time.Minute))
}

func TestNeverServed(t *testing.T) {
	err := run(t, newServer(list("gpu-dra.deckhouse.io/v1alpha1", "gpunodes", "gpustacks")), 10*time.Millisecond)
	require.ErrorContains(t, err, "gpunodegroups, gpuclaimtemplates of gpu-dra.deckhouse.io/v1alpha1 (needs the CRDs of the module)")
	require.ErrorContains(t, err, "deviceclasses of resource.k8s.io/v1 (needs Kubernetes 1.34")
}

func TestNoClient(t *testing.T) {
	h := hook{discovery: func() (discovery.DiscoveryInterface, error) { return nil, errors.New("no configuration") }}
	require.ErrorContains(t, h.run(context.Background(), helpers.NewInputBuilder(t).Build()), "no configuration")
}
