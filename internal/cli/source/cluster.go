// Package source reads the objects that commands work on: from the cluster of a kubeconfig with the user's rights, or from a file
// as kubectl prints them.
package source

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	// Kubeconfigs as Deckhouse hands them out name this provider.
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// timeout of a request, in which a person may have to log in: a plugin of the kubeconfig that asks for that is a part of the first one.
const timeout = time.Minute

// Config is what a kubeconfig says of how to reach a cluster, with a time limit for each request. An empty file is the one that
// kubectl would take, an empty context the file's current one.
func Config(kubeconfig, kubeContext string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w; --kubeconfig and --context name another", err)
	}
	config.Timeout = timeout
	return config, nil
}

// Kind of objects of this product.
type Kind struct {
	// Name and Resource, as in GPUStack and gpustacks.
	Name, Resource string
}

// Kinds that commands read.
var (
	GPUStack     = Kind{"GPUStack", "gpustacks"}
	GPUNodeGroup = Kind{"GPUNodeGroup", "gpunodegroups"}
	GPUNode      = Kind{"GPUNode", "gpunodes"}
)

// FromCluster reads one object into out. ok is false where the cluster has none of that name, or no such kind.
func (k Kind) FromCluster(ctx context.Context, config *rest.Config, name string, out any) (ok bool, err error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false, err
	}
	found, err := client.Resource(v1alpha1.GroupVersion.WithResource(k.Resource)).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s %s: %w", k.Name, name, err)
	}
	return true, convert(found.Object, out, fmt.Sprintf("%s %s", k.Name, name))
}

// page is how many objects of a list are asked for at once.
const page = 500

// Each calls do with every object of the kind in a cluster, a page at a time.
func (k Kind) Each(ctx context.Context, config *rest.Config, do func(unstructured.Unstructured) error) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := client.Resource(v1alpha1.GroupVersion.WithResource(k.Resource)).List(ctx, options)
		if err != nil {
			return fmt.Errorf("%ss: %w", k.Name, err)
		}
		for _, one := range list.Items {
			if err := do(one); err != nil {
				return err
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
