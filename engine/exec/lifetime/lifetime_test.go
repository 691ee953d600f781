package lifetime

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// maker builds graphs by hand.
type maker struct{ n int }

func (m *maker) value(name string) *program.Value {
	m.n++
	return &program.Value{ID: m.n - 1, Name: name}
}

func node(op string, outs []*program.Value, args ...*program.Value) *program.Node {
	n := &program.Node{Operation: &program.Operation{Op: op}, Outs: outs}
	for _, v := range args {
		n.Args = append(n.Args, program.Arg{Value: v})
	}
	return n
}

func outs(v ...*program.Value) []*program.Value { return v }

// function makes one of a graph with the parameter x.
func function(build func(m *maker, x *program.Value) []*program.Node) *Func {
	m := &maker{}
	x := m.value("x")
	body := &program.Block{Nodes: build(m, x)}
	return &Func{Func: &program.Func{Name: "f", Record: "f.py", Line: 3},
		Graph: &program.Graph{Params: outs(x), Body: body, NumValues: m.n}}
}

func text(t *testing.T, f *Func) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, []Func{*f}))
	return b.String()
}

func TestLastUse(t *testing.T) {
	for _, tt := range []struct {
		why   string
		build func(m *maker, x *program.Value) []*program.Node
		want  string
	}{
		{"a value goes as the last argument that it is", func(m *maker, x *program.Value) []*program.Node {
			y := m.value("y")
			return []*program.Node{node("a", outs(y), x), node("b", nil, x, x), node("c", nil, y)}
		}, `func f  # f.py:3
  y%1  0..2      argument 0 of c  last use
  x%0  entry..1  argument 1 of b  last use
`},
		{"what nothing uses goes with its node, or at the call", func(m *maker, _ *program.Value) []*program.Node {
			return []*program.Node{node("a", outs(m.value("y"), m.value("z")))}
		}, `func f  # f.py:3
  y%1  0..0          after a            no use
  z%2  0..0          after a            no use
  x%0  entry..entry  entry of the call  no use
`},
		{"used for the last time in a block, and made outside of it, a value goes behind the node",
			func(m *maker, x *program.Value) []*program.Node {
				y, z, w, r := m.value("y"), m.value("z"), m.value("w"), m.value("r")
				branch := node("prim::If", outs(r), x)
				branch.Blocks = []*program.Block{
					{Nodes: []*program.Node{node("a", outs(w), y)}, Outs: []program.Arg{{Value: w}}},
					{Outs: []program.Arg{{Value: z}}},
				}
				return []*program.Node{node("c", outs(y)), node("d", outs(z)), branch, node("e", nil, r)}
			}, `func f  # f.py:3
  r%4  2..4      argument 0 of e                last use
  w%3  3..2      result of a block of prim::If  last use
  y%1  0..2      after prim::If                 last use
  z%2  1..2      after prim::If                 last use
  x%0  entry..2  argument 0 of prim::If         last use
`},
		{"a loop's own values go in each round; one that it does not look at, as the round begins",
			func(m *maker, x *program.Value) []*program.Node {
				i, y, z := m.value("i"), m.value("y"), m.value("z")
				loop := node("prim::Loop", outs(z), x)
				loop.Blocks = []*program.Block{{Params: outs(i, y), Nodes: []*program.Node{node("a", nil, y)},
					Outs: []program.Arg{{Const: true}}}}
				return []*program.Node{loop, node("b", nil, z)}
			}, `func f  # f.py:3
  z%3  0..2      argument 0 of b           last use
  y%2  0..1      argument 0 of a           last use
  i%1  0..0      entry of prim::Loop       no use
  x%0  entry..0  argument 0 of prim::Loop  last use
`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			f := function(tt.build)
			f.Ranges = LastUse(f.Graph)
			assert.Equal(t, tt.want, text(t, f))
			assert.NoError(t, Check(f))
		})
	}
}

func TestToEnd(t *testing.T) {
	f := function(func(m *maker, x *program.Value) []*program.Node {
		y, z, w := m.value("y"), m.value("z"), m.value("w")
		branch := node("prim::If", outs(z), x)
		branch.Blocks = []*program.Block{{Nodes: []*program.Node{node("a", outs(w), y)}, Outs: []program.Arg{{Value: w}}},
			{Outs: []program.Arg{{Value: y}}}}
		return []*program.Node{node("b", outs(y), x), branch, node("c", nil, z)}
	})
	f.Ranges = ToEnd(f.Graph)
	assert.Equal(t, `func f  # f.py:3
  y%1  0..3  after c  held to the end, as no death is known
  z%2  1..3  after c  held to the end, as no death is known
`, text(t, f), "a block's own values are not among them")
}

