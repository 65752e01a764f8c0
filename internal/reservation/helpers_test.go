package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const gibi = 1024 * mebi

// platform of one kind: `tiered` is what Deckhouse does, `plain` a kubelet with the defaults of Kubernetes.
func platform(t require.TestingT, spec profile.KubeletMemory) Platform {
	p, err := NewPlatform(spec)
	require.NoError(t, err)
	return p
}

var (
	tieredSpec = profile.KubeletMemory{Reserved: ReservedTiered, EvictionHard: "1%", EvictionSoft: "2%", CPU: "70m", EphemeralStorage: "1Gi"}
	plainSpec  = profile.KubeletMemory{EvictionHard: "100Mi"}
)

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

// defaults are those of the settings.
func defaults(t require.TestingT) settings.MemoryReservation {
	s, err := settings.Parse(nil)
	require.NoError(t, err)
	return s.MemoryReservation
}

func in(s settings.MemoryReservation, mode string) settings.MemoryReservation {
	s.Mode = mode
	return s
}

// memory of a node whose kubelet reserves so many bytes.
func memory(p Platform, capacity, reserved int64) *v1alpha1.NodeMemory {
	return &v1alpha1.NodeMemory{Capacity: *Quantity(capacity), Allocatable: *Quantity(capacity - reserved - p.EvictionHard(capacity))}
}

// node with so many cards, as the platform configures its kubelet by itself.
func node(p Platform, name string, capacity, cards int64) Node {
	return Node{Name: name, Memory: memory(p, capacity, p.OfItself(capacity)), Cards: cards}
}

func TestQuantitiesAreShownAsMemory(t *testing.T) {
	require.Equal(t, "25068Mi", Quantity(25068*mebi).String())
	require.Equal(t, "25068Mi", inMi(25067*mebi+1))
	require.Equal(t, "-1311Mi", inMi(-1310*mebi-1))
}
