package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// longest is a second account of the same run, in which some values live longer: the births are the run's own, and only deaths come later. A holder that
// the run's account has lost and this one still has is counted beside the others (Heap.HoldLonger). What is so held is the storages that the value
// had then, so a container that is written meanwhile, and an object of the program's own, make the account unknown.
type longest struct {
	told    bool    // by the driver
	lost    bool    // and cannot be told
	holders []int32 // by storage, beside the run's own
	frees   []laterFree
}

// laterFree is a free of the second account alone: it comes before the run's event at, and in place of the storage's own.
type laterFree struct {
	at int
	trace.Event
}

// TellLongest says that the driver tells which values live longer.
func (h *Heap) TellLongest() { h.longest.told = true }

// LoseLongest says that the driver cannot tell it of some value.
func (h *Heap) LoseLongest() { h.longest.lost = true }

// HoldLonger counts a holder of v that only the account of the longest lives has.
func (h *Heap) HoldLonger(v any) { h.longer(v, 1) }

// DropLonger counts one of them less.
func (h *Heap) DropLonger(v any) { h.longer(v, -1) }

func (h *Heap) longer(v any, by int32) {
	switch v := v.(type) {
	case *tensor.Tensor:
		h.storageLonger(v.Storage, by)
	case *ops.List:
		h.itemsLonger(v.Items, by)
	case *ops.Tuple:
		h.itemsLonger(v.Items, by)
	case *ops.Dict:
		h.itemsLonger(v.Keys, by)
		h.itemsLonger(v.Values, by)
	case Shared:
		h.LoseLongest()
	}
}

func (h *Heap) itemsLonger(items []any, by int32) {
	for _, v := range items {
		h.longer(v, by)
	}
}

func (h *Heap) storageLonger(s *tensor.Storage, by int32) {
	if s.ID < 0 {
		return
	}
	l := &h.longest
	if n := len(h.holders); len(l.holders) < n {
		l.holders = append(l.holders, make([]int32, n-len(l.holders))...)
	}
	if l.holders[s.ID] += by; l.holders[s.ID] == 0 && h.live[s.ID] == nil && eventful(s) {
		e := trace.Event{Action: trace.FreeRequested, Storage: s.ID, Bytes: s.NBytes, Pass: h.sites.pass, Site: h.births[s.ID]}
		l.frees = append(l.frees, laterFree{len(h.events), e})
	}
}

// move gives the holders of a storage to the one that takes its place.
func (l *longest) move(from, to tensor.StorageID) {
	if int(from) >= len(l.holders) || l.holders[from] == 0 {
		return
	}
	l.holders = append(l.holders, make([]int32, int(to)+1-len(l.holders))...)
	l.holders[to], l.holders[from] = l.holders[from], 0
}

// held is the account of the longest lives beside that of the run, nil where this run does not tell it: when a loop settles may depend on what is held.
func (m *Machine) held(run *trace.Trace) *trace.Trace {
	l := &m.longest
	if !l.told || l.lost || m.changes.written || m.bounded || m.unsettled > 0 {
		return nil
	}
	if slices.ContainsFunc(l.holders, func(n int32) bool { return n != 0 }) {
		return nil // a pass lets go of all that it holds: the driver lost count
	}
	later := make([]bool, run.Storages())
	for i := range l.frees {
		later[l.frees[i].Storage] = true
	}
	out := *run
	out.Events = make([]trace.Event, 0, len(run.Events))
	frees := l.frees
	for i := range run.Events {
		for ; len(frees) > 0 && frees[0].at == i; frees = frees[1:] {
			if !m.own.keeps(&frees[0].Event) {
				out.Events = append(out.Events, frees[0].Event)
			}
		}
		if e := &run.Events[i]; e.Action != trace.FreeRequested || !later[e.Storage] && !m.own.keeps(e) {
			out.Events = append(out.Events, *e)
		}
	}
	for i := range frees {
		if !m.own.keeps(&frees[i].Event) {
			out.Events = append(out.Events, frees[i].Event)
		}
	}
	return &out
}
