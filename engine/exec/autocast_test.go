package exec

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestAutocastLists compares the lists with what PyTorch registers: python -m truth schemas writes
// it.
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
		takesTensor := slices.ContainsFunc(s.Args, func(a schema.Arg) bool {
			return strings.HasPrefix(a.Type.String(), "Tensor")
		})
		if takesTensor && castPolicyOf(s.Name, s.Overload) == castDType {
			require.Positive(t, s.ArgIndex("dtype"), s.Key())
		}
		if takesTensor && !slices.Contains(kernels, s.Key()) {
			require.Zero(t, castPolicyOf(s.Name, s.Overload), "%s has no kernel for autocast", s.Key())
		}
	}
}

func autocastMachine(t *testing.T, on, dtype string) *Dispatch {
	d, err := device.Lookup(on)
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	p.Autocast = dtype
	return NewDispatch(builtin.Table(), Options{Platform: &p})
}

func (d *Dispatch) emptyOf(t *testing.T, dtype tensor.DType, sizes ...int64) *tensor.Tensor {
	items := make([]any, len(sizes))
	for i, n := range sizes {
		items[i] = n
	}
	x, err := d.made("aten::empty.memory_format", ops.NewList(schema.Int, items...), int64(dtype), nil, Accelerator, nil,
		nil)
	require.NoError(t, err)
	return x
}

