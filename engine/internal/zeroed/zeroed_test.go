package zeroed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/zeroed"
)

func TestExtend(t *testing.T) {
	list := zeroed.Extend([]int(nil), 3)
	require.Equal(t, []int{0, 0, 0}, list)
	list[0], list[1], list[2] = 1, 2, 3
	again := zeroed.Extend(list[:1], 2)
	require.Equal(t, []int{1, 0, 0}, again, "what was left behind the end is cleared")
	again[0] = 4
	require.Equal(t, 4, list[0], "there was space: the list did not move")
	full := again[:3:3]
	moved := zeroed.Extend(full, 300)
	moved[0] = 5
	require.Equal(t, 4, full[0], "without space it moves, and the old one keeps its values")
	require.Len(t, moved, 303)
	exact := make([]int, 2, 5)
	filled := zeroed.Extend(exact, 3)
	filled[0] = 6
	require.Equal(t, 6, exact[0], "with just enough space it stays")
}
