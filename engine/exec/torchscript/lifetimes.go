package torchscript

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// Watch is New, and lifetimes reports after a run the live ranges of every function that it made
// ready, sorted by name: by them it released values. Where a branch was run both sides, they are
// the last run's.
func Watch(p *program.Program) (start exec.Start, lifetimes func() []lifetime.Func) {
	var last *interp
	start = func(m *exec.Machine) (exec.Driver, error) {
		d, err := New(p)(m)
		last, _ = d.(*interp)
		return d, err
	}
	return start, func() []lifetime.Func {
		if last == nil {
			return nil
		}
		return last.lifetimes()
	}
}

func (m *interp) lifetimes() []lifetime.Func {
	codes := make([]*code, 0, len(m.codes)+1)
	for _, c := range m.codes {
		codes = append(codes, c)
	}
	if m.whole != nil {
		codes = append(codes, m.whole)
	}
	slices.SortFunc(codes, func(a, b *code) int {
		return cmp.Or(strings.Compare(a.fn.Name, b.fn.Name), strings.Compare(a.fn.Record, b.fn.Record),
			cmp.Compare(a.fn.Line, b.fn.Line))
	})
	out := make([]lifetime.Func, len(codes))
	for i, c := range codes {
		out[i] = lifetime.Func{Func: c.fn, Graph: c.graph, Ranges: c.ranges()}
	}
	return out
}

// ranges reads the live ranges back from the instructions.
func (c *code) ranges() []lifetime.Range {
	r := &rangeReader{code: c, made: make([]maker, c.graph.NumValues), known: map[int]*lifetime.Range{}}
	for i := range c.fromStacks {
		r.known[c.fromStacks[i].Value.ID] = &c.fromStacks[i]
	}
	for _, v := range c.graph.Params {
		r.make(v, lifetime.Param)
	}
	r.entry(c.body, lifetime.Param, 0)
	r.block(c.body, lifetime.Param)
	for _, id := range c.escapes {
		r.end(id, lifetime.Range{To: c.count - 1, End: lifetime.Escapes})
	}
	return r.out
}

type maker struct {
	value *program.Value
	node  int
}

type rangeReader struct {
	*code
	made  []maker // by value
	known map[int]*lifetime.Range
	out   []lifetime.Range
}

func (r *rangeReader) make(v *program.Value, node int) {
	r.made[v.ID] = maker{v, node}
	if r.names == nil {
		return
	}
	for _, local := range r.names.Bound(v.ID) {
		r.out = append(r.out, lifetime.Range{Value: v, From: node, To: node, End: lifetime.Open, Why: lifetime.Bound,
			Local: local})
	}
}

// end notes that a value ends so.
func (r *rangeReader) end(id int, e lifetime.Range) {
	e.Value, e.From = r.made[id].value, r.made[id].node
	switch known := r.known[id]; {
	case known != nil:
		e.Why, e.Local = known.Why, known.Local
	case e.End == lifetime.AtEntry || e.End == lifetime.After && e.To == e.From:
		e.Why = lifetime.Unused
	}
	r.out = append(r.out, e)
}

// entry is what goes as a block of node to is entered.
func (r *rangeReader) entry(b *block, to, number int) {
	for _, id := range b.dead {
		r.end(id, lifetime.Range{To: to, End: lifetime.AtEntry, Arg: number})
	}
}

// block reads a block of node owner.
func (r *rangeReader) block(b *block, owner int) {
	for i := range b.insts {
		in := &b.insts[i]
		at := int(in.num)
		for _, v := range in.node.Outs {
			r.make(v, at)
		}
		for j, move := range in.move {
			if move {
				r.end(in.node.Args[j].Value.ID, lifetime.Range{To: at, End: lifetime.AsArgument, Arg: j})
			}
		}
		for k, sub := range in.blocks {
			for _, v := range sub.src.Params {
				r.make(v, at)
			}
			r.entry(sub, at, k)
			r.block(sub, at)
		}
		for _, id := range in.drop {
			r.end(id, lifetime.Range{To: at, End: lifetime.After})
		}
	}
	for i := range b.src.Outs {
		if v := b.src.Outs[i].Value; v != nil && r.local(v, b) {
			r.end(v.ID, lifetime.Range{To: owner, End: lifetime.BlockOut})
		}
	}
}
