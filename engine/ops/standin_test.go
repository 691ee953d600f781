package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

func TestStandIns(t *testing.T) {
	of := func(d tensor.DType) *tensor.Tensor {
		return &tensor.Tensor{Meta: tensor.Meta{DType: d, Sizes: []int64{2}, Strides: []int64{1}}}
	}
	x, n, u := of(tensor.Float32), of(tensor.Int64), Unknown{Op: "aten::item"}
	for _, c := range []struct {
		key  string
		args []any
		want []any
		why  string
	}{
		{"aten::mul.Scalar", []any{x, u}, []any{x, 1.0}, "a factor"},
		{"aten::clamp", []any{x, nil, u}, []any{x, nil, 1.0}, "an optional number"},
		{"aten::mul.Scalar", []any{n, u}, nil, "an int tensor times a real number is a real one"},
		{"aten::new_zeros", []any{x, &List{Items: []any{u}}, nil, nil, nil, nil}, nil, "a size"},
		{"aten::narrow", []any{x, int64(0), int64(0), u}, nil, "a length"},
		{"aten::arange", []any{u, nil, nil, nil, nil}, nil, "numbers that make a size"},
	} {
		b, ok := Builtin().Lookup(c.key)
		require.True(t, ok, c.key)
		got, done := StandIns(b, c.args)
		assert.Equal(t, c.want != nil, done, c.why)
		assert.Equal(t, c.want, got, c.why)
	}
}
