package exec

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestEvalErrors: an error names the user's own line, else the archive's, and the module.
func TestEvalErrors(t *testing.T) {
	at := func(file string, line int) program.Pos { return program.Pos{File: file, Line: line} }
	torch := at("/v/site-packages/torch/nn/functional.py", 9)
	entry := StackEntry{Func: "M.forward", Record: "code/m.py", Line: 4, Module: "layer1"}
	user := entry
	user.Pos = at("/u/net.py", 7)
	own := entry
	own.Pos = at("/v/dist-packages/torch/nn/linear.py", 8)
	bare := StackEntry{Func: "f", Record: "code/f.py", Line: 5}
	for _, tt := range []struct {
		e    EvalError
		want string
	}{
		{EvalError{Msg: "bad"}, "bad"},
		{EvalError{Msg: "bad", Pos: at("/u/a.py", 3)}, "/u/a.py:3: bad"},
		{EvalError{Msg: "bad", Pos: torch}, torch.File + ":9: bad"},
		{EvalError{Msg: "bad", Pos: torch, Stack: []StackEntry{own, user}}, "/u/net.py:7: layer1: bad"},
		{EvalError{Msg: "bad", Pos: torch, Stack: []StackEntry{own}}, torch.File + ":9: layer1: bad"},
		{EvalError{Msg: "bad", Pos: at("torch/functional.py", 2), Stack: []StackEntry{bare, user}}, "/u/net.py:7: bad"},
		{EvalError{Msg: "bad", Stack: []StackEntry{entry, bare}}, "code/m.py:4: layer1: bad"},
		{EvalError{Msg: "bad", Stack: []StackEntry{bare, user}}, "/u/net.py:7: bad"},
		{EvalError{Msg: "bad", Stack: []StackEntry{bare}}, "code/f.py:5: bad"},
	} {
		assert.EqualError(t, &tt.e, tt.want)
	}
	assert.Equal(t, "  code/f.py:5 in f\n  code/m.py:4 in M.forward (module layer1), /u/net.py:7\n",
		(&EvalError{Stack: []StackEntry{user, bare}}).Backtrace())
	long := &EvalError{Stack: make([]StackEntry, 32)}
	assert.True(t, strings.HasSuffix(long.Backtrace(), "\n  … 2 more\n"))
	assert.Equal(t, 31, strings.Count(long.Backtrace(), "\n"))
	long.Stack = long.Stack[:30]
	assert.NotContains(t, long.Backtrace(), "more")
	cause := errors.New("cause")
	assert.ErrorIs(t, &EvalError{Cause: cause}, cause)
	assert.EqualError(t, &LimitError{What: "steps", Limit: 9}, "got more than 9 steps, want fewer")
}

// TestFits: which values can be passed as which types.
func TestFits(t *testing.T) {
	of := func(k program.TypeKind, elems ...*program.Type) *program.Type {
		return &program.Type{Kind: k, Elems: elems}
	}
	values := map[string]any{"None": nil, "bool": true, "int": int64(1), "float": 1.5, "str": "a",
		"Tensor": &tensor.Tensor{}, "ints": ops.IntList(1, 2), "strs": ops.NewList(schema.Str, "a"), "empty": &ops.List{},
		"pair": &ops.Tuple{Items: []any{int64(1), "a"}}, "triple": &ops.Tuple{Items: []any{int64(1), "a", "b"}},
		"dict":  &ops.Dict{Keys: []any{"a"}, Values: []any{int64(1)}},
		"words": &ops.Dict{Keys: []any{"a"}, Values: []any{"b"}}}
	num, str := of(program.IntType), of(program.StrType)
	for _, tt := range []struct {
		t    *program.Type
		want string
	}{
		{of(program.TensorType), "Tensor"}, {num, "int"}, {of(program.FloatType), "int float"},
		{of(program.BoolType), "bool"}, {str, "str"}, {of(program.NoneType), "None"},
		{of(program.OptionalType, num), "None int"}, {of(program.ListType, num), "ints empty"},
		{of(program.ListType), "ints strs empty"}, {of(program.ListType, str), "strs empty"},
		{of(program.TupleType, num, str), "pair"}, {of(program.TupleType, str, str), ""},
		{of(program.TupleType, num, num), ""}, {of(program.TupleType), "pair triple"},
		{of(program.DictType, str, num), "dict"}, {of(program.DictType, str, str), "words"},
		{of(program.DictType), "dict words"},
	} {
		for name, v := range values {
			assert.Equal(t, strings.Contains(" "+tt.want+" ", " "+name+" "), Fits(v, tt.t), "%s as %s", name, tt.t)
		}
	}
	for _, v := range values {
		assert.True(t, Fits(v, nil) && Fits(v, of(program.AnyType)))
	}
	for kind, want := range map[program.TypeKind]schema.Kind{program.TensorType: schema.Tensor,
		program.IntType: schema.Int, program.FloatType: schema.Float, program.BoolType: schema.Bool,
		program.StrType:     schema.Str,
		program.ComplexType: schema.Complex, program.ListType: schema.List, program.TupleType: schema.Tuple,
		program.DictType: schema.Dict, program.OptionalType: schema.Any} {
		assert.Equal(t, want, ElemKind(of(kind)), kind)
	}
	assert.Equal(t, schema.Any, ElemKind(nil))
	assert.Equal(t, "none", paramNames(nil))
	assert.Equal(t, "x Tensor, n int",
		paramNames([]program.Param{{Name: "x", Type: of(program.TensorType)}, {Name: "n", Type: num}}))
	ints := []Input{{Value: int64(1)}, {Value: int64(20)}}
	assert.Equal(t, ", such as float32[1,20]", tensorHint(ints, of(program.TensorType)))
	for _, none := range []string{tensorHint(ints, num), tensorHint(ints, nil),
		tensorHint([]Input{}, of(program.TensorType)), tensorHint(int64(1), of(program.TensorType)),
		tensorHint([]Input{{Value: "a"}}, of(program.TensorType))} {
		assert.Empty(t, none)
	}
}

