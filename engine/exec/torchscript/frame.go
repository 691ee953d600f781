package torchscript

import (
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/torchscript/locals"
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/trace"
)

// frame is one active function.
type frame struct {
	code   *code
	regs   []any
	set    []bool // registers that hold something: nil is a value too
	parent *frame
	module *Object       // the innermost module whose method this is, or is called from
	names  *locals.Scope // eager: what the user's names hold
	result any
	done   bool // a return was reached
	line   *inst
	from   *inst   // in PyTorch's own code: the user's instruction that called it
	sites  []int32 // by instruction, see codeSites

	leftovers []leftover // what calls left, where the account holds all that Python might hold
}

// put stores an owned value in a register that is empty: what it held went at its last use.
func (f *frame) put(id int, v any) { f.regs[id], f.set[id] = v, true }

// clear releases a register.
func (m *interp) clear(f *frame, id int) {
	if f.set[id] {
		v := f.regs[id]
		f.regs[id], f.set[id] = nil, false
		m.Drop(v)
	}
}

// arg is an argument's value; a literal container is made anew each time.
func (m *interp) arg(f *frame, a *program.Arg) any {
	if a.Value != nil { // f is nil only for constants
		return f.regs[a.Value.ID]
	}
	return m.literal(a.Const)
}

// codeOf is fn made ready to run; self is the module it runs in.
func (m *interp) codeOf(fn *program.Func, self *Object) (*code, error) {
	if c := m.codes[fn]; c != nil {
		return c, nil
	}
	var module *program.Object
	if self != nil {
		module = self.lit
	}
	c, err := m.ready(fn, module, m.ends)
	if err != nil {
		return nil, err
	}
	if m.ends != afterLastUse {
		m.noteLocals()
	}
	m.codes[fn] = c
	return c, nil
}

// noteLocals notes what an archive does not record of Python's names.
func (m *interp) noteLocals() {
	switch m.prog.Records {
	case program.RecordsStacks:
		m.Note(note.Note{ID: note.LocalsUnknown, Subject: "a traced archive carries no names, and no operators whose " +
			"results nothing uses: what eager execution holds is read from its stacks"})
	case program.RecordsNothing:
		m.Note(note.Note{ID: note.LocalsUnknown, Subject: "a frozen archive is one function without the user's frames and " +
			"names: values are taken to die after their last use"})
	}
}

// call runs fn on owned arguments (one a parameter) and returns its owned result.
func (m *interp) call(fn *program.Func, args []any, module *Object) (any, error) {
	c, err := m.codeOf(fn, module)
	if err != nil {
		return nil, err
	}
	if m.depth++; m.depth > m.Options().MaxDepth {
		return nil, m.fail(&exec.LimitError{What: "nested calls", Limit: m.Options().MaxDepth})
	}
	return m.enter(c, args, module)
}

// enter runs a frame of c.
func (m *interp) enter(c *code, args []any, module *Object) (any, error) {
	n := c.graph.NumValues
	base := len(m.regs)
	m.regs, m.set = zeroed.Extend(m.regs, n), zeroed.Extend(m.set, n)
	f := m.newFrame()
	from := m.callerOf(c)
	*f = frame{code: c, regs: m.regs[base : base+n : base+n], set: m.set[base : base+n : base+n], parent: m.frame,
		module: module, from: from, sites: m.sitesOf(c, from, module)}
	m.frame = f
	for i, p := range c.graph.Params {
		f.regs[p.ID], f.set[p.ID] = args[i], true
	}
	if c.names != nil {
		f.names = m.reader.Enter(c.names, m, args)
	}
	err := m.runBlock(f, c.body)
	if err == nil && f.names != nil {
		f.names.Leave()
		f.names = nil
	}
	if err == nil {
		m.handOn(f)
		for id := range f.set {
			m.clear(f, id)
		}
	}
	m.frame = f.parent
	m.depth--
	m.regs, m.set = m.regs[:base], m.set[:base]
	result := f.result
	if err == nil {
		m.freeFrame(f)
	}
	return result, err
}

