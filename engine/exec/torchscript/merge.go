package torchscript

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// merge gives computations that occur twice one result (passes/common_subexpression_elimination.cpp).
func (s *graph) merge() {
	s.mergeBlock(s.g.Body, s.m.aliasesOf(s.g), nil)
	s.rewrite()
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

func (s *graph) mergeBlock(b *program.Block, a *aliases, parent *scope) {
	c := &scope{seen: map[string]*program.Node{}, parent: parent}
	for _, n := range b.Nodes {
		for i := range n.Args {
			s.resolve(&n.Args[i])
		}
		if len(n.Blocks) > 0 {
			for _, sub := range n.Blocks {
				s.mergeBlock(sub, a, c)
			}
			continue
		}
		if s.sideEffects(n) || s.nondeterministic(n) || len(n.Outs) == 0 || a.hasWriters(n) {
			continue
		}
		key := keyOf(n)
		o := c.find(key)
		if o == nil {
			c.seen[key] = n
			continue
		}
		same := len(o.Outs) == len(n.Outs)
		for i := range n.Outs {
			same = same && (s.m.effectsOf(n).Immutable || a.mayMerge(o.Outs[i], n.Outs[i]))
		}
		if !same {
			continue
		}
		for i := range n.Outs {
			s.replace(n.Outs[i], program.Arg{Value: o.Outs[i]})
		}
	}
}

// keyOf names a computation: operator, attribute, arguments.
func keyOf(n *program.Node) string {
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
		case *program.State, *Object, *tensor.Tensor, *ops.List, *program.ListLit, *program.TupleLit, *program.DictLit:
			fmt.Fprintf(&b, "%p", v)
		default:
			fmt.Fprintf(&b, "%T:%v", v, v)
		}
	}
	return b.String()
}
