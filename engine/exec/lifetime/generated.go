package lifetime

import "github.com/memspec/memspec/engine/program"

// Generated is the rule of the Python that torch.fx generates for a graph, which sets each name to
// None behind the statement of its last use (torch/fx/graph.py delete_unused_values): a value goes
// after the last node that uses it, itself or in its blocks. Of those that go after one node its
// arguments go first, in their order, then results that nothing uses.
func Generated(g *program.Graph) []Range {
	l := &generated{made: make([]birth, g.NumValues), last: make([]int, g.NumValues),
		out: make([]Range, 0, g.NumValues)}
	for i := range l.last {
		l.last[i] = none
	}
	for _, v := range g.Params {
		l.made[v.ID].node = Param
	}
	l.block(g.Body, Param)
	for _, v := range g.Params {
		if l.last[v.ID] == none {
			l.out = append(l.out, Range{Value: v, From: Param, To: Param, End: AtEntry, Why: Unused})
		}
	}
	l.report, l.nodes, l.blocks = true, 0, 0
	l.block(g.Body, Param)
	return l.out
}

// generated walks a graph twice: once to find the last uses, once to report them in order.
type generated struct {
	report        bool
	made          []birth // by value
	last          []int   // by value: the node, none before one is found
	nodes, blocks int
	around        []birth // the nodes around the current block, each with the block that it stands in
	out           []Range
}

// birth is where a value is made.
type birth struct {
	block, node int
	ended       bool // its range is reported
}

// block walks a block of node owner.
func (l *generated) block(b *program.Block, owner int) {
	id := l.blocks
	l.blocks++
	for _, v := range b.Params {
		l.made[v.ID].block, l.made[v.ID].node = id, owner
	}
	for _, n := range b.Nodes {
		l.node(n, id)
	}
	for i := range b.Outs {
		b.Outs[i].Values(func(v *program.Value) {
			if l.made[v.ID].block == id && id > 0 {
				l.use(v, owner, BlockOut)
			} else {
				l.use(v, l.outer(v, id, owner), After)
			}
		})
	}
}

func (l *generated) node(n *program.Node, block int) {
	at := l.nodes
	l.nodes++
	for _, v := range n.Outs {
		l.made[v.ID].block, l.made[v.ID].node = block, at
	}
	for i := range n.Args {
		n.Args[i].Values(func(v *program.Value) { l.use(v, l.outer(v, block, at), After) })
	}
	l.around = append(l.around, birth{block: block, node: at})
	for k, sub := range n.Blocks {
		if l.report {
			for _, v := range sub.Params {
				if l.last[v.ID] == none {
					l.out = append(l.out, Range{Value: v, From: at, To: at, End: AtEntry, Arg: k, Why: Unused})
				}
			}
		}
		l.block(sub, at)
	}
	l.around = l.around[:len(l.around)-1]
	if l.report {
		for _, v := range n.Outs {
			if l.last[v.ID] == none {
				l.out = append(l.out, Range{Value: v, From: at, To: at, End: After, Why: Unused})
			}
		}
	}
}

// outer is the node by which a use counts for v: in a block inside of v's own it is the node
// around.
func (l *generated) outer(v *program.Value, block, at int) int {
	home := l.made[v.ID].block
	for i := len(l.around) - 1; i >= 0; i-- {
		if l.around[i].block == home {
			return l.around[i].node
		}
	}
	return at
}

func (l *generated) use(v *program.Value, at int, end End) {
	made := &l.made[v.ID]
	switch {
	case !l.report:
		l.last[v.ID] = at
	case l.last[v.ID] == at && !made.ended:
		made.ended = true
		l.out = append(l.out, Range{Value: v, From: made.node, To: at, End: end})
	}
}