// runBlock runs a block's instructions; it ends early where the function returned.
func (m *interp) runBlock(f *frame, b *block) error {
	for _, id := range b.dead {
		m.clear(f, id)
	}
	for i := range b.insts {
		in := &b.insts[i]
		f.line = in
		if err := m.Step(); err != nil {
			return m.fail(err)
		}
		if f.names != nil {
			f.names.Before(int(in.num), in.node)
		}
		if err := m.exec(f, in); err != nil {
			return err
		}
		for _, id := range in.drop {
			m.clear(f, id)
		}
		if len(f.leftovers) > 0 {
			m.dropLeftovers(f, in.num)
		}
		if f.done {
			return nil
		}
	}
	return nil
}

// releaseArgs releases arguments used for the last time, left to right. TorchScript's interpreter
// moves optional tensors and lists off its stack into the operator's C++ call
// (ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h ivalue_to_arg), so these go first, with
// the call's temporaries; plain tensors are only referred to and go when the stack is cut.
func (m *interp) releaseArgs(f *frame, in *inst) {
	if o := in.overload; !m.eager && o != nil && boxed(o.bound) {
		for j, move := range in.move {
			if move && byValue(o.bound, &in.node.Args[j], j) {
				m.clear(f, in.node.Args[j].Value.ID)
			}
		}
	}
	for j, move := range in.move {
		if move {
			m.clear(f, in.node.Args[j].Value.ID)
		}
	}
}

// boxed says whether the interpreter calls an operator through a boxing wrapper. The twins of
// indexing operators that take a list of tensors are the interpreter's own: they take their
// arguments off the stack from the last to the first, so that these go from the first to the last
// (torch/csrc/jit/runtime/register_prim_ops.cpp).
func boxed(b *ops.Bound) bool { return !strings.HasSuffix(b.Schema.Overload, "hacked_twin") }

// byValue says whether a parameter is passed by value.
func byValue(b *ops.Bound, a *program.Arg, i int) bool {
	if a.Name != "" {
		i = b.Schema.ArgIndex(a.Name)
	}
	if i < 0 || i >= len(b.Schema.Args) {
		return false
	}
	k := b.Schema.Args[i].Type.Kind
	return k == schema.Optional || k == schema.List
}

// fail makes err an error of the model with its stack.
func (m *interp) fail(err error) error {
	if e, ok := err.(*exec.EvalError); ok {
		return e
	}
	e := &exec.EvalError{Msg: err.Error(), Cause: err}
	for f := m.frame; f != nil; f = f.parent {
		n := f.line.node
		if f == m.frame {
			e.Op, e.Pos = n.Op, n.Where.Pos()
		}
		if f.line.at == nil {
			e.Stack = append(e.Stack, stackEntry(f.code.fn, n, f.module))
		}
		for at := f.line.at; at != nil; n, at = at.Node, at.Parent { // the calls that it was inlined from
			module, _ := at.Module.(*Object)
			e.Stack = append(e.Stack, stackEntry(at.Func, n, module))
		}
	}
	return e
}

// stackEntry is node n of a function, called in a module that may be nil.
func stackEntry(fn *program.Func, n *program.Node, module *Object) exec.StackEntry {
	s := exec.StackEntry{Func: fn.Name, Record: fn.Record, Line: int(n.Where.Line), Pos: n.Where.Pos()}
	if module != nil {
		s.Module = module.FQN
	}
	return s
}

// object is the instance of an archived object.
func (m *interp) object(lit *program.Object) *Object {
	if o := m.objects[lit]; o != nil {
		return o
	}
	o := new(Object)
	*o = Object{Class: lit.Class, FQN: lit.FQN, lit: lit, Module: lit.Class.Kind == program.ModuleClass, refs: 1}
	n := len(lit.Class.Attrs)
	o.attrs, o.filled = make([]any, n), make([]bool, n)
	m.objects[lit] = o
	if lit.HasState {
		m.setState(o, lit.State)
	}
	return o
}

