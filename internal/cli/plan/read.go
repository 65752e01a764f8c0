package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// read gets the GPUStack from where the options say.
func (o options) read(ctx context.Context, stdin io.Reader) (*v1alpha1.GPUStack, error) {
	switch o.file {
	case "":
		return o.fromCluster(ctx)
	case "-":
		data, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return decode("standard input", data)
	}
	data, err := os.ReadFile(o.file)
	if err != nil {
		return nil, err
	}
	return decode(o.file, data)
}

// decode takes a GPUStack, or the list of them that kubectl prints.
func decode(name string, data []byte) (*v1alpha1.GPUStack, error) {
	var object struct {
		metav1.TypeMeta `json:",inline"`
		Items           []v1alpha1.GPUStack `json:"items"`
	}
	if err := yaml.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if object.Kind == "List" || object.Kind == "GPUStackList" {
		if len(object.Items) != 1 || object.Items[0].Kind != "GPUStack" {
			return nil, fmt.Errorf("%s: found a list of %d object(s), expected one GPUStack", name, len(object.Items))
		}
		return &object.Items[0], nil
	}
	if object.Kind != "GPUStack" || object.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("%s: found kind %q of %q, expected the output of `kubectl get gpustack %s -o yaml`", name, object.Kind, object.APIVersion, v1alpha1.StackName)
	}
	out := &v1alpha1.GPUStack{}
	if err := yaml.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func (o options) fromCluster(ctx context.Context) (*v1alpha1.GPUStack, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w; name one with --kubeconfig, or give a file with --file", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := client.Resource(v1alpha1.GroupVersion.WithResource("gpustacks")).Get(ctx, v1alpha1.StackName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, errors.New("the cluster has no GPUStack main: install gpu-dra first, or see whether its controller runs")
	case err != nil:
		return nil, fmt.Errorf("GPUStack %s: %w", v1alpha1.StackName, err)
	}
	out := &v1alpha1.GPUStack{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, out); err != nil {
		return nil, fmt.Errorf("GPUStack %s: %w", v1alpha1.StackName, err)
	}
	return out, nil
}
