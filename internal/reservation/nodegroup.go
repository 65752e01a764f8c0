package reservation

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// NodeGroup is what the platform's node group says.
type NodeGroup struct {
	Name string
	// ResourceVersion of the object as it was read; where it is set, a patch is refused if the object has changed since.
	ResourceVersion string
	// Reservation is spec.kubelet.resourceReservation as it stands, as unstructured JSON; nil when absent.
	Reservation map[string]any
	// TopologyManager is spec.kubelet.topologyManager.enabled. It brings the static memory manager with it.
	TopologyManager bool
	// Annotation is the value of the annotation AnnotationKey, empty when absent.
	Annotation string
}

// Modes of spec.kubelet.resourceReservation.
const (
	reservationAuto   = "Auto"
	reservationOff    = "Off"
	reservationStatic = "Static"
)

// Keys of spec.kubelet.resourceReservation.
const (
	keyMode             = "mode"
	keyStatic           = "static"
	keyCPU              = "cpu"
	keyMemory           = "memory"
	keyEphemeralStorage = "ephemeralStorage"
)

// FieldPath is the field of a node group that is written.
const FieldPath = "spec.kubelet.resourceReservation"

// standing is what a reservation block means.
type standing struct {
	mode string
	// memory in bytes, of Static.
	memory int64
}

// read tells what a block means. An absent block or mode is Auto: that is the default of the API. The error names the field,
// what was found and what is expected.
func read(block map[string]any) (standing, error) {
	mode := reservationAuto
	if v := block[keyMode]; v != nil && v != "" {
		s, ok := v.(string)
		if !ok || (s != reservationAuto && s != reservationOff && s != reservationStatic) {
			return standing{}, fmt.Errorf("%s.%s: found %s, expected Off, Auto or Static", FieldPath, keyMode, show(v))
		}
		mode = s
	}
	static, ok := block[keyStatic].(map[string]any)
	if !ok && block[keyStatic] != nil {
		return standing{}, fmt.Errorf("%s.%s: found %s, expected an object", FieldPath, keyStatic, show(block[keyStatic]))
	}
	out := standing{mode: mode}
	if memory, ok := static[keyMemory]; ok && mode == reservationStatic {
		q, ok := toQuantity(memory)
		if ok {
			out.memory, ok = bytesOf(q)
		}
		if !ok {
			return standing{}, fmt.Errorf("%s.%s.%s: found %s, expected a quantity such as 24Gi", FieldPath, keyStatic, keyMemory, show(memory))
		}
	}
	return out, nil
}

// toQuantity reads an int-or-string field.
func toQuantity(v any) (resource.Quantity, bool) {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

func show(v any) string {
	// Values that came from JSON marshal without error.
	data, _ := json.Marshal(v)
	return string(data)
}
