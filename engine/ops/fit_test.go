package ops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestFit: which values pass for which type, as TorchScript's compiler tries them, first as they
// are and then (after the bar) with what it converts.
func TestFit(t *testing.T) {
	known := &tensor.Tensor{Meta: NewMeta(tensor.Int64, "cpu", nil)}
	known.Data = &tensor.Data{Ints: []int64{5}}
	matrix := &tensor.Tensor{Meta: NewMeta(tensor.Float32, "cuda", []int64{2, 3})}
	values := []struct {
		name string
		v    any
	}{
		{"int", int64(3)}, {"float", 1.5}, {"bool", true}, {"complex", complex(1, 2)}, {"str", "cuda"}, {"none", nil},
		{"device", Device("cuda")}, {"matrix", matrix}, {"number", known},
		{"ints", NewList(schema.Int, int64(1), int64(2))}, {"floats", NewList(schema.Float, 1.5)},
		{"tensors", NewList(schema.Tensor, matrix)}, {"noints", NewList(schema.Int)}, {"nothing", NewList(schema.Any)},
		{"pair", &Tuple{Items: []any{int64(1), int64(2)}}}, {"odd", &Tuple{Items: []any{int64(1), "a"}}},
		{"dict", &Dict{Keys: []any{"a"}, Values: []any{int64(1)}}}, {"empty", &Dict{}},
		{"?int", NewUnbacked("x", schema.Int)}, {"?float", NewUnbacked("x", schema.Float)},
		{"?bool", NewUnbacked("x", schema.Bool)}, {"?", NewUnbacked("x", schema.Any)}, {"object", &Packed{}},
	}
	for _, tt := range []struct{ typ, want string }{
		{"int", "int ?int ? | number"},
		{"int?", "int none ?int ? | number"},
		{"float", "float ?float ? | int number ?int"},
		{"Scalar", "int float complex ?int ?float ? | bool number ?bool"},
		{"complex", "complex ? | "},
		{"bool", "bool ?bool ? | "},
		{"str", "str ? | "},
		{"Device", "device ? | str"},
		{"Tensor", "matrix number ? | "},
		{"Tensor?", "none matrix number ? | "},
		{"int[]", "ints noints nothing pair ? | "},
		{"int[2]", "int ints noints nothing pair ?int ? | number"},
		{"float[]", "floats nothing ? | ints noints pair"},
		{"Tensor[]", "tensors nothing ? | noints"},
		{"Tensor?[]", "noints nothing ? | tensors"},
		{"t[]", "ints floats tensors noints nothing ? | pair odd"},
		{"t", "int float bool complex str none device matrix number ints floats tensors noints nothing pair odd dict empty " +
			"?int ?float ?bool ? object | "},
		{"(int, int)", "pair odd ? | "},
		{"Dict(str, int)", "dict empty ? | "},
		{"ScalarType", "int ?int ? | number"},
		{"AnyEnumType", "? object | "},
	} {
		s, err := schema.Parse("aten::f(" + tt.typ + " x) -> Tensor")
		require.NoError(t, err, tt.typ)
		var plain, converted []string
		for _, v := range values {
			got, ok := fit(v.v, s.Args[0].Type, false)
			if ok {
				plain = append(plain, v.name)
			} else if got, ok = fit(v.v, s.Args[0].Type, true); ok {
				converted = append(converted, v.name)
			}
			if ok {
				assert.Equal(t, v.v == nil, got == nil, "%s as %s: what fits is there", v.name, tt.typ)
			}
			if tuple, isTuple := v.v.(*Tuple); ok && isTuple && strings.HasSuffix(tt.typ, "]") {
				assert.Equal(t, &List{Items: tuple.Items, Elem: s.Args[0].Type.Elems[0].Kind}, got, "%s as %s: a list of its items",
					v.name, tt.typ)
			}
		}
		assert.Equal(t, tt.want, strings.Join(plain, " ")+" | "+strings.Join(converted, " "), tt.typ)
	}
}

