package passes

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/program"
)

// aliases is what a pass has to know of a graph before it may merge or drop a computation: which
// values may share memory, which memory is written anywhere, which escapes (is reachable from the
// graph's inputs, attributes, containers or results). It follows the alias annotations of schemas,
// as torch/csrc/jit/ir/alias_analysis.cpp does, coarsely: one class for everything that escapes.
type aliases struct {
	g       *Graph
	parent  []int32
	written []bool // by class
	shared  []bool // containers that more than plain operators look into
	results []bool // values that the graph returns
	escapes []bool // by class: reachable from a result, which makes no aliases inside the graph
	leaves  []bool // by class: reachable from a result; what is only an input's or an attribute's is not
}

// wild is the class of everything that escapes.
const wild int32 = 0

// aliases looks through the whole graph as it stands; good until the next call.
func (g *Graph) aliases() *aliases {
	g.parent, g.flags = zeroed.Extend(g.parent[:0], g.NumValues+1), zeroed.Extend(g.flags[:0], 5*g.NumValues+3)
	a, flags := &aliases{g: g, parent: g.parent}, g.flags
	a.written, flags = flags[:g.NumValues+1], flags[g.NumValues+1:]
	a.escapes, flags = flags[:g.NumValues+1], flags[g.NumValues+1:]
	a.leaves, flags = flags[:g.NumValues+1], flags[g.NumValues+1:]
	a.shared, a.results = flags[:g.NumValues], flags[g.NumValues:]
	a.escapes[wild] = true
	for i := range a.parent {
		a.parent[i] = int32(i)
	}
	for _, p := range g.Params {
		a.escape(p)
	}
	a.containersOf(g.Body)
	a.block(g.Body)
	return a
}

// containersOf finds the values that something else than a plain operator uses: an operator that
// neither returns a part of its argument nor writes it. What a list for such operators alone holds
// (the members of a cat) does not escape by it.
func (a *aliases) containersOf(b *program.Block) {
	mark := func(args []program.Arg) {
		for v := range used(args) {
			a.shared[v.ID] = true
		}
	}
	for _, n := range b.Nodes {
		switch {
		case n.Op == "prim::Return":
			for v := range used(n.Args) {
				a.results[v.ID] = true
			}
		case len(n.Blocks) > 0:
			mark(n.Args)
			eachBlock(n, a.containersOf)
		default:
			e := a.g.effects(n)
			for i := range n.Args {
				if !e.Known || n.Op == "aten::__getitem__" || marked(e.Views|e.Writes, i) {
					mark(n.Args[i : i+1])
				}
			}
		}
	}
	mark(b.Outs)
}

func (a *aliases) of(v *program.Value) int32 { return int32(v.ID) + 1 }

func (a *aliases) find(i int32) int32 {
	for a.parent[i] != i {
		a.parent[i] = a.parent[a.parent[i]]
		i = a.parent[i]
	}
	return i
}

func (a *aliases) join(i, j int32) {
	i, j = a.find(i), a.find(j)
	a.parent[j] = i
	a.written[i] = a.written[i] || a.written[j]
	a.escapes[i] = a.escapes[i] || a.escapes[j]
	a.leaves[i] = a.leaves[i] || a.leaves[j]
}

// escape puts a value among what escapes.
func (a *aliases) escape(v *program.Value) { a.join(a.of(v), wild) }

// leave marks what a node's arguments hold as reachable from a result.
func (a *aliases) leave(n *program.Node) {
	for v := range used(n.Args) {
		a.escapes[a.find(a.of(v))] = true
		a.leaves[a.find(a.of(v))] = true
	}
}

func (a *aliases) write(v *program.Value) { a.written[a.find(a.of(v))] = true }

func (a *aliases) block(b *program.Block) {
	for _, n := range b.Nodes {
		a.node(n)
		eachBlock(n, a.block)
		a.control(n)
	}
}

// control joins what flows through the blocks of an If or Loop.
func (a *aliases) control(n *program.Node) {
	for _, sub := range n.Blocks {
		outs := sub.Outs
		if n.Op == "prim::Loop" {
			outs = outs[1:]
			for j, p := range sub.Params[1:] {
				if v := n.Args[j+2].Value; v != nil {
					a.join(a.of(p), a.of(v))
				}
				if v := outs[j].Value; v != nil {
					a.join(a.of(p), a.of(v))
				}
			}
			for j, o := range n.Outs {
				if v := n.Args[j+2].Value; v != nil {
					a.join(a.of(o), a.of(v))
				}
			}
		}
		for j, o := range n.Outs {
			if j < len(outs) && outs[j].Value != nil {
				a.join(a.of(o), a.of(outs[j].Value))
			}
		}
	}
}

