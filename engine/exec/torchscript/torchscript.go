// Package torchscript runs TorchScript programs on exec's machine: an interpreter of functions with
// frames and registers, as the archive has them (eager execution) or inlined and simplified by the
// executor's passes (TorchScript's own runtime).
package torchscript

import (
	"errors"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/torchscript/passes"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/program"
)

// New returns what starts runs of p, one after another.
func New(p *program.Program) exec.Start {
	c := newCompiler(p)
	return func(m *exec.Machine) (exec.Driver, error) {
		if p.Entry == nil {
			return nil, errors.New("got a program without a forward method, want one")
		}
		if c.table != m.Table() { // an instruction keeps the overload that it resolved to
			c.table = m.Table()
			clear(c.made)
			clear(c.first)
		}
		d := &interp{compiler: c, Machine: m, codes: map[*program.Func]*code{}, objects: map[*program.Object]*Object{}}
		if m.Options().Liveness == exec.PythonFrame {
			d.eager, d.ends = true, recordedNames
			if m.Options().HoldLocals {
				d.ends = heldNames
			}
		}
		return d, nil
	}
}

// interp runs the functions of one program in one run.
type interp struct {
	*exec.Machine
	*compiler
	eager bool
	ends  ends

	codes   map[*program.Func]*code
	objects map[*program.Object]*Object

	frame    *frame // the innermost call
	regs     []any  // the registers of active frames, a stack
	set      []bool
	argStack []any
	depth    int
	frames   []*frame // to be used again

	noModule Object    // holds the places of functions that no module calls
	written  []*Object // whose attributes the model sets
	left     leftStates

	whole *code // the inlined program, where the runtime inlines

}

// Params are forward's, except the module itself.
func (m *interp) Params() []program.Param {
	params := m.prog.Entry.Params
	if len(params) > 0 && m.prog.Root != nil { // self, whatever it is called
		params = params[1:]
	}
	return params
}

// Literal is the value of a literal of the archive.
func (m *interp) Literal(v any) any { return m.literal(v) }

// Load moves the model's tensors: eager as nn.Module.to does, an archive in the order of its
// data.pkl.
func (m *interp) Load() {
	if m.eager {
		m.Machine.Load(m.prog.Root, m.prog.States)
	} else {
		m.Machine.Load(nil, m.prog.States)
	}
}

// Prepare inlines and simplifies the program, where it is TorchScript's runtime that runs it and
// the program can be inlined.
func (m *interp) Prepare() error {
	if m.eager {
		return nil
	}
	var root any
	if m.prog.Root != nil {
		root = m.object(m.prog.Root)
	}
	g, err := passes.Inline(m.prog.Entry, root, evaluator{m})
	if g == nil || err != nil {
		return err
	}
	g.Simplify(m.Platform().Autocast)
	m.whole = m.compile(m.prog.Entry, g.Graph, g)
	if n := g.TakenApartLater(); n != nil {
		m.siteOf(&inst{node: n, at: g.Call(n)})
		m.Note(note.Note{ID: note.LaterGraph})
		m.Sites.Leave()
	}
	return nil
}

// Forward runs forward on the root.
func (m *interp) Forward(args []any) (any, error) {
	var all []any
	root := (*Object)(nil)
	if m.prog.Root != nil {
		root = m.object(m.prog.Root)
		all = append(all, root)
	}
	for _, v := range args {
		m.Hold(v)
	}
	if m.whole != nil {
		m.depth++
		return m.enter(m.whole, args, root)
	}
	all = append(all, args...)
	return m.call(m.prog.Entry, all, root)
}

// Attribute reads an attribute of an object.
func (m *interp) Attribute(object any, name string) (any, bool) {
	o, ok := object.(*Object)
	if !ok {
		return nil, false
	}
	return m.getAttr(o, name)
}

// Kept shows what objects and the constants of the inlined program hold.
func (m *interp) Kept(show func(any)) {
	for _, o := range m.objects {
		for _, v := range o.attrs {
			show(v)
		}
	}
	if m.whole != nil {
		m.whole.graph.Body.EachArg(func(a *program.Arg) { show(a.Const) })
	}
}

// Describe writes what registers, names and calls under way hold, and the objects that the model
// writes.
func (m *interp) Describe(s *exec.State) {
	for i, v := range m.regs {
		s.Slot(m.set[i], v)
	}
	for f := m.frame; f != nil; f = f.parent {
		for _, l := range f.leftovers {
			s.Value(l.value)
		}
		if f.names != nil {
			f.names.Show(s.Slot)
		}
	}
	s.Values(m.argStack)
	for _, o := range m.written {
		s.Value(o)
	}
}
