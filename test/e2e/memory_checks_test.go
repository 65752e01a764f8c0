//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/platform"
)

var groupKind = v1alpha1.GroupVersion.WithKind("GPUNodeGroup")

// memoryIs checks the condition MemoryReserved of a group and what it says.
func (r *rig) memoryIs(group string, status metav1.ConditionStatus, reason, says string) func(context.Context) error {
	return func(ctx context.Context) error {
		g, err := r.group(ctx, group)
		if err != nil {
			return err
		}
		if err := is(g.Conditions, condition.MemoryReserved, status, reason); err != nil {
			return err
		}
		if message := condition.Find(g.Conditions, condition.MemoryReserved).Message; !strings.Contains(message, says) {
			return fmt.Errorf("the message does not say %q: %s", says, message)
		}
		return nil
	}
}

// reserves checks the reservation of a NodeGroup, nil: it has none.
func (r *rig) reserves(group string, want map[string]any) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := r.reservation(ctx, group)
		if err != nil {
			return err
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			return fmt.Errorf("NodeGroup %s reserves %v, wanted %v", group, got, want)
		}
		return nil
	}
}

// reservesMemory checks only the memory.
func (r *rig) reservesMemory(group, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := r.reservation(ctx, group)
		if err != nil {
			return err
		}
		if memory, _, _ := unstructured.NestedString(got, "static", "memory"); memory != want {
			return fmt.Errorf("NodeGroup %s reserves %v, wanted %s", group, got, want)
		}
		return nil
	}
}

func (r *rig) reservation(ctx context.Context, group string) (map[string]any, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(platform.NodeGroupKind)
	if err := r.client.Get(ctx, client.ObjectKey{Name: group}, u); err != nil {
		return nil, err
	}
	block, _, err := unstructured.NestedMap(u.Object, "spec", "kubelet", "resourceReservation")
	return block, err
}

// reasonIs tells of a version of a GPUNodeGroup whether its condition MemoryReserved has the reason.
func reasonIs(reason string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == condition.MemoryReserved && c["reason"] == reason {
				return true
			}
		}
		return false
	}
}

func last(versions []*unstructured.Unstructured) *unstructured.Unstructured {
	return versions[len(versions)-1]
}
