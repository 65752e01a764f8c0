//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// stays is all that gpu-dra leaves behind when it is uninstalled, as docs/architecture.md says: Helm and Deckhouse never remove
// CRDs, and the objects of these kinds that the chart did not make stay with them.
var stays = regexp.MustCompile(`^(` + strings.Join([]string{
	`customresourcedefinitions\.apiextensions\.k8s\.io /gpu(nodes|nodegroups|stacks|claimtemplates)\.gpu-dra\.deckhouse\.io`,
	`(gpunodes|gpunodegroups|gpustacks)\.gpu-dra\.deckhouse\.io /.+`,
	// The namespace of a plain install is the user's, and with it the lease that replicas of the controller took in turn.
	`leases\.coordination\.k8s\.io ` + plainNamespace + `/gpu-dra-controller`,
}, "|") + `)$`)

// ours are names that nobody else's objects have, wherever they are.
var ours = regexp.MustCompile(`gpu-dra`)

// passing are objects that others write beside whatever happens. Helm's releases of addon-operator are Secrets, and counted.
var passing = regexp.MustCompile(`^(events|events\.events\.k8s\.io|leases\.coordination\.k8s\.io kube-node-lease/.*|` +
	`(configmaps|serviceaccounts) addon-operator/.*|namespaces /addon-operator|.* kube-system/.*|` +
	`apiservices\.apiregistration\.k8s\.io /v1alpha1\.gpu-dra\.deckhouse\.io)( .*)?$`)

// everything lists the objects of every kind that the cluster serves, as "resource.group namespace/name".
func (r *rig) everything(ctx context.Context) (map[string]bool, error) {
	found, err := discovery.NewDiscoveryClientForConfig(r.config)
	if err != nil {
		return nil, err
	}
	lists, err := found.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	// What is deprecated is listed all the same, and needs no warning.
	quiet := rest.CopyConfig(r.config)
	quiet.WarningHandler = rest.NoWarnings{}
	objects, err := metadata.NewForConfig(quiet)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, kind := range list.APIResources {
			if !slices.Contains(kind.Verbs, "list") || !slices.Contains(kind.Verbs, "delete") {
				continue
			}
			resource := version.WithResource(kind.Name)
			all, err := objects.Resource(resource).List(ctx, metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("%s: %w", resource, err)
			}
			if err != nil {
				continue
			}
			for _, o := range all.Items {
				if name := fmt.Sprintf("%s %s/%s", resource.GroupResource(), o.Namespace, o.Name); !passing.MatchString(name) || o.Namespace == metav1.NamespaceSystem && ours.MatchString(o.Name) {
					out[name] = true
				}
			}
		}
	}
	return out, nil
}

func (r *rig) now() map[string]bool {
	r.t.Helper()
	out, err := r.everything(context.Background())
	require.NoError(r.t, err)
	return out
}

// onlyStaysLeft waits until the cluster holds what it held before, and of gpu-dra only what is said to stay.
func (r *rig) onlyStaysLeft(before map[string]bool) {
	r.t.Helper()
	r.eventually("uninstalled -> nothing left but what is said to stay", 90*time.Second, func(ctx context.Context) error {
		after, err := r.everything(ctx)
		if err != nil {
			return err
		}
		var left, lost []string
		for name := range after {
			if !before[name] && !stays.MatchString(name) {
				left = append(left, name)
			}
		}
		for name := range before {
			if !after[name] {
				lost = append(lost, name)
			}
		}
		if len(left)+len(lost) > 0 {
			slices.Sort(left)
			slices.Sort(lost)
			return fmt.Errorf("left behind: %v; lost: %v", left, lost)
		}
		return nil
	})
	var nodes corev1.NodeList
	require.NoError(r.t, r.client.List(context.Background(), &nodes))
	for _, n := range nodes.Items {
		for label := range n.Labels {
			require.True(r.t, !strings.Contains(label, v1alpha1.Group) || label == v1alpha1.LabelRegistered, "node %s has the label %s", n.Name, label)
		}
	}
}
