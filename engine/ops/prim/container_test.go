package prim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// holders is a machine that counts who holds a tensor, and notes those that nobody does.
type holders struct {
	ops.Machine
	count map[*tensor.Tensor]int
	kept  []any
	dead  map[*tensor.Tensor]bool
}

func (h *holders) Hold(v any) {
	if t, ok := v.(*tensor.Tensor); ok {
		h.count[t]++
	}
}

func (h *holders) Drop(v any) {
	if t, ok := v.(*tensor.Tensor); ok {
		h.count[t]--
		h.dead[t] = h.dead[t] || h.count[t] == 0
	}
}

func (h *holders) Keep(v any) {
	h.Hold(v)
	h.kept = append(h.kept, v)
}

// members are the tensors that a value's containers hold, one for each time.
func members(v any) (out []*tensor.Tensor) {
	inner := func(items []any) {
		for _, item := range items {
			if t, ok := item.(*tensor.Tensor); ok {
				out = append(out, t)
			}
			out = append(out, members(item)...)
		}
	}
	switch v := v.(type) {
	case *ops.List:
		inner(v.Items)
	case *ops.Tuple:
		inner(v.Items)
	case *ops.Dict:
		inner(v.Keys)
		inner(v.Values)
	}
	return out
}

// Containers count as holders of their members: after each operator a tensor has as many holders as
// places that hold it, and what comes out of a container lives until the operator has returned.
func TestContainersHold(t *testing.T) {
	names := map[*tensor.Tensor]string{}
	named := func(name string) *tensor.Tensor {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float32, Device: "cuda"}, Storage: &tensor.Storage{}}
		names[x] = name
		return x
	}
	a, b, c := named("a"), named("b"), named("c")
	list := func(items ...any) *ops.List { return &ops.List{Elem: schema.Tensor, Items: items} }
	dict := func(pairs ...any) *ops.Dict {
		d := &ops.Dict{}
		for i := 0; i < len(pairs); i += 2 {
			d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
		}
		return d
	}
	for _, tt := range []struct {
		op   string
		args []any
		want string // the containers among the arguments; what is returned; what died
	}{
		{"aten::append", []any{list(a), b}, "[a b] returns [a b]"},
		{"aten::extend", []any{list(a), list(b, c, b)}, "[a b c b] [b c b]"},
		{"aten::add_", []any{list(a), list(b)}, "[a b] [b] returns [a b]"},
		{"aten::mul_", []any{list(a, b), int64(2)}, "[a b a b] returns [a b a b]"},
		{"aten::mul_", []any{list(a, b), int64(0)}, "[] returns [], dies a b"},
		{"aten::insert", []any{list(a, b), int64(1), c}, "[a c b]"},
		{"aten::reverse", []any{list(a, b)}, "[b a]"},
		{"aten::Delete", []any{list(a, b), int64(0)}, "[b], dies a"},
		{"aten::Delete", []any{list(a, a), int64(0)}, "[a]"},
		{"aten::list", []any{list(a, b)}, "[a b] returns [a b]"},
		{"aten::copy", []any{list(a, b)}, "[a b] returns [a b]"},
		{"aten::slice", []any{list(a, b, c), int64(1), nil, int64(1)}, "[a b c] returns [b c]"},
		{"aten::_set_item", []any{list(a, b), int64(0), c}, "[c b] returns [c b], dies a"},
		{"aten::_set_item", []any{list(a, b), int64(0), a}, "[a b] returns [a b]"},
		{"aten::clear", []any{list(a, b, a)}, "[], dies a b"},
		{"aten::pop", []any{list(a, b)}, "[a] returns b"},
		{"aten::pop", []any{list(a, b), int64(0)}, "[b] returns a"},
		{"aten::__getitem__", []any{list(a, b), int64(0)}, "[a b] returns a"},

		{"aten::_set_item", []any{dict("x", a), "y", b}, "{x:a y:b}"},
		{"aten::_set_item", []any{dict("x", a), "x", b}, "{x:b}, dies a"},
		{"aten::_set_item", []any{dict("x", a), "x", a}, "{x:a}"},
		{"aten::_set_item", []any{dict(a, int64(1)), b, int64(2)}, "{a:1 b:2}"},
		{"aten::_set_item", []any{dict(a, b), a, c}, "{a:c}, dies b"},
		{"aten::update", []any{dict("x", a), dict("x", b, "y", c)}, "{x:b y:c} {x:b y:c}, dies a"},
		{"aten::setdefault", []any{dict("x", a), "x", b}, "{x:a} returns a"},
		{"aten::setdefault", []any{dict("x", a), "y", b}, "{x:a y:b} returns b"},
		{"aten::get", []any{dict("x", a), "x"}, "{x:a} returns a"},
		{"aten::get", []any{dict("x", a), "y", b}, "{x:a} returns b"},
		{"aten::Delete", []any{dict("x", a, "y", b), "x"}, "{y:b}"},
		{"aten::pop", []any{dict("x", a), "x"}, "{} returns a"},
		{"aten::pop", []any{dict("x", a), "y", b}, "{x:a} returns b"},
		{"aten::pop", []any{dict(a, b), a}, "{} returns b"},
		{"aten::popitem", []any{dict("x", a, "y", b)}, "{y:b} returns (x a)"},
		{"aten::popitem", []any{dict(a, b)}, "{} returns (a b)"},
		{"aten::clear", []any{dict(a, b, b, c)}, "{}, dies a b c"},
		{"aten::keys", []any{dict(a, b)}, "{a:b} returns [a]"},
		{"aten::values", []any{dict("x", a)}, "{x:a} returns [a]"},
		{"aten::items", []any{dict("x", a)}, "{x:a} returns [(x a)]"},
		{"aten::copy", []any{dict("x", a)}, "{x:a} returns {x:a}"},
		{"aten::dict", []any{&ops.List{Elem: schema.Tuple, Items: []any{&ops.Tuple{Items: []any{"x", a}}}}},
			"[(x a)] returns {x:a}"},
	} {
		h := &holders{count: map[*tensor.Tensor]int{}, dead: map[*tensor.Tensor]bool{}}
		given := []any{}
		for _, arg := range tt.args {
			for _, m := range members(arg) {
				h.Hold(m)
			}
		}
		bound, args, err := builtin.Table().Resolve(tt.op, tt.args, nil)
		require.NoError(t, err, tt.op)
		result, err := bound.Rule.Host(&ops.Call{Bound: bound, Args: args, M: h})
		require.NoError(t, err, tt.op)

		var parts []string
		for _, arg := range tt.args {
			if len(members(arg)) > 0 || isContainer(arg) {
				given = append(given, arg)
				parts = append(parts, text(arg, names))
			}
		}
		got := strings.Join(parts, " ")
		if result != nil {
			got += " returns " + text(result, names)
		}
		dead := ""
		for _, x := range []*tensor.Tensor{a, b, c} {
			if h.dead[x] {
				dead += " " + names[x]
			}
		}
		if dead != "" {
			got += ", dies" + dead
		}
		assert.Equal(t, tt.want, got, tt.op)

		want := map[*tensor.Tensor]int{}
		for _, v := range append(given, &ops.List{Items: h.kept}) {
			for _, m := range members(v) {
				want[m]++
			}
		}
		if isContainer(result) && result != tt.args[0] {
			for _, m := range members(result) {
				want[m]++
			}
		}
		for x, name := range names {
			assert.Equal(t, want[x], h.count[x], "%s: holders of %s", tt.op, name)
		}
	}
}

