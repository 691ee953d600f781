package stacks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// describe writes ranges in the order of release: value, the value whose node it goes with, and
// why.
func describe(f *function, ranges []lifetime.Range) string {
	var b strings.Builder
	for _, r := range ranges {
		if strings.HasPrefix(r.Value.Name, "%") { // a module
			continue
		}
		to := nodeName(f, r.To)
		if r.End == lifetime.Escapes {
			to = "out"
		}
		fmt.Fprintf(&b, "%s: %s, %s\n", r.Value.Name, to, r.Why)
	}
	return b.String()
}

// nodeName is what a node makes, or its operator.
func nodeName(f *function, num int) string {
	n := f.nodes[slices.Index(f.num, num)]
	if len(n.Outs) > 0 {
		return n.Outs[0].Name
	}
	return strings.TrimPrefix(n.Op, "prim::")
}

func TestRanges(t *testing.T) {
	inner := lines("_0 = op(p) | l.py:1 forward", "return _0") // which reports no name
	for _, tt := range []struct{ why, graph, want string }{
		{"a temporary goes with the operator that takes it",
			lines("_0 = op(p) | n.py:1 forward", "x = op(_0) | n.py:1 forward", "y = op(x) | n.py:2 forward", "return y"),
			lines("_0: x, temporary", "y: Return, temporary", "x: Return, local to the end of its call")},
		{"one that went into a function lives as long as that",
			lines("_0 = op(p) | n.py:1 forward", "_1 = op(_0) | n.py:1 forward, n.py:9 g",
				"_2 = op(_1) | n.py:1 forward, n.py:9 g", "x = op(_2) | n.py:2 forward", "return x"),
			lines("_1: _2, temporary", "_0: _2, parameter of a call", "x: Return, temporary",
				"_2: Return, local to the end of its call")},
		{"unless that binds its parameter anew",
			lines("t = op(p) | n.py:1 forward", "t0 = op(t) | n.py:1 forward, n.py:9 g",
				"_1 = op(t0) | n.py:1 forward, n.py:10 g", "_2 = op(_1) | n.py:2 forward", "return _2"),
			lines("t: t0, local bound anew", "t0: _1, local to the end of its call", "_2: Return, temporary",
				"_1: Return, local to the end of its call")},
		{"a name that is bound anew frees what it held, when the statement is over",
			lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:2 forward", "x1 = op(x0) | n.py:3 forward",
				"_0 = op(x1) | n.py:4 forward", "return _0"),
			lines("x: x0, local bound anew", "x0: x1, local bound anew", "_0: Return, temporary",
				"x1: Return, local to the end of its call")},
		{"what is used after its name was bound anew has another holder",
			lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:2 forward", "y = op(x, x0) | n.py:3 forward",
				"_0 = op(y) | n.py:4 forward", "return _0"),
			lines("_0: Return, temporary", "x0: Return, local to the end of its call", "x: Return, local to the end of its call",
				"y: Return, local to the end of its call")},
		{"what is made of two values may be one of them again",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.b(p) | n.py:2 forward", "x = op(_0, _1) | n.py:4 forward, "+
				"n.py:9 g", "y = op(x) | n.py:5 forward", "_3 = op(y) | n.py:6 forward", "return _3"),
			lines("_0: x, local bound anew", "_3: Return, temporary", "x: Return, local to the end of its call",
				"_1: Return, local to the end of its call", "y: Return, local to the end of its call")},
		{"what is made of three is none of them, as attention of q, k and v",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.b(p) | n.py:2 forward", "_2 = self.c(p) | n.py:3 forward",
				"x = op(_0, _1, _2) | n.py:4 forward, n.py:9 g", "y = op(x) | n.py:5 forward", "_3 = op(y) | n.py:6 forward",
				"return _3"),
			lines("_3: Return, temporary", "_0: Return, local to the end of its call",
				"_1: Return, local to the end of its call", "_2: Return, local to the end of its call",
				"x: Return, local to the end of its call", "y: Return, local to the end of its call")},
		{"what a loop begins with may have a name of its own, what goes from round to round goes",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.layers.0(_0) | n.py:2 forward",
				"_2 = self.layers.1(_1) | n.py:2 forward", "_3 = self.layers.2(_2) | n.py:2 forward",
				"_4 = self.c(_3) | n.py:3 forward", "return _4"),
			lines("_1: _2, local bound anew", "_2: _3, local bound anew", "_4: Return, temporary",
				"_0: Return, local to the end of its call", "_3: Return, local to the end of its call")},
		{"unless it has the loop's",
			lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:2 forward", "x1 = op(x0) | n.py:2 forward",
				"_3 = op(x1) | n.py:3 forward", "return _3"),
			lines("x: x0, local bound anew", "x0: x1, local bound anew", "_3: Return, temporary",
				"x1: Return, local to the end of its call")},
		{"what softmax gives is no longer scores",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = aten::softmax(_0) | n.py:2 forward, f.py:9 softmax",
				"_2 = self.b(_1) | n.py:3 forward", "return _2"),
			lines("_2: Return, temporary", "_0: Return, local to the end of its call", "_1: Return, local to the end of its "+
				"call")},
		{"though they have a name, which is bound once",
			lines("x = op(p) | n.py:1 forward", "_1 = aten::softmax(x) | n.py:2 forward, f.py:9 softmax",
				"_2 = self.b(_1) | n.py:3 forward", "return _2"),
			lines("_2: Return, temporary", "x: Return, local to the end of its call", "_1: Return, local to the end of its "+
				"call")},
		{"unless that name is bound again",
			lines("_0 = self.a(p) | n.py:1 forward", "y = op(_0) | n.py:2 forward, n.py:9 g", "_2 = op(y) | n.py:3 forward",
				"_3 = aten::softmax(_2) | n.py:4 forward, f.py:9 softmax",
				"y0 = op(_3) | n.py:5 forward, f.py:19 dropout", "_4 = op(y0) | n.py:6 forward", "return _4"),
			lines("_0: y, local bound anew", "y: _2, local bound anew", "_2: _3, local bound anew", "_3: y0, local bound anew",
				"_4: Return, temporary", "y0: Return, local to the end of its call")},
		{"a result without a name takes the local whose value its statement reads last",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.b(_0) | n.py:2 forward", "_2 = self.c(_1) | n.py:3 forward",
				"return _2"),
			lines("_0: _1, local bound anew", "_2: Return, temporary", "_1: Return, local to the end of its call")},
		{"and so does one with a name that was not seen before, of a local without",
			lines("_0 = self.a(p) | n.py:1 forward", "x = op(_0) | n.py:2 forward", "_1 = op(x) | n.py:3 forward", "return _1"),
			lines("_0: x, local bound anew", "_1: Return, temporary", "x: Return, local to the end of its call")},
		{"what is made of a value after others were is something else",
			lines("_0 = self.a(p) | n.py:1 forward", "q1 = self.b(_0) | n.py:2 forward", "k1 = self.c(_0) | n.py:3 forward",
				"x = op(q1, k1) | n.py:4 forward", "_1 = op(x) | n.py:5 forward", "return _1"),
			lines("q1: x, local bound anew", "_1: Return, temporary", "_0: Return, local to the end of its call",
				"x: Return, local to the end of its call", "k1: Return, local to the end of its call")},
		{"and so is what joins several into a list",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.b(p) | n.py:2 forward", "_2 = [_0, _1]",
				"_3 = aten::cat(_2) | n.py:3 forward", "_4 = op(_3) | n.py:4 forward", "_5 = op(_4) | n.py:5 forward", "return _5"),
			lines("_2: _3, temporary", "_3: _4, local bound anew", "_5: Return, temporary",
				"_0: Return, local to the end of its call", "_1: Return, local to the end of its call",
				"_4: Return, local to the end of its call")},
		{"values that one statement makes and a later one joins are a list's, whose last member goes first",
			lines("_0 = self.l.0(p) | n.py:1 forward", "_1 = self.m.0(p) | n.py:1 forward", "_2 = [_0, _1]",
				"_3 = aten::cat(_2) | n.py:2 forward", "_4 = op(_3) | n.py:3 forward", "return _4"),
			lines("_2: _3, temporary", "_1: _3, local bound anew", "_0: _3, local bound anew", "_4: Return, temporary",
				"_3: Return, local to the end of its call")},
		{"a list that has a value twice is not the one that a statement made",
			lines("_0 = self.l.0(p) | n.py:1 forward", "_1 = self.m.0(p) | n.py:1 forward", "_2 = [_0, _1, _0]",
				"_3 = aten::cat(_2) | n.py:2 forward", "_4 = op(_3) | n.py:3 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "_0: Return, local to the end of its call",
				"_1: Return, local to the end of its call", "_3: Return, local to the end of its call")},
		{"nor is one with a local among its members",
			lines("_0 = self.l.0(p) | n.py:1 forward", "x = op(p) | n.py:1 forward", "_2 = [_0, x]",
				"_3 = aten::cat(_2) | n.py:2 forward", "_4 = op(_3) | n.py:3 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "_0: Return, local to the end of its call",
				"x: Return, local to the end of its call", "_3: Return, local to the end of its call")},
		{"nor one whose member another operator had first",
			lines("_0 = self.l.0(p) | n.py:1 forward", "_1 = self.m.0(p) | n.py:1 forward", "_9 = op(_0) | n.py:1 forward",
				"_2 = [_0, _1]", "_3 = aten::cat(_2) | n.py:2 forward", "_4 = op(_3) | n.py:3 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "_0: Return, local to the end of its call",
				"_1: Return, local to the end of its call", "_3: Return, local to the end of its call")},
		{"nor one with what the function was called with",
			lines("_0 = self.l.0(p) | n.py:1 forward", "_1 = self.m.0(p) | n.py:1 forward", "_2 = [_0, _1, p]",
				"_3 = aten::cat(_2) | n.py:2 forward", "_4 = op(_3) | n.py:3 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "_0: Return, local to the end of its call",
				"_1: Return, local to the end of its call", "_3: Return, local to the end of its call")},
		{"nor one with a number",
			lines("_0 = self.l.0(p) | n.py:1 forward", "n = aten::size(_0, 0) | n.py:1 forward", "_2 = [_0, n]",
				"_3 = aten::cat(_2) | n.py:2 forward", "_4 = op(_3) | n.py:3 forward", "return _4"),
			lines("n: _2, number", "_2: _3, temporary", "_0: _3, local bound anew", "_4: Return, temporary",
				"_3: Return, local to the end of its call")},
		{"a list may stand on several lines, one member a line and its brackets on their own",
			lines("x = op(p) | n.py:1 forward", "_0 = self.a(x) | n.py:3 forward", "_1 = self.b(x) | n.py:4 forward",
				"_2 = [_0, _1]", "_3 = aten::cat(_2) | n.py:6 forward", "_4 = op(_3) | n.py:7 forward", "return _4"),
			lines("x: _1, local bound anew", "_2: _3, temporary", "_1: _3, local bound anew", "_0: _3, local bound anew",
				"_4: Return, temporary", "_3: Return, local to the end of its call")},
		{"brackets that are not on lines of their own make no such list",
			lines("x = op(p) | n.py:2 forward", "_0 = self.a(x) | n.py:3 forward", "_1 = self.b(x) | n.py:4 forward",
				"_2 = [_0, _1]", "_3 = aten::cat(_2) | n.py:6 forward", "_4 = op(_3) | n.py:7 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "x: Return, local to the end of its call",
				"_0: Return, local to the end of its call", "_1: Return, local to the end of its call",
				"_3: Return, local to the end of its call")},
		{"nor are lines with another between them one list's",
			lines("x = op(p) | n.py:1 forward", "_0 = self.a(x) | n.py:3 forward", "_1 = self.b(x) | n.py:5 forward",
				"_2 = [_0, _1]", "_3 = aten::cat(_2) | n.py:7 forward", "_4 = op(_3) | n.py:8 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "x: Return, local to the end of its call",
				"_0: Return, local to the end of its call", "_1: Return, local to the end of its call",
				"_3: Return, local to the end of its call")},
		{"nor what is made in a caller of the function that joins it",
			lines("x = op(p) | n.py:1 forward", "_0 = self.a(x) | n.py:3 forward", "_1 = self.b(x) | n.py:4 forward",
				"_2 = [_0, _1]", "_3 = aten::cat(_2) | n.py:6 forward, n.py:20 g", "_4 = op(_3) | n.py:7 forward", "return _4"),
			lines("_2: _3, temporary", "_4: Return, temporary", "x: Return, local to the end of its call",
				"_0: Return, local to the end of its call", "_1: Return, local to the end of its call",
				"_3: Return, local to the end of its call")},
		{"nor what functions without a common caller make",
			lines("_0 = op(p) | n.py:1 forward", "_1 = op(p) | m.py:1 forward", "_2 = [_0, _1]",
				"_3 = aten::cat(_2) | m.py:2 forward", "_4 = op(_3) | m.py:3 forward", "return _4"),
			lines("_0: _2, last use", "_2: _3, temporary", "_1: _3, local bound anew", "_4: Return, temporary",
				"_3: Return, local to the end of its call")},
		{"nor do their lists grow",
			lines("_0 = op(p) | n.py:1 forward", "_1 = [p, _0]", "_2 = aten::cat(_1) | n.py:2 forward",
				"_3 = op(_2) | m.py:3 forward", "_4 = [p, _0, _3]", "_5 = aten::cat(_4) | m.py:4 forward",
				"_6 = op(_5) | m.py:5 forward", "return _6"),
			lines("_1: _2, temporary", "_2: _3, last use", "_0: _4, last use", "_4: _5, temporary", "_3: _5, local bound anew",
				"_6: Return, temporary", "_5: Return, local to the end of its call")},
		{"a list that grows holds its members to the end of the call",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = [p, _0]", "_2 = aten::cat(_1) | n.py:2 forward",
				"_3 = self.b(_2) | n.py:3 forward", "_4 = [p, _0, _3]", "_5 = aten::cat(_4) | n.py:4 forward",
				"_6 = op(_5) | n.py:5 forward", "return _6"),
			lines("_1: _2, temporary", "_4: _5, temporary", "_6: Return, temporary", "_0: Return, in a container to the end "+
				"of its call", "_3: Return, in a container to the end of its call", "_2: Return, local to the end of its call",
				"_5: Return, local to the end of its call")},
		{"a list of one says nothing of growing",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = [_0]", "_2 = aten::cat(_1) | n.py:2 forward",
				"_3 = self.b(_2) | n.py:3 forward", "_4 = [_0, _3]", "_5 = aten::cat(_4) | n.py:4 forward",
				"_6 = op(_5) | n.py:5 forward", "return _6"),
			lines("_1: _2, temporary", "_2: _3, local bound anew", "_4: _5, temporary", "_6: Return, temporary",
				"_0: Return, local to the end of its call", "_3: Return, local to the end of its call",
				"_5: Return, local to the end of its call")},
		{"what takes a result apart stands where that was made",
			lines("t = op(p) | n.py:1 forward", "_0, _1 = prim::TupleUnpack(t)", "_2 = op(_0) | n.py:2 forward",
				"_3 = op(_1, _2) | n.py:3 forward", "return _3"),
			lines("t: _0, local bound anew", "_0: _2, local bound anew", "_3: Return, temporary",
				"_2: Return, local to the end of its call", "_1: Return, local to the end of its call")},
		{"of two values that a statement reads last, the one that it reads first",
			lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.b(p) | n.py:2 forward", "_2 = op(_0) | n.py:3 forward",
				"_3 = op(_1) | n.py:3 forward", "_4 = op(_1, _0, _2, _3) | n.py:3 forward", "_5 = op(_4) | n.py:4 forward",
				"return _5"),
			lines("_2: _4, temporary", "_3: _4, temporary", "_0: _4, local bound anew", "_5: Return, temporary",
				"_4: Return, local to the end of its call", "_1: Return, local to the end of its call")},
		{"a number goes with its last use",
			lines("n = aten::size(p, 0) | n.py:1 forward", "_0 = op(n) | n.py:2 forward", "return _0"),
			lines("n: _0, number", "_0: Return, temporary")},
		{"a result that nothing uses has no range, those after it have",
			lines("_0, _1 = op(p) | n.py:1 forward", "_2 = op(_1) | n.py:2 forward", "_3 = op(_2) | n.py:3 forward",
				"return _3"),
			lines("_1: _2, local bound anew", "_3: Return, temporary", "_2: Return, local to the end of its call")},
		{"several numbers of one operator",
			lines("t = prim::NumToTensor(p) | n.py:1 forward", "n, m = op(t) | n.py:1 forward", "_0 = op(n) | n.py:2 forward",
				"_1 = op(m) | n.py:3 forward", "_2 = aten::relu(_0, _1, p) | n.py:4 forward", "return _2"),
			lines("t: n, number", "n: _0, number", "m: _1, number", "_0: _2, number", "_1: _2, number",
				"_2: Return, temporary")},
		{"several results, of which some are a list's",
			lines("_0, _1, _2, _3, _4 = op(p) | n.py:1 forward", "_5 = [_0, _1, _2]", "_6 = aten::cat(_5) | n.py:2 forward",
				"_7 = op(_6, _3) | n.py:3 forward", "_8 = op(_7, _4) | n.py:4 forward", "_9 = op(_4) | n.py:5 forward",
				"return _9"),
			lines("_5: _6, temporary", "_2: _6, local bound anew", "_1: _6, local bound anew", "_0: _6, local bound anew",
				"_6: _7, local bound anew", "_9: Return, temporary", "_7: Return, local to the end of its call",
				"_3: Return, local to the end of its call", "_4: Return, local to the end of its call")},
		{"several results without a stack",
			lines("_0, _1 = op(p)", "_2 = op(_0)", "_3 = op(_1, _2)", "return _3"),
			lines("_0: _2, last use", "_1: _3, last use", "_2: _3, last use", "_3: Return, last use")},
		{"what has no stack goes with its last use",
			lines("_0 = op(p)", "_1 = op(_0)", "return _1"),
			lines("_0: _1, last use", "_1: Return, last use")},
	} {
		p, f := read(t, map[string]string{"": tt.graph, "a": inner, "layers.0": inner, "layers.1": inner, "layers.2": inner,
			"b": inner, "c": inner, "l.0": inner, "m.0": inner})
		ranges, err := p.Ranges(p.prog.Entry, p.prog.Root)
		require.NoError(t, err)
		assert.Equal(t, tt.want, describe(f, ranges), tt.why)
		checked(t, p, ranges)
	}
}

