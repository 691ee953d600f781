package torchscript

import (
	"github.com/memspec/memspec/engine/exec/torchscript/passes"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// evaluator is what the executor's passes ask of a run.
type evaluator struct{ m *interp }

func (e evaluator) Class(v any) *program.Class {
	if o, ok := v.(*Object); ok {
		return o.Class
	}
	return nil
}

func (e evaluator) Attribute(object any, name string) (any, bool) {
	return e.m.Attribute(object, name)
}

func (e evaluator) Effects(op string, n int) ops.Effects { return e.m.Table().Effects(op, n) }

func (e evaluator) Hold(v any) { e.m.Hold(v) }

func (e evaluator) Drop(v any) { e.m.Drop(v) }

// Compute runs a node as the run itself would, at the node's own place: a tensor that it makes is
// allocated there.
func (e evaluator) Compute(n *program.Node, at *passes.Call, numbers bool) (any, bool) {
	m := e.m
	switch n.Op {
	case "prim::ListConstruct":
		l := &ops.List{Items: m.heldArgs(nil, n.Args), Refs: 1}
		l.Elem = listElem(n, l)
		return l, true
	case "prim::TupleConstruct":
		return &ops.Tuple{Items: m.heldArgs(nil, n.Args), Refs: 1}, true
	}
	if numbers && !m.givesNumber(n) {
		return nil, false
	}
	in := &inst{node: n, at: at}
	m.siteOf(in)
	defer m.Sites.Leave()
	base := len(m.argStack)
	defer func() { m.popArgs(base) }()
	args, kw := m.opArgs(nil, in)
	if v, done, err := m.onIdentity(n, args); done {
		return v, err == nil && ops.IsKnown(v)
	}
	args, kw = upgrade(n.Means, args, kw)
	bound, full, err := m.Table().Resolve(n.Op, args, kw)
	if err != nil || bound.Schema.VarArgs {
		return nil, false
	}
	v, err := m.Apply(bound, full)
	return v, err == nil && ops.IsKnown(v)
}

// givesNumber says whether an operator on constants gives a number.
func (m *interp) givesNumber(n *program.Node) bool {
	args := make([]any, len(n.Args))
	for i := range n.Args {
		if n.Args[i].Name != "" {
			return false
		}
		args[i] = m.literal(n.Args[i].Const)
	}
	b, _, err := m.Table().Resolve(n.Op, args, nil)
	return err == nil && b.Rule.Host != nil
}