func TestTruth(t *testing.T) {
	number := func(data *tensor.Data) *tensor.Tensor {
		return &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Int64, Device: "cpu"}, Data: data}
	}
	for _, tt := range []struct {
		cond         any
		truth, known bool
		err          string
	}{
		{true, true, true, ""}, {false, false, true, ""}, {int64(0), false, true, ""}, {int64(-1), true, true, ""},
		{ops.Unbacked{}, false, false, ""}, {"a", false, false, "got a condition of type str, want a bool"},
		{number(&tensor.Data{Ints: []int64{3}}), true, true, ""}, {number(&tensor.Data{Ints: []int64{0}}), false, true, ""},
		{number(nil), false, false, ""},
	} {
		truth, known, err := Truth(tt.cond)
		assert.Equal(t, []bool{tt.truth, tt.known}, []bool{truth, known}, "%v", tt.cond)
		if tt.err != "" {
			assert.EqualError(t, err, tt.err)
		}
	}
}

// TestStates: two descriptions are equal only where everything is that a run goes on by; a value
// for each part that could be left out.
func TestStates(t *testing.T) {
	h := &Heap{holders: []int32{1, 2}}
	store := func(id tensor.StorageID, bytes int64, c tensor.Category) *tensor.Storage {
		return &tensor.Storage{ID: id, NBytes: 64, Category: c, Device: fmt.Sprint(bytes)}
	}
	one := store(0, 64, tensor.Input)
	on := func(s *tensor.Storage, edit func(x *tensor.Tensor)) *tensor.Tensor {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 3}, Strides: []int64{3, 1},
			StorageOffset: 1, Device: "cuda"}, Storage: s}
		if edit != nil {
			edit(x)
		}
		return x
	}
	x := on(one, nil)
	l := ops.IntList(1)
	values := []any{
		nil, int64(1), int64(2), 1.0, 2.0, "a", "b", "", true, false, ops.Unbacked{}, ops.Device("cpu"), 1i,
		x, on(one, func(x *tensor.Tensor) { x.DType = tensor.Int32 }), on(one, func(x *tensor.Tensor) {
			x.Sizes = []int64{3, 2}
		}), on(one, func(x *tensor.Tensor) { x.Strides = []int64{1, 2} }),
		on(one, func(x *tensor.Tensor) { x.StorageOffset = 2 }), on(one, func(x *tensor.Tensor) { x.Device = "cpu" }),
		on(one, func(x *tensor.Tensor) { x.Data = &tensor.Data{Ints: []int64{1}} }),
		on(one, func(x *tensor.Tensor) { x.Data = &tensor.Data{Floats: []float64{2}} }), on(store(1, 64, tensor.Input), nil),
		on(store(0, 64, tensor.Activation), nil), on(store(-1, 64, tensor.Input), nil),
		&ops.List{}, l, ops.IntList(1, 1), ops.IntList(2), &ops.List{Items: []any{int64(1)}, Elem: schema.Float},
		&ops.Tuple{}, &ops.Tuple{Items: []any{int64(1)}},
		&ops.Dict{}, &ops.Dict{Keys: []any{"a"}, Values: []any{int64(1)}},
		&ops.Dict{Keys: []any{"a"}, Values: []any{int64(2)}}, &ops.Dict{Keys: []any{"b"}, Values: []any{int64(1)}},
		&ops.Tuple{Items: []any{l, l}}, &ops.Tuple{Items: []any{l, ops.IntList(1)}}, &ops.Tuple{Items: []any{x, x}},
		&ops.Tuple{Items: []any{x, on(one, nil)}}, &ops.Tuple{Items: []any{x, on(store(0, 64, tensor.Input), nil)}},
	}
	describe := func(any bool, v ...any) string {
		s := &State{heap: h, seen: map[interface{}]int{}, anyPosition: any}
		s.Values(v)
		return string(s.out)
	}
	seen := map[string]int{}
	for i, v := range values {
		text := describe(false, v)
		if at, ok := seen[text]; ok {
			t.Errorf("values %d and %d are described alike", at, i)
		}
		seen[text] = i
		assert.Equal(t, text, describe(false, v))
	}
	assert.Equal(t, describe(true, x), describe(true, on(one, func(x *tensor.Tensor) { x.StorageOffset = 2 })),
		"where only the position of views differs")
	assert.NotEqual(t, describe(false), describe(false, nil))
	slot := func(filled bool, v any) string {
		s := &State{heap: h, seen: map[any]int{}}
		s.Slot(filled, v)
		return string(s.out)
	}
	assert.Equal(t, "-", slot(false, nil))
	assert.Equal(t, "n", slot(true, nil))
}
