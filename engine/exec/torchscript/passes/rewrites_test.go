package passes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ready prepares the tables that Simplify makes.
func ready(g *Graph) {
	g.numbers = map[signature]int32{}
	g.operator = make([]int32, len(g.calls))
	g.replaced = make([]int32, g.NumValues)
}

func TestPeephole(t *testing.T) {
	rewrites(t, "testdata/peephole.txt", func(g *Graph) { ready(g); g.peephole() })
}

func TestConcatenations(t *testing.T) {
	rewrites(t, "testdata/cat.txt", func(g *Graph) { ready(g); g.combineConcats() })
}

func TestDeadCode(t *testing.T) {
	rewrites(t, "testdata/deadcode.txt", func(g *Graph) { ready(g); g.eliminateDeadCode() })
}

func TestCommonSubexpressions(t *testing.T) {
	rewrites(t, "testdata/cse.txt", func(g *Graph) { ready(g); g.eliminateCommonSubexpressions() })
}

func TestConstants(t *testing.T) {
	rewrites(t, "testdata/numbers.txt", func(g *Graph) { ready(g); g.propagateConstants(numbersOnly) })
	rewrites(t, "testdata/constants.txt", func(g *Graph) { ready(g); g.propagateConstants(everything) })
}

func TestAddmm(t *testing.T) {
	rewrites(t, "testdata/addmm.txt", func(g *Graph) { ready(g); g.decomposeAddmm(g.Body) })
}

func TestCanonical(t *testing.T) {
	rewrites(t, "testdata/canonical.txt", func(g *Graph) { ready(g); g.canonicalize(g.Body) })
}

func TestTuples(t *testing.T) {
	rewrites(t, "testdata/tuples.txt", func(g *Graph) { ready(g); g.lowerSimpleTuples() })
}

func TestSimplify(t *testing.T) {
	rewrites(t, "testdata/simplify.txt", func(g *Graph) { g.Simplify("") })
}

// TestDropUnused holds that constants which no node uses in the end are released, the last one
// first.
func TestDropUnused(t *testing.T) {
	g := read(t, `x: Tensor
a = aten::ones(1)
b = aten::ones(2)
c = prim::ListConstruct(3)
d = prim::TupleConstruct(4, 5)
e = prim::ListConstruct(6)
k = prim::Uninitialized()
f = prim::If(k)
  then
    g = aten::cat(e)
    -> g
  else
    -> b
n = aten::add(1, 2)
prim::Return(f)
`)
	ready(g)
	g.propagateConstants(everything)
	require.Len(t, g.computed, 6)
	g.dropUnused()
	require.Equal(t, "(4, 5) [3] tensor[1]", strings.Join(g.eval.(*known).dropped, " "))
}
