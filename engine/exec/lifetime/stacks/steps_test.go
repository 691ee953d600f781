package stacks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// lines makes a text of its lines.
func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }

func TestFrames(t *testing.T) {
	p, f := read(t, map[string]string{
		"": lines("a = aten::relu(p) | n.py:1 forward, n.py:9 g", "b = self.conv(a) | n.py:2 forward, n.py:5 h",
			"_0 = [a, b]", "c = aten::cat(_0) | n.py:3 forward", "return c"),
		"conv": lines("d = aten::conv2d(p) | conv.py:4 forward", "return d"),
	})
	require.Equal(t, lines(
		"a: n.py:1 forward n.py:9 g",
		"b: n.py:2 forward n.py:5 h", // a call has no record: its first operator's stack records
		"_0: n.py:3 forward",         // nor has what makes a list: its user reports
		"c: n.py:3 forward",
	), show(f, func(i int, _ *program.Value) string {
		var out []string
		for _, fr := range f.frames[i] {
			out = append(out, fmt.Sprintf("%s:%d %s", fr.File, fr.Line, fr.Function))
		}
		return strings.Join(out, " ")
	}))
	require.Equal(t, "prim::Return", f.nodes[len(f.nodes)-1].Op)
	require.Equal(t, f.frames[len(f.nodes)-2], f.frames[len(f.nodes)-1], "the return goes with the node before")
	require.Len(t, p.functions, 2, "the callee is read too")
}