// Every kind of operator, as PyTorch 2.15 was recorded on fake CUDA tensors: births in bytes, and
// deaths by number.
func TestAutocastCasts(t *testing.T) {
	half, float := tensor.Float16, tensor.Float32
	square := []int64{8, 8}
	for _, c := range []struct {
		op, why string
		in      []tensor.DType
		sizes   [][]int64
		args    []any // behind the tensors
		want    string
	}{
		{"aten::mm", "to bfloat16, the last argument first", []tensor.DType{float, float}, [][]int64{square, square}, nil,
			"+128 +128 +128 -1 -0 bfloat16"},
		{"aten::rsqrt", "half goes to float32", []tensor.DType{half}, [][]int64{square}, nil, "+256 +256 -0 float32"},
		{"aten::norm.Scalar", "by the overload with a dtype: no copy, float32", []tensor.DType{half}, [][]int64{square},
			[]any{int64(2)}, "+4 float32"},
		{"aten::sum", "by its dtype: no copy, float32", []tensor.DType{half}, [][]int64{square}, []any{nil}, "+4 float32"},
		{"aten::rsqrt.out", "no kernel for autocast", []tensor.DType{half, half}, [][]int64{square, square}, nil, " float16"},
		{"aten::mm", "of its own dtype it is left alone", []tensor.DType{tensor.BFloat16, tensor.BFloat16},
			[][]int64{square, square}, nil, "+128 bfloat16"},
		{"aten::mm", "one of the two is cast", []tensor.DType{tensor.BFloat16, float}, [][]int64{square, square}, nil,
			"+128 +128 -0 bfloat16"},
		{"aten::mm", "float64 is left alone", []tensor.DType{tensor.Float64, tensor.Float64}, [][]int64{square, square}, nil,
			"+512 float64"},
		{"aten::rsqrt", "of ints there is nothing to cast",
			[]tensor.DType{tensor.Int64}, [][]int64{square}, nil, "+256 float32"},
		{"aten::norm.Scalar", "float64 stays",
			[]tensor.DType{tensor.Float64}, [][]int64{square}, []any{int64(2)}, "+8 float64"},
		{"aten::norm.ScalarOpt_dim", "along a dimension by the overload with a dtype too", []tensor.DType{half},
			[][]int64{square}, []any{int64(2), ops.IntList(1), false}, "+32 float32"},
		{"aten::norm.ScalarOpt_dim", "of float64 not", []tensor.DType{tensor.Float64}, [][]int64{square},
			[]any{int64(2), ops.IntList(1), false}, "+64 float64"},
		{"aten::norm.ScalarOpt_dim_dtype", "which is left alone itself", []tensor.DType{half}, [][]int64{square},
			[]any{int64(2), ops.IntList(1), false, int64(half)}, "+16 float16"},
		{"aten::sum", "a dtype that is stated stays",
			[]tensor.DType{half}, [][]int64{square}, []any{int64(half)}, "+2 float16"},
		{"aten::sum", "float64 is left alone", []tensor.DType{tensor.Float64}, [][]int64{square}, []any{nil}, "+8 float64"},
		{"aten::sum.dim_IntList", "along a dimension", []tensor.DType{half}, [][]int64{square},
			[]any{ops.IntList(0), false, nil}, "+32 float32"},
		{"aten::addcmul", "of one type nothing is cast", []tensor.DType{tensor.BFloat16, tensor.BFloat16, tensor.BFloat16},
			[][]int64{square, square, square}, []any{int64(1)}, "+128 bfloat16"},
		{"aten::addcmul", "float32 is the wider", []tensor.DType{tensor.BFloat16, float, tensor.BFloat16},
			[][]int64{square, square, square}, []any{int64(1)}, "+256 +256 +256 -1 -0 float32"},
		{"aten::addcmul", "float64 and ints do not count", []tensor.DType{tensor.BFloat16, tensor.Float64, tensor.Int64},
			[][]int64{square, square, square}, []any{int64(1)}, "+512 float64"},
		{"aten::tensordot", "the product within it is not cast", []tensor.DType{float, float}, [][]int64{square, square},
			[]any{ops.IntList(1), ops.IntList(0)}, "+256 float32"},
		{"torchvision::nms", "places are no values and stay", []tensor.DType{half, half}, [][]int64{{3, 4}, {3}}, []any{0.5},
			"+48 +12 +24 -0 -1 int64"},
		{"torchvision::roi_align", "of float32 the result stays what it is", []tensor.DType{float, half},
			[][]int64{{1, 4, 8, 8}, {3, 5}}, []any{1.0, int64(2), int64(2), int64(2), false}, "+60 +192 -0 float32"},
		{"torchvision::roi_align", "to float32, the first argument first, and the result back", []tensor.DType{half, half},
			[][]int64{{1, 4, 8, 8}, {3, 5}}, []any{1.0, int64(2), int64(2), int64(2), false},
			"+1024 +60 +192 -0 -1 +96 -2 float16"},
		{"torchvision::roi_pool", "two results: both are cast before either goes", []tensor.DType{half, half},
			[][]int64{{1, 4, 8, 8}, {3, 5}}, []any{1.0, int64(2), int64(2)},
			"+1024 +60 +192 +192 -0 -1 +96 +96 -2 -3 float16 float16"},
	} {
		t.Run(c.op, func(t *testing.T) {
			m := autocastMachine(t, "none", "bfloat16")
			b, ok := m.table.Lookup(c.op)
			require.True(t, ok)
			var args []any
			for i, d := range c.in {
				args = append(args, m.emptyOf(t, d, c.sizes[i]...))
			}
			before := len(m.events)
			v, err := m.Apply(b, append(args, c.args...))
			require.NoError(t, err)
			require.Equal(t, c.want, eventText(m.events[before:])+" "+dtypesOf(v), c.why)
		})
	}
	t.Run("a list is cast from its first tensor on", func(t *testing.T) {
		m := autocastMachine(t, "none", "bfloat16")
		b, ok := m.table.Lookup("aten::linalg_multi_dot")
		require.True(t, ok)
		list := ops.NewList(schema.Tensor, m.emptyOf(t, float, 2, 3), m.emptyOf(t, float, 3, 5))
		before := len(m.events)
		_, err := m.Apply(b, []any{list})
		require.NoError(t, err)
		require.Equal(t, "+12 +30 +20 -1 -0", eventText(m.events[before:]))
	})
	t.Run("the sum of a list is no tensor's", func(t *testing.T) {
		m := autocastMachine(t, "none", "bfloat16")
		b, ok := m.table.Lookup("aten::sum.int")
		require.True(t, ok)
		v, err := m.Apply(b, []any{ops.IntList(2, 3)})
		require.NoError(t, err)
		require.Equal(t, int64(5), v)
	})
	t.Run("no dtype", func(t *testing.T) {
		m := autocastMachine(t, "none", "float99")
		m.casts.to = "" // while the tensor is made
		x := m.emptyOf(t, half, 8, 8)
		m.casts.to = "float99"
		b, ok := m.table.Lookup("aten::mm")
		require.True(t, ok)
		_, err := m.Apply(b, []any{x, x})
		require.ErrorContains(t, err, "float99")
	})
	t.Run("neither type", func(t *testing.T) {
		m := autocastMachine(t, "none", "bfloat16")
		b, ok := m.table.Lookup("aten::addcmul")
		require.True(t, ok)
		x, y := m.emptyOf(t, half, 8), m.emptyOf(t, float, 8)
		_, err := m.Apply(b, []any{x, y, y, int64(1)})
		require.ErrorContains(t, err, "got float16 under autocast to bfloat16")
	})
	t.Run("refused", func(t *testing.T) {
		m := autocastMachine(t, "none", "float16")
		b, ok := m.table.Lookup("aten::binary_cross_entropy")
		require.True(t, ok)
		x := m.emptyOf(t, tensor.Float32, 4)
		_, err := m.Apply(b, []any{x, x, nil, int64(1)})
		require.ErrorContains(t, err, "unsafe")
	})
}

