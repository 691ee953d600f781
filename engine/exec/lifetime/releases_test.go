package lifetime_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// TestReleases: results go in the order in which Python released them, none before its last use,
// and one that it never released stays to the end.
func TestReleases(t *testing.T) {
	x, a, b, c, d := &program.Value{ID: 0, Name: "x"}, &program.Value{ID: 1, Name: "a"}, &program.Value{ID: 2, Name: "b"},
		&program.Value{ID: 3, Name: "c"}, &program.Value{ID: 4, Name: "d"}
	node := func(out *program.Value, in ...*program.Value) *program.Node {
		n := &program.Node{Operation: &program.Operation{Op: "aten::add"}, Outs: []*program.Value{out}}
		for _, v := range in {
			n.Args = append(n.Args, program.Arg{Value: v})
		}
		return n
	}
	g := &program.Graph{Params: []*program.Value{x}, NumValues: 5, Body: &program.Block{Nodes: []*program.Node{
		node(a, x), node(b, a), node(c, b, a), node(d, c),
		{Operation: &program.Operation{Op: "prim::Return"}, Args: []program.Arg{{Value: d}}},
	}}}
	ranges, err := lifetime.RecordedReleases(g, []lifetime.Release{{Value: "a", After: "b"}, {Value: "c", After: "d"}})
	require.NoError(t, err)
	f := lifetime.Func{Func: &program.Func{Name: "forward"}, Graph: g, Ranges: ranges}
	require.NoError(t, lifetime.Check(&f))
	var text bytes.Buffer
	require.NoError(t, lifetime.Write(&text, []lifetime.Func{f}))
	assert.Equal(t, `func forward  # :0
  x%0  entry..0  after aten::add     last use
  a%1  0..2      after aten::add     last use
  c%3  2..3      after aten::add     seen at export
  b%2  1..3      after aten::add     seen at export
  d%4  3..4      after prim::Return  last use
`, text.String())
	longest := lifetime.Longest(lifetime.LastUse(g), ranges)
	f.Ranges = longest
	require.NoError(t, lifetime.Check(&f))
	for _, r := range longest {
		if r.Value == b {
			assert.Equal(t, 3, r.To, "the later of two ends")
		}
	}
	_, err = lifetime.RecordedReleases(g, []lifetime.Release{{Value: "q", After: "b"}})
	assert.EqualError(t, err, "got a release of q after b, want two results of the program: it was written for another "+
		"one")
}

// TestReleaseOrder: what Python released behind one node goes in that order, and what it held to
// the end goes last; a value that is used later than it was released goes with its last use. An end
// that is no last use has a star. Of two releases that fit nothing the error names the first.
// Parameters, and what a node's blocks make, are not Python's names.
func TestReleaseOrder(t *testing.T) {
	values := map[string]*program.Value{}
	value := func(name string) *program.Value {
		if values[name] == nil {
			values[name] = &program.Value{ID: len(values), Name: name}
		}
		return values[name]
	}
	node := func(outs string, ins ...string) *program.Node {
		n := &program.Node{Operation: &program.Operation{Op: "t::" + outs}}
		for _, name := range strings.Fields(outs) {
			n.Outs = append(n.Outs, value(name))
		}
		for _, name := range ins {
			n.Args = append(n.Args, program.Arg{Value: value(name)})
		}
		return n
	}
	x := value("x")
	cond := node("c", "a")
	cond.Blocks = []*program.Block{{Nodes: []*program.Node{node("in", "b")}, Outs: []program.Arg{{Value: value("in")}}}}
	g := &program.Graph{Params: []*program.Value{x}, Body: &program.Block{Nodes: []*program.Node{
		node("a", "x"), node("b", "a"), cond, node("d e", "c"), node("f", "d"),
		{Operation: &program.Operation{Op: "prim::Return"}, Args: []program.Arg{{Value: value("f")}}},
	}}}
	g.NumValues = len(values)
	for _, tt := range []struct {
		why      string
		releases []lifetime.Release
		want     string
	}{
		{"nothing was seen: all is held to the end", nil, "x:0 in:2 a:5* b:5* c:5* e:5* d:5 f:6"},
		{"in the order seen, not that of their making", []lifetime.Release{{"b", "d"}, {"a", "d"}, {"e", "d"}, {"c", "d"},
			{"d", "f"}, {"f", "f"}}, "x:0 in:2 b:4* a:4* e:4* c:4* d:5* f:6"},
		{"the other way round", []lifetime.Release{{"c", "d"}, {"e", "d"}, {"a", "d"}, {"b", "d"}, {"d", "f"}},
			"x:0 in:2 c:4* e:4* a:4* b:4* d:5* f:6"},
		{"none before its last use", []lifetime.Release{{"a", "a"}, {"b", "a"}, {"c", "b"}, {"d", "d"}, {"e", "d"}},
			"x:0 a:2 b:2 in:2 c:4 e:4* d:5 f:6"},
		{"what goes with its last use goes before what Python released there", []lifetime.Release{{"a", "f"}, {"b", "b"},
			{"c", "c"}, {"d", "d"}, {"e", "d"}}, "x:0 b:2 in:2 c:4 e:4* d:5 a:5* f:6"},
		{"what was held to the end goes behind what was seen to go there", []lifetime.Release{{"e", "f"}, {"c", "f"}},
			"x:0 in:2 e:5* c:5* a:5* b:5* d:5 f:6"},
	} {
		ranges, err := lifetime.RecordedReleases(g, tt.releases)
		require.NoError(t, err)
		require.NoError(t, lifetime.Check(&lifetime.Func{Func: &program.Func{Name: "f"}, Graph: g, Ranges: ranges}), tt.why)
		var got []string
		for _, r := range ranges {
			end := fmt.Sprint(r.Value.Name, ":", r.To)
			if r.Why == lifetime.Recorded {
				end += "*"
			}
			got = append(got, end)
		}
		assert.Equal(t, tt.want, strings.Join(got, " "), tt.why)
	}
	_, err := lifetime.RecordedReleases(g, []lifetime.Release{{Value: "a", After: "q"}, {Value: "r", After: "b"}})
	assert.EqualError(t, err, "got a release of a after q, want two results of the program: it was written for another "+
		"one")
}

