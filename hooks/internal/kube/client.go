// Package kube makes the clients that hooks read the cluster with, where a binding would not do: kinds that may be absent
// (a binding to one blocks the whole module), and fields that a jq filter leaves out because they churn.
package kube

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/platform"
)

// timeout of one request. A hook that hangs blocks its queue; one that gives up says that it could not read.
const timeout = 10 * time.Second

// Scheme knows the kinds that hooks decode.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// Reader returns a client that reads the kinds of gpu-dra and the optional kinds that hooks look at.
func Reader() (client.Reader, error) { return Client() }

// Client returns the same client with its writing side. Hooks write through the SDK's patches; this is for a write that may be
// refused, because a refused patch of the SDK stops the module until it is not.
func Client() (client.Client, error) {
	c, err := restConfig()
	if err != nil {
		return nil, err
	}
	return client.New(c, client.Options{Scheme: Scheme, Mapper: mapper()})
}

// Discovery returns a client that asks what the API server serves.
func Discovery() (discovery.DiscoveryInterface, error) {
	c, err := restConfig()
	if err != nil {
		return nil, err
	}
	return discovery.NewDiscoveryClientForConfig(c)
}

// restConfig is made here because the SDK's own client ends the process where it finds no configuration, and with it the
// hook's chance to say what it does not know.
func restConfig() (*rest.Config, error) {
	c, err := config.GetConfig()
	if err != nil {
		return nil, err
	}
	c.Timeout = timeout
	c.UserAgent = "gpu-dra-hooks"
	return c, nil
}

// mapper knows the resources by heart: a hook is a new process each time, and asking the API server for them would double
// its requests. A kind that is not served answers NotFound.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("GPUStack"),
		v1alpha1.GroupVersion.WithKind("GPUNodeGroup"),
		v1alpha1.GroupVersion.WithKind("GPUNode"),
		platform.NodeGroupKind,
	} {
		m.Add(kind, meta.RESTScopeRoot)
	}
	return m
}
