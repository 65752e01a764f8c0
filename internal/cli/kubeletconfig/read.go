package kubeletconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

const kind = "GPUNodeGroup"

// maxInput is more than any cluster's GPUNodeGroups; it keeps a wrong file name from filling the memory.
const maxInput = 64 << 20

// timeout of the one request.
const timeout = 15 * time.Second

func fromCluster(ctx context.Context, kubeconfig, name string) (*v1alpha1.GPUNodeGroup, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w; give one with --kubeconfig, or a file with --file", err)
	}
	config.Timeout = timeout
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// The one kind by heart: asking for what is served takes more requests than the answer.
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	g := &v1alpha1.GPUNodeGroup{}
	err = c.Get(ctx, client.ObjectKey{Name: name}, g)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no %s %q in the cluster; kubectl get gng lists them", kind, name)
	}
	return g, err
}

// fromFile finds the group among all documents of a file, lists included.
func fromFile(file, name string, stdin io.Reader) (*v1alpha1.GPUNodeGroup, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		stdin = f
	}
	documents := utilyaml.NewYAMLOrJSONDecoder(io.LimitReader(stdin, maxInput), 4096)
	for i := 1; ; i++ {
		var document map[string]any
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: found no %s %q; kubectl get gng %s -o yaml prints it", file, kind, name, name)
		case err != nil:
			return nil, fmt.Errorf("%s, document %d: %w", file, i, err)
		}
		candidates := []any{document}
		if items, ok := document["items"].([]any); ok {
			candidates = items
		}
		for _, c := range candidates {
			object, _ := c.(map[string]any)
			metadata, _ := object["metadata"].(map[string]any)
			if object["kind"] != kind || metadata["name"] != name {
				continue
			}
			if want := v1alpha1.GroupVersion.String(); object["apiVersion"] != want {
				return nil, fmt.Errorf("%s, document %d: apiVersion: found %v, expected %s", file, i, object["apiVersion"], want)
			}
			g := &v1alpha1.GPUNodeGroup{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, g); err != nil {
				return nil, fmt.Errorf("%s, document %d, %s %s: %w", file, i, kind, name, err)
			}
			return g, nil
		}
	}
}