// checked holds ranges, with the last uses of what they leave out, against lifetime.Check.
func checked(t *testing.T, p *Program, ranges []lifetime.Range) {
	t.Helper()
	g, err := p.prog.Entry.Graph()
	require.NoError(t, err)
	has := map[*program.Value]bool{}
	for _, r := range ranges {
		has[r.Value] = true
	}
	for _, r := range lifetime.LastUse(g) {
		if !has[r.Value] {
			ranges = append(ranges, r)
		}
	}
	require.NoError(t, lifetime.Check(&lifetime.Func{Func: p.prog.Entry, Graph: g, Ranges: ranges}))
}

func TestMost(t *testing.T) {
	inner := lines("_0 = op(p) | l.py:1 forward", "return _0") // which reports no name
	for _, tt := range []struct{ why, graph, want, until string }{
		{why: "a local stays, and its caller may hold it on",
			graph: lines("x = op(p) | n.py:1 forward", "x0 = op(x) | n.py:2 forward", "_0 = op(x0) | n.py:3 forward",
				"return _0"),
			want: lines("_0: Return, temporary", "x: out, local to the end of its call", "x0: out, local to the end of its "+
				"call")},
		{why: "a temporary goes with its user",
			graph: lines("_0 = op(p) | n.py:1 forward", "_1 = op(_0) | n.py:1 forward", "return _1"),
			want:  lines("_0: _1, temporary", "_1: Return, temporary")},
		{why: "but not one that a name is known of",
			graph: lines("x = op(p) | n.py:1 forward", "_1 = op(x) | n.py:1 forward", "return _1"),
			want:  lines("_1: Return, temporary", "x: out, local to the end of its call")},
		{why: "nor one on a line that calls a module again: it may be a loop's",
			graph: lines("_0 = self.a(p) | n.py:1 forward", "_1 = self.a(_0) | n.py:1 forward",
				"_2 = self.b(_1) | n.py:1 forward", "return _2"),
			want:  lines("_1: _2, temporary", "_2: Return, temporary", "_0: out, local to the end of its call"),
			until: "_0 until Return, _1 stays, _2 stays"},
		{why: "or a function again",
			graph: lines("_0 = op(p) | n.py:1 forward, n.py:9 g", "_1 = op(_0) | n.py:1 forward, n.py:20 h",
				"_2 = op(_1) | n.py:1 forward, n.py:9 g", "return _2"),
			want: lines("_0: _1, parameter of a call", "_2: Return, temporary", "_1: out, local to the end of its call")},
		{why: "what a call leaves is held until its line runs again",
			graph: lines("_0 = self.l.0(p) | n.py:1 forward", "_1 = self.l.1(_0) | n.py:1 forward",
				"_2 = self.a(_1) | n.py:2 forward", "return _2"),
			want: lines("_2: Return, temporary", "_0: out, local to the end of its call", "_1: out, local to the end of its "+
				"call"),
			until: "_0 until _1, _1 stays, _2 stays"},
		{why: "a function's locals are left to its caller too",
			graph: lines("x = op(p) | n.py:1 forward, n.py:9 g", "_0 = op(x) | n.py:1 forward, n.py:10 g",
				"y = op(_0) | n.py:2 forward", "_1 = op(y) | n.py:3 forward", "return _1"),
			want: lines("_1: Return, temporary", "x: out, local to the end of its call",
				"_0: out, local to the end of its call", "y: out, local to the end of its call")},
		{why: "until that line runs again",
			graph: lines("x = op(p) | n.py:1 forward, n.py:9 g", "y = op(x) | n.py:1 forward, n.py:10 g",
				"z = op(y) | n.py:2 forward", "x0 = op(z) | n.py:1 forward, n.py:9 g", "y0 = op(x0) | n.py:1 forward, n.py:10 g",
				"_1 = op(y0) | n.py:3 forward", "return _1"),
			want: lines("x: y0, local bound anew", "_1: Return, temporary", "y: out, local to the end of its call",
				"z: out, local to the end of its call", "x0: out, local to the end of its call",
				"y0: out, local to the end of its call")},
		{why: "Sequential binds its one local anew with each module",
			graph: lines("_0 = self.a(p) | torch/nn/modules/container.py:9 forward",
				"_1 = self.b(_0) | torch/nn/modules/container.py:9 forward", "return _1"),
			want: lines("_0: _1, local bound anew", "_1: Return, local bound anew"), until: "_0 until _1, _1 stays"},
		{why: "what has no stack may be held to the end",
			graph: lines("_0 = op(p)", "_1 = op(_0)", "return _1"),
			want:  lines("_0: out, held to the end, as no death is known", "_1: out, held to the end, as no death is known")},
	} {
		p, f := read(t, map[string]string{"": tt.graph, "a": inner, "b": inner, "l.0": inner, "l.1": inner})
		h, err := p.Most(p.prog.Entry, p.prog.Root)
		require.NoError(t, err)
		assert.Equal(t, tt.want, describe(f, h.Ranges), tt.why)
		checked(t, p, h.Ranges)
		var until []string
		for i, n := range f.nodes {
			if n.Op != "prim::CallMethod" {
				continue
			}
			if k := h.Until[f.num[i]]; k == Stays {
				until = append(until, n.Outs[0].Name+" stays")
			} else {
				until = append(until, n.Outs[0].Name+" until "+nodeName(f, k))
			}
		}
		assert.Equal(t, tt.until, strings.Join(until, ", "), tt.why)
	}
}

