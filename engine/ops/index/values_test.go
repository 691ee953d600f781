package index_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestUnknownValues: a result has values where those of the tensor and of the index are known and
// the index goes over the first dimension; else it has none, and the call runs all the same.
func TestUnknownValues(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
	host := func(data []int64, sizes ...int64) *tensor.Tensor {
		x := b.Tensor(tensor.Meta{DType: tensor.Int64, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cpu"},
			nil)
		if data != nil {
			x.Data = &tensor.Data{Ints: data}
		}
		return x
	}
	list := func(items ...any) *ops.List { return &ops.List{Items: items, Elem: schema.Optional} }
	square, vector, number := host([]int64{1, 2, 3, 4}, 2, 2), host([]int64{5, 6, 7}, 3), host([]int64{9})
	at, unknown := host([]int64{1, 0}, 2), host(nil, 2)
	mask := b.Tensor(tensor.Meta{DType: tensor.Uint8, Sizes: []int64{3}, Strides: []int64{1}, Device: "cpu"}, nil)
	mask.Data = &tensor.Data{Ints: []int64{1, 0, 1}}
	for _, tt := range []struct {
		why  string
		op   string
		args []any
		want []int64
	}{
		{"two rows", "aten::index", []any{square, list(at)}, []int64{3, 4, 1, 2}},
		{"an index of which nothing is known", "aten::index", []any{square, list(unknown)}, nil},
		{"a tensor of which nothing is known", "aten::index", []any{host(nil, 2, 2), list(at)}, nil},
		{"two indices", "aten::index", []any{square, list(at, at)}, nil},
		{"the second dimension", "aten::index", []any{square, list(nil, at)}, nil},
		{"a mask", "aten::index", []any{vector, list(mask)}, nil},
		{"selected", "aten::index_select", []any{vector, int64(0), at}, []int64{6, 5}},
		{"selected by what is not known", "aten::index_select", []any{vector, int64(0), unknown}, nil},
		{"columns", "aten::index_select", []any{square, int64(1), at}, nil},
		{"of a number", "aten::index_select", []any{number, int64(0), host([]int64{0}, 1)}, nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got, _, err := b.Run(tt.op, tt.args, nil)
			require.NoError(t, err)
			x, ok := got.(*tensor.Tensor)
			require.True(t, ok)
			if tt.want == nil {
				assert.Nil(t, x.Data)
				return
			}
			require.NotNil(t, x.Data)
			assert.Equal(t, tt.want, x.Data.Ints)
		})
	}
}
