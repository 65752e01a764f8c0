//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// group returns the status of a GPUNodeGroup.
func (r *rig) group(ctx context.Context, name string) (v1alpha1.GPUNodeGroupStatus, error) {
	var g v1alpha1.GPUNodeGroup
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, &g)
	return g.Status, err
}

// node returns the status of a GPUNode.
func (r *rig) node(ctx context.Context, name string) (v1alpha1.GPUNodeStatus, error) {
	var n v1alpha1.GPUNode
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, &n)
	return n.Status, err
}

// is checks the status and, when wanted, the reason of a condition.
func is(conditions []metav1.Condition, conditionType string, status metav1.ConditionStatus, reasons ...string) error {
	c := condition.Find(conditions, conditionType)
	if c == nil {
		return fmt.Errorf("no condition %s yet", conditionType)
	}
	if c.Status != status || (len(reasons) > 0 && c.Reason != reasons[0]) {
		return fmt.Errorf("%s is %s (%s: %s), wanted %s %v", conditionType, c.Status, c.Reason, c.Message, status, reasons)
	}
	return nil
}

// groupIs returns a check of one condition of a GPUNodeGroup.
func (r *rig) groupIs(name, conditionType string, status metav1.ConditionStatus, reasons ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		g, err := r.group(ctx, name)
		if err != nil {
			return err
		}
		return is(g.Conditions, conditionType, status, reasons...)
	}
}

// nodeIs returns a check of one condition of a GPUNode.
func (r *rig) nodeIs(name, conditionType string, status metav1.ConditionStatus, reasons ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		return is(n.Conditions, conditionType, status, reasons...)
	}
}

// statuses returns what must be equal between two runs as canonical JSON: the status of every object of our four kinds,
// without what is time or chance.
func (r *rig) statuses(ctx context.Context) (string, error) {
	all := map[string]any{}
	add := func(kind, name string, status any) error {
		data, err := json.Marshal(status)
		if err != nil {
			return err
		}
		var tree map[string]any
		if err := json.Unmarshal(data, &tree); err != nil {
			return err
		}
		delete(tree, "heartbeat")
		dropChance(tree)
		all[kind+"/"+name] = tree
		return nil
	}
	var (
		nodes     v1alpha1.GPUNodeList
		groups    v1alpha1.GPUNodeGroupList
		stacks    v1alpha1.GPUStackList
		templates v1alpha1.GPUClaimTemplateList
	)
	for _, list := range []client.ObjectList{&nodes, &groups, &stacks, &templates} {
		if err := r.client.List(ctx, list); err != nil {
			return "", err
		}
	}
	for _, o := range nodes.Items {
		if err := add("GPUNode", o.Name, o.Status); err != nil {
			return "", err
		}
	}
	for _, o := range groups.Items {
		if err := add("GPUNodeGroup", o.Name, o.Status); err != nil {
			return "", err
		}
	}
	for _, o := range stacks.Items {
		if err := add("GPUStack", o.Name, o.Status); err != nil {
			return "", err
		}
	}
	for _, o := range templates.Items {
		if err := add("GPUClaimTemplate", o.Name, o.Status); err != nil {
			return "", err
		}
	}
	data, err := json.MarshalIndent(all, "", " ")
	return string(data), err
}

// groupStatuses returns the statuses of GPUNodeGroups alone.
func (r *rig) groupStatuses(ctx context.Context) (string, error) {
	all, err := r.statuses(ctx)
	if err != nil {
		return "", err
	}
	var tree map[string]any
	if err := json.Unmarshal([]byte(all), &tree); err != nil {
		return "", err
	}
	maps.DeleteFunc(tree, func(key string, _ any) bool { return !strings.HasPrefix(key, "GPUNodeGroup/") })
	data, err := json.MarshalIndent(tree, "", " ")
	return string(data), err
}

func dropChance(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		delete(v, "lostSince")
		// A DaemonSet makes up the names of its pods.
		if pod, ok := v["pod"].(map[string]any); ok {
			delete(pod, "name")
		}
		for _, child := range v {
			dropChance(child)
		}
	case []any:
		for _, child := range v {
			dropChance(child)
		}
	}
}

// moduleValues returns gpuDra.internal as addon-operator holds it, as canonical JSON.
func (r *rig) moduleValues() (string, error) {
	out, err := r.tryCluster("operator", "values")
	if err != nil {
		return "", err
	}
	// The section gpuDra alone is printed, without its name.
	var values struct {
		Internal map[string]any `json:"internal"`
	}
	if err := json.Unmarshal([]byte(out), &values); err != nil {
		return "", fmt.Errorf("%w in %s", err, out)
	}
	// Nothing is equal to nothing, whatever else changes.
	if len(values.Internal) == 0 {
		return "", fmt.Errorf("found no internal in %s", out)
	}
	data, err := json.MarshalIndent(values.Internal, "", " ")
	return string(data), err
}

// helmRevision returns the newest revision of the module's release.
func (r *rig) helmRevision(ctx context.Context) int {
	var secrets corev1.SecretList
	require.NoError(r.t, r.client.List(ctx, &secrets, client.MatchingLabels{"owner": "helm", "name": "gpu-dra"}))
	newest := 0
	for _, s := range secrets.Items {
		revision, err := strconv.Atoi(s.Labels["version"])
		require.NoError(r.t, err)
		newest = max(newest, revision)
	}
	return newest
}