// TestRangeOf: the ends of what is computed with numbers that are not known, where nothing bounds
// them too.
func TestRangeOf(t *testing.T) {
	between := func(lower, upper int64) Unbacked { return Between("x", lower, upper) }
	open := NewUnbacked("x", schema.Int)
	for _, tt := range []struct {
		op           string
		args         []any
		lower, upper int64
		why          string
	}{
		{"aten::neg", []any{between(-2, 7)}, -7, 2, "the ends change places"},
		{"aten::neg", []any{open}, NoMin, NoMax, "of what nothing bounds"},
		{"aten::neg", []any{between(3, NoMax)}, NoMin, -3, "of what has one end"},
		{"aten::neg", []any{between(3, 5), int64(1)}, NoMin, NoMax, "of two"},
		{"aten::abs", []any{between(-2, 7)}, NoMin, NoMax, "of what is not known"},
		{"aten::add", []any{between(-2, 7), between(10, 20)}, 8, 27, "sums"},
		{"aten::add", []any{int64(5), between(10, NoMax)}, 15, NoMax, "what nothing bounds stays so"},
		{"aten::add", []any{between(NoMin, 3), between(10, 20)}, NoMin, 23, "below too"},
		{"aten::add", []any{between(0, NoMax-1), between(0, 2)}, 0, NoMax, "what leaves 64 bits is not bounded"},
		{"aten::add", []any{between(0, NoMax-3), between(0, 2)}, 0, NoMax - 1, "what does not is"},
		{"aten::add", []any{between(NoMin+1, 0), between(-2, 0)}, NoMin, 0, "nor below"},
		{"aten::add", []any{between(NoMin+3, 0), between(-2, 0)}, NoMin + 1, 0, "as long as it does not leave them"},
		{"aten::sub", []any{between(-2, 7), between(10, 20)}, -22, -3, "differences"},
		{"aten::sub", []any{between(0, 7), between(1, NoMax)}, NoMin, 6, "less what nothing bounds"},
		{"aten::mul", []any{between(2, 7), between(3, 5)}, 6, 35, "products"},
		{"aten::mul", []any{between(-1, 7), between(3, 5)}, NoMin, NoMax, "of what may be below 0 nothing is said"},
		{"aten::mul", []any{between(3, 5), between(-1, 7)}, NoMin, NoMax, "either way"},
		{"aten::mul", []any{between(0, NoMax), between(2, 3)}, 0, NoMax, "of what nothing bounds"},
		{"aten::mul", []any{between(2, 3), between(0, NoMax)}, 0, NoMax, "the second neither"},
		{"aten::mul", []any{between(0, NoMax), int64(0)}, 0, 0, "none of it is none"},
		{"aten::mul", []any{int64(0), between(0, NoMax)}, 0, 0, "either way"},
		{"aten::mul", []any{between(0, 1<<40), between(0, 1<<40)}, 0, NoMax, "what leaves 64 bits"},
		{"aten::floordiv", []any{between(-7, 7), int64(2)}, -4, 3, "by a number, rounded down"},
		{"aten::floordiv", []any{between(1, NoMax), int64(1)}, 1, NoMax, "by one"},
		{"aten::floordiv", []any{between(NoMin, 9), int64(2)}, NoMin, 4, "of what has no lower end"},
		{"aten::floordiv", []any{between(-7, 7), int64(0)}, NoMin, NoMax, "by none"},
		{"aten::floordiv", []any{between(-7, 7), between(2, 3)}, NoMin, NoMax, "by what is not known"},
		{"prim::min", []any{between(2, 7), between(3, 5)}, 2, 5, "the smaller"},
		{"prim::max", []any{between(2, 7), between(3, 5)}, 3, 7, "the greater"},
		{"prim::min", []any{between(3, 5), between(2, 7)}, 2, 5, "either way"},
		{"prim::max", []any{between(3, 5), between(2, 7)}, 3, 7, "either way"},
		{"prim::max", []any{between(2, 7)}, NoMin, NoMax, "of one"},
		{"aten::add", []any{between(2, 7), 1.5}, NoMin, NoMax, "a real number"},
		{"aten::add", []any{between(2, 7), NewUnbacked("x", schema.Float)}, NoMin, NoMax, "one that is not known"},
		{"aten::add", []any{between(2, 7), between(3, 5), int64(1)}, NoMin, NoMax, "of three"},
	} {
		lower, upper := rangeOf(tt.op, tt.args)
		assert.Equal(t, []int64{tt.lower, tt.upper}, []int64{lower, upper}, "%s: %s", tt.op, tt.why)
	}
}

