package lifetime

import (
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// LastUse is the rule of PyTorch's interpreter: a value goes with its last use, as that node's
// argument. One used for the last time inside an If or Loop, and defined outside of it, goes right
// after the If or Loop (torch/csrc/jit/runtime/interpreter/preprocess_graph.cpp FindLastUses).
// Ranges come in the order in which their ends are found, backwards from the function's end: of
// those that go after one node, that is the order of release.
func LastUse(g *program.Graph) []Range {
	out := make([]Range, 0, g.NumValues)
	new(LastUses).Each(g, func(r *Range) { out = append(out, *r) })
	return out
}

// LastUses is LastUse for many functions, one after another. The zero value is ready.
type LastUses struct {
	made   []made     // by value
	nodes  []position // of the first block's nodes, then of the next one's, and so on
	blocks []numbered
	count  int32      // of nodes
	around []position // the nodes around the current block, and the blocks that these stand in
	found  Range
	each   func(*Range)
}

// made is where a value is made.
type made struct {
	block, node int32
	ended       bool // its range is known
}

// position is a node's number, and that of the first of its blocks.
type position struct{ node, block int32 }

// numbered is a block that was numbered: where its nodes begin, and the block behind those of its
// nodes.
type numbered struct{ nodes, next int32 }

// Each hands the live ranges of g's values to f, each for as long as the call of f lasts.
func (l *LastUses) Each(g *program.Graph, f func(*Range)) {
	l.made = slices.Grow(l.made[:0], g.NumValues)[:g.NumValues]
	clear(l.made)
	l.nodes, l.blocks, l.around, l.count, l.each = l.nodes[:0], l.blocks[:0], l.around[:0], 0, f
	for _, v := range g.Params {
		l.made[v.ID] = made{node: Param}
	}
	l.number(g.Body)
	l.backward(g.Body, 0, Param)
	for _, v := range g.Params {
		if !l.made[v.ID].ended {
			l.end(v, Range{To: Param, End: AtEntry, Why: Unused})
		}
	}
}

// number numbers nodes and blocks in the order in which they are written.
func (l *LastUses) number(b *program.Block) {
	id, first := len(l.blocks), len(l.nodes)
	l.blocks = append(l.blocks, numbered{nodes: int32(first)})
	l.nodes = slices.Grow(l.nodes, len(b.Nodes))[:first+len(b.Nodes)]
	for i, n := range b.Nodes {
		at := l.count
		l.count++
		l.nodes[first+i] = position{at, int32(len(l.blocks))}
		for _, v := range n.Outs {
			l.made[v.ID] = made{block: int32(id), node: at}
		}
		for _, sub := range n.Blocks {
			for _, v := range sub.Params {
				l.made[v.ID] = made{block: int32(len(l.blocks)), node: at}
			}
			l.number(sub)
		}
	}
	l.blocks[id].next = int32(len(l.blocks))
}

// backward finds the ends in block id, of node owner.
func (l *LastUses) backward(b *program.Block, id, owner int32) {
	for i := len(b.Outs) - 1; i >= 0; i-- {
		l.use(b.Outs[i].Value, id, Range{To: int(owner), End: BlockOut})
	}
	for i := len(b.Nodes) - 1; i >= 0; i-- {
		n, at := b.Nodes[i], l.nodes[l.blocks[id].nodes+int32(i)]
		for _, v := range n.Outs {
			if !l.made[v.ID].ended {
				l.end(v, Range{To: int(at.node), End: After, Why: Unused})
			}
		}
		if len(n.Blocks) > 0 {
			l.around = append(l.around, position{at.node, id})
			sub := at.block
			for k, b := range n.Blocks { // forward, as the interpreter scans them: it decides the order of release
				l.backward(b, sub, at.node)
				sub = l.blocks[sub].next
				for _, v := range b.Params {
					if !l.made[v.ID].ended {
						l.end(v, Range{To: int(at.node), End: AtEntry, Arg: k, Why: Unused})
					}
				}
			}
			l.around = l.around[:len(l.around)-1]
		}
		for j := len(n.Args) - 1; j >= 0; j-- {
			l.use(n.Args[j].Value, id, Range{To: int(at.node), End: AsArgument, Arg: j})
		}
	}
}

// use notes a use of v in a block; the first that is met ends its range: there where v is defined
// in the same block, else with the node around that is.
func (l *LastUses) use(v *program.Value, block int32, r Range) {
	if v == nil || l.made[v.ID].ended {
		return
	}
	if home := l.made[v.ID].block; home != block {
		r.End, r.Arg = After, 0
		for i := len(l.around) - 1; i >= 0; i-- {
			if l.around[i].block == home {
				r.To = int(l.around[i].node)
			}
		}
	}
	l.end(v, r)
}

func (l *LastUses) end(v *program.Value, r Range) {
	r.Value, r.From = v, int(l.made[v.ID].node)
	l.made[v.ID].ended = true
	l.found = r
	l.each(&l.found)
}