func (a *aliases) node(n *program.Node) {
	escape := func() {
		for v := range used(n.Args) {
			a.escape(v)
		}
		for _, o := range n.Outs {
			a.escape(o)
		}
	}
	switch n.Op {
	case "prim::If", "prim::Loop":
		return
	case "prim::GetAttr", "aten::__getitem__", "prim::TupleUnpack", "prim::ListUnpack", "prim::TupleIndex":
		for _, o := range n.Outs {
			a.escape(o)
		}
		return
	case "prim::Return":
		a.leave(n)
		return
	case "prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct":
		if len(n.Outs) == 1 && !a.shared[n.Outs[0].ID] {
			if a.results[n.Outs[0].ID] {
				a.leave(n)
			}
			return
		}
		for v := range used(n.Args) {
			a.escape(v) // contained
		}
		return
	case "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional":
		if v := n.Args[0].Value; v != nil {
			a.join(a.of(n.Outs[0]), a.of(v))
		}
		return
	case "prim::SetAttr":
		escape()
		return
	}
	if isCall(n) {
		escape()
		a.written[a.find(wild)] = true
		return
	}
	e := a.g.effects(n)
	for i := range n.Args {
		v := n.Args[i].Value
		if v == nil {
			continue
		}
		if marked(e.Writes, i) || n.Args[i].Name == "out" {
			a.write(v)
			if i > 0 || !e.Tensors { // a container takes members in
				a.containers(n)
			}
		}
		if marked(e.Views, i) {
			for _, o := range n.Outs {
				a.join(a.of(o), a.of(v))
			}
		}
	}
	if !e.Known {
		escape()
	}
}

// isCall says whether a node runs code that is not in the graph.
func isCall(n *program.Node) bool {
	switch n.Op {
	case "prim::CallMethod", "prim::CallFunction", "prim::fork", "prim::CreateObject", "prim::Enter", "prim::Exit",
		"aten::wait":
		return true
	}
	return false
}

// containers marks what a container operator (append, _set_item) takes in.
func (a *aliases) containers(n *program.Node) {
	for v := range used(n.Args[1:]) {
		a.escape(v)
	}
}

// hasWriters says whether anything a node reads or makes may be written.
func (a *aliases) hasWriters(n *program.Node) bool {
	for v := range used(n.Args) {
		if a.written[a.find(a.of(v))] {
			return true
		}
	}
	for _, o := range n.Outs {
		if a.written[a.find(a.of(o))] {
			return true
		}
	}
	return false
}

// mayMerge says whether one value may stand for another (safeToChangeAliasingRelationship): neither
// is written, and not both escape.
func (a *aliases) mayMerge(v, w *program.Value) bool {
	i, j := a.find(a.of(v)), a.find(a.of(w))
	if a.written[i] || a.written[j] {
		return false
	}
	return !a.escapes[i] || !a.escapes[j]
}

// mayShare says whether two results may become one where computations are merged: not where the
// graph returns what both may alias.
func (a *aliases) mayShare(v, w *program.Value) bool {
	return !a.leaves[a.find(a.of(v))] || !a.leaves[a.find(a.of(w))]
}

// writesTo says whether a node may write to another's results or to what that takes.
func (a *aliases) writesTo(n, of *program.Node) bool {
	e := a.g.effects(n)
	if !e.Known && !strings.HasPrefix(n.Op, "prim::") || isCall(n) {
		return true // for all that is known
	}
	for i := range n.Args {
		v := n.Args[i].Value
		if v != nil && (marked(e.Writes, i) || n.Args[i].Name == "out") && a.reaches(of, a.find(a.of(v))) {
			return true
		}
	}
	return false
}

// reaches says whether a node takes or makes something of an alias class.
func (a *aliases) reaches(n *program.Node, class int32) bool {
	for _, o := range n.Outs {
		if a.find(a.of(o)) == class {
			return true
		}
	}
	for v := range used(n.Args) {
		if a.find(a.of(v)) == class {
			return true
		}
	}
	return false
}
