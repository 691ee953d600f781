package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// TestInputsThatAreNotBound: an input with an open dim, wherever it lies, is an error that names
// the input.
func TestInputsThatAreNotBound(t *testing.T) {
	for _, text := range []string{"x=float32[B]", "x=[1, float32[B]]", "x=(float32[B],)", "x={a: 1, b: [float32[B]]}"} {
		in, err := spec.ParseInput(text)
		require.NoError(t, err, text)
		_, err = execInputs([]spec.Input{in}, tensor.Undefined)
		assert.EqualError(t, err, "input "+in.String()+`: got dim "B" without a value`, text)
	}
}

// TestItemsOfInputs: the items of a list, a tuple and a dict stay in their order, floating tensors
// alone are cast, and a tensor of the host stays there.
func TestItemsOfInputs(t *testing.T) {
	in, err := spec.ParseInput("x={b: (float32[2], int64[3]), a: [1, 2.5, 'c', false], c: {d: None}}")
	require.NoError(t, err)
	got, err := execInputs([]spec.Input{in}, tensor.Float16)
	require.NoError(t, err)
	of := func(d tensor.DType, n int64) tensor.Meta {
		return tensor.Meta{DType: d, Sizes: []int64{n}, Strides: []int64{1}, Device: "cuda"}
	}
	assert.Equal(t, []exec.Input{{Name: "x", Value: exec.Dict{
		{Name: "b", Value: exec.Tuple{{Value: of(tensor.Float16, 2)}, {Value: of(tensor.Int64, 3)}}},
		{Name: "a", Value: []exec.Input{{Value: int64(1)}, {Value: 2.5}, {Value: "c"}, {Value: false}}},
		{Name: "c", Value: exec.Dict{{Name: "d"}}}}}}, got)
	m, err := meta(spec.Tensor{DType: tensor.Float32, Device: "cpu"}, tensor.Undefined)
	require.NoError(t, err)
	assert.Equal(t, []any{tensor.Float32, "cpu"}, []any{m.DType, m.Device})
}
