package locals

import "github.com/memspec/memspec/engine/program"

// Run is what a Scope asks of the run.
type Run interface {
	Hold(v any)
	Drop(v any)
	// DropItems releases what a list held.
	DropItems(items []any)
	// Touch notes that a container is written.
	Touch(container any)
	// Attribute reads an attribute of an object.
	Attribute(object any, name string) (any, bool)
}

// Scope is what the names of one call hold.
type Scope struct {
	*Names
	reader  *Reader
	run     Run
	held    []any
	set     []bool
	pending []binding // of the statement under way: names are bound when its right side is complete
	at      position
	left    bool                  // by a break or return without nodes: what follows in the suites around is not run
	calls   []program.SourceRange // made by the statement under way
}

// binding is a name about to be bound to value; id is the value's number in the program, -1 where
// it has none.
type binding struct {
	local int32
	id    int
	value any
}

// Enter begins a call: its parameters are bound.
func (r *Reader) Enter(n *Names, run Run, args []any) *Scope {
	s := &Scope{Names: n, reader: r, run: run, at: position{stmt: -1},
		held: make([]any, len(n.locals)), set: make([]bool, len(n.locals))}
	for i, v := range args {
		run.Hold(v)
		s.held[i], s.set[i] = v, true
	}
	return s
}

// Leave ends a call: the parameters go in order, then the other locals by number.
func (s *Scope) Leave() {
	s.flush()
	for i := range s.held {
		s.unbind(int32(i))
	}
}

// Show shows what the names hold, and what is about to be bound.
func (s *Scope) Show(slot func(filled bool, v any)) {
	for i, v := range s.held {
		slot(s.set[i], v)
	}
	for _, p := range s.pending {
		slot(true, p.value)
	}
}

// bindLocal binds a name: the new value is held before the old one goes.
func (s *Scope) bindLocal(local int32, v any) {
	s.run.Hold(v)
	old, had := s.held[local], s.set[local]
	s.held[local], s.set[local] = v, true
	if had {
		s.run.Drop(old)
	}
}

// unbind deletes a name.
func (s *Scope) unbind(local int32) {
	if s.set[local] {
		s.set[local] = false
		s.run.Drop(s.held[local])
	}
}

// flush binds the names of the statement under way.
func (s *Scope) flush() {
	s.calls = s.calls[:0]
	for _, p := range s.pending {
		s.bindLocal(p.local, p.value)
		s.run.Drop(p.value)
	}
	s.pending = s.pending[:0]
}

// Together puts the name that holds all results of a node, the tuple v, on the list to be bound.
func (s *Scope) Together(node int, v any) {
	if local, ok := s.together[node]; ok {
		s.run.Hold(v)
		s.pending = append(s.pending, binding{local: local, id: -1, value: v})
	}
}

// Made puts the names of the value of number id on the list to be bound to v.
func (s *Scope) Made(id int, v any) {
	for _, local := range s.bind[id] {
		s.run.Hold(v)
		s.pending = append(s.pending, binding{local: local, id: id, value: v})
	}
	if s.src == nil {
		s.flush()
	}
}
