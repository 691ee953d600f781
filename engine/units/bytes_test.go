package units

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Bytes
		why  string
	}{
		{"0", 0, ""},
		{"123", 123, "no unit is bytes"},
		{"512B", 512, ""},
		{"6 GiB", 6 * GiB, ""},
		{" 6GiB ", 6 * GiB, ""},
		{"1.5GiB", 1536 * MiB, ""},
		{"0.1KiB", 102, "102.4 B"},
		{"0.7 B", 1, "rounded, not cut"},
		{"1.9999999999GiB", 2*GiB - 0, "rounded, with a carry into the whole"},
		{"0.5B", 1, "half a byte is rounded up"},
		{"0.4999B", 0, "less than half is not"},
		{"1.499999999999999999B", 1, "nor where all 18 digits count"},
		{"0.999999999999999999TiB", TiB, "the product takes more than 64 bits"},
		{"0.000000000000000001TiB", 0, ""},
		{"8388607TiB", 8388607 * TiB, "the largest whole number of TiB"},
		{"9223372036854775807", Max, ""},
	} {
		got, err := Parse(tt.in)
		require.NoError(t, err, tt.in)
		assert.Equal(t, tt.want, got, "%s %s", tt.in, tt.why)
	}
	for _, tt := range []struct{ in, want string }{
		{"", `size "": got no number, want one such as 512, 1.5GiB or 6 GiB`},
		{"GiB", `size "GiB": got no number`},
		{"-1", `size "-1": got no number`},
		{"1e9", `size "1e9": got no number`},
		{"1.", `size "1.": got no number`},
		{".5GiB", `size ".5GiB": got no number`},
		{"1 2", `size "1 2": got no number`},
		{"1,5GiB", `size "1,5GiB": got no number`},
		{"6GB", `size "6GB": got the unit "GB", want GiB (IEC: B, KiB, MiB, GiB, TiB)`},
		{"6M", `got the unit "M", want MiB`},
		{"6mib", `got the unit "mib", want MiB`},
		{"6kb", `got the unit "kb", want KiB`},
		{"6b", `got the unit "b", want B`},
		{"6 bytes", `got the unit "bytes", want B, KiB, MiB, GiB or TiB`},
		{"6PiB", `got the unit "PiB", want B, KiB, MiB, GiB or TiB`},
		{"8388608TiB", `got more than 9223372036854775807 bytes`},
		{"8388607.999999999999999999TiB", `got more than 9223372036854775807 bytes`},
		{"1.1234567890123456789", `size "1.1234567890123456789": got no number`},
		{"6MiBB", `got the unit "MiBB", want B, KiB, MiB, GiB or TiB`},
		{"6Mx", `got the unit "Mx", want B, KiB, MiB, GiB or TiB`},
		{"6Mibi", `got the unit "Mibi", want B, KiB, MiB, GiB or TiB`},
		{"9223372036854775808", `got more than 9223372036854775807 bytes`},
	} {
		_, err := Parse(tt.in)
		require.ErrorContains(t, err, tt.want)
	}
}

