package ops

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPyString(t *testing.T) {
	own := &List{Refs: 1}
	own.Items = []any{own, own, int64(1)}
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "None"},
		{true, "True"},
		{&Tuple{Items: []any{int64(1), "a", 2.0}}, "(1, a, 2.)"},
		{&Dict{Keys: []any{"k"}, Values: []any{&List{Items: []any{false}}}}, "{k: [False]}"},
		{&List{}, "[]"},
	} {
		assert.Equal(t, c.want, pyString(c.v))
	}
	got := pyString(own)
	assert.Contains(t, got, strings.Repeat("[", maxNesting)+"[...")
	assert.Less(t, len(got), maxString+100*maxNesting, "a list that holds itself is bounded")
}

// The closed form is what counting row by row gives.
func TestClampedSum(t *testing.T) {
	for rows := int64(0); rows < 7; rows++ {
		for most := int64(0); most < 7; most++ {
			for off := int64(-9); off < 10; off++ {
				want := int64(0)
				for i := range rows {
					want += min(max(i+off, 0), most)
				}
				assert.Equal(t, want, clampedSum(rows, off, most).Int64(), "%d rows, offset %d, at most %d", rows, off, most)
			}
		}
	}
	n := int64(1) << 62
	assert.Equal(t, 1, clampedSum(n, n, n).Cmp(big.NewInt(n)), "no overflow")
}
