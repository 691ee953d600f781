package torchscript

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// folded is a constant that the executor computes once, before the first pass, and keeps with the graph.
type folded struct {
	value any
	node  *program.Node
}

// fold computes what depends on constants alone (passes/constant_propagation.cpp): first numbers, strings and bools, then (full) tensors
// and lists that nothing writes. An If whose condition is known becomes its branch.
func (s *graph) fold(full bool) error {
	a := s.m.aliasesOf(s.g)
	body, err := s.foldBlock(s.g.Body, a, full)
	if err != nil {
		return err
	}
	s.g.Body.Nodes = body
	s.rewrite()
	return nil
}

func (s *graph) foldBlock(b *program.Block, a *aliases, full bool) ([]*program.Node, error) {
	out := make([]*program.Node, 0, len(b.Nodes))
	for _, n := range b.Nodes {
		known := true
		for i := range n.Args {
			s.resolve(&n.Args[i])
			known = known && n.Args[i].Value == nil
		}
		switch {
		case n.Op == "prim::If":
			nodes, err := s.foldIf(n, a, full)
			if err != nil {
				return nil, err
			}
			out = append(out, nodes...)
			continue
		case n.Op == "prim::Loop":
			if k, ok := n.Args[0].Const.(int64); n.Args[0].Value == nil && ok && k <= 0 {
				for i, o := range n.Outs {
					s.replace(o, n.Args[i+2])
				}
				continue
			}
			fallthrough
		case len(n.Blocks) > 0:
			for _, sub := range n.Blocks {
				nodes, err := s.foldBlock(sub, a, full)
				if err != nil {
					return nil, err
				}
				sub.Nodes = nodes
				s.rewriteOuts(sub)
			}
		case known && s.foldable(n, a, full):
			if s.compute(n, full) {
				continue
			}
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *graph) rewriteOuts(b *program.Block) {
	for i := range b.Outs {
		s.resolve(&b.Outs[i])
	}
}

// foldIf replaces an If with a known condition by its branch; of another it drops the outs that both branches agree on.
func (s *graph) foldIf(n *program.Node, a *aliases, full bool) ([]*program.Node, error) {
	if c, ok := n.Args[0].Const.(bool); n.Args[0].Value == nil && ok {
		b := n.Blocks[1]
		if c {
			b = n.Blocks[0]
		}
		nodes, err := s.foldBlock(b, a, full)
		if err != nil {
			return nil, err
		}
		s.rewriteOuts(b)
		for i, o := range n.Outs {
			s.replace(o, b.Outs[i])
		}
		return nodes, nil
	}
	for _, sub := range n.Blocks {
		nodes, err := s.foldBlock(sub, a, full)
		if err != nil {
			return nil, err
		}
		sub.Nodes = nodes
		s.rewriteOuts(sub)
	}
	kept := 0
	for i, o := range n.Outs {
		t, e := n.Blocks[0].Outs[i], n.Blocks[1].Outs[i]
		if t.Value != nil && t.Value == e.Value || t.Value == nil && e.Value == nil && plainEqual(t.Const, e.Const) {
			s.replace(o, t)
			continue
		}
		n.Outs[kept], n.Blocks[0].Outs[kept], n.Blocks[1].Outs[kept] = o, t, e
		kept++
	}
	n.Outs, n.Blocks[0].Outs, n.Blocks[1].Outs = n.Outs[:kept], n.Blocks[0].Outs[:kept], n.Blocks[1].Outs[:kept]
	return []*program.Node{n}, nil
}

// plainEqual compares constants that are no containers.
func plainEqual(a, b any) bool {
	switch a.(type) {
	case nil, bool, int64, float64, string, *program.State:
		return a == b
	}
	return false
}

// foldable says whether a node with constant arguments may run ahead.
func (s *graph) foldable(n *program.Node, a *aliases, full bool) bool {
	if len(n.Outs) != 1 || s.sideEffects(n) || s.nondeterministic(n) {
		return false
	}
	switch n.Op {
	case "prim::Uninitialized", "prim::GetAttr", "prim::unchecked_unwrap_optional", "aten::dequantize", "prim::DictConstruct", "aten::dict", "prim::isinstance":
		return false
	case "prim::ListConstruct", "prim::TupleConstruct":
		return full && !a.hasWriters(n)
	case "prim::TupleUnpack", "prim::ListUnpack", "prim::NamedTupleConstruct", "prim::unchecked_cast":
		return false
	}
	e := s.m.effectsOf(n)
	if !e.Known {
		return false
	}
	if !full {
		for i := range n.Args {
			switch n.Args[i].Const.(type) {
			case nil, bool, int64, float64, string, program.Device:
			default:
				return false
			}
		}
		return true
	}
	return !a.hasWriters(n)
}

// compute runs a node and puts its result in its place; what fails or is not known stays a node.
func (s *graph) compute(n *program.Node, full bool) bool {
	m := s.m
	in := &inst{node: n}
	var v any
	switch n.Op {
	case "prim::ListConstruct":
		l := &ops.List{Items: m.heldArgs(nil, n.Args), Refs: 1}
		l.Elem = listElem(n, l)
		v = l
	case "prim::TupleConstruct":
		v = &ops.Tuple{Items: m.heldArgs(nil, n.Args), Refs: 1}
	default:
		if !full && !m.immutableResult(n) {
			return false
		}
		m.siteOf(in)
		base := len(m.argStack)
		args, kw := m.opArgs(nil, in)
		r, done, err := m.special(n, args)
		if !done {
			var bound *ops.Bound
			var filled []any
			if bound, filled, err = m.Table().Resolve(n.Op, args, kw); err == nil {
				if isVarArgs(bound) {
					m.Sites.Leave()
					return false
				}
				r, err = m.Apply(bound, filled)
			}
		}
		m.Sites.Leave()
		m.popArgs(base)
		if err != nil || !ops.IsKnown(r) {
			return false
		}
		v = r
	}
	switch v.(type) {
	case nil, bool, int64, float64, string, ops.Device, *tensor.Tensor, *ops.List, *ops.Tuple:
	default:
		m.Drop(v)
		return false
	}
	s.made = append(s.made, folded{value: v, node: n})
	s.replace(n.Outs[0], program.Arg{Const: v})
	return true
}

func isVarArgs(b *ops.Bound) bool { return b.Schema.VarArgs }

// immutableResult says whether an operator on numbers gives a number.
func (m *interp) immutableResult(n *program.Node) bool {
	args := make([]any, len(n.Args))
	for i := range n.Args {
		if n.Args[i].Name != "" {
			return false
		}
		args[i] = m.literal(n.Args[i].Const)
	}
	b, _, err := m.Table().Resolve(n.Op, args, nil)
	if err != nil {
		return n.Op == "aten::__is__" || n.Op == "aten::__isnot__"
	}
	return b.Rule.Host != nil
}

// freeUnused lets go of constants that no node uses any more, the last first, as dead code goes.
func (s *graph) freeUnused() {
	used := map[any]bool{}
	var walk func(b *program.Block)
	mark := func(a *program.Arg) {
		switch a.Const.(type) {
		case *tensor.Tensor, *ops.List, *ops.Tuple:
			if a.Value == nil {
				used[a.Const] = true
			}
		}
	}
	walk = func(b *program.Block) {
		for _, n := range b.Nodes {
			for i := range n.Args {
				mark(&n.Args[i])
			}
			for _, sub := range n.Blocks {
				walk(sub)
			}
		}
		for i := range b.Outs {
			mark(&b.Outs[i])
		}
	}
	walk(s.g.Body)
	for i := len(s.made) - 1; i >= 0; i-- {
		switch v := s.made[i].value.(type) {
		case *tensor.Tensor, *ops.List, *ops.Tuple:
			if !used[v] {
				s.m.Drop(v)
			}
		}
	}
}
