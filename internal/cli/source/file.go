package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// maxInput is more than any cluster's objects of one kind; it keeps a wrong file name from filling the memory.
const maxInput = 64 << 20

// Alone fails where a command line names a file and a cluster.
func Alone(file, kubeconfig, kubeContext string) error {
	if file != "" && (kubeconfig != "" || kubeContext != "") {
		return errors.New("--file is read without a cluster: leave out --kubeconfig and --context, or --file")
	}
	return nil
}

// FromFile finds the object of a name, or with an empty one the first of the kind, among all documents of a file, lists included,
// and reads it into out. "-" is standard input.
func (k Kind) FromFile(file string, stdin io.Reader, name string, out any) error {
	input, called := stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		input, called = f, file
	}
	wanted := k.Name
	if name != "" {
		wanted = fmt.Sprintf("%s %q", k.Name, name)
	}
	data, err := io.ReadAll(io.LimitReader(input, maxInput+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", called, err)
	case len(data) > maxInput:
		return fmt.Errorf("%s: found more than %d MiB, expected what kubectl prints of %ss", called, maxInput>>20, k.Name)
	}
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	seen := ""
	for i := 1; ; i++ {
		var document any
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF):
			if seen != "" {
				seen = ", but " + seen
			}
			return fmt.Errorf("%s: found no %s%s; `kubectl get %s -o yaml` prints it", called, wanted, seen, k.Resource)
		case err != nil:
			return fmt.Errorf("%s, document %d: %w", called, i, err)
		}
		candidates := []any{document}
		object, ok := document.(map[string]any)
		if !ok && document != nil {
			return fmt.Errorf("%s, document %d: found %s, expected an object as kubectl prints it", called, i, written(document))
		}
		if items, ok := object["items"].([]any); ok {
			candidates = items
			seen = "an empty list"
		}
		for _, c := range candidates {
			object, _ := c.(map[string]any)
			metadata, _ := object["metadata"].(map[string]any)
			if object["kind"] != k.Name || name != "" && metadata["name"] != name {
				if object["kind"] != nil {
					seen = fmt.Sprintf("%s %s of %s", written(object["kind"]), written(metadata["name"]), written(object["apiVersion"]))
				}
				continue
			}
			place := fmt.Sprintf("%s, document %d, %s", called, i, wanted)
			if want := v1alpha1.GroupVersion.String(); object["apiVersion"] != want {
				return fmt.Errorf("%s: apiVersion: found %s, expected %s", place, written(object["apiVersion"]), want)
			}
			return convert(object, out, place)
		}
	}
}