// TestAutocastFaults: where one of the calls fails that autocast makes for an operator, a cast, a
// buffer or the operator itself, the operator fails with it.
func TestAutocastFaults(t *testing.T) {
	table, err := faults.New(builtin.Table())
	require.NoError(t, err)
	for _, c := range []struct {
		op    string
		sizes [][]int64 // of tensors of float16 where half is true, else of float32
		half  bool
		args  func(x []any) []any
		calls int // that fail, one in each run
	}{
		{"aten::mm", [][]int64{{8, 8}, {8, 8}}, false, func(x []any) []any { return x }, 3},
		{"aten::cat", [][]int64{{8, 8}, {8, 8}}, false, func(x []any) []any {
			return []any{ops.NewList(schema.Tensor, x...), int64(0)}
		}, 1},
		{"aten::linalg_multi_dot", [][]int64{{2, 3}, {3, 5}}, false, func(x []any) []any {
			return []any{ops.NewList(schema.Tensor, x...)}
		}, 5},
		{"aten::norm.Scalar", [][]int64{{8, 8}}, true, func(x []any) []any { return append(x, int64(2)) }, 1},
		{"aten::sum", [][]int64{{8, 8}}, true, func(x []any) []any { return append(x, nil) }, 1},
		{"torchvision::roi_align", [][]int64{{1, 4, 8, 8}, {3, 5}}, true, func(x []any) []any {
			return append(x, 1.0, int64(2), int64(2), int64(2), false)
		}, 4},
		{"torchvision::roi_pool", [][]int64{{1, 4, 8, 8}, {3, 5}}, true, func(x []any) []any {
			return append(x, 1.0, int64(2), int64(2))
		}, 5},
		{"aten::_cudnn_rnn", [][]int64{{64, 8}, {64, 16}, {64}, {64}, {5, 2, 8}, {1, 2, 16}, {1, 2, 16}}, false,
			func(x []any) []any {
				return []any{x[4], ops.NewList(schema.Tensor, x[:4]...), int64(4), nil, x[5], x[6], int64(2), int64(16), int64(0),
					int64(1), false, 0.0, false, false,
					ops.NewList(schema.Int), nil}
			}, 6},
	} {
		for n := c.calls + 1; n > 0; n-- {
			table.Fail(0, nil)
			m := autocastMachine(t, "none", "bfloat16")
			m.table = table.Table
			b, ok := m.table.Lookup(c.op)
			require.True(t, ok)
			var x []any
			for _, sizes := range c.sizes {
				dtype := tensor.Float32
				if c.half {
					dtype = tensor.Float16
				}
				x = append(x, m.emptyOf(t, dtype, sizes...))
			}
			table.Fail(n, faults.Err)
			_, err := m.Apply(b, c.args(x))
			if n > c.calls {
				require.NoError(t, err, c.op)
				require.Equal(t, c.calls, table.Calls(), c.op)
				continue
			}
			require.ErrorIs(t, err, faults.Err, "%s: call %d fails", c.op, n)
		}
	}
}

