package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

func TestEffective(t *testing.T) {
	cluster := defaults(t)
	require.Equal(t, cluster, Effective(cluster, settings.MemoryReservation{}))
	group := settings.MemoryReservation{Mode: ModeApply, SystemNeed: quantity("6Gi"), Base: quantity("1Gi"), PerDevice: quantity("1Mi"), Overhead: 2, MinDevices: 1}
	require.Equal(t, group, Effective(cluster, group))
	require.Equal(t, ModeApply, Effective(cluster, settings.MemoryReservation{Mode: ModeApply}).Mode)
	require.Equal(t, cluster.Base, Effective(cluster, settings.MemoryReservation{Mode: ModeApply}).Base)
}

func TestFigures(t *testing.T) {
	s := defaults(t)
	require.Equal(t, "systemNeed=4Gi base=479Mi perDevice=30Mi overhead=1.1 minDevices=8", figures(s))
	same := s
	same.Mode, same.SystemNeed = ModeApply, quantity("4096Mi")
	require.Equal(t, figures(s), figures(same), "the mode and how a quantity is written change no figure")
	for _, change := range []func(*settings.MemoryReservation){
		func(s *settings.MemoryReservation) { s.SystemNeed = quantity("3Gi") },
		func(s *settings.MemoryReservation) { s.Base = nil },
		func(s *settings.MemoryReservation) { s.PerDevice = quantity("31Mi") },
		func(s *settings.MemoryReservation) { s.Overhead = 1.2 },
		func(s *settings.MemoryReservation) { s.MinDevices = 4 },
	} {
		other := s
		change(&other)
		require.NotEqual(t, figures(s), figures(other))
	}
}