func TestPrint(t *testing.T) {
	for _, tt := range []struct {
		b                      Bytes
		string, exact, compact string
	}{
		{0, "0 B", "0 B", "0"},
		{1, "1 B", "1 B", "1"},
		{1023, "1023 B", "1023 B", "1023"},
		{1024, "1.0 KiB", "1024 B", "1KiB"},
		{1536, "1.5 KiB", "1536 B", "1536"},
		{MiB - 1, "1.0 MiB", "1048575 B", "1048575"},
		{GiB - 1, "1.00 GiB", "1073741823 B", "1073741823"},
		{TiB - 1, "1.00 TiB", "1099511627775 B", "1099511627775"},
		{102236160, "97.5 MiB", "102236160 B", "99840KiB"},
		{2480930816, "2.31 GiB", "2480930816 B", "2366MiB"},
		{2 * GiB, "2.00 GiB", "2147483648 B", "2GiB"},
		{-1536 * KiB, "-1.5 MiB", "-1572864 B", "-1536KiB"},
		{-1, "-1 B", "-1 B", "-1"},
		{2, "2 B", "2 B", "2"},
		{1048524, "1023.9 KiB", "1048524 B", "1048524"},
		{1048525, "1.0 MiB", "1048525 B", "1048525"},
		{-(MiB - 1), "-1.0 MiB", "-1048575 B", "-1048575"},
		{5000 * TiB, "5000.00 TiB", "5497558138880000 B", "5000TiB"},
		{1024 * TiB, "1024.00 TiB", "1125899906842624 B", "1024TiB"},
		{math.MinInt64, "-8388608.00 TiB", "-9223372036854775808 B", "-8388608TiB"},
	} {
		assert.Equal(t, tt.string, tt.b.String())
		assert.Equal(t, tt.exact, tt.b.Exact())
		assert.Equal(t, tt.compact, tt.b.Compact())
	}
}

func TestArithmetic(t *testing.T) {
	assert.Equal(t, Bytes(512), Bytes(1).RoundUp(512))
	assert.Equal(t, Bytes(512), Bytes(512).RoundUp(512))
	assert.Equal(t, Bytes(0), Bytes(0).RoundUp(512))
	assert.Equal(t, Bytes(0), Bytes(-5).RoundUp(512))
	assert.Equal(t, Bytes(7), Bytes(7).RoundUp(0))
	assert.Equal(t, Max, (Max - 1).RoundUp(GiB))

	assert.Equal(t, Bytes(-512), Bytes(-512).RoundUp(512))
	assert.Equal(t, Bytes(-512), Bytes(-513).RoundUp(512))
	assert.Equal(t, Bytes(7), Bytes(7).RoundUp(1))
	assert.Equal(t, Bytes(8), Bytes(7).RoundUp(2))
	assert.Equal(t, Bytes(7), Bytes(7).RoundUp(-2))

	assert.Equal(t, Bytes(3), Bytes(1).Add(2))
	assert.Equal(t, Bytes(-1), Bytes(1).Add(-2))
	assert.Equal(t, Max, Max.Add(0))
	assert.Equal(t, Max, Max.Add(1))
	assert.Equal(t, Max-1, Max.Add(-1))
	assert.Equal(t, -Max, (-Max).Add(-1))
	assert.Equal(t, 1-Max, (-Max).Add(1))
	assert.Equal(t, Max, (Max - 1).Add(2))
	assert.Equal(t, -Max, (-Max + 1).Add(-2))

	assert.Equal(t, 6*GiB, GiB.Mul(6))
	assert.Equal(t, -6*GiB, GiB.Mul(-6))
	assert.Equal(t, Bytes(0), Max.Mul(0))
	assert.Equal(t, Bytes(0), Bytes(-3).Mul(0))
	assert.Equal(t, Bytes(0), Bytes(0).Mul(-3))
	assert.Equal(t, Bytes(6), Bytes(-3).Mul(-2))
	assert.Equal(t, Max, (-Max).Mul(-1))
	assert.Equal(t, Max, (-TiB).Mul(-(1 << 23)))
	assert.Equal(t, Max, TiB.Mul(1<<23))
	assert.Equal(t, -Max, TiB.Mul(-(1 << 23)))
	assert.Equal(t, Max, Bytes(math.MinInt64).Mul(math.MinInt64))
}

// FuzzParse: what Compact prints, Parse reads; what Parse reads is never negative.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"6 GiB", "512B", "1.5GiB", "123", "0.000000000000000001TiB", "6GB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(b.Compact()); b < 0 || err != nil || again != b {
			t.Fatalf("%q: got %d, printed %q, read %d, %v", s, int64(b), b.Compact(), int64(again), err)
		}
	})
}
