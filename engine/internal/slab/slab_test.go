package slab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/slab"
)

// TestValuesAreZeroedAndApart holds that no two values share memory, whatever the sizes asked for,
// and that appending to one leaves its neighbour alone.
func TestValuesAreZeroedAndApart(t *testing.T) {
	var s slab.Of[int]
	var lists [][]int
	for n := range 200 {
		p := s.New()
		require.Zero(t, *p)
		*p = -1
		list := s.Cut(n)
		require.Len(t, list, n)
		for i := range list {
			require.Zero(t, list[i])
			list[i] = n
		}
		lists = append(lists, list)
		_ = append(list, 1000)
	}
	for _, n := range []int{5_000, 1 << 20} {
		require.Len(t, s.Cut(n), n, "more than a block has left")
	}
	for n, list := range lists {
		for _, v := range list {
			require.Equal(t, n, v)
		}
	}
}

func TestExtend(t *testing.T) {
	list := slab.Extend([]int(nil), 3)
	require.Equal(t, []int{0, 0, 0}, list)
	list[0], list[1], list[2] = 1, 2, 3
	again := slab.Extend(list[:1], 2)
	require.Equal(t, []int{1, 0, 0}, again, "what was left behind the end is cleared")
	again[0] = 4
	require.Equal(t, 4, list[0], "there was room: the list did not move")
	full := again[:3:3]
	moved := slab.Extend(full, 300)
	moved[0] = 5
	require.Equal(t, 4, full[0], "without room it moves, and the old one keeps its values")
	require.Len(t, moved, 303)
	exact := make([]int, 2, 5)
	filled := slab.Extend(exact, 3)
	filled[0] = 6
	require.Equal(t, 6, exact[0], "with just enough room it stays")
}