// dtypesOf are those of a result's tensors.
func dtypesOf(v any) string {
	var out []string
	for _, item := range append(ops.Members(v), v) {
		if t, ok := item.(*tensor.Tensor); ok {
			out = append(out, t.DType.String())
		}
	}
	return strings.Join(out, " ")
}

// eventText writes births and deaths, numbered from the first birth on.
func eventText(events []trace.Event) string {
	number := map[tensor.StorageID]int{}
	var out []string
	for _, e := range events {
		if e.Action == trace.Alloc {
			number[e.Storage] = len(number)
			out = append(out, fmt.Sprintf("+%d", e.Bytes))
		} else {
			out = append(out, fmt.Sprintf("-%d", number[e.Storage]))
		}
	}
	return strings.Join(out, " ")
}

// An LSTM's weights go into one buffer of float16 whatever autocast's dtype is, its states and
// input are cast, and results are float16. No cast is kept, of a state that is a parameter neither.
func TestAutocastRNN(t *testing.T) {
	m := autocastMachine(t, "a10g", "bfloat16")
	const steps, batch, in, hidden = 5, 2, 8, 16
	weights := ops.NewList(schema.Tensor,
		m.emptyOf(t, tensor.Float32, 4*hidden, in), m.emptyOf(t, tensor.Float32, 4*hidden, hidden),
		m.emptyOf(t, tensor.Float32, 4*hidden), m.emptyOf(t, tensor.Float32, 4*hidden))
	x, hx, cx := m.emptyOf(t, tensor.Float32, steps, batch, in), m.emptyOf(t, tensor.Float32, 1, batch, hidden),
		m.emptyOf(t, tensor.Float32, 1, batch, hidden)
	hx.RequiresGrad, hx.Storage.Category = true, tensor.Parameter
	b, ok := m.table.Lookup("aten::_cudnn_rnn")
	require.True(t, ok)
	before := len(m.events)
	_, err := m.Apply(b, []any{x, weights, int64(4), nil, hx, cx, int64(2), int64(hidden), int64(0), int64(1), false, 0.0,
		false, false,
		ops.NewList(schema.Int), nil})
	require.NoError(t, err)
	flat := int64(2 * (4*hidden*in + 4*hidden*hidden + 2*4*hidden))
	state := int64(2 * batch * hidden)
	var births []int64
	for _, e := range m.events[before:] {
		if e.Action == trace.Alloc {
			births = append(births, int64(e.Bytes))
		}
	}
	const workspace = 8399360 // of float16 by cuDNN's formula
	require.Equal(t, []int64{flat, state, state, 2 * steps * batch * in, 2 * steps * batch * hidden, state, state,
		workspace}, births)
	require.Empty(t, m.casts.order)

	// where the weights lie in a buffer its dtype decides
	for _, c := range []struct {
		why          string
		weights, buf tensor.DType
		flat         bool
	}{
		{"weights of float32", tensor.Float32, tensor.Undefined, true},
		{"of float16", tensor.Float16, tensor.Undefined, false},
		{"of bfloat16", tensor.BFloat16, tensor.Undefined, true},
		{"of float64", tensor.Float64, tensor.Undefined, false},
		{"a buffer of float32", tensor.Float32, tensor.Float32, true},
		{"a buffer of float16", tensor.Float16, tensor.Float16, false},
		{"a buffer of float32 for weights of float16", tensor.Float16, tensor.Float32, true},
	} {
		m := autocastMachine(t, "a10g", "bfloat16")
		args := []any{m.emptyOf(t, tensor.Float16, steps, batch, in), ops.NewList(schema.Tensor,
			m.emptyOf(t, c.weights, 4*hidden, in), m.emptyOf(t, c.weights, 4*hidden, hidden)), int64(2), nil,
			m.emptyOf(t, tensor.Float16, 1, batch, hidden), m.emptyOf(t, tensor.Float16, 1, batch, hidden), int64(2),
			int64(hidden), int64(0), int64(1), false, 0.0, false, false, ops.NewList(schema.Int), nil}
		if c.buf != tensor.Undefined {
			args[3] = m.emptyOf(t, c.buf, 4*hidden*(in+hidden))
		}
		cast, err := m.autocastRNN(b, args, tensor.BFloat16)
		require.NoError(t, err)
		require.Equal(t, c.flat, cast[3] != args[3], c.why)
		if c.flat {
			got := cast[3].(*tensor.Tensor)
			require.Equal(t, tensor.Float16, got.DType, c.why)
			require.EqualValues(t, 4*hidden*(in+hidden), got.Numel(), c.why)
		}
	}
}