func TestCalls(t *testing.T) {
	for _, tt := range []struct{ why, graph, want string }{
		{"neighbours in one function share its call",
			lines("a = op(p) | n.py:1 forward, n.py:9 g", "b = op(a) | n.py:1 forward, n.py:10 g", "return b"),
			lines("a: 0 1", "b: 0 1")},
		{"a call from another line is another call",
			lines("a = op(p) | n.py:1 forward, n.py:9 g", "b = op(a) | n.py:2 forward, n.py:9 g", "return b"),
			lines("a: 0 1", "b: 0 2")},
		{"another function on the same line is another call",
			lines("a = op(p) | n.py:1 forward, n.py:9 g", "b = op(a) | n.py:1 forward, n.py:20 h", "return b"),
			lines("a: 0 1", "b: 0 2")},
		{"a call that was left is not gone back to",
			lines("a = op(p) | n.py:1 forward, n.py:9 g", "b = op(a) | n.py:1 forward", "c = op(b) | n.py:1 forward, n.py:9 g",
				"return c"),
			lines("a: 0 1", "b: 0", "c: 0 2")},
	} {
		_, f := read(t, map[string]string{"": tt.graph})
		number := map[*call]int{}
		require.Equal(t, tt.want, show(f, func(i int, _ *program.Value) string {
			var out []string
			for _, c := range f.at[i].calls {
				if _, ok := number[c]; !ok {
					number[c] = len(number)
				}
				out = append(out, fmt.Sprint(number[c]))
			}
			return strings.Join(out, " ")
		}), tt.why)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ why, graph, sub, want string }{
		{why: "a value that an operator takes has the name of a local of that call",
			graph: lines("x = op(p) | n.py:1 forward", "y = op(x) | n.py:2 forward, n.py:9 g", "return y"),
			want:  lines("x: x of 1", "y: ?")},
		{why: "the printer's counter is no part of it, and an own digit is",
			graph: lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:2 forward", "x2 = op(x0) | n.py:3 forward",
				"y = op(x2) | n.py:4 forward", "return y"),
			want: lines("x: x of 0", "x0: x of 0", "x2: x2 of 0", "y: ?")},
		{why: "a file's first counter is 0, so that another digit is the user's own",
			graph: lines("x = op(p) | n.py:1 forward", "x1 = op(x) | n.py:2 forward", "y = op(x1) | n.py:3 forward", "return y"),
			want:  lines("x: x of 0", "x1: x1 of 0", "y: ?")},
		{why: "ten is a counter too, after nine",
			graph: lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:2 forward", "x1 = op(x0) | n.py:3 forward",
				"x2 = op(x1) | n.py:4 forward", "x3 = op(x2) | n.py:5 forward", "x4 = op(x3) | n.py:6 forward",
				"x5 = op(x4) | n.py:7 forward", "x6 = op(x5) | n.py:8 forward", "x7 = op(x6) | n.py:9 forward",
				"x8 = op(x7) | n.py:10 forward", "x9 = op(x8) | n.py:11 forward", "x10 = op(x9) | n.py:12 forward",
				"x12 = op(x10) | n.py:13 forward", "y = op(x12) | n.py:14 forward", "return y"),
			want: lines("x: x of 0", "x0: x of 0", "x1: x of 0", "x2: x of 0", "x3: x of 0", "x4: x of 0", "x5: x of 0",
				"x6: x of 0", "x7: x of 0", "x8: x of 0", "x9: x of 0", "x10: x of 0", "x12: x12 of 0", "y: ?")},
		{why: "a name of digits to its first letter, and one digit that is nought",
			graph: lines("n00 = op(p) | n.py:1 forward", "n = op(n00) | n.py:2 forward", "n0 = op(n) | n.py:3 forward",
				"n01 = op(n0) | n.py:4 forward", "y = op(n01) | n.py:5 forward", "return y"),
			want: lines("n00: n00 of 0", "n: n of 0", "n0: n of 0", "n01: n01 of 0", "y: ?")},
		{why: "each of a module's results has the name of its place",
			graph: lines("y = self.sub(p) | n.py:2 forward", "u, v = prim::TupleUnpack(y) | n.py:2 forward",
				"_0 = op(u) | n.py:3 forward", "_1 = op(v, _0) | n.py:4 forward", "return _1"),
			sub:  lines("a = op(p) | s.py:1 forward", "b = op(p) | s.py:2 forward", "_1 = (a, b)", "return _1"),
			want: lines("y: ?", "u: a of 0", "v: b of 0", "_0: none of 0", "_1: ?")},
		{why: "what goes into a tuple that is taken apart again was",
			graph: lines("x = op(p) | n.py:1 forward", "y = op(p) | n.py:2 forward", "_0 = prim::TupleConstruct(x, y) | "+
				"n.py:3 forward", "u, v = prim::TupleUnpack(_0) | n.py:3 forward", "z = op(u, v) | n.py:4 forward", "return z"),
			want: lines("x: x of 0", "y: y of 0", "_0: none of 0", "u: u of 0", "v: v of 0", "z: ?")},
		{why: "what goes into the tuple that is returned was not looked for",
			graph: lines("x = op(p) | n.py:1 forward", "y = op(x) | n.py:2 forward", "_0 = prim::TupleConstruct(y, x) | "+
				"n.py:3 forward", "return _0"),
			want: lines("x: x of 0", "y: ?", "_0: ?")},
		{why: "a name of the printer's own is a value that no local holds",
			graph: lines("_0 = op(p) | n.py:1 forward", "y = op(_0) | n.py:1 forward", "return y"),
			want:  lines("_0: none of 0", "y: ?")},
		{why: "what takes a number apart has the names of its results",
			graph: lines("u, v = prim::TupleUnpack(5) | n.py:1 forward", "y = op(u, v) | n.py:2 forward", "return y"),
			want:  lines("u: u of 0", "v: v of 0", "y: ?")},
		{why: "a number has no name",
			graph: lines("n = aten::size(p, 0) | n.py:1 forward", "y = op(p, n) | n.py:1 forward", "return y"),
			want:  lines("n: ?", "y: ?")},
		{why: "what goes into a module first was named inside, and what comes out by who takes it",
			graph: lines("x = op(p) | n.py:1 forward", "y = self.sub(x) | n.py:2 forward", "_0 = op(y) | n.py:3 forward",
				"return _0"),
			sub:  lines("a = op(p) | s.py:1 forward", "return a"),
			want: lines("x: ?", "y: a of 0", "_0: ?")},
		{why: "a module's result that the module itself used has its own name for it",
			graph: lines("y = self.sub(p) | n.py:2 forward", "_0 = op(y) | n.py:3 forward", "return _0"),
			sub:   lines("a = op(p) | s.py:1 forward", "b = op(a) | s.py:2 forward", "_1 = (a, b)", "return _1"),
			want:  lines("y: ?", "_0: ?")},
	} {
		sections := map[string]string{"": tt.graph}
		if tt.sub != "" {
			sections["sub"] = strings.Replace(tt.sub, "_1 = (a, b)", "_1 = prim::TupleConstruct(a, b)", 1)
		}
		_, f := read(t, sections)
		require.Equal(t, tt.want, show(f, func(_ int, v *program.Value) string {
			switch n := f.names[v.ID]; {
			case n.call == nil:
				return "?"
			case n.none:
				return fmt.Sprintf("none of %d", n.call.depth)
			default:
				return fmt.Sprintf("%s of %d", n.text, n.call.depth)
			}
		}), tt.why)
	}
}

