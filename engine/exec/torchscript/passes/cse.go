package passes

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// eliminateCommonSubexpressions gives computations that occur twice one result (passes/common_subexpression_elimination.cpp).
func (g *Graph) eliminateCommonSubexpressions() {
	g.mergeBlock(g.Body, g.aliases(), nil)
	g.rewrite()
}

// scope is what has been computed in a block and those around it.
type scope struct {
	seen   map[string]*program.Node
	parent *scope
}

func (c *scope) find(key string) *program.Node {
	for ; c != nil; c = c.parent {
		if n := c.seen[key]; n != nil {
			return n
		}
	}
	return nil
}

func (g *Graph) mergeBlock(b *program.Block, a *aliases, parent *scope) {
	c := &scope{seen: map[string]*program.Node{}, parent: parent}
	kept := b.Nodes[:0]
	for _, n := range b.Nodes {
		for i := range n.Args {
			g.resolve(&n.Args[i])
		}
		for _, sub := range n.Blocks {
			g.mergeBlock(sub, a, c)
		}
		if len(n.Blocks) > 0 || len(n.Outs) == 0 || g.sideEffects(n) || g.nondeterministic(n) || a.hasWriters(n) || !g.merge(n, a, c) {
			kept = append(kept, n)
		}
	}
	b.Nodes = kept
}

// merge puts the results of an equal node before in the place of n's, where there is one and PyTorch would.
func (g *Graph) merge(n *program.Node, a *aliases, c *scope) bool {
	key := g.keyOf(n)
	o := c.find(key)
	if o == nil {
		c.seen[key] = n
		return false
	}
	if len(o.Outs) != len(n.Outs) {
		return false
	}
	for i := range n.Outs {
		if !g.effects(n).Immutable && !a.mayMerge(o.Outs[i], n.Outs[i]) {
			return false
		}
	}
	for i := range n.Outs {
		g.replace(n.Outs[i], program.Arg{Value: o.Outs[i]})
	}
	return true
}

// keyOf names a computation: operator, attribute, arguments.
func (g *Graph) keyOf(n *program.Node) string {
	var b strings.Builder
	b.WriteString(n.Op)
	b.WriteByte(' ')
	b.WriteString(n.Text)
	for i := range n.Args {
		a := &n.Args[i]
		b.WriteByte(',')
		b.WriteString(a.Name)
		if a.Value != nil {
			fmt.Fprintf(&b, "%%%d", a.Value.ID)
			continue
		}
		switch v := a.Const.(type) {
		case *program.State, *tensor.Tensor, *ops.List, *program.ListLit, *program.TupleLit, *program.DictLit:
			fmt.Fprintf(&b, "%p", v)
		default:
			if g.eval.Class(v) != nil {
				fmt.Fprintf(&b, "%p", v)
			} else {
				fmt.Fprintf(&b, "%T:%v", v, v)
			}
		}
	}
	return b.String()
}
