package addonoperator

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Settings replaces the module's settings; addon-operator sees the change by its watch.
func (o *Operator) Settings(ctx context.Context, file string) error {
	if _, err := o.Cluster.Record(); err != nil {
		return err
	}
	return o.ensureSettings(ctx, file)
}

// ensureSettings makes namespace and ConfigMap. Without a file the settings that are there
// stay, and a new ConfigMap starts with none.
func (o *Operator) ensureSettings(ctx context.Context, file string) error {
	text, err := readSettings(file)
	if err != nil {
		return err
	}
	client, err := o.Cluster.Client()
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s: %w", Namespace, err)
	}
	configMaps := client.CoreV1().ConfigMaps(Namespace)
	have, err := configMaps.Get(ctx, ConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMap},
			Data: map[string]string{Key: text}}, metav1.CreateOptions{})
	} else if err == nil && file != "" {
		have.Data = maps.Clone(have.Data)
		if have.Data == nil {
			have.Data = map[string]string{}
		}
		have.Data[Key] = text
		_, err = configMaps.Update(ctx, have, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s with the settings: %w", Namespace, ConfigMap, err)
	}
	return nil
}
