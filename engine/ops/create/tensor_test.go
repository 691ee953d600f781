package create_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// The elements of torch.tensor are known, as torch 2.15 gives them, where all its numbers are.
func TestTensorOfNumbers(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	dtype := func(d tensor.DType) ops.Kw { return ops.Kw{"dtype": int64(d)} }
	list := func(kind schema.Kind, v ...any) any { return ops.NewList(kind, v...) }
	for _, c := range []struct {
		args []any
		want *tensor.Data
	}{
		{[]any{int64(7)}, &tensor.Data{Ints: []int64{7}}},
		{[]any{ops.IntList(1, 2)}, &tensor.Data{Ints: []int64{1, 2}}},
		{[]any{list(schema.Float, 0.5, 2.0)}, &tensor.Data{Floats: []float64{0.5, 2}}},
		{[]any{list(schema.Float, 2.75, -2.75), dtype(tensor.Int64)}, &tensor.Data{Ints: []int64{2, -2}}},
		{[]any{ops.IntList(3, 0), dtype(tensor.Float64)}, &tensor.Data{Floats: []float64{3, 0}}},
		{[]any{list(schema.Float, 0.5, 0.0), dtype(tensor.Bool)}, &tensor.Data{Ints: []int64{1, 0}}},
		{[]any{list(schema.Bool, true, false)}, &tensor.Data{Ints: []int64{1, 0}}},
		{[]any{list(schema.List, ops.IntList(1), ops.IntList(2))}, &tensor.Data{Ints: []int64{1, 2}}},
		{[]any{list(schema.Int, int64(1), ops.Between("n", 1, 9))}, nil},
		{[]any{ops.IntList(1, 2), dtype(tensor.Complex64)}, nil},
	} {
		assert.Equal(t, c.want, h.Run("aten::tensor", c.args...).(*tensor.Tensor).Data, "%v", c.args)
	}
}
