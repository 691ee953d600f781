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

// TestOwn: where locals are held, what the first pass makes without its inputs is kept, and nothing
// of the second.
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
		{"of a parameter", "+0=16 -0", "+0=16", "+0=16 -0", func(m *exec.Machine, weight, _, _ *tensor.Tensor) {
			m.Drop(made(m, weight))
		}},
		{"of an input", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, _, _, input *tensor.Tensor) {
			m.Drop(made(m, input))
		}},
		{"of both, in a list", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, weight, _, input *tensor.Tensor) {
			m.Drop(made(m, &ops.List{Items: []any{weight, input}}))
		}},
		{"of both, in a tuple", "+0=16 -0", "+0=16 -0", "+0=16 -0", func(m *exec.Machine, weight, _, input *tensor.Tensor) {
			m.Drop(made(m, &ops.Tuple{Items: []any{input, weight}}))
		}},
		{"of sizes alone", "+0=16 -0", "+0=16", "+0=16 -0", func(m *exec.Machine, _, _, _ *tensor.Tensor) {
			m.Drop(made(m, int64(4)))
		}},
		{"of what was made of a parameter", "+0=16 +1=16 -0 -1", "+0=16 +1=16", "+0=16 +1=16 -0 -1",
			func(m *exec.Machine, weight, _, _ *tensor.Tensor) {
				a := made(m, weight)
				b := made(m, a)
				m.Drop(a)
				m.Drop(b)
			}},
		{"of packed numbers, and of what is unpacked", "+0=16 +1=16 -0 -1", "+0=16 +1=16 -0 -1", "+0=16 +1=16 -0 -1",
			func(m *exec.Machine, weight, packed, _ *tensor.Tensor) {
				a := made(m, weight, packed)
				b := made(m, weight, a)
				m.Drop(a)
				m.Drop(b)
			}},
		{"with an input among the options", "+0=16 -0", "+0=16 -0", "+0=16 -0",
			func(m *exec.Machine, weight, _, input *tensor.Tensor) {
				v := of(m, tensor.Float32, tensor.Activation)
				m.KeepOwn([]any{weight}, ops.Kw{"mask": input}, v)
				m.Drop(v)
			}},
		{"an input is written to it", "+0=16 -0", "+0=16 -0", "+0=16 -0",
			func(m *exec.Machine, weight, _, input *tensor.Tensor) {
				v := made(m, weight)
				m.KeepOwn([]any{v, input}, nil, v)
				m.Drop(v)
			}},
		{"two results", "+0=16 +1=16 -0 -1", "+0=16 +1=16", "+0=16 +1=16 -0 -1",
			func(m *exec.Machine, weight, _, _ *tensor.Tensor) {
				pair := &ops.Tuple{Refs: 1, Items: []any{of(m, tensor.Float32, tensor.Activation),
					of(m, tensor.Float32, tensor.Activation)}}
				m.KeepOwn([]any{weight}, nil, pair)
				m.Drop(pair)
			}},
	} {
		d, err := device.Lookup("none")
		require.NoError(t, err)
		on, err := platform.New(d, platform.Newest())
		require.NoError(t, err)
		start := func(m *exec.Machine) (exec.Driver, error) {
			weight, packed := of(m, tensor.Float32, tensor.Parameter), of(m, tensor.Int8, tensor.Buffer)
			input := of(m, tensor.Float32, tensor.Input)
			return scripted{m: m, forward: func(m *exec.Machine, _ []any) (any, error) {
				c.forward(m, weight, packed, input)
				return nil, nil
			}}, nil
		}
		r, err := exec.Run(context.Background(), start, builtin.Table(), exec.Options{Platform: &on})
		require.NoError(t, err, c.name)
		require.Equal(t, c.run, passEvents(r.Trace, 1), c.name)
		held, err := exec.Run(context.Background(), start, builtin.Table(), exec.Options{Platform: &on, HoldLocals: true})
		require.NoError(t, err, c.name)
		require.Equal(t, c.first, passEvents(held.Trace, 1), "%s, first pass", c.name)
		require.Equal(t, c.second, passEvents(held.Trace, 2), "%s, second pass", c.name)
	}
}

// TestOwnOfALaterPass: what a later pass makes alone is kept by nothing: modules are filled in the
// first.
func TestOwnOfALaterPass(t *testing.T) {
	d, err := device.Lookup("none")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	r, err := exec.Run(context.Background(), func(m *exec.Machine) (exec.Driver, error) {
		passes := 0
		return scripted{m: m, forward: func(m *exec.Machine, _ []any) (any, error) {
			passes++
			m.Alter()
			for range passes {
				v, err := m.NewTensor(tensor.Meta{DType: tensor.Float32, Sizes: []int64{4}, Strides: []int64{1},
					Device: exec.Accelerator}, tensor.Activation)
				require.NoError(t, err)
				m.KeepOwn(nil, nil, v)
				m.Drop(v)
			}
			return nil, nil
		}}, nil
	}, builtin.Table(), exec.Options{Platform: &on, HoldLocals: true})
	require.NoError(t, err)
	require.Equal(t, "+0=16", passEvents(r.Trace, 1))
	require.Equal(t, "+0=16 -0 +1=16 -1", passEvents(r.Trace, 2))
}