// TestUserNames: names are counted in the order of their definitions, parameters first, and a name
// that ends with a digit is the user's where the count is another.
func TestUserNames(t *testing.T) {
	named := func(names ...string) (out []*program.Value) {
		for i, name := range names {
			out = append(out, &program.Value{ID: i, Name: name})
		}
		return out
	}
	for _, tt := range []struct {
		why         string
		first       bool
		names, want []string
	}{
		{"a file's first function counts from 0", true, []string{"x", "x0", "x1", "x2", "x3", "_4"},
			[]string{"x", "x", "x", "x", "x", ""}},
		{"another counter there is the user's own digit", true, []string{"x", "x1", "x0", "y"},
			[]string{"x", "x1", "x", "y"}},
		{"a later function counts on from any number", false, []string{"x", "x7", "x8", "x8_"},
			[]string{"x", "x", "x", "x8_"}},
		{"and by one", false, []string{"x", "x7", "x9", "y"}, []string{"x", "x", "x9", "y"}},
		{"a digit before its name is the user's own", true, []string{"x0", "x", "z0", "z"}, []string{"x0", "x", "z0", "z"}},
	} {
		v := named(tt.names...)
		inner := &program.Node{Operation: &program.Operation{}, Outs: v[4:], Blocks: []*program.Block{{Params: v[1:3]},
			{Params: v[3:4]}}}
		g := &program.Graph{NumValues: len(v), Params: v[:1], Body: &program.Block{Nodes: []*program.Node{inner}}}
		require.Equal(t, tt.want, new(Program).userNames(g, tt.first), tt.why)
	}
}

func TestStatements(t *testing.T) {
	for _, tt := range []struct{ why, graph, want string }{
		{"a run of nodes on one line is a statement",
			lines("_0 = op(p) | n.py:1 forward", "_1 = op(_0) | n.py:1 forward", "_2 = op(_1) | n.py:2 forward", "return _2"),
			lines("_0: 0", "_1: 0", "_2: 1")},
		{"one that gave a local its value is complete: the line runs again",
			lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:1 forward", "x1 = op(x0) | n.py:1 forward", "return x1"),
			lines("x: 0", "x0: 1", "x1: 2")},
		{"a call over several lines comes behind its arguments, on its own line before theirs",
			lines("_0 = op(p) | n.py:2 forward", "_1 = op(q) | n.py:3 forward", "_2 = op(_0, _1) | n.py:1 forward", "return _2"),
			lines("_0: 0", "_1: 0", "_2: 0")},
		{"a line that runs again is another statement, where the one before gave a local its value",
			lines("_0 = op(p) | n.py:1 forward", "x = op(_0) | n.py:2 forward", "_1 = op(x) | n.py:1 forward",
				"_2 = op(_1) | n.py:1 forward", "return _2"),
			lines("_0: 0", "x: 1", "_1: 2", "_2: 2")},
		{"an expression goes on where an operand of its own stands on a later line",
			lines("_0 = op(p) | n.py:1 forward", "_1 = op(q) | n.py:2 forward", "_2 = op(_0, _1) | n.py:1 forward", "return _2"),
			lines("_0: 0", "_1: 0", "_2: 0")},
		{"an operand on a later line is part of it too, though it is the first of all",
			lines("_0 = op(p) | n.py:3 forward", "_1 = op(q) | n.py:1 forward", "_2 = op(_0, _1) | n.py:1 forward", "return _2"),
			lines("_0: 0", "_1: 0", "_2: 0")},
		{"a module's call that does nothing stands in no statement, and parts none",
			lines("_0 = op(p) | n.py:3 forward", "_9 = self.nothing(p)", "_1 = op(q) | n.py:2 forward",
				"_2 = op(_0, _1) | n.py:1 forward", "return _2"),
			lines("_0: 0", "_9: none", "_1: 0", "_2: 0")},
		{"a function's expression does not reach back over its caller's",
			lines("_0 = op(p) | n.py:1 forward, n.py:9 g", "_1 = op(_0) | n.py:1 forward",
				"_2 = op(p) | n.py:1 forward, n.py:10 g", "_3 = op(_0, _2) | n.py:1 forward, n.py:8 g", "return _3"),
			lines("_0: 0/1", "_1: 0", "_2: 0/2", "_3: 0/2")},
		{"the next module of a list is the next round of a loop on one line",
			lines("_0 = self.layers.0(p) | n.py:1 forward", "_1 = self.layers.1(_0) | n.py:1 forward", "return _1"),
			lines("_0: 0", "_1: 1")},
		{"one that another function calls is none",
			lines("_0 = self.layers.0(p) | n.py:1 forward, n.py:9 g", "_1 = self.layers.1(_0) | n.py:1 forward", "return _1"),
			lines("_0: 0/1", "_1: 0")},
		{"other modules on one line are one expression",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.b(_0) | n.py:1 forward", "return _1"),
			lines("_0: 0", "_1: 0")},
	} {
		inner := lines("v = op(p) | l.py:1 forward", "return v")
		_, f := read(t, map[string]string{"": tt.graph, "layers.0": inner, "layers.1": inner, "a": inner, "b": inner,
			"nothing": lines("n = op(p)", "return p")})
		var seen []*statement
		require.Equal(t, tt.want, show(f, func(i int, _ *program.Value) string {
			if f.at[i].stmts == nil {
				return "none"
			}
			var out []string // of the calls, the forward's first
			for d := range f.at[i].stmts {
				s := f.at[i].stmt(d)
				if !slices.Contains(seen, s) {
					seen = append(seen, s)
				}
				out = append(out, fmt.Sprint(slices.Index(seen, s)))
			}
			return strings.Join(out, "/")
		}), tt.why)
	}
}

