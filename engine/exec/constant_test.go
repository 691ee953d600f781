package exec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestNumbersInTracedCode holds that a number that the tracer wrote as a 0-dim tensor is promoted
// as a number: `index * 1.5` is float32. Any other tensor of float64 without dimensions makes it
// float64.
func TestNumbersInTracedCode(t *testing.T) {
	for _, c := range []struct {
		of   tensor.Category
		want tensor.DType
	}{
		{tensor.Constant, tensor.Float32},
		{tensor.Buffer, tensor.Float64},
	} {
		d := exec.NewDispatch(builtin.Table(), exec.Options{Platform: none(t)})
		index, err := d.NewTensor(tensor.Meta{DType: tensor.Int64, Device: "cuda", Sizes: []int64{5}, Strides: []int64{1}},
			tensor.Activation)
		require.NoError(t, err)
		number, err := d.NewTensor(tensor.Meta{DType: tensor.Float64, Device: "cpu"}, c.of)
		require.NoError(t, err)
		bound, args, err := builtin.Table().Resolve("aten::mul", []any{index, number}, nil)
		require.NoError(t, err)
		v, err := d.Apply(bound, args)
		require.NoError(t, err)
		require.Equal(t, c.want, v.(*tensor.Tensor).DType, "%v", c.of)
	}
}
