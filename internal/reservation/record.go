package reservation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// AnnotationKey is the annotation on a node group that remembers what stood before we wrote and what we wrote. It is written
// and removed in the same patch as the field, so the two never disagree by our doing. While it stands and the field is no
// longer what it says, somebody else took the field over: nothing is written again until the annotation is gone. That is why
// backing off leaves it there: without it, the next run would see a node group that nobody ever wrote to, and write.
const AnnotationKey = v1alpha1.Group + "/memory-reservation"

// record is the annotation's value.
type record struct {
	// Before is the whole of spec.kubelet.resourceReservation as it stood, null when it was absent.
	Before map[string]any `json:"before"`
	// Written holds the keys that we wrote, and no others: who changes another key, or an API server that adds one, does not
	// take the reservation from us, and keeps the key when it is given back.
	Written map[string]any `json:"written"`
	// Figures of the settings that the memory was computed with.
	Figures string `json:"figures"`
}

func parseRecord(text string) (record, error) {
	var r record
	if err := kjson.Unmarshal([]byte(text), &r); err != nil {
		return record{}, err
	}
	if s, err := read(r.Written); err != nil {
		return record{}, fmt.Errorf("written: %w", err)
	} else if s.mode != reservationStatic || s.memory == 0 {
		return record{}, errors.New("written: found no static memory")
	}
	if _, err := read(r.Before); err != nil {
		return record{}, fmt.Errorf("before: %w", err)
	}
	return r, nil
}

func (r record) text() string {
	// Maps of JSON values marshal without error, with sorted keys.
	data, _ := json.Marshal(r)
	return string(data)
}

// memory that we wrote, in bytes.
func (r record) memory() int64 {
	s, _ := read(r.Written)
	return s.memory
}

func (r record) static() map[string]any {
	s, _ := r.Written[keyStatic].(map[string]any)
	return s
}

// stands says whether the block still holds what we wrote.
func (r record) stands(block map[string]any) bool {
	if block[keyMode] != r.Written[keyMode] {
		return false
	}
	static, _ := block[keyStatic].(map[string]any)
	for key, written := range r.static() {
		if !sameAmount(static[key], written) {
			return false
		}
	}
	return true
}

// sameAmount compares int-or-string fields by what they mean: 1024Mi is 1Gi.
func sameAmount(a, b any) bool {
	x, okX := toQuantity(a)
	y, okY := toQuantity(b)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(a, b)
}

// over returns a copy of the block with what we write in it.
func (r record) over(block map[string]any) map[string]any {
	out := copied(block)
	static, ok := out[keyStatic].(map[string]any)
	if !ok {
		static = map[string]any{}
	}
	for key, v := range r.static() {
		static[key] = v
	}
	out[keyMode], out[keyStatic] = r.Written[keyMode], static
	return out
}

// restored returns a copy of the block with what stood before in place of what we wrote, nil when there was no block.
func (r record) restored(block map[string]any) map[string]any {
	out := copied(block)
	give(out, r.Before, keyMode)
	static, ok := out[keyStatic].(map[string]any)
	if !ok {
		static = map[string]any{}
	}
	before, had := r.Before[keyStatic].(map[string]any)
	for key := range r.static() {
		give(static, before, key)
	}
	out[keyStatic] = static
	if len(static) == 0 && !had {
		give(out, r.Before, keyStatic)
	}
	if len(out) == 0 && r.Before == nil {
		return nil
	}
	return out
}

func give(to, from map[string]any, key string) {
	if v, ok := from[key]; ok {
		to[key] = deepCopy(v)
	} else {
		delete(to, key)
	}
}

func copied(block map[string]any) map[string]any {
	out := make(map[string]any, len(block))
	for k, v := range block {
		out[k] = deepCopy(v)
	}
	return out
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return copied(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = deepCopy(v[i])
		}
		return out
	}
	return v
}
