package fx

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestConvert: a literal as its parameter's type has it.
func TestConvert(t *testing.T) {
	s,
		err := schema.Parse("aten::f(float a, float? b, int[2] c, int[3]? d, float[] e, int f, int[] g, Scalar h) -> Tensor")
	require.NoError(t, err)
	list := func(items ...any) *ops.List { return &ops.List{Elem: schema.Any, Items: items} }
	for _, tt := range []struct {
		why  string
		arg  string
		v    any
		want any
	}{
		{"an int is a float where one is wanted", "a", int64(2), 2.0},
		{"or may be", "b", int64(2), 2.0},
		{"a float is one", "a", 2.5, 2.5},
		{"None stays", "b", nil, nil},
		{"a number stands for as many as the list has", "c", int64(3), ops.NewList(schema.Int, int64(3), int64(3))},
		{"and where the list may be left out", "d", int64(3), ops.NewList(schema.Int, int64(3), int64(3), int64(3))},
		{"the list may be", "d", nil, nil},
		{"not for a list of any length", "g", int64(3), int64(3)},
		{"the members of a list too", "e", list(int64(1), 2.5), ops.NewList(schema.Float, 1.0, 2.5)},
		{"a list has its parameter's type", "c", list(int64(1), int64(2)), ops.NewList(schema.Int, int64(1), int64(2))},
		{"an int is one", "f", int64(2), int64(2)},
		{"a number is left as it is", "h", int64(2), int64(2)},
	} {
		got := convert(tt.v, s.Args[s.ArgIndex(tt.arg)].Type)
		if l, ok := got.(*ops.List); ok {
			l.Refs = 0 // a new list is held by its instruction
			tt.want.(*ops.List).Refs = 0
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestDevice: a program that was exported on the host means the case's device, but where a tensor
// has no memory.
func TestDevice(t *testing.T) {
	for _, tt := range []struct{ named, host, device string }{
		{"cpu", exec.Accelerator, "cpu"}, {"cuda:1", exec.Accelerator, "cuda"}, {"cuda", exec.Accelerator, "cuda"},
		{"meta", "meta", "meta"},
	} {
		assert.Equal(t, tt.host, (&walker{host: true}).device(tt.named), tt.named)
		assert.Equal(t, tt.device, (&walker{}).device(tt.named), tt.named)
	}
}

// TestTake: the leaves of a value, in the order of the structure that the program was exported
// with.
func TestTake(t *testing.T) {
	leaf := &program.Tree{}
	tree := func(k program.TreeKind, items ...*program.Tree) *program.Tree {
		return &program.Tree{Kind: k, Items: items}
	}
	named := func(names []string, items ...*program.Tree) *program.Tree {
		return &program.Tree{Kind: program.DictTree, Names: names, Items: items}
	}
	dict := &ops.Dict{Keys: []any{"a", "b"}, Values: []any{int64(1), &ops.Tuple{Items: []any{int64(2), int64(3)}}}}
	inner := &ops.Dict{Keys: []any{"x", "y"}, Values: []any{int64(8), int64(9)}}
	for _, tt := range []struct {
		why  string
		v    any
		t    *program.Tree
		want []any
	}{
		{"a leaf is what it is", dict, leaf, []any{dict}},
		{"a list", ops.NewList(schema.Int, int64(1), int64(2)), tree(program.ListTree, leaf, leaf),
			[]any{int64(1), int64(2)}},
		{"a tuple", &ops.Tuple{Items: []any{int64(1), int64(2)}}, tree(program.TupleTree, leaf, leaf),
			[]any{int64(1), int64(2)}},
		{"a tuple whose second is a dict, by its keys", &ops.Tuple{Items: []any{int64(1), inner}},
			tree(program.TupleTree, leaf, named([]string{"y", "x"}, leaf, leaf)), []any{int64(1), int64(9), int64(8)}},
		{"of another length: as they stand", &ops.Tuple{Items: []any{int64(1), inner}},
			tree(program.TupleTree, named([]string{"y", "x"}, leaf, leaf)), []any{int64(1), inner}},
		{"a dict by the structure's keys", dict, named([]string{"b", "a"}, leaf, leaf), []any{dict.Values[1], int64(1)}},
		{"of keys that it has not: as they stand", dict, named([]string{"b", "c"}, leaf, leaf),
			[]any{int64(1), dict.Values[1]}},
		{"of keys that are not stated: as they stand", dict, tree(program.DictTree, leaf, leaf),
			[]any{int64(1), dict.Values[1]}},
		{"of fewer keys", dict, named([]string{"b"}, leaf), []any{int64(1), int64(2), int64(3)}},
		{"something that is no container", int64(7), tree(program.TupleTree, leaf, leaf), []any{int64(7)}},
	} {
		assert.Equal(t, tt.want, take(nil, tt.v, tt.t), tt.why)
	}
}

// TestLeaves: what a caller gives must be what the program was exported with: tensors where it has
// tensors, and as many values as its structures have leaves.
func TestLeaves(t *testing.T) {
	leaf, meta := &program.Tree{}, &program.TensorMeta{DType: tensor.Float32}
	pair := &program.Tree{Kind: program.TupleTree, Items: []*program.Tree{leaf, leaf}}
	x := &tensor.Tensor{}
	for _, tt := range []struct {
		why    string
		inputs []program.Input
		args   []any
		want   []any
		error  string
	}{
		{"a tensor without dimensions and a number", nil, []any{x, int64(2)}, []any{x, int64(2)}, ""},
		{"None where no tensor was", nil, []any{x, nil}, []any{x, nil}, ""},
		{"None for a tensor", nil, []any{nil, int64(2)}, nil, "input x: got None, want a tensor float32[]"},
		{"a tensor for a number", nil, []any{x, x}, nil, "input n: got a tensor, want none: the program was exported " +
			"without one"},
		{"both in a tuple", []program.Input{{Name: "both", Tree: pair}}, []any{&ops.Tuple{Items: []any{x, int64(2)}}},
			[]any{x, int64(2)}, ""},
		{"a tuple of three", []program.Input{{Name: "both", Tree: pair}}, []any{&ops.Tuple{Items: []any{x, x, x}}}, nil,
			"input both: got 3 values, want the 2 of (*, *)"},
	} {
		f := &program.Func{Params: []program.Param{{Name: "x", Meta: meta}, {Name: "n"}}, Inputs: tt.inputs}
		w := &walker{prog: &program.Program{Entry: f}, symbols: map[string]int64{}}
		got, err := w.leaves(tt.args)
		if tt.error != "" {
			var input *exec.InputError
			require.ErrorAs(t, err, &input, tt.why)
			assert.Contains(t, err.Error(), tt.error, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestBuilt: what a program gives its caller has the structure that it was exported with, and what
// is behind it is left.
func TestBuilt(t *testing.T) {
	leaf := &program.Tree{}
	of := func(k program.TreeKind, names ...string) *program.Tree {
		return &program.Tree{Kind: k, Names: names, Items: []*program.Tree{leaf, leaf}}
	}
	one, two := int64(1), int64(2)
	pair := []any{one, two}
	dict := &ops.Dict{Keys: []any{"a", "b"}, Values: pair, Refs: 1}
	tuple := &ops.Tuple{Items: pair, Refs: 1}
	for _, tt := range []struct {
		why  string
		t    *program.Tree
		want any
		rest int
	}{
		{"a leaf", leaf, one, 2},
		{"a list", of(program.ListTree), &ops.List{Items: pair, Refs: 1}, 1},
		{"a tuple", of(program.TupleTree), tuple, 1},
		{"a dict", of(program.DictTree, "a", "b"), dict, 1},
		{"an object with names", of(program.ObjectTree, "a", "b"), dict, 1},
		{"one without", of(program.ObjectTree), tuple, 1},
		{"a dict within a tuple", &program.Tree{Kind: program.TupleTree, Items: []*program.Tree{of(program.DictTree, "a",
			"b"), leaf}}, &ops.Tuple{Items: []any{dict, int64(3)}, Refs: 1}, 0},
	} {
		got, rest := built(tt.t, []any{one, two, int64(3)})
		assert.Equal(t, tt.want, got, tt.why)
		assert.Len(t, rest, tt.rest, tt.why)
	}
}
