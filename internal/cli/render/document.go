package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxInput is more than any configuration has; it keeps a wrong file name from filling the memory.
const maxInput = 64 << 20

// readFile reads every document of a file and what is in it.
func (in *input) readFile(file string, stdin io.Reader) {
	w := where{name: file, order: in.documents}
	if file == "-" {
		w.name = "standard input"
	} else {
		f, err := os.Open(file)
		if err != nil {
			in.fail(where{order: w.order}, "%w", err)
			return
		}
		defer f.Close()
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	switch {
	case err != nil:
		in.fail(w, "%w", err)
	case len(data) > maxInput:
		in.fail(w, "has more than %d MiB; is it the right file?", maxInput>>20)
	case in.readDocuments(w, data) == 0:
		in.fail(w, "holds no document; expected GPUClaimTemplates, or settings")
	}
}

// readDocuments reads the documents of a file and returns how many there are. Those that are empty or comments only have
// a number and are left out. One that cannot be parsed is an error and does not hide the others.
func (in *input) readDocuments(w where, data []byte) (found int) {
	next := yamlDocuments(data)
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		next = jsonDocuments(data)
	}
	for i := 1; ; i++ {
		raw, err := next()
		if errors.Is(err, io.EOF) {
			return found
		}
		in.documents++
		at := where{name: fmt.Sprintf("%s, document %d", w.name, i), order: in.documents}
		if err != nil {
			// Where the next document begins is not known any more.
			in.fail(at, "%w", err)
			return found + 1
		}
		object, err := yaml.YAMLToJSONStrict(raw)
		if err == nil && string(object) == "null" {
			continue
		}
		found++
		switch {
		case err != nil:
			in.fail(at, "is no YAML: %s", strings.Join(strings.Fields(err.Error()), " "))
		case object[0] != '{':
			in.fail(at, "is no object; expected a GPUClaimTemplate, or settings")
		default:
			in.read(at, object)
		}
	}
}

func yamlDocuments(data []byte) func() ([]byte, error) {
	return utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))).Read
}

// jsonDocuments reads JSON objects that follow each other, with nothing but space in between. What is YAML in the style of
// JSON falls back to YAML.
func jsonDocuments(data []byte) func() ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	first := true
	var fallback func() ([]byte, error)
	return func() ([]byte, error) {
		if fallback != nil {
			return fallback()
		}
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err != nil && !errors.Is(err, io.EOF) && first {
			fallback = yamlDocuments(data)
			return fallback()
		}
		first = false
		return raw, err
	}
}
