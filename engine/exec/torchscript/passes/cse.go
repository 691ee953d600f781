package passes

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// eliminateCommonSubexpressions gives computations that occur twice one result
// (passes/common_subexpression_elimination.cpp).
func (g *Graph) eliminateCommonSubexpressions() {
	g.mergeBlock(g.Body, g.aliases(), nil)
	g.rewrite()
}

// scope is what has been computed in a block and those around it.
type scope struct {
	seen   map[string]*program.Node
	parent *scope
}

func (c *scope) find(key []byte) *program.Node {
	for ; c != nil; c = c.parent {
		if n := c.seen[string(key)]; n != nil {
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
		eachBlock(n, func(sub *program.Block) { g.mergeBlock(sub, a, c) })
		if len(n.Blocks) > 0 || len(n.Outs) == 0 || g.sideEffects(n) || g.nondeterministic(n) || a.hasWriters(n) ||
			!g.merge(n, a, c) {
			kept = append(kept, n)
		}
	}
	b.Nodes = kept
}

// merge puts the results of an equal node before in the place of n's, where there is one and
// PyTorch would.
func (g *Graph) merge(n *program.Node, a *aliases, c *scope) bool {
	key := g.keyOf(n)
	o := c.find(key)
	if o == nil {
		c.seen[string(key)] = n
		return false
	}
	if len(o.Outs) != len(n.Outs) {
		return false
	}
	for i := range n.Outs {
		if !g.effects(n).Immutable && !a.mayShare(o.Outs[i], n.Outs[i]) {
			return false
		}
	}
	for i := range n.Outs {
		g.replace(n.Outs[i], program.Arg{Value: o.Outs[i]})
	}
	return true
}

// keyOf names a computation: operator, attribute, arguments. It is good until the next call.
func (g *Graph) keyOf(n *program.Node) []byte {
	b := append(g.key[:0], n.Op...)
	b = append(b, n.Text...)
	for i := range n.Args {
		a := &n.Args[i]
		b = append(b, ',')
		b = append(b, a.Name...)
		if a.Value != nil {
			b = binary.LittleEndian.AppendUint32(append(b, '%'), uint32(a.Value.ID))
			continue
		}
		b = g.appendConst(b, a.Const)
	}
	g.key = b
	return b
}

// appendConst names a constant: numbers and lists of them by value; other containers, tensors and
// objects by identity, equal ones by the first's.
func (g *Graph) appendConst(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return binary.LittleEndian.AppendUint64(append(b, 'i'), uint64(v))
	case *tensor.Tensor, *ops.List, *ops.Tuple:
		return fmt.Appendf(b, "%p", g.pooled(v))
	case *program.ListLit:
		return g.appendList(b, v)
	case *program.State, *program.TupleLit, *program.DictLit:
		return fmt.Appendf(b, "%p", v)
	}
	if g.eval.Class(v) != nil {
		return fmt.Appendf(b, "%p", v)
	}
	return fmt.Appendf(b, "%T:%v", v, v)
}

// appendList names a list of numbers by them.
func (g *Graph) appendList(b []byte, l *program.ListLit) []byte {
	begin := len(b)
	b = append(b, '[')
	for _, v := range l.Items {
		switch v.(type) {
		case nil, bool, int64:
			b = g.appendConst(b, v)
		default:
			return fmt.Appendf(b[:begin], "%p", l)
		}
	}
	return b
}
