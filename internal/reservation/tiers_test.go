package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The figures were computed with the shell, awk and Python that a node uses, from the rule in the node's script.
func TestTieredToTheByte(t *testing.T) {
	for _, tc := range []struct{ mib, bytes int64 }{
		{0, 0},
		{1, 83886},
		{333, 27934065},
		{2500, 209715200},
		{4095, 343513498},
		{4096, 343597384},
		{4097, 349238723},
		{8191, 606810931},
		{8192, 606873846},
		{8193, 613448417},
		{16383, 871083540},
		{16384, 871114998},
		{16385, 871387628},
		{24105, 1033287762},
		{65536, 1902158807},
		{131071, 3276527370},
		{131072, 3276548342},
		{131073, 3220187382},
		{136448, 3276548342},
		{136449, 3276558828},
		{262144, 4594566431},
		{524288, 7343345500},
		{823971, 10485749514},
		{823973, 10485760000},
		{1031868, 12665749504},
		{1048576, 12840861696},
		{2063731, 23485585818},
		{2097152, 23836019917},
		{9800000, 104606256333},
		{9831119, 104933097472}, // a product that awk rounds up before it is added
		{9999999, 106703093760},
		{33554432, 353689927680},
		{1073741824, 11260836970496},
	} {
		require.Equal(t, tc.bytes, tiered(tc.mib), "%d MiB", tc.mib)
	}
}

// The reservation grows with memory within a tier and jumps where constants and shares disagree. A monotonic function would
// not be the node's.
func TestWhereTieredIsNotMonotonic(t *testing.T) {
	const top = 4096 + 4096 + 8192 + 114688
	rapid.Check(t, func(t *rapid.T) {
		mib := rapid.OneOf(rapid.Int64Range(0, 1<<24), rapid.Int64Range(top-300, top+300), rapid.SampledFrom([]int64{4096, 8192, 16384})).Draw(t, "MiB")
		step := tiered(mib+1) - tiered(mib)
		switch mib {
		case top:
			require.Equal(t, int64(3220187382-3276548342), step, "beyond 128 GiB a node reserves 54 MiB less")
		case 4096, 8192:
			require.Greater(t, step, 5*mebi, "beyond %d MiB it reserves some MiB more", mib)
		default:
			require.GreaterOrEqual(t, step, int64(0), "%d MiB", mib)
			require.LessOrEqual(t, step, mebi, "%d MiB: six digits of a large reservation are whole MiB", mib)
		}
	})
}

// What was lost at 128 GiB is regained 5376 MiB later, and never lost again.
func TestTieredBeyondTheFall(t *testing.T) {
	const top, regained = 131072, 136448
	rapid.Check(t, func(t *rapid.T) {
		inside := rapid.Int64Range(top+1, regained-1).Draw(t, "inside")
		require.Less(t, tiered(inside), tiered(top))
		beyond := rapid.Int64Range(regained, 1<<30).Draw(t, "beyond")
		require.GreaterOrEqual(t, tiered(beyond), tiered(top))
	})
}
