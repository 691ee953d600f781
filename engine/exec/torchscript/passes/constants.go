package passes

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// extent is how much is computed ahead.
type extent bool

// PyTorch's executor first computes numbers, strings and bools (ConstantPropagationImmutableTypes),
// and later also tensors and lists that nothing writes.
const (
	numbersOnly extent = false
	everything  extent = true
)

// propagateConstants computes what depends on constants alone (passes/constant_propagation.cpp). It
// is computed once, before the first pass, and stays with the graph. An If whose condition is known
// becomes its branch.
func (g *Graph) propagateConstants(what extent) {
	var a *aliases // numbers have none
	if what == everything {
		a = g.aliases()
	}
	g.Body.Nodes = g.foldBlock(g.Body, a, what)
	g.rewrite()
}

func (g *Graph) foldBlock(b *program.Block, a *aliases, what extent) []*program.Node {
	out := make([]*program.Node, 0, len(b.Nodes))
	for _, n := range b.Nodes {
		known := true
		for i := range n.Args {
			g.resolve(&n.Args[i])
			known = known && n.Args[i].Value == nil
		}
		switch {
		case n.Op == "prim::If":
			out = append(out, g.foldIf(n, a, what)...)
			continue
		case n.Op == "prim::Loop":
			if k, ok := n.Args[0].Const.(int64); ok && k <= 0 {
				for i, o := range n.Outs {
					g.replace(o, n.Args[i+2])
				}
				continue
			}
			fallthrough
		case len(n.Blocks) > 0:
			eachBlock(n, func(sub *program.Block) { sub.Nodes = g.foldBlock(sub, a, what) })
		case known && g.unpack(n, a):
			continue
		case known && g.foldable(n, a, what):
			if g.compute(n, what) {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

func (g *Graph) rewriteOuts(b *program.Block) {
	for i := range b.Outs {
		g.resolve(&b.Outs[i])
	}
}

// foldIf replaces an If with a known condition by its branch; of another it drops the outs that
// both branches agree on.
func (g *Graph) foldIf(n *program.Node, a *aliases, what extent) []*program.Node {
	if c, ok := n.Args[0].Const.(bool); ok {
		b := n.Blocks[1]
		if c {
			b = n.Blocks[0]
		}
		nodes := g.foldBlock(b, a, what)
		for i, o := range n.Outs {
			g.replace(o, b.Outs[i])
		}
		return nodes
	}
	for _, sub := range n.Blocks {
		sub.Nodes = g.foldBlock(sub, a, what)
		g.rewriteOuts(sub)
	}
	kept := 0
	for i, o := range n.Outs {
		t, e := n.Blocks[0].Outs[i], n.Blocks[1].Outs[i]
		if t.Value != nil && t.Value == e.Value || t.Value == nil && e.Value == nil && plainEqual(t.Const, e.Const) {
			g.replace(o, t)
			continue
		}
		n.Outs[kept], n.Blocks[0].Outs[kept], n.Blocks[1].Outs[kept] = o, t, e
		kept++
	}
	n.Outs, n.Blocks[0].Outs, n.Blocks[1].Outs = n.Outs[:kept], n.Blocks[0].Outs[:kept], n.Blocks[1].Outs[:kept]
	return []*program.Node{n}
}

// plainEqual compares constants that are no containers.
func plainEqual(a, b any) bool {
	switch a.(type) {
	case nil, bool, int64, float64, string, *program.State:
		return a == b
	}
	return false
}

// foldable says whether a node with constant arguments may run ahead.
func (g *Graph) foldable(n *program.Node, a *aliases, what extent) bool {
	if len(n.Outs) != 1 || g.sideEffects(n) || g.nondeterministic(n) {
		return false
	}
	switch n.Op {
	case "prim::Uninitialized", "prim::GetAttr", "prim::unchecked_unwrap_optional", "aten::dequantize",
		"prim::DictConstruct", "aten::dict", "prim::isinstance", "prim::TupleUnpack", "prim::ListUnpack",
		"prim::unchecked_cast":
		return false
	case "prim::ListConstruct", "prim::TupleConstruct":
		return what == everything && !a.hasWriters(n)
	}
	e := g.effects(n)
	if !e.Known {
		return false
	}
	if what == numbersOnly {
		for i := range n.Args {
			switch n.Args[i].Const.(type) {
			case nil, bool, int64, float64, string, program.Device:
			default:
				return false
			}
		}
		return true
	}
	return !a.hasWriters(n)
}

// unpack puts the members of a constant list or tuple in the place of a node's results.
func (g *Graph) unpack(n *program.Node, a *aliases) bool {
	if n.Op != "prim::ListUnpack" && n.Op != "prim::TupleUnpack" {
		return false
	}
	var items []any
	switch v := n.Args[0].Const.(type) {
	case *ops.List:
		items = v.Items
	case *ops.Tuple:
		items = v.Items
	}
	if len(items) != len(n.Outs) || !allConstant(items) || a.hasWriters(n) {
		return false
	}
	var equal []any
	switch v := g.earlier[n.Args[0].Const].(type) {
	case *ops.List:
		equal = v.Items
	case *ops.Tuple:
		equal = v.Items
	}
	for i, o := range n.Outs {
		if i < len(equal) {
			g.equals(items[i], equal[i])
		}
		g.eval.Hold(items[i])
		g.computed = append(g.computed, items[i])
		g.replace(o, program.Arg{Const: items[i]})
	}
	return true
}

func allConstant(vs []any) bool {
	for _, v := range vs {
		if !isConstant(v) {
			return false
		}
	}
	return true
}

// isConstant says whether a value may stand in the graph.
func isConstant(v any) bool {
	switch v.(type) {
	case nil, bool, int64, float64, string, ops.Device, *tensor.Tensor, *ops.List, *ops.Tuple:
		return true
	}
	return false
}

// compute runs a node and puts its value in the place of its result; what is not known stays a
// node.
func (g *Graph) compute(n *program.Node, what extent) bool {
	v, ok := g.eval.Compute(n, g.Call(n), what == numbersOnly)
	if !ok {
		return false
	}
	if !isConstant(v) {
		g.eval.Drop(v)
		return false
	}
	g.computed = append(g.computed, v)
	if what == everything {
		key := g.keyOf(n)
		if w, ok := g.first[string(key)]; ok {
			g.equals(v, w)
		} else {
			if g.first == nil {
				g.first = map[string]any{}
			}
			g.first[string(key)] = v
		}
	}
	g.replace(n.Outs[0], program.Arg{Const: v})
	return true
}

// equals notes that a constant was computed as another was before.
func (g *Graph) equals(v, before any) {
	switch v.(type) {
	case *tensor.Tensor, *ops.List, *ops.Tuple:
		if g.earlier == nil {
			g.earlier = map[any]any{}
		}
		g.earlier[v] = before
	}
}

// poolConstants puts the first of equal constants in the place of the others
// (passes/constant_pooling.cpp; merging computations compares them as well). Equal are here those
// that were computed alike from equal ones.
func (g *Graph) poolConstants() {
	pool := func(a *program.Arg) { a.Const = g.pooled(a.Const) }
	g.Body.EachArg(pool)
	for i := range g.by {
		pool(&g.by[i])
	}
}

// pooled is the first of the constants that are equal to v.
func (g *Graph) pooled(v any) any {
	switch v.(type) {
	case *tensor.Tensor, *ops.List, *ops.Tuple:
		if w, ok := g.earlier[v]; ok {
			return w
		}
	}
	return v
}

// dropUnused releases constants that no node uses any more, the last first, as dead code goes.
func (g *Graph) dropUnused() {
	used := map[any]bool{}
	g.Body.EachArg(func(a *program.Arg) {
		switch a.Const.(type) {
		case *tensor.Tensor, *ops.List, *ops.Tuple:
			used[a.Const] = true
		}
	})
	for i := len(g.computed) - 1; i >= 0; i-- {
		switch v := g.computed[i].(type) {
		case *tensor.Tensor, *ops.List, *ops.Tuple:
			if !used[v] {
				g.eval.Drop(v)
			}
		}
	}
}
