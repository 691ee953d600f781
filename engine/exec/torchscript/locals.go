package torchscript

import (
	"github.com/memspec/memspec/engine/internal/slab"
	"github.com/memspec/memspec/engine/program"
)

// locals is what the names of one frame hold.
type locals struct {
	held    []any
	set     []bool
	pending []binding // of the statement under way: names are bound when its right side is complete
	at      pyPos
	left    bool                  // by a break or return without nodes: what follows in the suites around is not run
	calls   []program.SourceRange // made by the statement under way
}

// binding is a name about to be bound to value; id is the SSA value it came as.
type binding struct {
	local int32
	id    int
	value any
}

// enterNames binds a frame's parameters.
func (m *interp) enterNames(f *frame, args []any) {
	n := f.code.names
	l := m.newLocals(len(n.locals))
	f.locals = l
	for i, v := range args {
		m.Hold(v)
		l.held[i], l.set[i] = v, true
	}
}

// leaveNames ends a frame: the parameters go in order, then the locals by number.
func (m *interp) leaveNames(f *frame) {
	m.flush(f)
	l := f.locals
	f.locals = nil
	for i := range l.held {
		if l.set[i] {
			l.set[i] = false
			m.Drop(l.held[i])
		}
	}
	m.freeLocals(l)
}

// bindLocal binds a name: the new value is held before the old one goes.
func (m *interp) bindLocal(l *locals, local int32, v any) {
	m.Hold(v)
	old, had := l.held[local], l.set[local]
	l.held[local], l.set[local] = v, true
	if had {
		m.Drop(old)
	}
}

// unbind deletes a name.
func (m *interp) unbind(l *locals, local int32) {
	if l.set[local] {
		l.set[local] = false
		m.Drop(l.held[local])
	}
}

// flush binds the names of the statement under way.
func (m *interp) flush(f *frame) {
	l := f.locals
	l.calls = l.calls[:0]
	for _, p := range l.pending {
		m.bindLocal(l, p.local, p.value)
		m.Drop(p.value)
	}
	l.pending = l.pending[:0]
}

// nameTogether puts the name that holds all results of in, the tuple v, on the list to be bound.
func (m *interp) nameTogether(f *frame, in *inst, v any) {
	if local, ok := f.code.names.together[int(in.num)]; ok {
		m.Hold(v)
		f.locals.pending = append(f.locals.pending, binding{local: local, id: -1, value: v})
	}
}

// afterInst puts the names of in's results on the list to be bound.
func (m *interp) afterInst(f *frame, in *inst) {
	for _, out := range in.node.Outs {
		m.name(f, out.ID)
	}
}

// afterOut names a result of an If or Loop.
func (m *interp) afterOut(f *frame, in *inst, i int, _ any) { m.name(f, in.node.Outs[i].ID) }

func (m *interp) name(f *frame, id int) {
	if !f.set[id] {
		return
	}
	l := f.locals
	for _, local := range f.code.names.bind[id] {
		m.Hold(f.regs[id])
		l.pending = append(l.pending, binding{local: local, id: id, value: f.regs[id]})
	}
	if f.code.names.src == nil {
		m.flush(f)
	}
}

// hostNumber says whether in makes the tensor of `x[i] = number`: eager execution puts the number in a tensor on the CPU
// (torch/csrc/autograd/python_variable_indexing.cpp valueToTensor).
func (f *frame) hostNumber(in *inst) bool {
	return f.locals != nil && f.code.names.fill[in.num]
}

// newLocals makes room for n names; freeLocals takes it back when they all have been let go.
func (m *interp) newLocals(n int) *locals {
	var l *locals
	if k := len(m.spareLocals); k > 0 {
		l = m.spareLocals[k-1]
		m.spareLocals = m.spareLocals[:k-1]
	} else {
		l = &locals{}
	}
	l.held, l.set, l.at, l.left = slab.Extend(l.held[:0], n), slab.Extend(l.set[:0], n), pyPos{stmt: -1}, false
	return l
}

func (m *interp) freeLocals(l *locals) {
	clear(l.held)
	clear(l.pending[:cap(l.pending)])
	l.pending = l.pending[:0]
	m.spareLocals = append(m.spareLocals, l)
}
