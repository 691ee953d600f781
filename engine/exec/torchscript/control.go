package torchscript

import (
	"fmt"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/trace"
)

// evalCallMethod calls a method of an object; which one is known only now, so interfaces need
// nothing more.
func (m *interp) evalCallMethod(f *frame, in *inst) (any, error) {
	n := in.node
	self := m.arg(f, &n.Args[0])
	o, ok := self.(*Object)
	if !ok {
		if u, unknown := self.(ops.Unbacked); unknown {
			return u, nil
		}
		if _, opaque := self.(*ops.Packed); opaque {
			m.siteOf(in)
			m.Lacks(exec.Lack{Op: n.Text, Reason: trace.CustomClass, Detail: "method"})
			m.Sites.Leave()
			return ops.NewUnbacked(n.Text, schema.Any), nil
		}
		return nil, fmt.Errorf("got %s to call method %s of, want an object", ops.TypeName(self), n.Text)
	}
	fn := o.Class.Method(n.Text)
	if fn == nil {
		return nil, fmt.Errorf("got no method %s in %s", n.Text, o.Class.Name)
	}
	module := f.module
	if o.Module {
		module = o
	}
	return m.evalCall(f, in, fn, module, 1)
}

// evalCall runs fn. An argument used for the last time moves into the function, which then is the
// only one to hold it, as inlining makes it; but a call of a module (nn.Module.__call__) keeps its
// arguments in eager execution until it returns.
func (m *interp) evalCall(f *frame, in *inst, fn *program.Func, module *Object, selfs int) (any, error) {
	if module == nil {
		module = f.module
	}
	base := len(m.argStack)
	args, err := m.bindArgs(f, in, fn)
	if err != nil {
		return nil, err
	}
	holds := m.eager && callHolds(fn, selfs)
	if !holds {
		for j, move := range in.move {
			if move {
				m.clear(f, in.node.Args[j].Value.ID)
			}
		}
	}
	v, err := m.call(fn, args, module)
	m.popArgs(base)
	return v, err
}

// callHolds says whether an eager call keeps its arguments until it returns: calls of modules do,
// of functions and methods not. Tracing numbers the calls of one module: forward, forward1,
// forward2.
func callHolds(fn *program.Func, selfs int) bool {
	return selfs == 1 && fn.Module
}

// bindArgs fits a call's arguments to fn's parameters; each is held for the callee. They are on the
// stack of arguments.
func (m *interp) bindArgs(f *frame, in *inst, fn *program.Func) ([]any, error) {
	n := in.node
	out := m.pushArgs(len(fn.Params))
	var few [16]bool
	given := few[:]
	if len(out) > len(few) {
		given = make([]bool, len(out))
	}
	pos := 0
	for i := range n.Args {
		a := &n.Args[i]
		at := fn.ParamOf(a, &pos)
		if at < 0 || at >= len(out) {
			return nil, fmt.Errorf("%s: got %d arguments, want %d", fn.Name, len(n.Args), len(fn.Params))
		}
		v := m.arg(f, a)
		if l, ok := v.(*ops.List); ok && len(l.Items) == 0 && l.Elem == 0 && fn.Params[at].Type != nil &&
			fn.Params[at].Type.Kind == program.ListType {
			l.Elem = exec.ElemKind(fn.Params[at].Type.Elems[0])
			m.Touch(l)
		}
		m.Hold(v)
		out[at], given[at] = v, true
	}
	for j := range out {
		if !given[j] {
			if !fn.Params[j].HasDef {
				return nil, fmt.Errorf("%s: got no argument %s", fn.Name, fn.Params[j].Name)
			}
			out[j] = m.literal(fn.Params[j].Default)
			m.Hold(out[j])
		}
	}
	return out, nil
}

