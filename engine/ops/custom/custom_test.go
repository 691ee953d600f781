package custom_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/custom"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

func bench(t *testing.T, o custom.Operator) *aten.Bench {
	r, err := o.Rule()
	require.NoError(t, err)
	table, err := builtin.With([]ops.Rule{r})
	require.NoError(t, err)
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	return aten.NewBench(table, &p)
}

func meta(sizes ...int64) tensor.Meta {
	return tensor.Meta{DType: tensor.Float16, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cuda"}
}

func TestRule(t *testing.T) {
	b := bench(t, custom.Operator{Schema: "mylib::pair(Tensor x, int n, *, bool fast=True) -> (Tensor, Tensor)",
		Results: []string{"x[n*x_0, x_1]", "float32[max(x_0, x_1)]"}, Workspace: "4*x_numel"})
	x := b.Tensor(meta(3, 5), nil)
	v, events, err := b.Run("mylib::pair", []any{x, int64(4)}, nil)
	require.NoError(t, err)
	items := v.(*ops.Tuple).Items
	assert.Equal(t, meta(12, 5), items[0].(*tensor.Tensor).Meta)
	assert.Equal(t, []int64{5}, items[1].(*tensor.Tensor).Sizes)
	require.Len(t, events, 4, "two results, workspace and its end")
	assert.EqualValues(t, 60, events[2].Bytes)
}

func TestInPlace(t *testing.T) {
	b := bench(t, custom.Operator{Schema: "mylib::scale_(Tensor(a!) x) -> Tensor(a!)"})
	x := b.Tensor(meta(3, 5), nil)
	v, events, err := b.Run("mylib::scale_", []any{x}, nil)
	require.NoError(t, err)
	assert.Same(t, x, v)
	assert.Empty(t, events)
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		o    custom.Operator
		want string
	}{
		{custom.Operator{Schema: "mylib::f(Tensor x"}, `schema:1:18: got end, want ')' in "mylib::f(Tensor x"`},
		{custom.Operator{Schema: "aten::f(Tensor x) -> Tensor", Results: []string{"x"}},
			"got the operator aten::f, want one of a library of your own, such as mylib::name"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> int"}, "mylib::f: got a result of type int, want tensors"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor"}, "mylib::f: got 0 results, want the 1 that the schema " +
			"makes"},
		{custom.Operator{Schema: "mylib::f(Tensor(a!) x) -> Tensor(a!)", Results: []string{"x"}},
			"mylib::f: got 1 results, want the 0 that the schema makes"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"y"}},
			`mylib::f: result "y": got "y", want a dtype or a tensor argument`},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"float32"}},
			`mylib::f: result "float32": got no sizes, want them in brackets`},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x[1"}},
			`mylib::f: result "x[1": got no closing bracket`},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x[n]"}},
			`mylib::f: result "x[n]": got n, want an int argument, or of a tensor argument x a size x_0 or x_numel`},
		{custom.Operator{Schema: "mylib::f(Tensor x, int n) -> Tensor", Results: []string{"x[n*z]"}},
			`mylib::f: result "x[n*z]": got z, want an int argument, or of a tensor argument x a size x_0 or x_numel`},
		{custom.Operator{Schema: "mylib::f(Tensor x, int n) -> Tensor", Results: []string{"x[z*n]"}},
			`mylib::f: result "x[z*n]": got z, want an int argument, or of a tensor argument x a size x_0 or x_numel`},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x[x_0, y_0]"}},
			`mylib::f: result "x[x_0, y_0]": got y_0, want an int argument, or of a tensor argument x a size x_0 or x_numel`},
		{custom.Operator{Schema: "mylib::f(Tensor x, int n) -> Tensor", Results: []string{"x[n_0]"}},
			`mylib::f: result "x[n_0]": got n_0, want an int argument, or of a tensor argument x a size x_0 or x_numel`},
		{custom.Operator{Schema: "mylib::f(Tensor x, float n) -> Tensor", Results: []string{"x[n]"}},
			`mylib::f: result "x[n]": got n, want an int argument, or of a tensor argument x a size x_0 or x_numel`},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x"}, Workspace: "x_size"},
			"mylib::f: workspace: got x_size, want an int argument, or of a tensor argument x a size x_0 or x_numel"},
	} {
		_, err := c.o.Rule()
		assert.EqualError(t, err, c.want)
	}
}

// What an expression says of a call that it does not fit is an error of the call: no size is left
// out.
func TestRefusedCalls(t *testing.T) {
	for _, c := range []struct {
		o    custom.Operator
		want string
	}{
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x"}, Workspace: "x_2"}, "x_2"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x"}, Workspace: "x_0 - 4"},
			"got a workspace of -1 bytes"},
		{custom.Operator{Schema: "mylib::f(Tensor(a!) x) -> Tensor(a!)", Workspace: "x_2"}, "x_2"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> ()", Workspace: "x_2"}, "x_2"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x[x_2]"}}, "x_2"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x[x_0 - 4]"}}, "got a negative size"},
		{custom.Operator{Schema: "mylib::f(Tensor x) -> Tensor", Results: []string{"x[x_0*4611686018427387904]"}},
			"want a number that fits int64"},
	} {
		b := bench(t, c.o)
		_, _, err := b.Run("mylib::f", []any{b.Tensor(meta(3, 5), nil)}, nil)
		assert.ErrorContains(t, err, c.want, "%+v", c.o)
	}
}

// TestWorkspaceByArguments: a workspace may come out at nothing, and a result of no tensor is on
// the device.
func TestWorkspaceByArguments(t *testing.T) {
	b := bench(t, custom.Operator{Schema: "mylib::make(int n) -> Tensor", Results: []string{"float32[n]"},
		Workspace: "n - 4"})
	for n, events := range map[int64]int{4: 1, 5: 3} {
		got, happened, err := b.Run("mylib::make", []any{n}, nil)
		require.NoError(t, err)
		assert.Equal(t, "cuda", got.(*tensor.Tensor).Device)
		assert.Equal(t, []int64{n}, got.(*tensor.Tensor).Sizes)
		assert.Len(t, happened, events, "a result of %d numbers", n)
	}
	_, _, err := b.Run("mylib::make", []any{int64(3)}, nil)
	assert.EqualError(t, err, "mylib::make: got a workspace of -1 bytes")
}

// TestResultsLikeArguments: a result like a whole argument has its sizes and dtype, and lies row by
// row; the argument is a tensor in every call.
func TestResultsLikeArguments(t *testing.T) {
	b := bench(t, custom.Operator{Schema: "mylib::like(Tensor x) -> Tensor", Results: []string{"x"}})
	turned := meta(3, 5)
	turned.Strides = []int64{1, 3}
	got, _, err := b.Run("mylib::like", []any{b.Tensor(turned, nil)}, nil)
	require.NoError(t, err)
	assert.Equal(t, meta(3, 5), got.(*tensor.Tensor).Meta)
	_, err = (&custom.Operator{Schema: "mylib::like(Tensor? x) -> Tensor", Results: []string{"x"}}).Rule()
	assert.EqualError(t, err, `mylib::like: result "x": got "x", want a dtype or a tensor argument`)
}
