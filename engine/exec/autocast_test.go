package exec

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestAutocastLists holds the lists against what PyTorch registers: pyshim/tools/dump_schemas.py writes it.
func TestAutocastLists(t *testing.T) {
	data, err := os.ReadFile("../../testdata/aten/2.15/autocast.txt")
	require.NoError(t, err)
	kernels := strings.Fields(string(data))
	unknown := []string{"aten::linalg_matrix_sqrth"} // no rule, so that a run that meets it is incomplete
	for _, k := range kernels {
		name, overload, _ := strings.Cut(k, ".")
		if !slices.Contains(unknown, k) {
			require.NotZero(t, castPolicyOf(name, overload), "%s has a kernel for autocast", k)
		}
	}
	data, err = os.ReadFile("../../testdata/aten/2.15/schemas.txt")
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		s, err := schema.Parse(line)
		require.NoError(t, err)
		takesTensor := slices.ContainsFunc(s.Args, func(a schema.Arg) bool { return strings.HasPrefix(a.Type.String(), "Tensor") })
		if takesTensor && !slices.Contains(kernels, s.Key()) {
			require.Zero(t, castPolicyOf(s.Name, s.Overload), "%s has no kernel for autocast", s.Key())
		}
	}
}

func autocastMachine(t *testing.T, dtype string) *machine {
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	p.Autocast = dtype
	return newMachine(context.Background(), &program.Program{}, ops.Builtin(), Options{Platform: &p, MaxSteps: 1000, MaxDepth: 10})
}

func (m *machine) emptyOf(t *testing.T, dtype tensor.DType, sizes ...int64) *tensor.Tensor {
	items := make([]any, len(sizes))
	for i, n := range sizes {
		items[i] = n
	}
	x, err := m.made("aten::empty.memory_format", ops.NewList(schema.Int, items...), int64(dtype), nil, accelerator, nil, nil)
	require.NoError(t, err)
	return x
}

// What each kind of operator makes of its arguments: births from the call on, in bytes.
func TestAutocastCasts(t *testing.T) {
	for _, c := range []struct {
		name, op, why string
		in            tensor.DType
		args          func(x *tensor.Tensor) []any
		want          []int64
	}{
		{"lower", "aten::mm", "both arguments to bfloat16, the last first", tensor.Float32,
			func(x *tensor.Tensor) []any { return []any{x, x} }, []int64{128, 128, 128}},
		{"float", "aten::rsqrt", "half goes to float32", tensor.Float16, func(x *tensor.Tensor) []any { return []any{x} }, []int64{256, 256}},
		{"norm", "aten::norm.Scalar", "the overload with a dtype: no copy, a result of float32", tensor.Float16,
			func(x *tensor.Tensor) []any { return []any{x, int64(2)} }, []int64{4}},
		{"out", "aten::mm.out", "no kernel for autocast", tensor.Float32, func(x *tensor.Tensor) []any { return []any{x, x, x} }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := autocastMachine(t, "bfloat16")
			b, ok := m.table.Lookup(c.op)
			if !ok {
				t.Skipf("no rule for %s", c.op)
			}
			x := m.emptyOf(t, c.in, 8, 8)
			before := len(m.tr.Events)
			_, err := m.apply(b, c.args(x))
			require.NoError(t, err)
			require.Equal(t, c.want, births(m.tr.Events[before:], 0), c.why)
		})
	}
	t.Run("refused", func(t *testing.T) {
		m := autocastMachine(t, "float16")
		b, ok := m.table.Lookup("aten::binary_cross_entropy")
		require.True(t, ok)
		x := m.emptyOf(t, tensor.Float32, 4)
		_, err := m.apply(b, []any{x, x, nil, int64(1)})
		require.ErrorContains(t, err, "unsafe")
	})
}

// births are the sizes of the allocations, those of cuBLAS's kept workspace aside.
func births(events []trace.Event, least int64) (out []int64) {
	for _, e := range events {
		if e.Action == trace.Alloc && int64(e.Bytes) > least && e.Bytes < 1<<20 {
			out = append(out, int64(e.Bytes))
		}
	}
	return out
}

// An LSTM's weights go into one buffer of float16 whatever autocast's dtype is, its states and input are cast, and results are float16.
func TestAutocastRNN(t *testing.T) {
	m := autocastMachine(t, "bfloat16")
	const steps, batch, in, hidden = 5, 2, 8, 16
	weights := ops.NewList(schema.Tensor,
		m.emptyOf(t, tensor.Float32, 4*hidden, in), m.emptyOf(t, tensor.Float32, 4*hidden, hidden),
		m.emptyOf(t, tensor.Float32, 4*hidden), m.emptyOf(t, tensor.Float32, 4*hidden))
	x, hx, cx := m.emptyOf(t, tensor.Float32, steps, batch, in), m.emptyOf(t, tensor.Float32, 1, batch, hidden), m.emptyOf(t, tensor.Float32, 1, batch, hidden)
	b, ok := m.table.Lookup("aten::_cudnn_rnn")
	require.True(t, ok)
	before := len(m.tr.Events)
	_, err := m.apply(b, []any{x, weights, int64(4), nil, hx, cx, int64(2), int64(hidden), int64(0), int64(1), false, 0.0, false, false,
		ops.NewList(schema.Int), nil})
	require.NoError(t, err)
	flat := int64(2 * (4*hidden*in + 4*hidden*hidden + 2*4*hidden))
	state := int64(2 * batch * hidden)
	require.Equal(t, []int64{flat, state, state, 2 * steps * batch * in, 2 * steps * batch * hidden, state, state}, births(m.tr.Events[before:], 0))
}
