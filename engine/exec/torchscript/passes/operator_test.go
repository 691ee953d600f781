package passes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// TestRandomness: which operators give something else each time, always or unless they are known
// that nothing is trained.
func TestRandomness(t *testing.T) {
	for op, want := range map[string]certainty{
		"aten::rand": always, "aten::randn_like": always, "aten::bernoulli": always, "aten::bernoulli_": always,
		"aten::normal": always, "aten::normal_": always, "aten::multinomial": always, "aten::poisson": always,
		"aten::rrelu": always, "aten::_standard_gamma": always, "aten::_sample_dirichlet": always, "aten::binomial": always,
		"aten::native_dropout": always, "aten::_fused_dropout": always,
		"aten::dropout": unsure, "aten::feature_alpha_dropout": unsure,
		"aten::relu": never, "aten::add": never, "prim::rand": never, "aten::r": never, "aten::norm": never,
	} {
		assert.Equal(t, want, randomness(op), op)
	}
	for text, want := range map[string]bool{
		"aten::rand(x)": true, "aten::relu(x)": false, "aten::dropout(x, 0.5, True)": true,
		"aten::dropout(x, 0.5, False)": false, "aten::dropout(x, 0.5, c)": true,
		"aten::relu(x, True)": false,
	} {
		g := read(t, "x: Tensor, c: bool\na = "+text+"\nprim::Return(a)\n")
		ready(g)
		assert.Equal(t, want, g.nondeterministic(g.Body.Nodes[0]), text)
	}
}

// TestMarked: arguments by their bits; those from the 31st on share one.
func TestMarked(t *testing.T) {
	var got []int
	for i := range 40 {
		if marked(1<<2|1<<30, i) {
			got = append(got, i)
		}
	}
	assert.Equal(t, []int{2, 30}, got)
	assert.Equal(t, []bool{false, true, true, true}, []bool{marked(1<<31, 30), marked(1<<31, 31), marked(1<<31, 32),
		marked(1<<31, 99)})
}

// TestUsed: the values among arguments, in order, as long as they are asked for.
func TestUsed(t *testing.T) {
	a, b := &program.Value{ID: 1}, &program.Value{ID: 2}
	args := []program.Arg{{Value: a}, {Const: int64(1)}, {Value: b}, {Value: a}}
	assert.Equal(t, []*program.Value{a, b, a}, slices.Collect(used(args)))
	for v := range used(args) {
		assert.Same(t, a, v)
		break
	}
}

// TestOfTensors: which lists may have tensors.
func TestOfTensors(t *testing.T) {
	for text, want := range map[string]bool{"": true, "Any": true, "Tensor": true, "List[Tensor]": true, "List[Any]": true,
		"List[Optional[Tensor]]": true, "Optional[int]": true, "List[int]": false, "List[bool]": false} {
		var typ *program.Type
		if text != "" {
			typ = typeOf(t, text)
		}
		assert.Equal(t, want, ofTensors(typ), text)
	}
	assert.True(t, ofTensors(&program.Type{Kind: program.ListType}), "of members that are not stated")
}

// TestTakenApartFirst: of several reads the first is reported, whichever list it is of.
func TestTakenApartFirst(t *testing.T) {
	for _, tt := range []struct {
		why, graph string
		line       int32 // -1 for none
	}{
		{"of two lists the one that is read first", `x: Tensor
a = prim::ListConstruct()
b = prim::ListConstruct()
m = aten::append(a, x)
n = aten::append(b, x)
r = aten::__getitem__(b, 0)
s = aten::__getitem__(a, 0)
prim::Return(r)
`, 4},
		{"of one list its first", `x: Tensor
a = prim::ListConstruct()
m = aten::append(a, x)
r = aten::__getitem__(a, 0)
s = aten::__getitem__(a, 1)
prim::Return(r)
`, 2},
		{"what is appended to another list is no append to this one", `x: Tensor
a = prim::ListConstruct(x)
b = prim::ListConstruct()
m = aten::append(b, a)
r = aten::__getitem__(a, 0)
prim::Return(r)
`, -1},
		{"in a branch of a loop's round an append stays", `x: Tensor, c: bool
a = prim::ListConstruct()
prim::Loop(3, True)
  do i
    prim::If(c)
      then
        m = aten::append(a, x)
      else
    -> True
r = aten::__getitem__(a, 0)
prim::Return(r)
`, -1},
		{"a list of a branch's own is taken apart there", `x: Tensor, c: bool
prim::If(c)
  then
    a = prim::ListConstruct()
    m = aten::append(a, x)
    r = aten::__getitem__(a, 0)
  else
prim::Return(x)
`, 3},
		{"in a loop within a branch, of the branch's list", `x: Tensor, c: bool
prim::If(c)
  then
    a = prim::ListConstruct()
    prim::Loop(3, True)
      do i
        m = aten::append(a, x)
        -> True
    r = aten::__getitem__(a, 0)
  else
prim::Return(x)
`, 4},
		{"appended to and never read", "x: Tensor\na = prim::ListConstruct()\nm = aten::append(a, x)\nprim::Return(x)\n", -1},
	} {
		g := read(t, tt.graph)
		ready(g)
		got := int32(-1)
		if n := g.TakenApartLater(); n != nil {
			got = n.Where.Line
		}
		assert.Equal(t, tt.line, got, tt.why)
	}
}

