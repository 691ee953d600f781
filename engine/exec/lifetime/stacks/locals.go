package stacks

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/exec/lifetime"
)

// local is a local of a call, name is "" where that is not known.
type local struct {
	name  string
	value int // what it holds, -1 for nothing
	first int // the first value that it held
	named int // the last one that a name is known of, plus one; 0 for none
}

// scope is what the locals of a call hold while its statements are gone through.
type scope struct {
	t     *function
	call  *call
	of    map[int]*local // by value
	named map[string]*local
	ends  []end
	times map[int]int // by line: how often it is bound on, 0 behind its first time
}

// binding is one statement: what it gives to locals, and what it is the last to use.
type binding struct {
	stmt  *statement
	given []int
	ended []int
}

// follow goes through the statements of a call and finds which local takes each result. Where the
// archive records the name of a result, that is the local. A result without a name takes the local
// of a value that the statement is the last to use. A local that no result takes keeps its value.
func (t *function) follow(c *call, ends []end) []end {
	s := &scope{t: t, call: c, of: map[int]*local{}, named: map[string]*local{}, ends: ends}
	bindings := t.bindings(c)
	if s.times = t.p.times; s.times == nil {
		s.times = map[int]int{}
		t.p.times = s.times
	}
	clear(s.times)
	for _, b := range bindings {
		s.times[b.stmt.line]++
	}
	for _, b := range bindings {
		s.bind(b)
		s.times[b.stmt.line] = 0
	}
	for _, id := range c.locals {
		if l := s.of[id]; l != nil && l.value == id {
			s.ends = append(s.ends, t.frameEnd(id, c, l.first))
		}
	}
	return s.ends
}

// bindings lists the statements of a call that give a local a value or are the last to use one.
func (t *function) bindings(c *call) []*binding {
	var out []*binding
	var at few[*statement, *binding]
	find := func(i int) *binding {
		s := t.at[i].stmt(c.depth)
		b, ok := at.get(s)
		if !ok {
			b = &binding{stmt: s}
			at.set(s, b)
			out = append(out, b)
		}
		return b
	}
	for _, id := range c.locals {
		b := find(t.def[id])
		b.given = append(b.given, id)
		b = find(t.ends[id])
		b.ended = append(b.ended, id)
	}
	for _, id := range c.passing {
		b := find(t.def[id])
		b.given = append(b.given, id)
	}
	for _, b := range out {
		slices.Sort(b.given)
	}
	slices.SortFunc(out, func(x, y *binding) int { return cmp.Compare(x.stmt.last, y.stmt.last) })
	return out
}

// bind goes through a statement. `x = f(x, y)` may be one of its operands again; a new
// name for what is made of three for the last time is none of theirs, as attention's of q, k and v.
func (s *scope) bind(b *binding) {
	t := s.t
	ended := s.goOn(b, s.ended(b))
	var open []int
	for _, id := range b.given { // known names first
		name := t.names[id]
		if name.call != s.call || name.none {
			open = append(open, id)
			continue
		}
		l := s.named[name.text]
		if l == nil {
			l = &local{name: name.text, value: -1, first: id}
			if k := slices.IndexFunc(ended, func(id int) bool { return s.of[id].name == "" }); k >= 0 &&
				len(ended) <= len(b.given)+1 {
				l = s.of[ended[k]]
				l.name = name.text
			}
			s.named[name.text] = l
		}
		s.give(l, id, b.stmt)
		l.named = id + 1
	}
	ended = slices.DeleteFunc(ended, func(id int) bool { return s.of[id].value != id })
	for i, id := range open {
		if i < len(ended) {
			s.give(s.of[ended[i]], id, b.stmt)
		} else {
			s.give(&local{value: -1, first: id}, id, b.stmt)
		}
	}
}

