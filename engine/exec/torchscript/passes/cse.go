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
	for _, n := range b.Nodes {
		for i := range n.Args {
			g.resolve(&n.Args[i])
		}
		if len(n.Blocks) > 0 {
			for _, sub := range n.Blocks {
				g.mergeBlock(sub, a, c)
			}
			continue
		}
		if g.sideEffects(n) || g.nondeterministic(n) || len(n.Outs) == 0 || a.hasWriters(n) {
			continue
		}
		key := g.keyOf(n)
		o := c.find(key)
		if o == nil {
			c.seen[key] = n
			continue
		}
		same := len(o.Outs) == len(n.Outs)
		for i := range n.Outs {
			same = same && (g.effects(n).Immutable || a.mayMerge(o.Outs[i], n.Outs[i]))
		}
		if !same {
			continue
		}
		for i := range n.Outs {
			g.replace(n.Outs[i], program.Arg{Value: o.Outs[i]})
		}
	}
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
