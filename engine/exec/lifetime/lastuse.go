package lifetime

import "github.com/memspec/memspec/engine/program"

// LastUse is the rule of PyTorch's interpreter: a value goes with its last use, as that node's argument. One used for the last time inside an
// If or Loop, and defined outside of it, goes right after the If or Loop (torch/csrc/jit/runtime/interpreter/preprocess_graph.cpp
// FindLastUses). Ranges come in the order in which their ends are found, backwards from the function's end: of those that go after one
// node, that is the order of release.
func LastUse(g *program.Graph) []Range {
	l := &lastUse{made: make([]made, g.NumValues), ranges: make([]Range, 0, g.NumValues)}
	for _, v := range g.Params {
		l.made[v.ID] = made{node: Param}
	}
	body := l.number(g.Body)
	l.backward(body, Param)
	for _, v := range g.Params {
		if !l.made[v.ID].ended {
			l.end(v, Range{To: Param, End: AtEntry, Why: Unused})
		}
	}
	return l.ranges
}

// made is where a value is made.
type made struct {
	block, node int
	ended       bool // its range is known
}

// numbered is a block with the numbers of its nodes and those nodes' blocks.
type numbered struct {
	block *program.Block
	id    int
	nodes []int
	subs  map[int][]*numbered // by place of the node, where it has any
}

type lastUse struct {
	made          []made // by value
	ranges        []Range
	nodes, blocks int
	around        []around
}

// around is a node around the current block, and the block that it stands in.
type around struct{ node, block int }

// number numbers nodes and blocks in the order in which they are written.
func (l *lastUse) number(b *program.Block) *numbered {
	out := &numbered{block: b, id: l.blocks, nodes: make([]int, len(b.Nodes))}
	l.blocks++
	for i, n := range b.Nodes {
		at := l.nodes
		out.nodes[i] = at
		l.nodes++
		for _, v := range n.Outs {
			l.made[v.ID] = made{block: out.id, node: at}
		}
		for _, sub := range n.Blocks {
			for _, v := range sub.Params {
				l.made[v.ID] = made{block: l.blocks, node: at}
			}
			if out.subs == nil {
				out.subs = map[int][]*numbered{}
			}
			out.subs[i] = append(out.subs[i], l.number(sub))
		}
	}
	return out
}

// backward finds the ends in a block of node owner.
func (l *lastUse) backward(b *numbered, owner int) {
	for i := len(b.block.Outs) - 1; i >= 0; i-- {
		l.use(b.block.Outs[i].Value, b, Range{To: owner, End: BlockOut})
	}
	for i := len(b.block.Nodes) - 1; i >= 0; i-- {
		n, at := b.block.Nodes[i], b.nodes[i]
		for _, v := range n.Outs {
			if !l.made[v.ID].ended {
				l.end(v, Range{To: at, End: After, Why: Unused})
			}
		}
		if len(n.Blocks) > 0 {
			l.around = append(l.around, around{at, b.id})
			for k, sub := range b.subs[i] { // forward, as the interpreter scans them: it decides the order of release
				l.backward(sub, at)
				for _, v := range sub.block.Params {
					if !l.made[v.ID].ended {
						l.end(v, Range{To: at, End: AtEntry, Arg: k, Why: Unused})
					}
				}
			}
			l.around = l.around[:len(l.around)-1]
		}
		for j := len(n.Args) - 1; j >= 0; j-- {
			l.use(n.Args[j].Value, b, Range{To: at, End: AsArgument, Arg: j})
		}
	}
}

// use notes a use of v in block b; the first that is met ends its range: there where v is defined in the same block, else with the node around
// that is.
func (l *lastUse) use(v *program.Value, b *numbered, r Range) {
	if v == nil || l.made[v.ID].ended {
		return
	}
	if home := l.made[v.ID].block; home != b.id {
		r.End, r.Arg = After, 0
		for i := len(l.around) - 1; i >= 0; i-- {
			if l.around[i].block == home {
				r.To = l.around[i].node
				break
			}
		}
	}
	l.end(v, r)
}

func (l *lastUse) end(v *program.Value, r Range) {
	r.Value, r.From = v, l.made[v.ID].node
	l.made[v.ID].ended = true
	l.ranges = append(l.ranges, r)
}