// ended are the values that a statement is the last to use and whose locals its results may take,
// in the order of use. What is made of a value that earlier statements made other things of is
// something else again, and so is what joins several of them into a list, unless the name of one is
// known to be bound again.
func (s *scope) ended(b *binding) []int {
	t := s.t
	var out []int
	for _, id := range b.ended {
		if l := s.of[id]; l != nil && l.value == id && t.at[t.def[id]].stmt(s.call.depth) != b.stmt &&
			!s.branches(id, b.stmt) {
			out = append(out, id)
		}
	}
	slices.SortStableFunc(out, func(x, y int) int { return cmp.Or(s.operand(x, b.stmt)-s.operand(y, b.stmt), x-y) })
	for i := b.stmt.first; i <= b.stmt.last; i++ {
		if t.nodes[i].Op != "prim::ListConstruct" {
			continue
		}
		var joined []int
		for j := range t.nodes[i].Args {
			if v := t.nodes[i].Args[j].Value; v != nil && slices.Contains(out, v.ID) {
				joined = append(joined, v.ID)
			}
		}
		if len(joined) > 1 {
			out = slices.DeleteFunc(out, func(id int) bool { return slices.Contains(joined, id) && !s.boundAgain(id) })
		}
	}
	return out
}

// goOn are those of ended whose locals a statement's results may take. What softmax gives is no
// longer scores, and what a loop begins with may have a name beside the one that goes from round to
// round: neither takes over a local without a name, softmax none whose name is not bound again.
func (s *scope) goOn(b *binding, ended []int) []int {
	if s.times[b.stmt.line] > 1 {
		ended = slices.DeleteFunc(ended, func(id int) bool { return s.of[id].name == "" })
	}
	if slices.ContainsFunc(b.given, func(id int) bool { return s.t.nodes[s.t.def[id]].Op == "aten::softmax" }) {
		ended = slices.DeleteFunc(ended, func(id int) bool { return !s.boundLater(s.of[id]) })
	}
	return ended
}

// boundLater says whether the name of a local is known of a value that it has not held yet.
func (s *scope) boundLater(l *local) bool { return l.named > 0 && s.t.next[l.named-1] > 0 }

// boundAgain says whether the name of a value is one that the call is known to bind more than once.
func (s *scope) boundAgain(id int) bool {
	n := s.t.names[id]
	return n.call == s.call && !n.none && s.t.next[s.t.first[id]-1] > 0
}

// operand is where a statement's first user takes a value.
func (s *scope) operand(id int, stmt *statement) int {
	for _, u := range s.t.uses[id] {
		if u < stmt.first {
			continue
		}
		for j := range s.t.nodes[u].Args {
			if v := s.t.nodes[u].Args[j].Value; v != nil && v.ID == id {
				return u<<8 + j
			}
		}
	}
	return 0
}

// branches says whether an earlier statement made of a value something that outlives stmt.
func (s *scope) branches(id int, stmt *statement) bool {
	t := s.t
	for _, u := range t.uses[id] {
		if u >= stmt.first {
			continue
		}
		e := t.at[u].stmt(s.call.depth)
		for w, l := range s.of {
			if w != id && l != s.of[id] && l.value >= 0 && t.at[t.def[w]].stmt(s.call.depth) == e &&
				t.ends[l.value] > stmt.last {
				return true
			}
		}
	}
	return false
}

// give binds l to a result of statement s: what it held goes when that ends, unless something else
// holds it.
func (s *scope) give(l *local, id int, stmt *statement) {
	t := s.t
	if old := l.value; old >= 0 && !slices.Contains(s.call.passing, old) {
		switch {
		case t.ends[old] > stmt.last:
			s.ends = append(s.ends, t.frameEnd(old, s.call, id))
		case stmt.last >= s.call.last: // `return f(x)` binds nothing
			s.ends = append(s.ends, t.frameEnd(old, s.call, l.first))
		default:
			s.ends = append(s.ends, end{node: stmt.last, value: old, depth: s.call.depth, key: old,
				why: lifetime.Rebound})
		}
	}
	l.value = id
	s.of[id] = l
}