// TestKindsOfNumbers: what a number is, known or not, and what is read off a tensor.
func TestKindsOfNumbers(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want schema.Kind
	}{
		{true, schema.Bool}, {int64(1), schema.Int}, {1.5, schema.Float}, {NewUnbacked("x", schema.Float), schema.Float},
		{"1", schema.Any}, {complex(1, 2), schema.Any}, {nil, schema.Any},
	} {
		assert.Equal(t, tt.want, NumberKind(tt.v), "%v", tt.v)
	}
	for d, want := range map[tensor.DType]schema.Kind{
		tensor.Bool: schema.Bool, tensor.Uint8: schema.Int, tensor.Int64: schema.Int, tensor.Float16: schema.Float,
		tensor.Float64: schema.Float, tensor.Complex64: schema.Any,
	} {
		assert.Equal(t, want, kindOfDType(d), d)
		assert.Equal(t, NewUnbacked("aten::item", want), Item(&tensor.Tensor{Meta: NewMeta(d, "cuda", nil)},
			tensor.Undefined), d)
	}
	for text, want := range map[string]schema.Kind{"int": schema.Int, "float": schema.Float, "bool": schema.Bool,
		"Scalar": schema.Any, "Tensor": schema.Any, "int?": schema.Any} {
		s, err := schema.Parse("aten::f(" + text + " x) -> Tensor")
		require.NoError(t, err)
		assert.Equal(t, want, KindOf(s.Args[0].Type), text)
	}
	for _, tt := range []struct {
		u    Unbacked
		size bool
		hint any // in the place of 3
	}{
		{Between("x", 0, 9), true, int64(3)}, {Between("x", 5, 9), true, int64(5)}, {Between("x", 0, 2), true, int64(2)},
		{NewUnbacked("x", schema.Int), false, int64(3)},
		{Between("x", 0, NoMax), false, int64(3)}, {Unbacked{schema.Float, 0, 9, "x"}, false, 1.0},
		{NewUnbacked("x", schema.Bool), false, true}, {NewUnbacked("x", schema.Any), false, 1.0},
	} {
		assert.Equal(t, tt.size, tt.u.IsSize(), "%+v", tt.u)
		assert.Equal(t, tt.hint, tt.u.hint(3), "%+v", tt.u)
	}
	for _, tt := range []struct {
		data tensor.Data
		own  tensor.DType
		as   tensor.DType
		want any
	}{
		{tensor.Data{Ints: []int64{5}}, tensor.Int64, tensor.Undefined, int64(5)},
		{tensor.Data{Ints: []int64{5}}, tensor.Int64, tensor.Float64, 5.0}, {tensor.Data{Ints: []int64{1}}, tensor.Bool,
			tensor.Undefined, true},
		{tensor.Data{Ints: []int64{0}}, tensor.Bool, tensor.Undefined, false},
		{tensor.Data{Floats: []float64{2.5}}, tensor.Float32, tensor.Undefined, 2.5},
		{tensor.Data{Floats: []float64{2.5}}, tensor.Float32, tensor.Int64, int64(2)},
		{tensor.Data{Floats: []float64{0.5}}, tensor.Float32, tensor.Bool, true},
	} {
		x := &tensor.Tensor{Meta: NewMeta(tt.own, "cpu", nil)}
		x.Data = &tt.data
		assert.Equal(t, tt.want, Item(x, tt.as), "%+v", tt)
	}
}

// TestFillArguments: what a rule that calls another may leave out, and what is said of what it may
// not.
func TestFillArguments(t *testing.T) {
	bound := func(text string) *Bound {
		s, err := schema.Parse(text)
		require.NoError(t, err)
		return &Bound{Schema: s, Rule: &Rule{Schema: text}}
	}
	const add = "aten::f.g(Tensor a, int b=2, float c=1, *, Tensor? d=None) -> Tensor"
	x := &tensor.Tensor{}
	for _, tt := range []struct {
		why  string
		text string
		args []any
		want []any
		err  string
	}{
		{"all of them", add, []any{x, int64(1), 2.5, x}, []any{x, int64(1), 2.5, x}, ""},
		{"defaults, whole numbers as real ones where these are wanted", add, []any{x}, []any{x, int64(2), 1.0, nil}, ""},
		{"by name", add, []any{x, Kw{"d": x, "b": int64(7)}}, []any{x, int64(7), 1.0, x}, ""},
		{"no name", add, []any{x, Kw{}}, []any{x, int64(2), 1.0, nil}, ""},
		{"an optional one without a default", "aten::f(Tensor? a) -> Tensor", nil, []any{nil}, ""},
		{"one without a default", add, nil, nil, "aten::f.g: got no argument a"},
		{"too many", add, []any{x, int64(1), 2.5, x, x}, nil, "aten::f.g: got 5 arguments, want at most 4"},
		{"a name that is none of them", add, []any{x, Kw{"e": x, "b": int64(7)}}, nil, "aten::f.g: got keyword arguments " +
			"[b e], want those of " + add},
		{"a name that was given by place", add, []any{x, int64(1), Kw{"b": int64(7)}}, nil,
			"aten::f.g: got keyword arguments [b], want those of " + add},
		{"any number of them", "prim::f(Tensor a, ...) -> Tensor", []any{x, int64(1), "b"}, []any{x, int64(1), "b"}, ""},
	} {
		got, err := bound(tt.text).Fill(tt.args)
		if tt.err != "" {
			assert.EqualError(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
	}
}
