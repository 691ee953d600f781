// Package passes rewrites the graph of a TorchScript program as PyTorch's executor does before it
// runs it: every call is inlined into one graph, and that is simplified, so that values live and
// die by the whole graph and not by function (torch/csrc/jit/api/function_impl.cpp
// preoptimizeGraph, torch/csrc/jit/runtime/profiling_graph_executor_impl.cpp
// runProfilingInsensitiveOptimizations).
//
// A graph goes in and a graph comes out. What a pass has to know beyond the graph, it asks of an
// Evaluator: what an operator may write, what an object's attribute is, what a constant expression
// gives.
//
// Not modelled: passes that move no allocation, and those of the profiling executor's later runs
// (fusion, specialized autodiff); where such a run is known to take a list apart, TakenApartLater
// says so.
package passes

import (
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// Evaluator knows the values of a run. Its constants stand in the graph as they are.
type Evaluator interface {
	// Class is the class of an object, nil of any other value.
	Class(v any) *program.Class
	// Attribute reads an attribute of an object.
	Attribute(object any, name string) (any, bool)
	// Effects is what the schemas of an operator say of a call with n arguments.
	Effects(op string, n int) ops.Effects
	// Compute runs a node all of whose arguments are constants and returns its value, held once; ok
	// is false where the value is not known, or is no number and only numbers are wanted.
	Compute(n *program.Node, at *Call, numbers bool) (v any, ok bool)
	// Hold holds a value once more.
	Hold(v any)
	// Drop releases a value of Compute, or of Hold.
	Drop(v any)
}

// Graph is an inlined graph.
type Graph struct {
	*program.Graph
	eval      Evaluator
	calls     []*Call // by node: the call that it came from
	operators []operator
	numbers   map[signature]int32 // places in operators
	operator  []int32             // by node: its place in operators and one more, 0 where it was not looked up

	replaced []int32        // by value: what replaces it, a place in by and one more; 0 for nothing
	by       []program.Arg  // another value or a constant
	done     int            // replacements that every argument knows
	computed []any          // constants computed ahead, in order
	first    map[string]any // by computation: the constant that it gave first
	earlier  map[any]any    // by constant: the first that is equal
	defs     []*program.Node
	used     []bool
	parent   []int32 // of aliases
	flags    []bool  // likewise
	key      []byte  // of a computation
}

// Call is the call that a node came from.
func (g *Graph) Call(n *program.Node) *Call { return g.calls[n.ID] }

// newNode makes a node in the place of another.
func (g *Graph) newNode(op string, of *program.Node) *program.Node {
	n := &program.Node{ID: len(g.calls), Operation: &program.Operation{Op: op, Where: of.Where}}
	g.calls = append(g.calls, g.calls[of.ID])
	return n
}

// Simplify runs the executor's passes in its order; autocast is the dtype that autocast casts to,
// "" where it is off.
func (g *Graph) Simplify(autocast string) {
	g.numbers = map[signature]int32{}
	g.operator = make([]int32, len(g.calls))
	g.replaced = make([]int32, g.NumValues)
	g.peephole()
	g.propagateConstants(numbersOnly)
	g.insertCasts(autocast)
	g.eliminateDeadCode()
	g.canonicalize(g.Body)
	g.decomposeAddmm(g.Body)
	g.propagateConstants(everything)
	g.eliminateDeadCode()
	g.eliminateCommonSubexpressions()
	g.poolConstants()
	g.peephole()
	g.eliminateDeadCode()
	g.lowerSimpleTuples()
	g.eliminateDeadCode()
	g.dropUnused()
}

// resolve follows replacements.
func (g *Graph) resolve(a *program.Arg) {
	for a.Value != nil {
		id := a.Value.ID
		if id >= len(g.replaced) || g.replaced[id] == 0 {
			return
		}
		r := &g.by[g.replaced[id]-1]
		a.Value, a.Const = r.Value, r.Const
	}
}

// rewrite applies the replacements to every argument.
func (g *Graph) rewrite() {
	if g.done < len(g.by) {
		g.done = len(g.by)
		g.Body.EachArg(g.resolve)
	}
}

func (g *Graph) replace(v *program.Value, by program.Arg) {
	by.Name = ""
	g.by = append(g.by, by)
	if v.ID >= len(g.replaced) {
		g.replaced = zeroed.Extend(g.replaced, v.ID+1-len(g.replaced))
	}
	g.replaced[v.ID] = int32(len(g.by))
}

// definers are the values' nodes, by value; good until the next call.
func (g *Graph) definers() []*program.Node {
	g.defs = zeroed.Extend(g.defs[:0], g.NumValues)
	defineAll(g.Body, g.defs)
	return g.defs
}

// eachBlock calls f with each block of a node.
func eachBlock(n *program.Node, f func(*program.Block)) {
	for _, sub := range n.Blocks {
		f(sub)
	}
}

func defineAll(b *program.Block, def []*program.Node) {
	for _, n := range b.Nodes {
		for _, o := range n.Outs {
			def[o.ID] = n
		}
		eachBlock(n, func(sub *program.Block) { defineAll(sub, def) })
	}
}

// has says whether a node of a block is an operator: most graphs lack what some passes look for,
// and looking costs less than the pass.
func has(b *program.Block, op string) bool {
	for _, n := range b.Nodes {
		if n.Op == op {
			return true
		}
		for _, sub := range n.Blocks {
			if has(sub, op) {
				return true
			}
		}
	}
	return false
}