func TestCheck(t *testing.T) {
	var y *program.Value
	build := func(m *maker, x *program.Value) []*program.Node {
		y = m.value("y")
		return []*program.Node{node("a", outs(y), x), node("b", nil, y)}
	}
	for _, tt := range []struct {
		why, want string
		change    func(f *Func)
	}{
		{"a value without a range", "f: value 1: got no range, want one", func(f *Func) { f.Ranges = f.Ranges[1:] }},
		{"a range of what nothing makes", "f: value 7: got a range, want none of what nothing makes", func(f *Func) {
			f.Ranges = append(f.Ranges, Range{Value: &program.Value{ID: 7}})
		}},
		{"one that begins elsewhere", "f: value 1: got a range from node 1, want 0", func(f *Func) { f.Ranges[0].From = 1 }},
		{"one that ends before a use", "f: value 1: got its end with node 0, want it after its use by node 1", func(f *Func) {
			f.Ranges[0] = Range{Value: y, From: 0, To: 0, End: After}
		}},
		{"one that ends nowhere", "f: value 1: got an end with node 5, want one of 2 from 0 on\nf: value 1: got no range, " +
			"want one", func(f *Func) { f.Ranges[0].To = 5 }},
		{"one that ends as an argument that it is not", "f: value 1: got an end as argument 3 of node 1, which does not " +
			"take it there", func(f *Func) { f.Ranges[0].Arg = 3 }},
		{"one that ends in a block that is not there", "f: value 1: got an end at block 0 of node 1, which has 0",
			func(f *Func) { f.Ranges[0].End = AtEntry }},
	} {
		f := function(build)
		f.Ranges = LastUse(f.Graph)
		require.NoError(t, Check(f))
		tt.change(f)
		assert.EqualError(t, Check(f), tt.want, tt.why)
	}
}

// TestLastUses holds that what is worked out for one function leaves nothing behind for the next.
func TestLastUses(t *testing.T) {
	big := function(func(m *maker, x *program.Value) []*program.Node {
		y, z, w := m.value("y"), m.value("z"), m.value("w")
		branch := node("prim::If", outs(w), x)
		branch.Blocks = []*program.Block{{Nodes: []*program.Node{node("a", outs(z), y)}, Outs: []program.Arg{{Value: z}}},
			{Outs: []program.Arg{{Value: y}}}}
		return []*program.Node{node("b", outs(y), x), branch, node("c", nil, w)}
	})
	small := function(func(m *maker, _ *program.Value) []*program.Node {
		y, z := m.value("y"), m.value("z")
		return []*program.Node{node("a", outs(y)), node("b", outs(z), y)}
	})
	small.Graph.Params = append(small.Graph.Params, &program.Value{ID: small.Graph.NumValues, Name: "p"})
	small.Graph.NumValues++
	var l LastUses
	for _, f := range []*Func{big, small, big, small} {
		f.Ranges = nil
		l.Each(f.Graph, func(r *Range) { f.Ranges = append(f.Ranges, *r) })
		assert.Equal(t, LastUse(f.Graph), f.Ranges)
		assert.NoError(t, Check(f))
	}
	assert.Equal(t, `func f  # f.py:3
  z%2  1..1          after b            no use
  y%1  0..1          argument 0 of b    last use
  x%0  entry..entry  entry of the call  no use
  p%3  entry..entry  entry of the call  no use
`, text(t, small), "parameters in their order")
}

// TestCheckUses holds that every use behind an end is reported, in order, and that constants are
// none.
func TestCheckUses(t *testing.T) {
	var y, z *program.Value
	f := function(func(m *maker, x *program.Value) []*program.Node {
		y, z = m.value("y"), m.value("z")
		n := node("c", nil, y, z)
		n.Args = append(n.Args, program.Arg{Const: int64(1)})
		return []*program.Node{node("a", outs(y, z), x), n}
	})
	f.Ranges = LastUse(f.Graph)
	require.NoError(t, Check(f))
	for i := range f.Ranges {
		if r := &f.Ranges[i]; r.Value == y || r.Value == z {
			r.To, r.End = 0, After
		}
	}
	assert.EqualError(t, Check(f), "f: value 1: got its end with node 0, want it after its use by node 1\nf: value 2: "+
		"got its end with node 0, want it after its use by node 1")
}

func TestWriteLocals(t *testing.T) {
	f := function(func(m *maker, x *program.Value) []*program.Node {
		return []*program.Node{node("a", outs(m.value("y")), x)}
	})
	f.Ranges = []Range{
		{Value: f.Graph.Body.Nodes[0].Outs[0], From: 0, To: 0, End: Open, Why: Bound, Local: "y"},
		{Value: f.Graph.Params[0], From: Param, To: 0, End: Escapes, Why: FrameEnd, Local: "x"},
	}
	assert.Equal(t, `func f  # f.py:3
  y%1  0..       as its name          bound to a local: y
  x%0  entry..0  there at the return  local to the end of its call: x
`, text(t, f))
}
