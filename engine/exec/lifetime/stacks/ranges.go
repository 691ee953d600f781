package stacks

import (
	"cmp"
	"math"
	"slices"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// The fifth step: live ranges. A value used within its own statement is a temporary and goes when
// its user is done. One used later was a local (locals.go), or a list held it (containers.go).

// end is a value's end: the node after which it goes, and its place among those that go there.
type end struct {
	node, value int
	depth       int  // of the call whose statement ends; operands go first of all
	frame       bool // the call itself ends
	key, sub    int
	why         lifetime.Why
	escapes     bool // beyond the function
}

// operand stands for the depth of what an operator releases: deeper than any call.
const operand = math.MaxInt32

// ranges finds the live ranges.
func (t *function) ranges() []lifetime.Range {
	t.forgetCalls()
	ends := t.p.ends[:0]
	var homes []*call
	grow := t.growingLists()
	lists := t.findContainers()
	member := map[int]bool{} // of a list, except the first
	for _, ids := range lists {
		for _, id := range ids[1:] {
			member[id] = true
		}
	}
	for _, n := range t.nodes {
		for _, v := range n.Outs {
			if len(t.uses[v.ID]) == 0 {
				continue
			}
			if t.number[v.ID] != notNumber {
				ends = append(ends, end{node: t.ends[v.ID], value: v.ID, depth: operand, why: lifetime.Number})
				continue
			}
			t.passes(v.ID)
			if member[v.ID] {
				continue
			}
			e, home := t.end(v.ID)
			if l, ok := grow[v.ID]; ok && (home != nil || e.node < l.call.last) {
				e, home = t.frameEnd(v.ID, l.call, v.ID), nil
				e.key, e.sub, e.why = l.first, -v.ID, lifetime.Contained
				if l.named {
					e.sub = 1
				}
			}
			if home == nil {
				ends = append(ends, e)
				continue
			}
			if home.locals == nil {
				homes = append(homes, home)
			}
			home.locals = append(home.locals, v.ID)
		}
	}
	for _, c := range homes {
		ends = t.follow(c, ends)
	}
	for _, e := range ends {
		for i, id := range lists[e.value] {
			if i > 0 {
				e.value, e.sub = id, -i // a list releases its last member first
				ends = append(ends, e)
			}
		}
	}
	return t.inOrder(ends)
}

// forgetCalls makes the work of an earlier reading undone.
func (t *function) forgetCalls() {
	for i := range t.at {
		for _, c := range t.at[i].calls {
			c.locals, c.passing = nil, nil
		}
	}
}

// inOrder puts ends in the order of release: by node; there operands first, then what an inner
// statement's end releases before what an outer one's does, then what goes with a call.
func (t *function) inOrder(ends []end) []lifetime.Range {
	slices.SortStableFunc(ends, func(a, b end) int {
		if c := cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(b.depth, a.depth)); c != 0 {
			return c
		}
		if a.frame != b.frame {
			if a.frame {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.sub, b.sub))
	})
	t.p.ends = ends
	out := make([]lifetime.Range, len(ends))
	for i, e := range ends {
		out[i] = lifetime.Range{Value: t.value(e.value), From: t.num[t.def[e.value]], To: t.num[e.node],
			End: lifetime.After, Why: e.why}
		if e.escapes {
			out[i].End = lifetime.Escapes
		}
		if n := &t.names[e.value]; n.known() {
			out[i].Local = n.text
		}
	}
	return out
}

// value is the value of a number that a node makes.
func (t *function) value(id int) *program.Value {
	outs := t.nodes[t.def[id]].Outs
	return outs[slices.IndexFunc(outs, func(v *program.Value) bool { return v.ID == id })]
}

// passes notes the calls that give a value to their callers.
func (t *function) passes(id int) {
	def := &t.at[t.def[id]]
	for d := t.shared(id) + 1; d < len(def.calls); d++ {
		def.calls[d].passing = append(def.calls[d].passing, id)
	}
}

// shared is the depth of the innermost call in which a value is made and used, -1 for none.
func (t *function) shared(id int) int {
	depth := len(t.at[t.def[id]].calls) - 1
	for _, u := range t.uses[id] {
		depth = min(depth, common(&t.at[t.def[id]], &t.at[u]))
	}
	return depth
}

// end finds when a value goes, or the call whose local it is.
func (t *function) end(id int) (end, *call) {
	def, last, depth := t.def[id], t.ends[id], t.shared(id)
	if depth < 0 {
		return end{node: last, value: id, depth: operand, why: lifetime.LastUsed}, nil
	}
	if t.at[def].stmt(depth) == t.at[last].stmt(depth) {
		return t.temporary(id, depth), nil
	}
	return end{}, t.at[def].calls[depth]
}

// temporary is the end of a value that nothing but its user holds: an operator, or a parameter of
// the function it went into.
func (t *function) temporary(id, depth int) end {
	last := t.ends[id]
	p := &t.at[last]
	if len(p.calls) == depth+1 {
		return end{node: last, value: id, depth: operand, key: id, why: lifetime.Temporary}
	}
	callee := p.calls[depth+1]
	if n := t.names[id]; n.call == callee && !n.none {
		if e, ok := t.rebound(id); ok {
			return e
		}
	}
	e := t.frameEnd(id, callee, id)
	e.why = lifetime.Passed
	return e
}

// rebound finds the statement that binds the name of a value anew.
func (t *function) rebound(id int) (end, bool) {
	name := t.names[id]
	for w := t.first[id] - 1; w >= 0; w = t.next[w] - 1 {
		if t.def[w] <= t.def[id] || !t.at[t.def[w]].in(name.call) {
			continue
		}
		last := t.at[t.def[w]].stmt(name.call.depth).last
		return end{node: max(last, t.ends[id]), value: id, depth: name.call.depth, key: id, why: lifetime.Rebound}, true
	}
	return end{}, false
}

// frameEnd is the end of call c, for a local that value first appeared with: locals go in the order
// of their first appearance.
func (t *function) frameEnd(id int, c *call, first int) end {
	last := c.last
	if c.depth == 0 {
		last = len(t.nodes) - 1
	}
	return end{node: last, value: id, depth: c.depth, frame: true, key: first, why: lifetime.FrameEnd}
}
