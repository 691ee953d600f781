package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func TestUndecided(t *testing.T) {
	n, x := ops.Unknown{Kind: schema.Int}, &tensor.Tensor{}
	ints := func(items ...any) *ops.List { return &ops.List{Items: items, Elem: schema.Int} }
	tensors := &ops.List{Items: []any{x, x}, Elem: schema.Tensor}
	for _, c := range []struct {
		key       string
		args      []any
		undecided bool
		missing   bool
		kind      schema.Kind
		why       string
	}{
		{"aten::add.int", []any{n, int64(1)}, true, false, schema.Int, "arithmetic"},
		{"aten::lt.int", []any{n, int64(1)}, true, false, schema.Bool, "a comparison"},
		{"aten::add.int", []any{int64(1), int64(1)}, false, false, schema.Any, "both are known"},
		{"aten::append.t", []any{ints(), n}, false, false, schema.Any, "a list may hold what is not known"},
		{"aten::len.t", []any{ints(n, n)}, false, false, schema.Any, "its length is known"},
		{"aten::__getitem__.t", []any{ints(int64(4), n), int64(0)}, false, false, schema.Any, "another member is asked for"},
		{"aten::__getitem__.t", []any{ints(int64(4), int64(5)), n}, true, false, schema.Int, "some int of the list"},
		{"aten::__getitem__.t", []any{tensors, n}, true, true, schema.Any, "some tensor of the list"},
		{"aten::_set_item.t", []any{ints(int64(4), int64(5)), n, int64(1)}, true, true, schema.Any, "some place of the list is written"},
		{"aten::pop.t", []any{tensors, n}, true, true, schema.Any, "some tensor goes"},
		{"aten::mul.left_t", []any{ints(int64(0)), n}, true, true, schema.Any, "a list of some length"},
		{"aten::__contains__.int_list", []any{ints(int64(4)), n}, true, false, schema.Bool, "it may be in there"},
		{"aten::__contains__.int_list", []any{ints(n), int64(4)}, true, false, schema.Bool, "it may be in there"},
		{"aten::remove.int", []any{ints(int64(4)), n}, true, true, schema.Any, "some member goes"},
		{"aten::sort.int", []any{ints(n, int64(4)), false}, true, true, schema.Any, "an order that is not known"},
		{"aten::eq.int_list", []any{ints(n), ints(int64(4))}, true, false, schema.Bool, "they may be equal"},
		{"aten::__getitem__.Dict_int", []any{&ops.Dict{Keys: []any{n}, Values: []any{x}}, int64(4)}, true, true, schema.Any, "a key may be that"},
		{"aten::keys.int", []any{&ops.Dict{Keys: []any{n}, Values: []any{x}}}, false, false, schema.Any, "all of them"},
	} {
		b, ok := builtin.Table().Lookup(c.key)
		require.True(t, ok, c.key)
		u, missing, undecided := ops.Undecided(&ops.Call{Bound: b, Args: c.args})
		assert.Equal(t, c.undecided, undecided, "%s: %s", c.key, c.why)
		assert.Equal(t, c.missing, missing, "%s: %s", c.key, c.why)
		assert.Equal(t, c.kind, u.Kind, "%s: %s", c.key, c.why)
	}
}
