// Package ready waits, when the module starts, until the API server serves the kinds that the other hooks are bound to.
// addon-operator starts bindings right after it has created the CRDs, and a binding to a kind that is not served yet stops
// the whole module.
package ready

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"
	"k8s.io/client-go/discovery"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
)

const (
	// deadline is how long one run waits. A failed run is repeated, so this bounds how long nothing is said and the queue of
	// all modules stands, not how long the kinds may take.
	deadline = 30 * time.Second
	interval = 200 * time.Millisecond
)

var config = &pkg.HookConfig{OnStartup: &pkg.OrderedConfig{Order: 1}}

var _ = registry.RegisterFunc(config, hook{discovery: kube.Discovery, deadline: deadline, interval: interval}.run)

// needed are the resources that bindings and writes of the hooks need, by group and version.
var needed = []struct {
	groupVersion string
	resources    []string
	hint         string
}{
	{v1alpha1.GroupVersion.String(), []string{"gpunodes", "gpunodegroups", "gpustacks", "gpuclaimtemplates"}, "the CRDs of the module"},
	{"resource.k8s.io/v1", []string{"deviceclasses"}, "Kubernetes 1.34 or newer with that version switched on"},
}

type hook struct {
	discovery func() (discovery.DiscoveryInterface, error)
	deadline  time.Duration
	interval  time.Duration
}

func (h hook) run(ctx context.Context, input *pkg.HookInput) error {
	client, err := h.discovery()
	if err != nil {
		return fmt.Errorf("ready: no client for the API server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, h.deadline)
	defer cancel()
	for {
		missing := absent(client)
		if len(missing) == 0 {
			return nil
		}
		input.Logger.Debug("waiting for the API server to serve " + strings.Join(missing, "; "))
		select {
		case <-ctx.Done():
			return fmt.Errorf("ready: after %s the API server does not serve %s", h.deadline, strings.Join(missing, "; "))
		case <-time.After(h.interval):
		}
	}
}

// absent names what is not served, with the API server's own words where it could not tell.
func absent(client discovery.DiscoveryInterface) []string {
	var out []string
	for _, n := range needed {
		served := map[string]bool{}
		list, err := client.ServerResourcesForGroupVersion(n.groupVersion)
		if err == nil {
			for _, r := range list.APIResources {
				served[r.Name] = true
			}
		}
		var missing []string
		for _, r := range n.resources {
			if !served[r] {
				missing = append(missing, r)
			}
		}
		switch {
		case len(missing) == 0:
		case err != nil:
			out = append(out, fmt.Sprintf("%s of %s (needs %s): %s", strings.Join(missing, ", "), n.groupVersion, n.hint, err))
		default:
			out = append(out, fmt.Sprintf("%s of %s (needs %s)", strings.Join(missing, ", "), n.groupVersion, n.hint))
		}
	}
	return out
}