// TestLongest: of two ranges of a value the later one, in the order in which they end; what one
// account alone has, it has from the first.
func TestLongest(t *testing.T) {
	v := []*program.Value{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}}
	a := []lifetime.Range{{Value: v[0], To: 1, Why: lifetime.LastUsed}, {Value: v[1], To: 3, Why: lifetime.LastUsed},
		{Value: v[2], To: 4, Why: lifetime.LastUsed}}
	b := []lifetime.Range{{Value: v[2], To: 2, Why: lifetime.Bound}, {Value: v[1], To: 3, Why: lifetime.Bound},
		{Value: v[3], To: 9, Why: lifetime.Bound}, {Value: v[0], To: 5, Why: lifetime.Bound}}
	assert.Equal(t, []lifetime.Range{{Value: v[1], To: 3, Why: lifetime.LastUsed},
		{Value: v[2], To: 4, Why: lifetime.LastUsed}, {Value: v[0], To: 5, Why: lifetime.Bound}}, lifetime.Longest(a, b))
	assert.Equal(t, 1, a[0].To, "the first account stays as it was")
}

// TestCheck: each violation of what ranges promise, in a function of a parameter, a node with a
// block and one behind it.
func TestCheck(t *testing.T) {
	x, p, in, out, y, nobody := &program.Value{ID: 0}, &program.Value{ID: 1}, &program.Value{ID: 2}, &program.Value{ID: 3},
		&program.Value{ID: 4}, &program.Value{ID: 5}
	arg := func(v *program.Value) program.Arg { return program.Arg{Value: v} }
	g := &program.Graph{Params: []*program.Value{x}, NumValues: 6, Body: &program.Block{Nodes: []*program.Node{
		{Operation: &program.Operation{Op: "t::a"}, Args: []program.Arg{arg(x)}, Outs: []*program.Value{out},
			Blocks: []*program.Block{{Params: []*program.Value{p}, Outs: []program.Arg{arg(in)}, Nodes: []*program.Node{
				{Operation: &program.Operation{Op: "t::b"}, Args: []program.Arg{arg(p), {Const: int64(1)}},
					Outs: []*program.Value{in}},
			}}}},
		{Operation: &program.Operation{Op: "t::c"}, Args: []program.Arg{arg(out), arg(x)}, Outs: []*program.Value{y}},
	}}}
	sound := func() map[*program.Value]*lifetime.Range {
		return map[*program.Value]*lifetime.Range{
			x: {Value: x, From: lifetime.Param, To: 2, End: lifetime.AsArgument, Arg: 1},
			p: {Value: p, From: 0, To: 1, End: lifetime.AsArgument}, in: {Value: in, From: 1, To: 0, End: lifetime.BlockOut},
			out: {Value: out, From: 0, To: 2, End: lifetime.AsArgument}, y: {Value: y, From: 2, To: 2, End: lifetime.After,
				Why: lifetime.Unused},
		}
	}
	for _, tt := range []struct {
		why    string
		change func(r map[*program.Value]*lifetime.Range)
		want   []string
	}{
		{"all is well", func(map[*program.Value]*lifetime.Range) {}, nil},
		{"one is missing", func(r map[*program.Value]*lifetime.Range) {
			delete(r, y)
		}, []string{"value 4: got no range, want one"}},
		{"one of what nothing makes", func(r map[*program.Value]*lifetime.Range) {
			r[nobody] = &lifetime.Range{Value: nobody}
		}, []string{"value 5: got a range, want none of what nothing makes"}},
		{"of no number", func(r map[*program.Value]*lifetime.Range) {
			r[nobody] = &lifetime.Range{Value: &program.Value{ID: 6}}
			r[p].Value = &program.Value{ID: -1}
		}, []string{"value -1: got a range, want none of what nothing makes", "value 1: got no range, want one",
			"value 6: got a range, want none of what nothing makes"}},
		{"from elsewhere", func(r map[*program.Value]*lifetime.Range) {
			r[y].From = 1
		}, []string{"value 4: got a range from node 1, want 2"}},
		{"to nowhere", func(r map[*program.Value]*lifetime.Range) {
			r[y].To = 3
		}, []string{"value 4: got an end with node 3, want one of 3 from 2 on", "value 4: got no range, want one"}},
		{"to before anything", func(r map[*program.Value]*lifetime.Range) {
			r[x].To = -2
		}, []string{"value 0: got an end with node -2, want one of 3 from -1 on", "value 0: got no range, want one"}},
		{"to before its beginning", func(r map[*program.Value]*lifetime.Range) {
			r[y].To = 1
		}, []string{"value 4: got an end with node 1, want one of 3 from 2 on", "value 4: got no range, want one"}},
		{"before its last use", func(r map[*program.Value]*lifetime.Range) {
			*r[x] = lifetime.Range{Value: x, From: lifetime.Param, To: 0, End: lifetime.AsArgument}
		},
			[]string{"value 0: got its end with node 0, want it after its use by node 2"}},
		{"to no argument of it", func(r map[*program.Value]*lifetime.Range) {
			r[x].Arg = 0
		}, []string{"value 0: got an end as argument 0 of node 2, which does not take it there"}},
		{"to one beyond the last", func(r map[*program.Value]*lifetime.Range) {
			r[x].Arg = 2
		}, []string{"value 0: got an end as argument 2 of node 2, which does not take it there"}},
		{"to one below 0", func(r map[*program.Value]*lifetime.Range) {
			r[x].Arg = -1
		}, []string{"value 0: got an end as argument -1 of node 2, which does not take it there"}},
		{"as an argument of nothing", func(r map[*program.Value]*lifetime.Range) {
			*r[x] = lifetime.Range{Value: x, From: lifetime.Param, To: lifetime.Param, End: lifetime.AsArgument}
		},
			[]string{"value 0: got an end as argument 0 of node -1, which does not take it there",
				"value 0: got its end with node -1, want it after its use by node 0", "value 0: got its end with node -1, want " +
					"it after its use by node 2"}},
		{"at the entry of no block", func(r map[*program.Value]*lifetime.Range) {
			r[y].End = lifetime.AtEntry
		}, []string{"value 4: got an end at block 0 of node 2, which has 0"}},
		{"at the entry of the function, though it is used", func(r map[*program.Value]*lifetime.Range) {
			*r[x] = lifetime.Range{Value: x, From: lifetime.Param, To: lifetime.Param, End: lifetime.AtEntry}
		},
			[]string{"value 0: got its end with node -1, want it after its use by node 0",
				"value 0: got its end with node -1, want it after its use by node 2"}},
		{"at the entry of a block, though it is used there", func(r map[*program.Value]*lifetime.Range) {
			*r[p] = lifetime.Range{Value: p, To: 0, End: lifetime.AtEntry}
		},
			[]string{"value 1: got its end with node 0, want it after its use by node 1"}},
		{"after a node is after its blocks", func(r map[*program.Value]*lifetime.Range) {
			*r[p] = lifetime.Range{Value: p, To: 0, End: lifetime.After}
		}, nil},
		{"as its name it lives on", func(r map[*program.Value]*lifetime.Range) {
			*r[out] = lifetime.Range{Value: out, To: 0, End: lifetime.Open}
		}, nil},
	} {
		f := &lifetime.Func{Func: &program.Func{Name: "f"}, Graph: g}
		ranges := sound()
		tt.change(ranges)
		for _, v := range []*program.Value{x, p, in, out, y, nobody} {
			if r := ranges[v]; r != nil {
				f.Ranges = append(f.Ranges, *r)
			}
		}
		var got []string
		if err := lifetime.Check(f); err != nil {
			got = strings.Split(strings.ReplaceAll(err.Error(), "f: ", ""), "\n")
			slices.Sort(got)
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}
