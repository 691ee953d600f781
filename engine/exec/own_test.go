package exec_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestOwn holds what the account of the longest lives keeps of that which a pass makes without its inputs: all of the first pass, nothing of the second.
func TestOwn(t *testing.T) {
	of := func(m *exec.Machine, dtype tensor.DType, c tensor.Category) *tensor.Tensor {
		v, err := m.NewTensor(tensor.Meta{DType: dtype, Sizes: []int64{4}, Strides: []int64{1}, Device: exec.Accelerator}, c)
		require.NoError(t, err)
		return v
	}
	made := func(m *exec.Machine, args ...any) *tensor.Tensor {
		v := of(m, tensor.Float32, tensor.Activation)
		m.KeepOwn(args, nil, v)
		return v
	}
	for _, c := range []struct {
		name, run, first, second string
		forward                  func(m *exec.Machine, weight, packed, input *tensor.Tensor)
	}{
		{"of a parameter", "+0=16 -0", "+0=16", "+0=16 -0", func(m *exec.Machine, weight, _, _ *tensor.Tensor) { m.Drop(made(m, weight)) }},
		{"of an input", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, _, _, input *tensor.Tensor) { m.Drop(made(m, input)) }},
		{"of both, in a list", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, weight, _, input *tensor.Tensor) {
			m.Drop(made(m, &ops.List{Items: []any{weight, input}}))
		}},
		{"of sizes alone", "+0=16 -0", "+0=16", "+0=16 -0", func(m *exec.Machine, _, _, _ *tensor.Tensor) { m.Drop(made(m, int64(4))) }},
		{"of what was made of a parameter", "+0=16 +1=16 -0 -1", "+0=16 +1=16", "+0=16 +1=16 -0 -1", func(m *exec.Machine, weight, _, _ *tensor.Tensor) {
			a := made(m, weight)
			b := made(m, a)
			m.Drop(a)
			m.Drop(b)
		}},
		{"of packed numbers, and of what is unpacked", "+0=16 +1=16 -0 -1", "+0=16 +1=16 -0 -1", "+0=16 +1=16 -0 -1", func(m *exec.Machine, weight, packed, _ *tensor.Tensor) {
			a := made(m, weight, packed)
			b := made(m, weight, a)
			m.Drop(a)
			m.Drop(b)
		}},
		{"with an input among the options", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, weight, _, input *tensor.Tensor) {
			v := of(m, tensor.Float32, tensor.Activation)
			m.KeepOwn([]any{weight}, ops.Kw{"mask": input}, v)
			m.Drop(v)
		}},
		{"an input is written to it", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, weight, _, input *tensor.Tensor) {
			v := made(m, weight)
			m.KeepOwn([]any{v, input}, nil, v)
			m.Drop(v)
		}},
		{"two results", "+0=16 +1=16 -0 -1", "+0=16 +1=16", "+0=16 +1=16 -0 -1", func(m *exec.Machine, weight, _, _ *tensor.Tensor) {
			pair := &ops.Tuple{Refs: 1, Items: []any{of(m, tensor.Float32, tensor.Activation), of(m, tensor.Float32, tensor.Activation)}}
			m.KeepOwn([]any{weight}, nil, pair)
			m.Drop(pair)
		}},
		{"a name might hold it anyway", "+0=16 -0 +1=16 -1", "+0=16 +1=16 -1", "+0=16 +1=16 -1 -0", func(m *exec.Machine, weight, _, input *tensor.Tensor) {
			v := made(m, weight)
			m.HoldLonger(v)
			m.Drop(v)
			m.Drop(made(m, input))
			m.DropLonger(v)
		}},
	} {
		d, err := device.Lookup("none")
		require.NoError(t, err)
		on, err := platform.New(d, platform.Newest())
		require.NoError(t, err)
		start := func(told bool) exec.Start {
			return func(m *exec.Machine) (exec.Driver, error) {
				if told {
					m.TellLongest()
				}
				weight, packed, input := of(m, tensor.Float32, tensor.Parameter), of(m, tensor.Int8, tensor.Buffer), of(m, tensor.Float32, tensor.Input)
				return pass{m, func(m *exec.Machine) { c.forward(m, weight, packed, input) }}, nil
			}
		}
		r, err := exec.Run(context.Background(), start(true), builtin.Table(), exec.Options{Platform: &on})
		require.NoError(t, err, c.name)
		require.Equal(t, c.run, passEvents(r.Trace, 1), c.name)
		require.NotNil(t, r.Held, c.name)
		require.Equal(t, c.first, passEvents(r.Held, 1), "%s, first pass", c.name)
		require.Equal(t, c.second, passEvents(r.Held, 2), "%s, second pass", c.name)
		apart, err := exec.Run(context.Background(), start(false), builtin.Table(), exec.Options{Platform: &on, HoldLocals: true})
		require.NoError(t, err, c.name)
		if c.name != "a name might hold it anyway" {
			require.Equal(t, r.Held.Events, apart.Trace.Events, "%s: a run of its own", c.name)
		}
	}
}
