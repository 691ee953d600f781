package linalg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestGroupsOfRows: one group has all rows, and its product's copy is known; how several share them
// is data, and reported. Rows lie two elements apart, so that a product copies those of its group
// (cublas.cpp prepare_matrix_for_cublas). transformers 5.23, integrations/moe.py
// _grouped_mm_fallback.
func TestGroupsOfRows(t *testing.T) {
	for _, tt := range []struct {
		why    string
		rows   int64
		weight []int64
		want   string
		notes  []note.ID
	}{
		{"one group", 64, []int64{1, 32, 16}, "+4096 +8192 +8519680 -2 -1", nil},
		{"one group of one column", 64, []int64{1, 1, 16}, "+4096 +256 +8519680 -2 -1", nil},
		{"two groups", 64, []int64{2, 32, 16}, "+4096 +8192 +8519680 -2 -1", []note.ID{note.ShapeBound}},
		{"two groups of one column", 64, []int64{2, 1, 16}, "+4096 +256 +8519680 -2 -1", []note.ID{note.ShapeBound}},
		{"no rows in two groups", 0, []int64{2, 32, 16}, "", nil},
	} {
		x := aten.Dense(tensor.Float32, tt.rows, 2*tt.weight[1])
		x.Sizes, x.Strides = []int64{tt.rows, tt.weight[1]}, []int64{2 * tt.weight[1], 2}
		call := aten.Call{Op: "transformers::grouped_mm_fallback", Args: []any{x, aten.Dense(tensor.Float32, tt.weight...),
			aten.Dense(tensor.Int32, tt.weight[0])}}
		got, notes := call.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, tt.want, got, tt.why)
		var ids []note.ID
		for _, n := range notes {
			ids = append(ids, n.ID)
		}
		assert.Equal(t, tt.notes, ids, tt.why)
	}
}

// TestGroupsThatDoNotFit: rows and matrices with as many columns as rows, and an end for each
// group.
func TestGroupsThatDoNotFit(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	ends := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Int32, sizes...) }
	for _, tt := range []struct {
		why        string
		x, w, offs *tensor.Tensor
		want       string // of an error, behind the operator's name
	}{
		{"they fit", f(5, 3), f(2, 3, 4), ends(2), ""},
		{"rows in a batch", f(1, 5, 3), f(2, 3, 4), ends(2), "got [1 5 3], [2 3 4] and [2], want rows, a matrix for each " +
			"group and the groups' ends"},
		{"one matrix", f(5, 3), f(3, 4), ends(3), "got [5 3], [3 4] and [3], want rows, a matrix for each group and the " +
			"groups' ends"},
		{"ends in a row", f(5, 3), f(2, 3, 4), ends(2, 1), "got [5 3], [2 3 4] and [2 1], want rows, a matrix for each " +
			"group and the groups' ends"},
		{"an end more", f(5, 3), f(2, 3, 4), ends(3), "got [5 3], [2 3 4] and [3], want rows, a matrix for each group and " +
			"the groups' ends"},
		{"a column more", f(5, 4), f(2, 3, 4), ends(2), "got [5 4], [2 3 4] and [2], want rows, a matrix for each group " +
			"and the groups' ends"},
		{"another dtype", h.Of(tensor.Float16, 5, 3), f(2, 3, 4), ends(2), "got float16 and float32, want one dtype"},
	} {
		got, _, err := h.Bench.Run("transformers::grouped_mm_fallback", []any{tt.x, tt.w, tt.offs}, ops.Kw{})
		if tt.want != "" {
			assert.EqualError(t, err, "transformers::grouped_mm_fallback: "+tt.want, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, "float32[5, 4] [4, 1]", aten.Describe(got), tt.why)
	}
}

// On fake tensors it is one tensor, of the rows' number and the matrices' columns.
func TestGroupsOnFakeTensors(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "none", "2.15"))
	of := func(d tensor.DType, sizes ...int64) any { return b.Tensor(aten.Dense(d, sizes...), nil) }
	got, events, err := b.Run("transformers::grouped_mm_fallback",
		[]any{of(tensor.Float32, 5, 3), of(tensor.Float32, 2, 3, 4), of(tensor.Int32, 2)}, nil)
	require.NoError(t, err)
	assert.Len(t, events, 1)
	assert.Equal(t, []int64{5, 4}, got.(*tensor.Tensor).Sizes)
}

// TestGroupedProductsThatDoNotFit: what is reported names the two as they were given.
func TestGroupedProductsThatDoNotFit(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.BFloat16, sizes...) }
	two := h.Of(tensor.Int32, 2)
	for _, tt := range []struct {
		a, b *tensor.Tensor
		offs any
		want string
	}{
		{f(8), f(2, 8, 8), two, "got [8] and [2 8 8], want two or three dimensions of each"},
		{f(8, 16), f(2, 8, 24), two, "got [8 16] and [2 8 24], want as many columns as rows"},
		{f(8, 16), f(2, 16, 24), nil, "got [8 16] and [2 16 24] and offs false, want offs where one is a matrix"},
		{f(2, 8, 16), f(2, 16, 24), two, "got [2 8 16] and [2 16 24] and offs true, want offs where one is a matrix"},
		{f(8, 16), f(2, 16, 24), h.Of(tensor.Int64, 2), "got offs of int64 [2], want a vector of int32"},
		{f(8, 16), f(3, 16, 24), two, "got [8 16] and [3 16 24] in 2 groups, want as many of each"},
	} {
		_, _, err := h.Bench.Run("aten::_grouped_mm", []any{tt.a, tt.b, tt.offs}, nil)
		assert.EqualError(t, err, "aten::_grouped_mm: "+tt.want)
	}
}