// TestLiterals: a literal of a container that goes into a function which writes it gets a separate
// node, with its type; one that is only read does not.
func TestLiterals(t *testing.T) {
	writes := func(args, body string) string {
		return "def main(x: Tensor)\nz = prim::CallFunction[f](" + args + ")\nprim::Return(x)\ndef f(a, b, c)\n" + body +
			"prim::Return(a)\ndef g(a, b, c)\nm = aten::append(b, 1)\nprim::Return(a)\n"
	}
	for _, tt := range []struct{ why, args, body, want string }{
		{"read alone", "[1;2], [3;4], 5", "n = aten::len(a)\n", "aten::len([1;2])"},
		{"the first is written", "[1;2], [3;4], 5", "m = aten::append(a, 1)\n", "prim::ListConstruct(1, 2): List[int]"},
		{"the second", "[1;2], [3;4], 5", "m = aten::append(b, 1)\n", "prim::ListConstruct(3, 4): List[int]"},
		{"both, in their order", "[1;2], [3;4], 5", "m = aten::append(b, 1)\nn = aten::append(a, 1)\n",
			"prim::ListConstruct(1, 2): List[int], prim::ListConstruct(3, 4): List[int]"},
		{"given by name", "5, c=[3;4], b=[6]", "m = aten::append(c, 1)\n", "prim::ListConstruct(3, 4): List[int]"},
		{"a dict", "{1;2}, 3, 4", "m = aten::_set_item(a, 1, 3)\n", "prim::DictConstruct(1, 2)"},
		{"a number is none", "5, [6], 7", "m = aten::append(a, 1)\n", ""},
		{"what is taken in is not written", "[1;2], [3;4], 5", "m = aten::append(a, b)\n",
			"prim::ListConstruct(1, 2): List[int]"},
		{"written by a function that it is passed to", "[1;2], [3;4], 5", "m = prim::CallFunction[g](b, a, 1)\n",
			"prim::ListConstruct(1, 2): List[int]"},
		{"by name", "[1;2], [3;4], 5", "m = prim::CallFunction[g](1, c=a, b=b)\n", "prim::ListConstruct(3, 4): List[int]"},
		{"in a branch", "[1;2], [3;4], 5", "prim::If(c)\n  then\n    m = aten::append(b, 1)\n  else\n",
			"prim::ListConstruct(3, 4): List[int]"},
	} {
		g, err := inlined(t, writes(tt.args, tt.body))
		require.NoError(t, err, tt.why)
		got := ""
		for _, n := range g.Body.Nodes {
			if n.Op != "prim::ListConstruct" && n.Op != "prim::DictConstruct" &&
				(n.Op != "aten::len" || tt.why != "read alone") {
				continue
			}
			if got != "" {
				got += ", "
			}
			got += n.Op + "(" + (&printer{}).args(n.Args) + ")"
			if n.Outs[0].Type != nil {
				got += ": " + n.Outs[0].Type.String()
			}
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestUnpacked: the members of a list that was computed ahead are held for the graph, beside the
// list.
func TestUnpacked(t *testing.T) {
	g := read(t, `x: Tensor
a = aten::ones(1)
l = prim::ListConstruct(a, 2)
b, c = prim::ListUnpack(l)
d = aten::ones(1)
m = prim::ListConstruct(d, 2)
e, f = prim::ListUnpack(m)
s = aten::cat(b, c)
u = aten::cat(e, f)
v = aten::add(s, u)
w = aten::relu(v)
prim::Return(w)
`)
	ready(g)
	g.propagateConstants(everything)
	k := g.eval.(*known)
	require.Equal(t, "[tensor[1] 2 tensor[1] 2]", fmt.Sprint(k.held))
	require.Len(t, g.computed, 8)
	require.NotSame(t, g.Body.Nodes[0].Args[0].Const, g.Body.Nodes[1].Args[0].Const)
	g.poolConstants()
	require.Same(t, g.Body.Nodes[0].Args[0].Const, g.Body.Nodes[1].Args[0].Const, "equal constants become the first of "+
		"them")
	g.dropUnused()
	require.Equal(t, "tensor[1] [tensor[1], 2] tensor[1] [tensor[1], 2]", strings.Join(k.dropped, " "),
		"the second tensor, which is held twice, and both lists")
}
