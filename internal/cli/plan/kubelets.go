package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/cli/source"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// Bounds of what kubelets are asked. Each one answers through a connection of the API server to its node.
const (
	maxKubelets     = 500
	kubeletsAtOnce  = 16
	kubeletPatience = 5 * time.Second
	allPatience     = time.Minute
	maxConfigz      = 1 << 20
)

// asked is what came of asking the kubelets of listed node groups for their configuration.
type asked struct {
	// read, sorted by node.
	read []featuregate.Instance
	// of is how many there are.
	of int
	// trouble says why one was not read, or all of them; empty where there was none.
	trouble string
}

// askKubelets reads /configz of the kubelets of listed node groups with the user's rights. It fails at nothing: what can't be read
// stays as unknown as it was, and the trouble says why.
func askKubelets(ctx context.Context, config *rest.Config) asked {
	ctx, cancel := context.WithTimeout(ctx, allPatience)
	defer cancel()
	nodes, err := listedKubelets(ctx, config)
	if err != nil {
		return asked{trouble: err.Error()}
	}
	out := asked{of: len(nodes)}
	if len(nodes) > maxKubelets {
		nodes = nodes[:maxKubelets]
	}
	client, err := kubeletClient(config)
	if err != nil {
		return asked{of: out.of, trouble: err.Error()}
	}
	var lock sync.Mutex
	var group sync.WaitGroup
	troubles := map[string]string{}
	next := make(chan featuregate.Instance)
	for range kubeletsAtOnce {
		group.Go(func() {
			for node := range next {
				i, err := configz(ctx, client, node.Name, node.Version)
				lock.Lock()
				switch {
				case err == nil:
					out.read = append(out.read, i)
				case apierrors.IsForbidden(err):
					// The next one would be refused alike.
					cancel()
					troubles[""] = fmt.Sprintf("%s: it takes the right to get nodes/proxy", err)
				default:
					troubles[node.Name] = fmt.Sprintf("node %s: %s", node.Name, err)
				}
				lock.Unlock()
			}
		})
	}
	for _, node := range nodes {
		if ctx.Err() != nil {
			break
		}
		next <- node
	}
	close(next)
	group.Wait()
	slices.SortFunc(out.read, func(a, b featuregate.Instance) int { return strings.Compare(a.Name, b.Name) })
	out.trouble = first(troubles)
	switch {
	case out.trouble != "":
	case len(out.read) < len(nodes):
		out.trouble = fmt.Sprintf("they did not answer within %s", allPatience)
	case len(out.read) < out.of:
		out.trouble = fmt.Sprintf("no more than %d are asked", maxKubelets)
	}
	return out
}

// first trouble by node; that of the right comes before all, since others follow from it.
func first(troubles map[string]string) string {
	var nodes []string
	for node := range troubles {
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		return ""
	}
	return troubles[slices.Min(nodes)]
}

// listedKubelets are the nodes of listed groups with the versions of their kubelets, sorted by name.
func listedKubelets(ctx context.Context, config *rest.Config) ([]featuregate.Instance, error) {
	var out []featuregate.Instance
	err := source.GPUNode.Each(ctx, config, func(object unstructured.Unstructured) error {
		var n v1alpha1.GPUNode
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &n); err != nil {
			return fmt.Errorf("GPUNode %s: %w", object.GetName(), err)
		}
		if version := stack.KubeletVersion(n); version != "" {
			out = append(out, featuregate.Instance{Component: featuregate.Kubelet, Name: n.Name, Version: version})
		}
		return nil
	})
	slices.SortFunc(out, func(a, b featuregate.Instance) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func kubeletClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.Timeout = kubeletPatience
	// So many at once are the limit, not so many a second.
	config.QPS = -1
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.RESTClient(), nil
}

func configz(ctx context.Context, client rest.Interface, node, version string) (featuregate.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeletPatience)
	defer cancel()
	body, err := client.Get().AbsPath("/api/v1/nodes", node, "proxy/configz").MaxRetries(0).Stream(ctx)
	if err != nil {
		return featuregate.Instance{}, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, maxConfigz+1))
	switch {
	case err != nil:
		return featuregate.Instance{}, err
	case len(data) > maxConfigz:
		return featuregate.Instance{}, errors.New("/configz is larger than any kubelet's configuration")
	}
	return featuregate.FromConfigz(node, version, data)
}