// evalCreate makes an object, or a named tuple.
func (m *interp) evalCreate(f *frame, in *inst) (any, error) {
	n := in.node
	c := n.Class
	if c == nil {
		m.siteOf(in)
		m.Unsupported(n.Text, trace.CustomClass)
		m.Sites.Leave()
		return ops.NewUnbacked(n.Text, schema.Any), nil
	}
	if c.Kind == program.NamedTupleClass {
		t := &ops.Tuple{Items: m.heldArgs(f, n.Args), Refs: 1}
		for i := len(t.Items); i < len(c.Attrs); i++ {
			t.Items = append(t.Items, m.literal(c.Attrs[i].Default))
			m.Hold(t.Items[i])
		}
		nameTuple(t, c)
		return t, nil
	}
	// this is __new__: __init__ is called on its own
	return &Object{Class: c, refs: 1, attrs: make([]any, len(c.Attrs)), filled: make([]bool, len(c.Attrs))}, nil
}

// evalWith runs __enter__ or __exit__ of a with statement. torch's own context managers (no_grad,
// profiler ranges) do nothing here.
func (m *interp) evalWith(f *frame, in *inst) (any, error) {
	o, ok := m.arg(f, &in.node.Args[0]).(*Object)
	if !ok {
		return nil, nil
	}
	name, args := "__enter__", []any{o}
	if in.node.Op == "prim::Exit" {
		name, args = "__exit__", []any{o, nil, nil, nil}
	}
	fn := o.Class.Method(name)
	if fn == nil {
		return nil, nil
	}
	if len(args) != len(fn.Params) {
		return nil, fmt.Errorf("%s: got %d arguments, want %d", fn.Name, len(args), len(fn.Params))
	}
	m.Hold(o)
	return m.call(fn, args, f.module)
}

// runIf runs the branch its condition chooses.
func (m *interp) runIf(f *frame, in *inst) error {
	cond := m.arg(f, &in.node.Args[0])
	taken, known, err := exec.Truth(cond)
	if err != nil {
		return m.fail(err)
	}
	if !known {
		m.siteOf(in)
		taken = m.Choose(exec.Branch{Func: f.code.fn, Node: in.num})
		m.Sites.Leave()
	}
	m.releaseArgs(f, in)
	b := in.blocks[1]
	if taken {
		b = in.blocks[0]
	}
	if f.names != nil {
		f.names.EnterBranch(int(in.num), taken)
	}
	if err := m.runBlock(f, b); err != nil || f.done {
		return err
	}
	if f.names != nil {
		f.names.LeaveBranch(int(in.num))
	}
	base := len(m.argStack)
	vals := m.pushArgs(len(b.src.Outs))
	m.blockOuts(f, b, vals)
	for i, out := range in.node.Outs {
		f.put(out.ID, vals[i])
		if f.names != nil {
			f.names.Made(out.ID, vals[i])
		}
	}
	m.popArgs(base)
	return nil
}

// blockOuts puts a block's results, owned, into vals; what the block alone held moves.
func (m *interp) blockOuts(f *frame, b *block, vals []any) {
	for i := range b.src.Outs {
		vals[i] = m.arg(f, &b.src.Outs[i])
		m.Hold(vals[i])
	}
	for i := range b.src.Outs {
		if v := b.src.Outs[i].Value; v != nil && f.code.local(v, b) {
			m.clear(f, v.ID)
		}
	}
}

// runReturn leaves the function from any depth.
func (m *interp) runReturn(f *frame, in *inst) error {
	if len(in.node.Args) > 0 {
		v := m.arg(f, &in.node.Args[0])
		m.Hold(v)
		f.result = v
	}
	f.done = true
	m.releaseArgs(f, in)
	return nil
}

// runRaise is an error of the model.
func (m *interp) runRaise(f *frame, in *inst) error {
	msg := "the model raised"
	if in.node.Text != "" {
		msg += " " + in.node.Text
	}
	if s, ok := m.arg(f, &in.node.Args[0]).(string); ok && s != "" {
		msg += ": " + oneLine(s)
	}
	e := m.fail(fmt.Errorf("%s", msg)).(*exec.EvalError)
	e.Raise = true
	return e
}

// oneLine cuts a message to its first line and a sane length.
func oneLine(s string) string {
	for i := range len(s) {
		if s[i] == '\n' || i >= 200 {
			return s[:i] + "…"
		}
	}
	return s
}