// setState gives an archived object its state as loading does, by its own __setstate__.
func (m *interp) setState(o *Object, state any) {
	fn := o.Class.Method("__setstate__")
	if len(fn.Params) != 2 {
		return
	}
	m.Alter()
	v := m.literal(state)
	m.Hold(o)
	m.Hold(v)
	r, err := m.call(fn, []any{o, v}, nil)
	if err != nil {
		m.Lacks(exec.Lack{Op: fn.Name, Reason: trace.FailedState, Detail: err.Error()})
		return
	}
	m.Drop(r)
}

// getAttr reads an attribute.
func (m *interp) getAttr(o *Object, name string) (any, bool) {
	i, ok := o.Class.AttrIndex(name)
	if !ok {
		return nil, false
	}
	if !o.filled[i] {
		var v any
		switch a := &o.Class.Attrs[i]; {
		case o.lit != nil && i < len(o.lit.Attrs) && (o.lit.Attrs[i] != nil || !a.HasDef):
			v = m.literal(o.lit.Attrs[i])
		case a.HasDef: // a constant of the class
			v = m.literal(a.Default)
		default:
			return nil, false
		}
		m.Hold(v)
		o.attrs[i], o.filled[i] = v, true
	}
	return o.attrs[i], true
}

// setAttr writes an attribute; v is borrowed.
func (m *interp) setAttr(o *Object, name string, v any) bool {
	i, ok := o.Class.AttrIndex(name)
	if !ok {
		return false
	}
	old, _ := m.getAttr(o, name) // nil where it has none yet
	m.Hold(v)
	o.attrs[i], o.filled[i] = v, true
	m.Drop(old)
	if o.lit != nil && i < len(o.lit.Attrs) {
		m.leave(o.lit, i)
	}
	return true
}

// literal turns an archived value into a run's.
func (m *interp) literal(v any) any {
	switch v := v.(type) {
	case *program.State:
		return m.State(v)
	case *program.Object:
		return m.object(v)
	case program.Device:
		return ops.Device(v)
	case *program.ListLit:
		l := new(ops.List)
		*l = ops.List{Items: m.literals(v.Items), Elem: exec.ElemKind(v.Elem)}
		return l
	case *program.TupleLit:
		t := &ops.Tuple{Items: m.literals(v.Items)}
		if v.Class != nil {
			nameTuple(t, v.Class)
		}
		return t
	case *program.DictLit:
		return &ops.Dict{Keys: m.literals(v.Keys), Values: m.literals(v.Values)}
	case program.EnumLit:
		return Enum{Class: v.Class, Name: v.Name, Value: m.literal(v.Value)}
	case *program.Opaque:
		return &ops.Packed{Class: v.Class, State: m.literal(v.State)}
	}
	return v
}

func (m *interp) literals(vs []any) []any {
	out := make([]any, len(vs))
	for i, v := range vs {
		out[i] = m.literal(v)
		m.Hold(out[i])
	}
	return out
}

// nameTuple makes t a named tuple of class c.
func nameTuple(t *ops.Tuple, c *program.Class) {
	t.Class = c.Name
	t.Names = make([]string, len(c.Attrs))
	for i, a := range c.Attrs {
		t.Names[i] = a.Name
	}
}

// pushArgs makes room for n arguments on a stack; popArgs takes everything above base off it. The
// stack may move: what was handed out stays.
func (m *interp) pushArgs(n int) []any {
	base := len(m.argStack)
	m.argStack = zeroed.Extend(m.argStack, n)
	return m.argStack[base : base+n : base+n]
}

func (m *interp) popArgs(base int) {
	clear(m.argStack[base:])
	m.argStack = m.argStack[:base]
}

// newFrame makes a frame, or uses one again that ended well.
func (m *interp) newFrame() *frame {
	if n := len(m.frames); n > 0 {
		f := m.frames[n-1]
		m.frames = m.frames[:n-1]
		return f
	}
	return &frame{}
}

func (m *interp) freeFrame(f *frame) {
	*f = frame{}
	m.frames = append(m.frames, f)
}
