package exec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
)

func TestBudget(t *testing.T) {
	var b Budget
	assert.NoError(t, b.Walk(maxWalked))
	assert.EqualError(t, b.Walk(1), "got more than 16777216 items of lists looked at, want fewer")
	assert.EqualError(t, b.Within(), "got more than 16777216 items of lists looked at, want fewer", "it stays spent")
	b = Budget{}
	assert.NoError(t, b.Make(maxMade-itemBytes))
	assert.NoError(t, b.MakeItems(1))
	assert.EqualError(t, b.Make(1), "got more than 268435456 bytes of strings, lists, tuples and dicts, want fewer")
}

// ints are a list's items.
func ints(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// TestLooksAt: what an operator looks at: its containers' members and a part of its strings, for a
// host operator an eighth of them, and nothing where it takes the same time whatever they hold.
func TestLooksAt(t *testing.T) {
	host := func(*ops.Call) (any, error) { return nil, nil }
	list := &ops.List{Items: ints(9)}
	for _, c := range []struct {
		why  string
		name string
		host bool
		args []any
		want int
	}{
		{"numbers", "t::f", false, []any{int64(100), nil}, 0},
		{"as few as most operators look at", "t::f", false, []any{&ops.List{Items: ints(8)}}, 0},
		{"a list", "t::f", false, []any{list}, 9},
		{"a tuple and a list", "t::f", false, []any{&ops.Tuple{Items: ints(3)}, list}, 12},
		{"a dict's keys", "t::f", false, []any{&ops.Dict{Keys: ints(20), Values: ints(20)}}, 20},
		{"a string of 10 parts", "t::f", false, []any{strings.Repeat("x", 10*256+255)}, 10},
		{"a string and a list", "t::f", false, []any{strings.Repeat("x", 512), list}, 11},
		{"an operator of the host", "t::f", true, []any{&ops.List{Items: ints(41)}}, 5},
		{"one that only appends", "aten::append", true, []any{&ops.List{Items: ints(41)}}, 0},
		{"a kernel of such a name", "aten::select", false, []any{&ops.List{Items: ints(41)}}, 41},
	} {
		var b Budget
		call := &ops.Call{Bound: &ops.Bound{Schema: &schema.Schema{Name: c.name}, Rule: &ops.Rule{}}, Args: c.args}
		if c.host {
			call.Rule.Host = host
		}
		assert.NoError(t, b.looksAt(call), c.why)
		assert.Equal(t, c.want, b.walked, c.why)
		if c.want > 0 {
			b.walked = maxWalked - c.want + 1
			assert.ErrorContains(t, b.looksAt(call), "items of lists looked at", c.why)
		}
	}
}

// TestHostMade: what an operator of the host made: a string's bytes, 16 for each place of a
// container, more where its members are strings or tuples, and what its first argument grew by.
func TestHostMade(t *testing.T) {
	grown := &ops.List{Items: ints(7)}
	one := &ops.List{Items: ints(1)}
	for _, c := range []struct {
		why    string
		name   string
		args   []any
		before int
		made   any
		want   int
	}{
		{"a number", "t::f", nil, 0, int64(5), 0},
		{"a string", "t::f", nil, 0, "abcde", 5},
		{"an empty list", "t::f", nil, 0, &ops.List{}, 0},
		{"a list", "t::f", nil, 0, &ops.List{Items: ints(3)}, 3 * 16},
		{"a list of one, without arguments", "t::f", nil, 0, one, 16},
		{"a list of one, of another", "t::f", []any{grown}, 7, one, 16},
		{"a tuple", "t::f", []any{int64(1)}, 0, &ops.Tuple{Items: ints(3)}, 3 * 16},
		{"a dict", "t::f", nil, 0, &ops.Dict{Keys: ints(3), Values: ints(3)}, 2 * 3 * 16},
		{"a list of strings", "t::f", nil, 0, &ops.List{Items: []any{"a", "b", "c"}}, 2 * 3 * 16},
		{"a list of pairs", "t::f", nil, 0, &ops.List{Items: []any{&ops.Tuple{Items: ints(2)}, nil, nil}}, 7 * 3 * 16},
		{"its first argument grew by a member", "t::f", []any{grown}, 6, nil, 16},
		{"by three, and is what it gives", "t::f", []any{grown}, 4, grown, 3 * 16},
		{"its first argument became shorter", "t::f", []any{grown}, 9, nil, 0},
		{"its first argument is no container", "t::f", []any{int64(4)}, 0, nil, 0},
		{"a member that is a list is no new one", "aten::__getitem__", []any{grown}, 7, one, 0},
	} {
		var b Budget
		call := &ops.Call{Bound: &ops.Bound{Schema: &schema.Schema{Name: c.name}, Rule: &ops.Rule{}}, Args: c.args}
		assert.NoError(t, b.hostMade(call, c.before, c.made), c.why)
		assert.Equal(t, c.want, b.made, c.why)
		if c.want > 0 {
			b.made = maxMade - c.want + 1
			assert.ErrorContains(t, b.hostMade(call, c.before, c.made), "bytes of strings", c.why)
		}
	}
}
