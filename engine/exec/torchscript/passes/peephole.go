package passes

import (
	"github.com/memspec/memspec/engine/program"
)

// peephole takes out operations that do nothing: x + 0, x * 1, comparisons with None that types
// decide, lists taken apart again (passes/peephole.cpp, peephole_alias_sensitive.cpp,
// peephole_list_idioms.cpp).
func (g *Graph) peephole() {
	g.peepholeBlock(g.Body, &lazyAliases{g: g}, g.definers())
	g.rewrite()
	g.combineConcats()
}

// lazyAliases are the aliases as they were before the pass, worked out when they are first asked
// for. Until then nothing that they depend on may change: what is decided by types alone replaces
// conditions by constants, which alias nothing.
type lazyAliases struct {
	g     *Graph
	found *aliases
}

func (l *lazyAliases) get() *aliases {
	if l.found == nil {
		l.found = l.g.aliases()
	}
	return l.found
}

func (g *Graph) peepholeBlock(b *program.Block, a *lazyAliases, def []*program.Node) {
	for _, n := range b.Nodes {
		for i := range n.Args {
			g.resolve(&n.Args[i])
		}
		g.peepholeNode(n, a, def)
		eachBlock(n, func(sub *program.Block) { g.peepholeBlock(sub, a, def) })
	}
}

func (g *Graph) peepholeNode(n *program.Node, a *lazyAliases, def []*program.Node) {
	switch n.Op {
	case "aten::add", "aten::sub":
		g.dropIdentity(n, a, 0, def)
	case "aten::mul":
		g.dropIdentity(n, a, 1, def)
	case "aten::__is__", "aten::__isnot__":
		if len(n.Args) != 2 {
			return
		}
		x, y := g.noneness(&n.Args[0], def), g.noneness(&n.Args[1], def)
		if x == never && y == always || x == always && y == never {
			g.replace(n.Outs[0], program.Arg{Const: n.Op == "aten::__isnot__"})
		} else if x == always && y == always {
			g.replace(n.Outs[0], program.Arg{Const: n.Op == "aten::__is__"})
		}
	case "prim::unchecked_unwrap_optional", "aten::_unwrap_optional", "prim::unchecked_cast":
		if g.noneness(&n.Args[0], def) == never && len(n.Outs) == 1 {
			a.get()
			g.replace(n.Outs[0], n.Args[0])
		}
	case "aten::__getitem__", "aten::len", "prim::ListUnpack":
		g.listIdiom(n, a, def)
	}
}

// dropIdentity replaces x + 0 and x * 1, where the number is an int (another would promote), by x.
func (g *Graph) dropIdentity(n *program.Node, a *lazyAliases, identity int64, def []*program.Node) {
	if len(n.Args) < 2 || len(n.Outs) != 1 || n.Args[0].Value == nil {
		return
	}
	for i := 2; i < len(n.Args); i++ {
		if alpha, ok := n.Args[i].Const.(int64); !ok || alpha != 1 {
			return
		}
	}
	k, ok := scalarConst(n.Args[1].Const)
	if !ok || k != identity || !g.tensorValue(n.Args[0].Value, def) {
		return
	}
	if a.get().mayMerge(n.Args[0].Value, n.Outs[0]) {
		g.replace(n.Outs[0], n.Args[0])
	}
}

// scalarConst is an int constant, or a 0-dim tensor constant of an integral dtype
// (passes/canonicalize_ops.cpp makes it a number).
func scalarConst(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case *program.State:
		if len(v.Meta.Sizes) == 0 && v.Meta.DType.Integral(false) && v.Data != nil && len(v.Data.Ints) == 1 {
			return v.Data.Ints[0], true
		}
	}
	return 0, false
}

// tensorValue says whether an argument is a tensor, as far as its source reports.
func (g *Graph) tensorValue(v *program.Value, def []*program.Node) bool {
	if v.Type != nil && v.Type.Kind != program.AnyType {
		return v.Type.Kind == program.TensorType
	}
	d := def[v.ID]
	if d == nil || len(d.Args) == 0 {
		return false
	}
	switch d.Op {
	case "aten::__getitem__", "prim::ListUnpack", "prim::TupleUnpack":
		if d.Args[0].Value == nil || def[d.Args[0].Value.ID] == nil {
			return false
		}
		of := def[d.Args[0].Value.ID]
		e := g.effects(of)
		return e.Known && (e.Lists || e.Parts && len(of.Args) > 0 && of.Args[0].Value != nil &&
			g.tensorValue(of.Args[0].Value, def))
	case "prim::GetAttr", "prim::If", "prim::Loop", "prim::TupleIndex":
		return false // may be a number
	}
	e := g.effects(d)
	if e.Known && e.Tensors {
		return true
	}
	// an operator on tensors and on numbers or lists (slice, add): it gives what it was given
	return e.Known && e.Kept && d.Args[0].Value != nil && g.tensorValue(d.Args[0].Value, def)
}

type certainty uint8

const (
	unsure certainty = iota
	never
	always
)

// noneness says whether an argument is None, as far as types report.
func (g *Graph) noneness(a *program.Arg, def []*program.Node) certainty {
	if a.Value == nil {
		if a.Const == nil {
			return always
		}
		return never
	}
	if t := a.Value.Type; t != nil {
		switch t.Kind {
		case program.NoneType:
			return always
		case program.OptionalType, program.AnyType, program.UnionType:
		default:
			return never
		}
	}
	d := def[a.Value.ID]
	if d == nil {
		return unsure
	}
	switch d.Op {
	case "prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::CreateObject",
		"prim::unchecked_cast":
		return never
	case "prim::GetAttr":
		return g.attrNone(d)
	case "prim::If", "prim::Loop", "prim::TupleUnpack", "prim::ListUnpack", "aten::__getitem__", "prim::TupleIndex",
		"prim::Uninitialized":
		return unsure
	}
	if e := g.effects(d); e.Known && e.NeverNil {
		return never
	}
	return unsure
}

// attrNone looks at an attribute's declared type.
func (g *Graph) attrNone(n *program.Node) certainty {
	t := g.attrType(n)
	if t == nil {
		return unsure
	}
	switch t.Kind {
	case program.NoneType:
		return always
	case program.OptionalType, program.AnyType, program.UnionType:
		return unsure
	}
	return never
}

// listIdiom takes a constant list apart without making it.
func (g *Graph) listIdiom(n *program.Node, l *lazyAliases, def []*program.Node) {
	v := n.Args[0].Value
	if v == nil || def[v.ID] == nil || def[v.ID].Op != "prim::ListConstruct" {
		return
	}
	if a := l.get(); a.written[a.find(a.of(v))] {
		return
	}
	items := def[v.ID].Args
	switch n.Op {
	case "aten::len":
		g.replace(n.Outs[0], program.Arg{Const: int64(len(items))})
	case "aten::__getitem__":
		i, ok := n.Args[1].Const.(int64)
		if !ok {
			return
		}
		if i < 0 {
			i += int64(len(items))
		}
		if i >= 0 && i < int64(len(items)) {
			g.replace(n.Outs[0], items[i])
		}
	case "prim::ListUnpack":
		if len(items) == len(n.Outs) {
			for i, o := range n.Outs {
				g.replace(o, items[i])
			}
		}
	}
}