// TestNothingRecorded: calls that nest too deep record nothing, and a function that cannot be read
// is an error.
func TestNothingRecorded(t *testing.T) {
	p := traced(t, map[string]string{"": lines("_0 = op(p) | n.py:1 forward", "return _0")})
	p.depth = maxNesting
	ranges, err := p.Ranges(p.prog.Entry, p.prog.Root)
	require.NoError(t, err)
	require.Nil(t, ranges)
	held, err := p.Most(p.prog.Entry, p.prog.Root)
	require.NoError(t, err)
	require.Nil(t, held)
	damaged := program.NewFunc(&program.Func{Name: "f"}, func(*program.Func) (*program.Graph, error) {
		return nil, errors.New("got no code")
	})
	p = New(p.prog)
	_, err = p.Ranges(damaged, p.prog.Root)
	require.EqualError(t, err, "got no code")
	_, err = p.Most(damaged, p.prog.Root)
	require.EqualError(t, err, "got no code")
}

// TestSmallForms: what no tracer writes is read without a name: a function that returns nothing,
// and an attribute that the archive does not fill.
func TestSmallForms(t *testing.T) {
	p := traced(t, map[string]string{"": lines("x = op(p) | n.py:1 forward", "_0 = self.a(x) | n.py:2 forward",
		"return _0"), "a": lines("_0 = op(p) | l.py:1 forward", "return _0")})
	g, err := p.prog.Entry.Graph()
	require.NoError(t, err)
	g.Body.Nodes[len(g.Body.Nodes)-1].Args = nil
	f, err := p.function(p.prog.Entry, p.prog.Root)
	require.NoError(t, err)
	require.Empty(t, f.result)
	p = New(p.prog)
	p.prog.Root.Attrs = nil
	f, err = p.function(p.prog.Entry, p.prog.Root)
	require.NoError(t, err)
	require.NotNil(t, f)
	require.Len(t, p.functions, 1, "the module that it would be is not read")
}
