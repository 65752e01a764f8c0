// Package fleet makes nodes with accelerators and the ResourceSlices that their drivers would publish, for benches and
// tests of all sizes. What a kind of card looks like is data, one file each in models/; the same input always gives the
// same output.
package fleet

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

//go:embed models/*.yaml
var files embed.FS

// Model is how one kind of card is published. Texts in it may hold these in braces: card (its number on the node), cardUUID,
// deviceUUID, address and root (on the PCI bus), and in partitions profile, short (the profile without dots), id and start.
type Model struct {
	// Driver is the DRA driver's name.
	Driver string `json:"driver"`
	// Attributes of every device, whole or not. An integer numaNode becomes the socket of the card.
	Attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute `json:"attributes"`
	// Whole device of a card.
	Whole resourcev1.Device `json:"whole"`
	// Partition of a card, without capacity.
	Partition Partition `json:"partition"`
	// Profiles of partitions by name.
	Profiles map[string]Profile `json:"profiles"`
	// Cuts by name: ways to cut a card beforehand.
	Cuts map[string][]Cut `json:"cuts"`
}

// Partition is what partitions of all profiles look like.
type Partition struct {
	resourcev1.Device `json:",inline"`
	// SlotCapacity is the capacity of 1 that stands for one slot that the partition takes; slot in braces is its number.
	SlotCapacity string `json:"slotCapacity,omitempty"`
}

// Profile is one size of partition.
type Profile struct {
	// ID that the vendor gives it.
	ID int `json:"id"`
	// Slots that one partition takes.
	Slots int `json:"slots"`
	// Capacity of one partition.
	Capacity map[resourcev1.QualifiedName]resource.Quantity `json:"capacity"`
}

// Cut is partitions of one profile on a card.
type Cut struct {
	Profile string `json:"profile"`
	// Starts are the first slots of the partitions.
	Starts []int `json:"starts"`
}

var models = sync.OnceValues(func() (map[string]*Model, error) {
	entries, err := files.ReadDir("models")
	if err != nil {
		return nil, err
	}
	out := map[string]*Model{}
	for _, e := range entries {
		data, err := files.ReadFile(path.Join("models", e.Name()))
		if err != nil {
			return nil, err
		}
		m := &Model{}
		if err := yaml.UnmarshalStrict(data, m); err != nil {
			return nil, fmt.Errorf("models/%s: %w", e.Name(), err)
		}
		out[strings.TrimSuffix(e.Name(), ".yaml")] = m
	}
	return out, nil
})

// Load returns a model by the name of its file without extension. The caller must not change it.
func Load(name string) (*Model, error) {
	all, err := models()
	if err != nil {
		return nil, err
	}
	m, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("there is no model %q in internal/fleet/models", name)
	}
	return m, nil
}
