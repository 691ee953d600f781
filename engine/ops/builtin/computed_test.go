package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestComputedValues holds that values of small host tensors are computed, and forgotten where an
// alias is written.
func TestComputedValues(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "none", "2.15"))
	run := func(name string, args ...any) any {
		t.Helper()
		v, _, err := b.Run(name, args, nil)
		require.NoError(t, err)
		return v
	}
	n := run("prim::NumToTensor", int64(7)).(*tensor.Tensor)
	require.Equal(t, "cpu", n.Device)
	m := run("aten::mul", n, int64(3)).(*tensor.Tensor)
	require.Equal(t, int64(21), run("aten::Int", m), "size arithmetic is exact")
	list := &ops.List{Items: []any{n, m}}
	v := run("aten::stack", list).(*tensor.Tensor)
	first := run("aten::select", v, int64(0), int64(0)).(*tensor.Tensor)
	require.Equal(t, int64(7), run("aten::Int", first))
	run("aten::add_", first, int64(1))
	require.Equal(t, int64(8), run("aten::Int", first), "what was written is known")
	again := run("aten::select", v, int64(0), int64(0)).(*tensor.Tensor)
	require.Nil(t, again.Data, "its aliases are not known any more: they hold what was written")
}

// TestKnownUpTo: elements of 64 at most are carried.
func TestKnownUpTo(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "none", "2.15"))
	for n, known := range map[int64]bool{64: true, 65: false} {
		v, _, err := b.Run("aten::zeros", []any{ops.IntList(n)}, ops.Kw{"device": "cpu"})
		require.NoError(t, err)
		require.Equal(t, known, v.(*tensor.Tensor).Data != nil, "%d elements", n)
	}
	row, _, err := b.Run("aten::zeros", []any{ops.IntList(33)}, ops.Kw{"device": "cpu"})
	require.NoError(t, err)
	for rows, known := range map[int64]bool{1: true, 2: false} {
		column, _, err := b.Run("aten::zeros", []any{ops.IntList(rows, 1)}, ops.Kw{"device": "cpu"})
		require.NoError(t, err)
		v, _, err := b.Run("aten::add", []any{row, column}, nil)
		require.NoError(t, err)
		require.Equal(t, known, v.(*tensor.Tensor).Data != nil, "%d rows of 33 elements", rows)
	}
}
