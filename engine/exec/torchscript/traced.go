package torchscript

import (
	"slices"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// followStacks gives a traced function the live ranges that its stacks record, or, where every
// local that Python might still hold is to be held, the longest ones. An error of theirs is that
// the function has no graph, which c has.
func (m *compiler) followStacks(c *code, self *program.Object, e ends) {
	if e != heldNames {
		ranges, _ := m.stacks.Ranges(c.fn, self)
		m.replace(c, ranges)
	} else if held, _ := m.stacks.Most(c.fn, self); held != nil {
		m.replace(c, held.Ranges)
		c.until = held.Until
	}
}

// replace puts ranges in the place of those that the last uses gave their values.
func (m *compiler) replace(c *code, ranges []lifetime.Range) {
	c.fromStacks = ranges
	known, escapes := make([]bool, c.graph.NumValues), 0
	for i := range ranges {
		known[ranges[i].Value.ID] = true
		if ranges[i].End == lifetime.Escapes {
			escapes++
		}
	}
	c.escapes = make([]int, 0, escapes)
	insts := m.layout.byNumber(c.count)
	for i := range c.body.insts {
		in := &c.body.insts[i]
		insts[in.num] = in
		for j := range in.node.Args {
			if v := in.node.Args[j].Value; v != nil && known[v.ID] {
				in.move[j] = false
			}
		}
		in.drop = slices.DeleteFunc(in.drop, func(id int) bool { return known[id] })
	}
	for i := range ranges {
		r := &ranges[i]
		if r.End == lifetime.Escapes {
			c.escapes = append(c.escapes, r.Value.ID)
			continue
		}
		in := insts[r.To]
		if in.drop == nil {
			in.drop = make([]int, 0, 2)
		}
		in.drop = append(in.drop, r.Value.ID)
	}
}

// leftover is what a call left and its caller might hold: until a node of the caller's, or on to
// the caller's own caller.
type leftover struct {
	value any
	until int
}

// handOn gives what f's call leaves to its caller, or releases it where that holds nothing so.
func (m *interp) handOn(f *frame) {
	caller := f.parent
	if caller == nil || caller.code.until == nil {
		for _, l := range f.leftovers {
			m.Drop(l.value)
		}
		return
	}
	until := caller.code.until[caller.line.num]
	for _, l := range f.leftovers {
		caller.leftovers = append(caller.leftovers, leftover{l.value, until})
	}
	for _, id := range f.code.escapes {
		if f.set[id] {
			caller.leftovers = append(caller.leftovers, leftover{f.regs[id], until})
			f.regs[id], f.set[id] = nil, false
		}
	}
}

// dropLeftovers releases what calls left and nothing can hold after instruction num.
func (m *interp) dropLeftovers(f *frame, num int32) {
	f.leftovers = slices.DeleteFunc(f.leftovers, func(l leftover) bool {
		if l.until != int(num) {
			return false
		}
		m.Drop(l.value)
		return true
	})
}
