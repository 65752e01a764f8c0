package values

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// facts of a cluster.
type facts struct {
	// version of the API server that answered.
	version   string
	instances []featuregate.Instance
	kubelets  featuregate.Kubelets
	// troubles say what could not be read and why.
	troubles []string
}

// oldest minor of Kubernetes that the chart installs on: it needs resource.k8s.io/v1.
const oldest = 34

// read asks the API server. Without its version it fails; whatever else can't be read is a trouble.
func read(ctx context.Context, config *rest.Config, d profile.Distribution) (facts, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return facts{}, err
	}
	var server version.Info
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(raw, &server)
	}
	if err != nil {
		return facts{}, fmt.Errorf("version of the API server: %w", err)
	}
	if minor, ok := featuregate.Minor(server.GitVersion); !ok || minor < oldest {
		return facts{}, fmt.Errorf("version of the API server: found %q, expected Kubernetes 1.%d or newer", server.GitVersion, oldest)
	}
	out := facts{version: server.GitVersion, kubelets: featuregate.Kubelets{Rules: d.FeatureGates}}
	where := d.ControlPlanePods
	var pods []*corev1.Pod
	err = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Pods(where.Namespace).List(ctx, o)
	}).EachListItem(ctx, metav1.ListOptions{LabelSelector: where.Label}, func(object runtime.Object) error {
		if p, ok := object.(*corev1.Pod); ok {
			pods = append(pods, p)
		}
		return nil
	})
	if err != nil {
		// A part of them would make a gate look on in all.
		pods = nil
		out.troubles = append(out.troubles, fmt.Sprintf("The control plane's pods could not be read: %s", err))
	}
	out.instances = featuregate.FromPods(pods, where, out.version)

	versions := map[string]int32{}
	err = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Nodes().List(ctx, o)
	}).EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if n, ok := object.(*corev1.Node); ok {
			versions[n.Status.NodeInfo.KubeletVersion]++
		}
		return nil
	})
	if err != nil {
		clear(versions)
		out.troubles = append(out.troubles, fmt.Sprintf("The nodes could not be read: %s", err))
	}
	for _, v := range slices.Sorted(maps.Keys(versions)) {
		out.kubelets.Versions = append(out.kubelets.Versions, v1alpha1.VersionCount{Version: v, Count: versions[v]})
	}
	// Interrupted, it has nothing to say.
	return out, ctx.Err()
}
