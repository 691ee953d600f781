package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// A pass does again what the one before did, on new storages, where that one left attributes, containers and tensors as it found them. Then it
// need not be run: its events are those of the pass before, less what libraries keep. TestRepeat holds it against passes that are run.

// passMark is how far the account had come when a pass began.
type passMark struct {
	events, upper, sources       int
	steps, decisions, unsettled  int
	written                      int
	nodes, outputs, dtype, sized int
}

func (m *machine) mark() passMark {
	c := &m.tr.Coverage
	return passMark{
		events: len(m.tr.Events), upper: len(m.tr.Upper), sources: len(m.tr.Sources),
		steps: m.steps, decisions: m.decisions, unsettled: m.unsettledRounds, written: len(m.written),
		nodes: c.Nodes, outputs: c.TensorOutputs, dtype: c.KnownDType, sized: c.Sized,
	}
}

// startPass begins to note what a pass changes of what was there before it.
func (m *machine) startPass() passMark {
	m.old, m.changed, m.touched, m.once = tensor.StorageID(len(m.refs)), false, m.touched[:0], m.once[:0]
	return m.mark()
}

// isOld says whether a storage was there before the pass.
func (m *machine) isOld(s *tensor.Storage) bool { return s.ID < m.old }

// touch notes a container that is written.
func (m *machine) touch(v any) {
	if n := len(m.touched); n == 0 || m.touched[n-1] != v {
		m.touched = append(m.touched, v)
	}
}

// touchAll notes the containers among the arguments of an operator that writes some.
func (m *machine) touchAll(args []any) {
	for _, v := range args {
		switch v.(type) {
		case *ops.List, *ops.Dict:
			m.touch(v)
		}
	}
}

// repeat makes the account of another pass from that of the pass between two marks, and says whether it would go the same way. Nothing may
// follow that looks at the values of the pass.
func (m *machine) repeat(from, to passMark) bool {
	made := tensor.StorageID(len(m.refs)) - m.old
	switch {
	case m.o.everyPass, m.changed, from.decisions != to.decisions, from.unsettled != to.unsettled, len(m.tr.Coverage.Unsupported) > 0,
		m.atMost, // loops go by that
		2*to.steps-from.steps > m.o.MaxSteps, len(m.refs)+int(made) > maxStorages:
		return false
	}
	for _, o := range m.written[from.written:] {
		if o.lit != nil {
			return false
		}
	}
	if len(m.touched) > 0 && m.touchedOld() {
		return false
	}
	events := m.tr.Events[from.events:to.events]
	for i := range events {
		if e := &events[i]; e.Action == trace.FreeRequested && e.Storage < m.old {
			return false
		}
	}
	m.steps += to.steps - from.steps
	c := &m.tr.Coverage
	c.Nodes += to.nodes - from.nodes
	c.TensorOutputs += to.outputs - from.outputs
	c.KnownDType += to.dtype - from.dtype
	c.Sized += to.sized - from.sized
	m.repeatEvents(events, made)
	for _, u := range m.tr.Upper[from.upper:to.upper] {
		if id, again := m.renumber(u.Storage, made); again {
			m.tr.Upper = append(m.tr.Upper, trace.Estimate{Storage: id, Bytes: u.Bytes})
		}
	}
	for _, s := range m.tr.Sources[from.sources:to.sources] {
		if id, again := m.renumber(s.Storage, made); again {
			m.tr.Sources = append(m.tr.Sources, trace.Source{Storage: id, Text: s.Text})
		}
	}
	return true
}

func (m *machine) repeatEvents(events []trace.Event, made tensor.StorageID) {
	m.tr.Events = slices.Grow(m.tr.Events, len(events))
	for _, e := range events {
		if e.Action == trace.EmptyCache {
			continue // after the trials of cudnn.benchmark, which the first pass makes
		}
		id, again := m.renumber(e.Storage, made)
		if !again {
			continue
		}
		e.Storage, e.Pass = id, m.pass
		m.tr.Events = append(m.tr.Events, e)
		if e.Action == trace.Alloc {
			m.bytes += e.Bytes
			m.peak = max(m.peak, m.bytes)
		} else {
			m.bytes -= e.Bytes
		}
	}
}

// renumber is the number that a storage of the pass before has in the next one; again is false for what the first pass alone makes.
func (m *machine) renumber(id, made tensor.StorageID) (_ tensor.StorageID, again bool) {
	before, once := slices.BinarySearch(m.once, id)
	return id + made - tensor.StorageID(before), !once
}

// touchedOld says whether the pass wrote a container that the next one sees too.
func (m *machine) touchedOld() bool {
	touched := make(map[any]bool, len(m.touched))
	for _, v := range m.touched {
		touched[v] = true
	}
	found := false
	var look func(any)
	items := func(vs []any) {
		for _, v := range vs {
			look(v)
		}
	}
	seen := map[any]bool{}
	look = func(v any) {
		switch v.(type) {
		case *ops.List, *ops.Tuple, *ops.Dict:
			if found = found || touched[v]; found || seen[v] {
				return
			}
			seen[v] = true
		}
		switch v := v.(type) {
		case *ops.List:
			items(v.Items)
		case *ops.Tuple:
			items(v.Items)
		case *ops.Dict:
			items(v.Keys)
			items(v.Values)
		}
	}
	items(m.args)
	for _, o := range m.objects {
		items(o.attrs)
	}
	if m.whole != nil {
		constants(m.whole.graph.Body, look)
	}
	return found
}

// constants shows every constant of a block.
func constants(b *program.Block, show func(any)) {
	for _, n := range b.Nodes {
		for i := range n.Args {
			show(n.Args[i].Const)
		}
		for _, sub := range n.Blocks {
			constants(sub, show)
		}
	}
	for i := range b.Outs {
		show(b.Outs[i].Const)
	}
}
