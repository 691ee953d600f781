package torchscript

import "github.com/memspec/memspec/engine/program"

// This file keeps what names mean while a function is lowered: bindings, undone when a block ends.

// binding is what a name stands for.
type binding struct {
	arg      program.Arg   // a value or literal
	fn       *program.Func // or a function: _0 = __torch__.f
	captured []program.Arg // of a forked function: what it takes from around
	forked   bool
}

// scope is the names of a function. Every name has a number; what it stands for now lies at that
// number.
type scope struct {
	numbers map[string]int32 // where there are many
	texts   []string         // by number
	now     []binding
	set     []bool
	log     []undo // of the blocks that are open
	blocksN int    // how many are open
	bound   list[binding]
	changes list[change]
	place   []int32 // reused, by number: where in a list of changes, from 1

	outer   *scope // of a forked function: the function around
	capture []capture
	ids     int // values made
}

type undo struct {
	number int32
	was    binding
	set    bool
}

// change is a name a block bound, with its last binding and what it was before.
type change struct {
	number int32
	b      binding
	before binding
	had    bool // it was bound before
}

// capture is a name of the function around that a forked function uses.
type capture struct {
	param *program.Value
	from  program.Arg
}

func (s *scope) reset() {
	clear(s.numbers)
	s.texts, s.now, s.set, s.log, s.place = s.texts[:0], s.now[:0], s.set[:0], s.log[:0], s.place[:0]
	s.bound.stack, s.changes.stack = s.bound.stack[:0], s.changes.stack[:0]
	s.blocksN, s.ids, s.outer, s.capture = 0, 0, nil, nil
}

// manyNames is from how many on a map finds names faster.
const manyNames = 16

// find is the number of a name that has one.
func (s *scope) find(name string) (int32, bool) {
	if len(s.texts) < manyNames {
		for i, t := range s.texts {
			if t == name {
				return int32(i), true
			}
		}
		return 0, false
	}
	n, ok := s.numbers[name]
	return n, ok
}

// number is the number of a name.
func (s *scope) number(name string) int32 {
	if n, ok := s.find(name); ok {
		return n
	}
	n := int32(len(s.texts))
	if n+1 >= manyNames {
		if s.numbers == nil {
			s.numbers = map[string]int32{}
		}
		if n+1 == manyNames {
			for i, t := range s.texts {
				s.numbers[t] = int32(i)
			}
		}
		s.numbers[name] = n
	}
	s.texts = append(s.texts, name)
	s.now = append(s.now, binding{})
	s.set = append(s.set, false)
	s.place = append(s.place, 0)
	return n
}

// define binds a name.
func (s *scope) define(name string, b binding) { s.defineNumber(s.number(name), b) }

func (s *scope) defineNumber(n int32, b binding) {
	if s.blocksN > 0 {
		s.log = append(s.log, undo{n, s.now[n], s.set[n]})
	}
	s.now[n], s.set[n] = b, true
}

// lookup is what a name stands for.
func (s *scope) lookup(name string) (binding, bool) {
	if n, ok := s.find(name); ok && s.set[n] {
		return s.now[n], true
	}
	if s.outer == nil {
		return binding{}, false
	}
	b, ok := s.outer.lookup(name)
	if !ok {
		return b, false
	}
	if b.arg.Value != nil {
		from := b.arg
		v := &program.Value{ID: s.ids, Name: name, Type: from.Value.Type}
		s.ids++
		s.capture = append(s.capture, capture{v, from})
		b = binding{arg: program.Arg{Value: v}}
	}
	// bound outside of any block, whichever block asks first
	n := s.number(name)
	s.now[n], s.set[n] = b, true
	return b, true
}

// openBlock begins a block and returns what closeBlock needs.
func (s *scope) openBlock() int {
	s.blocksN++
	return len(s.log)
}

// closeBlock undoes the bindings of a block and pushes them, in order of first binding, to changes.
func (s *scope) closeBlock(mark int) {
	s.blocksN--
	from := s.changes.mark()
	for _, u := range s.log[mark:] {
		if s.place[u.number] != 0 {
			continue
		}
		s.changes.push(change{number: u.number, b: s.now[u.number], before: u.was, had: u.set})
		s.place[u.number] = int32(s.changes.mark() - from)
	}
	for i := len(s.log) - 1; i >= mark; i-- {
		u := s.log[i]
		s.now[u.number], s.set[u.number] = u.was, u.set
		s.place[u.number] = 0
	}
	s.log = s.log[:mark]
}

// enterFunction begins a forked function: names are its own, those around are found through outer.
func (l *lowerer) enterFunction() *scope {
	outer := l.scope
	l.scope = scope{outer: &outer}
	return &outer
}

// leaveFunction ends it and says how many values it has and what it captured.
func (l *lowerer) leaveFunction(outer *scope) (ids int, captured []capture) {
	ids, captured = l.scope.ids, l.scope.capture
	l.scope = *outer
	return ids, captured
}