// TestAutocastKeeps: which casts are kept to the end of the pass: those of float32 parameters that
// require a gradient, to autocast's own dtype. All else is cast for each call anew. They go in the
// order in which they were made.
func TestAutocastKeeps(t *testing.T) {
	for _, c := range []struct {
		why  string
		edit func(x *tensor.Tensor)
		kept bool
	}{
		{"a parameter", func(*tensor.Tensor) {}, true},
		{"one that requires no gradient", func(x *tensor.Tensor) { x.RequiresGrad = false }, false},
		{"a buffer", func(x *tensor.Tensor) { x.Storage.Category = tensor.Buffer }, false},
		{"a view of a parameter", func(x *tensor.Tensor) { x.View = true }, false},
		{"another dtype than float32", func(x *tensor.Tensor) { x.DType = tensor.Float16 }, false},
	} {
		m := autocastMachine(t, "none", "bfloat16")
		b, ok := m.table.Lookup("aten::mm")
		require.True(t, ok)
		var x [2]*tensor.Tensor
		for i := range x {
			x[i] = m.emptyOf(t, tensor.Float32, 8, 8)
			x[i].RequiresGrad, x[i].Storage.Category = true, tensor.Parameter
			c.edit(x[i])
		}
		from := len(m.events)
		for range 2 {
			v, err := m.Apply(b, []any{x[0], x[1]})
			require.NoError(t, err)
			m.Drop(v)
		}
		m.leaveAutocast()
		want := "+128 +128 +128 -2 +128 -3 -0 -1"
		if !c.kept {
			want = "+128 +128 +128 -1 -0 -2 +128 +128 +128 -4 -3 -5"
		}
		require.Equal(t, want, eventText(m.events[from:]), c.why)
		require.Empty(t, m.casts.byTensor)
	}
	m := autocastMachine(t, "none", "bfloat16")
	x := m.emptyOf(t, tensor.Float32, 8, 8)
	x.RequiresGrad, x.Storage.Category = true, tensor.Parameter
	v, err := m.castArg(x, tensor.Float32, tensor.BFloat16)
	require.NoError(t, err)
	require.Same(t, x, v, "of the dtype it is to have it is itself")
	half := m.emptyOf(t, tensor.Float16, 8, 8)
	half.RequiresGrad, half.Storage.Category = true, tensor.Parameter
	_, err = m.castArg(half, tensor.Float32, tensor.BFloat16)
	require.NoError(t, err)
	require.Empty(t, m.casts.order, "to float32 nothing is kept")
	_, err = m.castArg(x, tensor.Float16, tensor.BFloat16)
	require.NoError(t, err)
	require.Empty(t, m.casts.order, "nor to another dtype than autocast's, as of a recurrent layer")
	halves, err := m.castArg(ops.NewList(schema.Tensor, half), tensor.Float32, tensor.BFloat16)
	require.NoError(t, err)
	require.Equal(t, tensor.Float32, halves.(*ops.List).Items[0].(*tensor.Tensor).DType)
	x.Device = "cpu"
	v, err = m.castArg(x, tensor.BFloat16, tensor.BFloat16)
	require.NoError(t, err)
	require.Same(t, x, v, "what is not on the accelerator")
	x.Device = Accelerator
	list, err := m.castArg(ops.NewList(schema.Tensor, x, nil, half), tensor.BFloat16, tensor.BFloat16)
	require.NoError(t, err)
	items := list.(*ops.List).Items
	require.Len(t, items, 3)
	require.Equal(t, []tensor.DType{tensor.BFloat16, tensor.BFloat16}, []tensor.DType{items[0].(*tensor.Tensor).DType,
		items[2].(*tensor.Tensor).DType})
	require.Nil(t, items[1])
	require.Equal(t, schema.Tensor, list.(*ops.List).Elem)
	require.Len(t, m.casts.order, 1)
	v, err = m.castArg(x, tensor.Float16, tensor.BFloat16)
	require.NoError(t, err)
	require.Equal(t, tensor.Float16, v.(*tensor.Tensor).DType, "what is kept is of autocast's dtype")
}

