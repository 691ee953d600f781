package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// A pass does again what the one before it did, on new storages, where that one left attributes,
// containers and tensors as it found them. Then it need not be run: its events are those of the
// pass before, less what libraries keep. TestRepeat holds it against passes that are run.

// changes are what a pass does to things that were there before it, and that the next pass will
// find.
type changes struct {
	old     tensor.StorageID   // storages below were there before the pass
	some    bool               // something else than a container changed
	touched []any              // containers that were written
	once    []tensor.StorageID // storages that the pass made and no later one will
}

// start begins to note the changes of a pass; next is the first storage that it will make.
func (c *changes) start(next tensor.StorageID) {
	*c = changes{old: next, touched: c.touched[:0], once: c.once[:0]}
}

// write notes that a storage's tensors, or what is known of their values, change.
func (c *changes) write(s *tensor.Storage) { c.some = c.some || s.ID < c.old }

// touch notes a container that is written.
func (c *changes) touch(v any) {
	if n := len(c.touched); n == 0 || c.touched[n-1] != v {
		c.touched = append(c.touched, v)
	}
}

// touchAll notes the containers among the arguments of an operator that writes some.
func (c *changes) touchAll(args []any) {
	for _, v := range args {
		switch v.(type) {
		case *ops.List, *ops.Dict:
			c.touch(v)
		}
	}
}

// Touch notes that the driver writes a container.
func (d *Dispatch) Touch(container any) { d.changes.touch(container) }

// Alter notes that the driver changes something else that the next pass will find, such as an
// attribute of one of the model's objects.
func (d *Dispatch) Alter() { d.changes.some = true }

// passMark is how far the account had come when a pass began, or ended.
type passMark struct {
	events, upper, sources       int
	steps, decisions, unsettled  int
	nodes, outputs, dtype, sized int
}

func (m *Machine) mark() passMark {
	c := &m.coverage
	return passMark{
		events: len(m.events), upper: len(m.upper), sources: len(m.sources),
		steps: m.steps, decisions: m.sides.met, unsettled: m.unsettled,
		nodes: c.Nodes, outputs: c.TensorOutputs, dtype: c.KnownDType, sized: c.Sized,
	}
}

// repeat makes the account of another pass from that of the pass between two marks, and says
// whether it would go the same way. Nothing may follow that looks at the values of the pass.
func (m *Machine) repeat(from, to passMark) bool {
	made := tensor.StorageID(len(m.holders)) - m.changes.old
	switch {
	case m.o.everyPass, m.changes.some, from.decisions != to.decisions, from.unsettled != to.unsettled, m.Incomplete(),
		m.bounded, // loops go by it
		2*to.steps-from.steps > m.o.MaxSteps, len(m.holders)+int(made) > m.o.maxStorages, m.touchedOld():
		return false
	}
	events := m.events[from.events:to.events]
	for i := range events {
		if e := &events[i]; e.Action == trace.FreeRequested && e.Storage < m.changes.old {
			return false
		}
	}
	m.steps += to.steps - from.steps
	c := &m.coverage
	c.Nodes += to.nodes - from.nodes
	c.TensorOutputs += to.outputs - from.outputs
	c.KnownDType += to.dtype - from.dtype
	c.Sized += to.sized - from.sized
	m.repeatEvents(from, to, made)
	for _, u := range m.upper[from.upper:to.upper] {
		if id, again := m.changes.renumber(u.Storage, made); again {
			m.upper = append(m.upper, trace.Estimate{Storage: id, Bytes: u.Bytes})
		}
	}
	for _, s := range m.sources[from.sources:to.sources] {
		if id, again := m.changes.renumber(s.Storage, made); again {
			m.sources = append(m.sources, trace.Source{Storage: id, Text: s.Text})
		}
	}
	return true
}

// repeatEvents makes the events between two marks again.
func (m *Machine) repeatEvents(from, to passMark, made tensor.StorageID) {
	events := m.events[from.events:to.events]
	m.events = slices.Grow(m.events, len(events))
	for _, e := range events {
		if e.Action == trace.EmptyCache {
			continue // after the trials of cudnn.benchmark, which the first pass makes
		}
		id, again := m.changes.renumber(e.Storage, made)
		if !again {
			continue
		}
		e.Storage, e.Pass = id, m.Sites.pass
		m.events = append(m.events, e)
		if e.Action == trace.Alloc {
			m.bytes += e.Bytes
			m.peak = max(m.peak, m.bytes)
		} else {
			m.bytes -= e.Bytes
		}
	}
}

// renumber is the number that a storage of the pass has in the next one; again is false for what
// this pass alone makes.
func (c *changes) renumber(id, made tensor.StorageID) (_ tensor.StorageID, again bool) {
	before, once := slices.BinarySearch(c.once, id)
	return id + made - tensor.StorageID(before), !once
}

// touchedOld says whether the pass wrote a container that the next one will find: in an argument,
// or in what the driver keeps.
func (m *Machine) touchedOld() bool {
	if len(m.changes.touched) == 0 {
		return false
	}
	touched := make(map[any]bool, len(m.changes.touched))
	for _, v := range m.changes.touched {
		touched[v] = true
	}
	found := false
	seen := map[any]bool{}
	var look func(any)
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
			each(v.Items, look)
		case *ops.Tuple:
			each(v.Items, look)
		case *ops.Dict:
			each(v.Keys, look)
			each(v.Values, look)
		}
	}
	each(m.args, look)
	m.driver.Kept(look)
	return found
}

func each(items []any, f func(any)) {
	for _, v := range items {
		f(v)
	}
}
