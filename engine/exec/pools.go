package exec

import "github.com/memspec/memspec/engine/ops"

// A run makes thousands of small things of a few kinds, most of them short-lived: they come from blocks, and frames, calls and argument
// lists are used again.

// slab hands out zeroed values, made in blocks.
type slab[T any] struct{ free []T }

const slabSize = 64

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabSize)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

// cut is a slice of n zeroed values.
func (s *slab[T]) cut(n int) []T {
	if n > len(s.free) {
		if n >= slabSize {
			return make([]T, n)
		}
		s.free = make([]T, 2*slabSize)
	}
	p := s.free[:n:n]
	s.free = s.free[n:]
	return p
}

// newCall makes the call of an operator; endCall takes it back. Calls nest, and no rule keeps one.
func (m *machine) newCall(b *ops.Bound, args []any) *ops.Call {
	if m.inCalls == len(m.calls) {
		m.calls = append(m.calls, &ops.Call{})
	}
	c := m.calls[m.inCalls]
	m.inCalls++
	*c = ops.Call{Bound: b, Args: args, M: m}
	return c
}

func (m *machine) endCall() { m.inCalls-- }

// pushArgs makes room for n arguments on a stack; popArgs takes everything above base off it. The stack may move: what was handed out stays.
func (m *machine) pushArgs(n int) []any {
	base := len(m.argStack)
	m.argStack = extend(m.argStack, n)
	return m.argStack[base : base+n : base+n]
}

func (m *machine) popArgs(base int) {
	clear(m.argStack[base:])
	m.argStack = m.argStack[:base]
}

// newFrame makes a frame, or uses one again that ended well.
func (m *machine) newFrame() *frame {
	if n := len(m.frames); n > 0 {
		f := m.frames[n-1]
		m.frames = m.frames[:n-1]
		return f
	}
	return &frame{}
}

func (m *machine) freeFrame(f *frame) {
	*f = frame{}
	m.frames = append(m.frames, f)
}

// newLocals makes room for n names; freeLocals takes it back when they all have been let go.
func (m *machine) newLocals(n int) *locals {
	var l *locals
	if k := len(m.spareLocals); k > 0 {
		l = m.spareLocals[k-1]
		m.spareLocals = m.spareLocals[:k-1]
	} else {
		l = &locals{}
	}
	l.held, l.set, l.at, l.left = extend(l.held[:0], n), extend(l.set[:0], n), pyPos{stmt: -1}, false
	return l
}

func (m *machine) freeLocals(l *locals) {
	clear(l.held)
	clear(l.pending[:cap(l.pending)])
	l.pending = l.pending[:0]
	m.spareLocals = append(m.spareLocals, l)
}
