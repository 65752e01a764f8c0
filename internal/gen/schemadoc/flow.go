package schemadoc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"
)

// flow renders a default as one line of YAML: strings plain where YAML reads them back as the same string.
func flow(v any) string {
	s, isString := v.(string)
	if isString && s != "" {
		data, err := yaml.Marshal(s)
		if err == nil {
			return string(bytes.TrimSpace(data))
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
