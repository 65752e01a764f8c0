package standin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	interval = 50 * time.Millisecond
	limit    = 60 * time.Second
)

// Publish makes the node and the Pods, replaces a Pod whose command line is another one
// now, and waits until kwok has made them Running.
func Publish(ctx context.Context, client kubernetes.Interface, components []Component) error {
	owner, err := ensureNode(ctx, client)
	if err != nil {
		return err
	}
	for _, c := range components {
		if err := ensurePod(ctx, client, pod(c, owner)); err != nil {
			return fmt.Errorf("stand-in Pod of %s: %w", c.Name, err)
		}
	}
	for _, c := range components {
		if err := awaitRunning(ctx, client, pod(c, owner).Name); err != nil {
			return fmt.Errorf("stand-in Pod of %s: %w", c.Name, err)
		}
	}
	return nil
}

func ensureNode(ctx context.Context, client kubernetes.Interface) (*corev1.Node, error) {
	have, err := client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		have, err = client.CoreV1().Nodes().Create(ctx, node(), metav1.CreateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("stand-in node %s: %w", NodeName, err)
	}
	return have, nil
}

func ensurePod(ctx context.Context, client kubernetes.Interface, want *corev1.Pod) error {
	pods := client.CoreV1().Pods(namespace)
	return poll(ctx, func(ctx context.Context) (bool, error) {
		have, err := pods.Get(ctx, want.Name, metav1.GetOptions{})
		if err == nil {
			if same(have, want) {
				return true, nil
			}
			now := int64(0)
			err = pods.Delete(ctx, want.Name, metav1.DeleteOptions{GracePeriodSeconds: &now,
				Preconditions: &metav1.Preconditions{UID: (*types.UID)(&have.UID)}})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return false, err
			}
			return false, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		// The namespace appears a moment after the API server got ready.
		if _, err = pods.Create(ctx, want, metav1.CreateOptions{}); apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func awaitRunning(ctx context.Context, client kubernetes.Interface, name string) error {
	phase := corev1.PodUnknown
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		have, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		phase = have.Status.Phase
		return phase == corev1.PodRunning, nil
	})
	if err != nil {
		return fmt.Errorf("its phase is %s, expected Running (kwok's log tells why): %w", phase, err)
	}
	return nil
}

func poll(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, interval, limit, true, condition)
}
