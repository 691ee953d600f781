package passes

import (
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/program"
)

// eliminateDeadCode removes nodes whose results no one uses (passes/dead_code_elimination.cpp).
func (g *Graph) eliminateDeadCode() {
	g.used = zeroed.Extend(g.used[:0], g.NumValues)
	g.eliminateIn(g.Body, g.used)
}

// eliminateIn goes through a block from its end: what it hands on is used, by the next round too
// where it is a loop's.
func (g *Graph) eliminateIn(b *program.Block, used []bool) {
	for i := range b.Outs {
		if v := b.Outs[i].Value; v != nil {
			used[v.ID] = true
		}
	}
	kept := len(b.Nodes)
	nodes := b.Nodes
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		live := false
		for _, o := range n.Outs {
			live = live || used[o.ID]
		}
		if !live && !g.sideEffects(n) {
			continue
		}
		for j := range n.Args {
			if v := n.Args[j].Value; v != nil {
				used[v.ID] = true
			}
		}
		for j := len(n.Blocks) - 1; j >= 0; j-- {
			g.eliminateIn(n.Blocks[j], used)
		}
		kept--
		nodes[kept] = n
	}
	b.Nodes = nodes[kept:]
}
