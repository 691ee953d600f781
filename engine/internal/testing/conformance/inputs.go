package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// ExecInputs are the inputs that a recording was made with.
func (r *Recording) ExecInputs(t testing.TB) []exec.Input {
	t.Helper()
	var out []exec.Input
	for _, text := range r.Inputs {
		in, err := spec.ParseInput(text)
		require.NoError(t, err)
		in, err = in.Bind(nil)
		require.NoError(t, err)
		out = append(out, exec.Input{Name: in.Name, Value: inputOf(t, in.Value)})
	}
	return out
}

func inputOf(t testing.TB, v spec.Value) any {
	t.Helper()
	items := func(vs []spec.Value) (out []exec.Input) {
		for _, v := range vs {
			out = append(out, exec.Input{Value: inputOf(t, v)})
		}
		return out
	}
	switch v := v.(type) {
	case spec.Tensor:
		sizes, err := v.Sizes()
		require.NoError(t, err)
		strides, err := v.Strides()
		require.NoError(t, err)
		return tensor.Meta{DType: v.DType, Sizes: sizes, Strides: strides, Device: exec.Accelerator}
	case spec.List:
		return items(v)
	case spec.Tuple:
		return exec.Tuple(items(v))
	case spec.Dict:
		var d exec.Dict
		for _, it := range v {
			d = append(d, exec.Input{Name: it.Key, Value: inputOf(t, it.Value)})
		}
		return d
	case spec.Int:
		return int64(v)
	case spec.Float:
		return float64(v)
	case spec.Bool:
		return bool(v)
	case spec.Str:
		return string(v)
	}
	return nil
}
