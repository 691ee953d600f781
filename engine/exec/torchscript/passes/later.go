package passes

import "github.com/memspec/memspec/engine/program"

// TakenApartLater is a node that reads a member of a list which the executor's graph of later
// passes does not make, nil where there is none. The first pass runs the simplified graph with
// profiling; from it the executor makes another one, in which appends that follow a list's
// construction are part of that (passes/remove_mutation.cpp) and members are read without the list
// (peephole_list_idioms.cpp): it holds them no longer. Appends in loops count, for that graph
// unrolls small ones.
func (g *Graph) TakenApartLater() *program.Node {
	lists := make(map[int]*builtList)
	g.followLists(g.Body, nil, lists)
	var first *program.Node
	for _, l := range lists {
		if l.grown && !l.kept && l.read != nil && (first == nil || l.read.ID < first.ID) {
			first = l.read
		}
	}
	return first
}

// builtList is a list that the graph makes and appends to.
type builtList struct {
	block *program.Block // that makes it, a loop's body counting as what is around it
	grown bool           // by appends alone, before anything else uses it
	kept  bool           // it is written otherwise: later graphs make it too
	read  *program.Node  // the first that reads a member
}

func (g *Graph) followLists(b, within *program.Block, lists map[int]*builtList) {
	if within == nil {
		within = b
	}
	for _, n := range b.Nodes {
		if n.Op == "prim::ListConstruct" && len(n.Outs) == 1 && ofTensors(n.Outs[0].Type) {
			lists[n.Outs[0].ID] = &builtList{block: within}
		}
		for i := range n.Args {
			if v := n.Args[i].Value; v != nil && lists[v.ID] != nil {
				lists[v.ID].use(g, n, i, within)
			}
		}
		for _, sub := range n.Blocks {
			if n.Op == "prim::Loop" {
				g.followLists(sub, within, lists)
			} else {
				g.followLists(sub, nil, lists)
			}
		}
	}
}

func (l *builtList) use(g *Graph, n *program.Node, arg int, within *program.Block) {
	switch {
	case n.Op == "aten::append" && arg == 0 && l.read == nil && within == l.block:
		l.grown = true
	case marked(g.effects(n).Writes, arg), !l.grown:
		l.kept = true
	case l.read == nil && (n.Op == "aten::__getitem__" || n.Op == "prim::ListUnpack"):
		l.read = n
	}
}

// ofTensors says whether a list may have tensors; that of a type which is not known may.
func ofTensors(t *program.Type) bool {
	return t == nil || t.Kind != program.ListType || len(t.Elems) != 1 || t.Elems[0].Kind == program.TensorType ||
		t.Elems[0].Kind == program.AnyType ||
		t.Elems[0].Kind == program.OptionalType
}