// TestAutocastRegions: a region of the program under autocast; leaving the outermost releases the
// casts, unless the whole pass is under autocast.
func TestAutocastRegions(t *testing.T) {
	for _, c := range []struct{ around, want string }{
		{"", "+128 +128 +128 -2 +128 -3 +128 -4 -0 -1 +256 -5"},
		{"bfloat16", "+128 +128 +128 -2 +128 -3 +128 -4 +128 -5"},
	} {
		m := autocastMachine(t, "none", c.around)
		b, ok := m.table.Lookup("aten::mm")
		require.True(t, ok)
		var x [2]*tensor.Tensor
		for i := range x {
			x[i] = m.emptyOf(t, tensor.Float32, 8, 8)
			x[i].RequiresGrad, x[i].Storage.Category = true, tensor.Parameter
		}
		from := len(m.events)
		run := func() error {
			v, err := m.Apply(b, []any{x[0], x[1]})
			require.NoError(t, err)
			m.Drop(v)
			return nil
		}
		require.NoError(t, m.Autocast("bfloat16", func() error {
			require.NoError(t, run())
			require.NoError(t, m.Autocast("bfloat16", run))
			return run()
		}))
		require.NoError(t, run())
		require.Equal(t, c.want, eventText(m.events[from:]), "around: %q", c.around)
		failed := errors.New("got nothing, want something")
		require.ErrorIs(t, m.Autocast("", func() error { return failed }), failed)
		require.Equal(t, c.around, m.casts.to)
	}
}

// TestAutocastMakes: an operator that has no rule, that lacks an argument, or that makes no tensor.
func TestAutocastMakes(t *testing.T) {
	m := autocastMachine(t, "none", "bfloat16")
	_, err := m.made("t::none")
	require.Equal(t, &ops.MissingError{Op: "t::none"}, err)
	_, err = m.made("aten::to.dtype")
	require.ErrorContains(t, err, "aten::to")
	_, err = m.made("aten::len.t", ops.NewList(schema.Int))
	require.EqualError(t, err, "internal error: got int from aten::len.t")
}
