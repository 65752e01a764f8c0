package guard

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// requestTimeout limits one read with its repetitions: the client itself repeats what an API server under load turned away,
// and that could last longer than the guard may wait.
const requestTimeout = 10 * time.Second

// nodeReader returns what reads a Node, nil with an error. Without a kubeconfig the ServiceAccount of the pod reads.
func nodeReader(kubeconfig string) (func(ctx context.Context, name string) (*corev1.Node, error), error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	// No limit of the client's: the pauses between looks are longer than any.
	config.QPS = -1
	client, err := corev1client.NewForConfig(rest.AddUserAgent(config, "guard"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, name string) (*corev1.Node, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		node, err := client.Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			// The client returns an empty Node with it, which would look clear.
			return nil, err
		}
		return node, nil
	}, nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("found neither --kubeconfig nor a pod around this process; outside a cluster give --kubeconfig")
	}
	return config, err
}