func isContainer(v any) bool {
	switch v.(type) {
	case *ops.List, *ops.Tuple, *ops.Dict:
		return true
	}
	return false
}

func text(v any, names map[*tensor.Tensor]string) string {
	joined := func(open string, items []any, end string) string {
		var parts []string
		for _, item := range items {
			parts = append(parts, text(item, names))
		}
		return open + strings.Join(parts, " ") + end
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		return names[v]
	case *ops.List:
		return joined("[", v.Items, "]")
	case *ops.Tuple:
		return joined("(", v.Items, ")")
	case *ops.Dict:
		var parts []string
		for i := range v.Keys {
			parts = append(parts, text(v.Keys[i], names)+":"+text(v.Values[i], names))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v)
}

// TestStringLimits: what one operator on strings may build, the largest that it does and one byte
// more.
func TestStringLimits(t *testing.T) {
	golden.NeedsWhole(t, "the longest texts and lists")
	h := aten.NewHost(t, builtin.Table())
	const most = 1 << 24
	text := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		op        string
		good, bad []any
	}{
		{"aten::add", []any{text(most - 1), "b"}, []any{text(most), "b"}},
		{"aten::join", []any{"", ops.NewList(schema.Str, text(most-1), "b")},
			[]any{"", ops.NewList(schema.Str, text(most), "b")}},
		{"aten::replace", []any{"aa", "a", text(100), int64(-1)}, []any{"aa", "a", text(most), int64(-1)}},
	} {
		_, _, err := h.Bench.Run(c.op, c.good, nil)
		assert.NoError(t, err, c.op)
		_, _, err = h.Bench.Run(c.op, c.bad, nil)
		assert.Error(t, err, c.op)
	}
	_, _, err := h.Bench.Run("aten::mul", []any{ops.IntList(1, 2), int64(1<<21 + 1)}, nil)
	assert.ErrorContains(t, err, "got a list of more than 4194304 items")
	full := ops.NewList(schema.Int)
	full.Items = slices.Repeat([]any{int64(1)}, 1<<22-1)
	for _, op := range []string{"aten::extend", "aten::add_"} {
		list := ops.NewList(schema.Int, full.Items...)
		_, _, err := h.Bench.Run(op, []any{list, ops.IntList(2)}, nil)
		assert.NoError(t, err, op)
		_, _, err = h.Bench.Run(op, []any{list, ops.IntList(2)}, nil)
		assert.ErrorContains(t, err, "got a list of more than 4194304 items", op)
	}
	_, _, err = h.Bench.Run("prim::rangelist", []any{int64(1<<22 + 1)}, nil)
	assert.ErrorContains(t, err, "want at most 4194304")
}

// TestComplexNumbers: what is made of a complex number is not known, never what its real part would
// give.
func TestComplexNumbers(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, c := range []struct {
		op   string
		args []any
	}{
		{"aten::add", []any{2 + 1i, int64(3)}},
		{"aten::sub", []any{int64(3), 2 + 1i}},
		{"aten::mul", []any{2 + 1i, 3.0}},
		{"aten::div", []any{2 + 1i, 3 + 0i}},
		{"aten::pow", []any{0i, -1.0}},
		{"aten::sqrt", []any{-1 + 0i}},
		{"aten::neg", []any{1i}},
		{"aten::eq", []any{1i, 1i}},
	} {
		v, _, err := h.Bench.Run(c.op, c.args, nil)
		assert.NoError(t, err, c.op)
		assert.False(t, ops.IsKnown(v), c.op)
	}
}
