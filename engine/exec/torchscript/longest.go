package torchscript

import (
	"slices"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/lifetime/stacks"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// A run may tell two accounts: a value goes as the archive tells, and in the account of the longest lives it is held on, as a run of the function's
// code asHeld would hold it. What is held on is no longer in a register, but on the stacks of heldOn.

// sameEnd is code.later of a value that goes at once in both accounts; others are the number of the instruction after which it goes, plus one, or stays.
const (
	sameEnd = 0
	stays   = -1 // to the end of the call, and then its caller may hold it
)

// heldOn are the values that only the account of the longest lives holds: those of a call lie above those of its caller.
type heldOn struct {
	until []leftover // an instruction of the call
	stay  []leftover
}

// heldMark is where a call's own begin.
type heldMark struct{ until, stay int }

func (h *heldOn) mark() heldMark { return heldMark{len(h.until), len(h.stay)} }

// followLongest gives a function that was just laid out the later ends that its values have as ranges tell.
func (m *compiler) followLongest(c *code, ranges []lifetime.Range) {
	c.later = m.numbers.Cut(c.graph.NumValues)
	insts := m.layout.insts[:c.count]
	ends := slices.Repeat([]int32{int32(c.count)}, c.graph.NumValues) // with the call
	for _, in := range insts {
		for j, move := range in.move {
			if move {
				ends[in.node.Args[j].Value.ID] = in.num
			}
		}
		for _, id := range in.drop {
			ends[id] = in.num
		}
	}
	for i := range ranges {
		id, to := ranges[i].Value.ID, int32(ranges[i].To)
		switch end := ends[id]; {
		case ranges[i].End == lifetime.Escapes:
			c.later[id] = stays
		case to > end:
			c.later[id] = to + 1
		case to < end && slices.ContainsFunc(insts[to+1:min(end+1, int32(c.count))], mayAllocate):
			c.sooner = true
		}
	}
}

// mayAllocate says whether it matters that a value goes before an instruction and not after.
func mayAllocate(in *inst) bool { return in.node.Op != "prim::Return" }

// holdOn keeps a value that leaves its register for the account of the longest lives.
func (m *interp) holdOn(v any, until int32) {
	switch v := v.(type) {
	case *tensor.Tensor, *ops.List, *ops.Tuple, *ops.Dict:
	case *Object:
		if v.lit != nil {
			return // the model's own stay
		}
	default:
		return
	}
	m.HoldLonger(v)
	if until == stays {
		m.held.stay = append(m.held.stay, leftover{v, stacks.Stays})
	} else {
		m.held.until = append(m.held.until, leftover{v, int(until) - 1})
	}
}

// dropHeldOn lets go of what is held no longer than to instruction num of f.
func (m *interp) dropHeldOn(f *frame, num int32) {
	keep := f.held.until
	for i := keep; i < len(m.held.until); i++ {
		if l := m.held.until[i]; l.until == int(num) {
			m.DropLonger(l.value)
		} else {
			m.held.until[keep] = l
			keep++
		}
	}
	m.held.until = m.held.until[:keep]
}

// handHeldOn ends a call: what may be held beyond it its caller holds on.
func (m *interp) handHeldOn(f *frame) {
	for _, l := range m.held.until[f.held.until:] {
		m.DropLonger(l.value)
	}
	m.held.until = m.held.until[:f.held.until]
	caller := f.parent
	holds := caller != nil && caller.code.until != nil
	if holds {
		until := caller.code.until[caller.line.num]
		if until == stacks.Stays {
			return
		}
		for _, l := range m.held.stay[f.held.stay:] {
			m.held.until = append(m.held.until, leftover{l.value, until})
		}
	} else {
		for _, l := range m.held.stay[f.held.stay:] {
			m.DropLonger(l.value)
		}
	}
	m.held.stay = m.held.stay[:f.held.stay]
}

// followBoth gives a function the live ranges that its archive tells, and to what they might be longer.
func (m *compiler) followBoth(c *code, self *program.Object) error {
	if m.prog.Tells == program.TellsNothing {
		m.followLongest(c, lifetime.ToEnd(c.graph))
		return nil
	}
	if err := m.followStacks(c, self, asTold); err != nil {
		return err
	}
	held, err := m.stacks.Most(c.fn, self)
	if held != nil {
		m.followLongest(c, held.Ranges)
		c.until = held.Until
	}
	return err
}