func TestNumbers(t *testing.T) {
	_, f := read(t, map[string]string{"": lines(
		"a = aten::size(p, 0) | n.py:1 forward", "b = prim::NumToTensor(a) | n.py:1 forward",
		"c = aten::floor_divide(b, 2) | n.py:1 forward",
		"d = aten::arange(a) | n.py:1 forward", "e = aten::mul(b, p) | n.py:1 forward", "_0 = [c, b]",
		"f = aten::Int(c) | n.py:1 forward",
		"g = aten::view(p, _0, f, d, e) | n.py:1 forward", "return g",
	)})
	require.Equal(t, lines("a: 1", "b: 2", "c: 2", "d: 0", "e: 0", "_0: 0", "f: 1", "g: 0"),
		show(f, func(_ int, v *program.Value) string { return fmt.Sprint(f.number[v.ID]) }),
		"sizes are numbers, and what is computed with the tensors that wrap them; what is made of a size, or with a "+
			"tensor, is none")
}

// TestUsesInBlocks: what blocks of a node use, the node uses: each time, in order; their nodes are
// counted with it.
func TestUsesInBlocks(t *testing.T) {
	value := func(name string) *program.Value { return &program.Value{Name: name} }
	arg := func(name string) program.Arg { return program.Arg{Value: value(name)} }
	node := func(blocks []*program.Block, args ...program.Arg) *program.Node {
		return &program.Node{Operation: &program.Operation{}, Args: args, Blocks: blocks}
	}
	n := node([]*program.Block{
		{Nodes: []*program.Node{node(nil, arg("b"), program.Arg{Const: int64(1)}), node([]*program.Block{
			{Nodes: []*program.Node{node(nil, arg("c"))}, Outs: []program.Arg{arg("d")}}})}, Outs: []program.Arg{{}, arg("e")}},
		{Nodes: []*program.Node{node(nil, arg("f"))}},
	}, arg("a"), program.Arg{}, arg("a"))
	var got []string
	eachUse(n, func(v *program.Value) { got = append(got, v.Name) })
	require.Equal(t, "a a b c d e f", strings.Join(got, " "))
	require.Equal(t, 4, inside(n))
	require.Zero(t, inside(node(nil)))
}

// TestNumbered: members of a Sequential are called by numbers.
func TestNumbered(t *testing.T) {
	for name, want := range map[string]bool{"0": true, "9": true, "12": true, "a": false, "_0": false, "": false,
		":": false, "/": false} {
		require.Equal(t, want, numbered(name), name)
	}
}

// TestInOrder: ends go by node; at one, inner calls before outer ones, a statement's end before its
// call's, then by key.
func TestInOrder(t *testing.T) {
	_, f := read(t, map[string]string{"": lines("a = op(p) | n.py:1 forward", "b = op(a) | n.py:2 forward",
		"c = op(b) | n.py:3 forward", "d = op(c) | n.py:4 forward", "e = op(d) | n.py:5 forward", "return e")})
	ids := map[string]int{}
	for _, n := range f.nodes {
		for _, v := range n.Outs {
			ids[v.Name] = v.ID
		}
	}
	at := func(name string, node, depth int, frame bool, key, sub int) end {
		return end{node: node, value: ids[name], depth: depth, frame: frame, key: key, sub: sub}
	}
	for _, tt := range []struct {
		why  string
		ends []end
		want string
	}{
		{"the node", []end{at("a", 3, 1, false, 0, 0), at("b", 2, 0, true, 5, 5)}, "b a"},
		{"the inner call", []end{at("a", 2, 0, false, 0, 0), at("b", 2, 1, true, 5, 5)}, "b a"},
		{"the statement", []end{at("a", 2, 1, true, 0, 0), at("b", 2, 1, false, 5, 5)}, "b a"},
		{"the statement stays first", []end{at("b", 2, 1, false, 5, 5), at("a", 2, 1, true, 0, 0)}, "b a"},
		{"the key", []end{at("a", 2, 1, true, 2, 0), at("b", 2, 1, true, 1, 5)}, "b a"},
		{"what is below it", []end{at("a", 2, 1, true, 1, 3), at("b", 2, 1, true, 1, 2)}, "b a"},
		{"else as they stand", []end{at("b", 2, 1, true, 1, 3), at("a", 2, 1, true, 1, 3)}, "b a"},
	} {
		var got []string
		for _, r := range f.inOrder(tt.ends) {
			got = append(got, r.Value.Name)
		}
		require.Equal(t, tt.want, strings.Join(got, " "), tt.why)
	}
}
