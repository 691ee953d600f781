package allocator

import (
	"fmt"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Timeline is a trace replayed: when each figure was highest, and what every storage took. It keeps
// no copy of the figures at every event; At and Each replay again.
type Timeline struct {
	Trace    *trace.Trace
	Peaks    Peaks       // over everything
	Passes   []Span      // one a pass, in order; Passes[0] is often the loading, pass 0
	Phases   []Span      // one a phase of a pass, in order
	Storages []Storage   // by StorageID
	End      Stats       // after the last event replayed
	Idle     units.Bytes // reserved and free while the reserved peak lasts, when that is least
	OOM      *OOM        // the allocation at which the replay ended, or nil

	first Allocator // as it was before the first event
}

// Peaks are the largest values of some figures. They need not be reached at one moment.
type Peaks struct{ Requested, Allocated, Active, Reserved Peak }

// Upper is a run with every allocation of estimated size at the upper bound.
type Upper struct {
	Peaks
	OOM *OOMError // the allocation at which that run ended, or nil
}

// Peak is the largest value of a figure and the first event after which it held; Before is before
// any.
type Peak struct {
	Bytes units.Bytes
	Event int
}

// Before is the event of what held before the first one.
const Before = -1

// Span is a stretch of events.
type Span struct {
	Pass        int
	Phase       trace.Phase // of Phases
	First, Last int         // events, both included
	Start, End  Stats       // before the first and after the last
	Peaks       Peaks       // counting what was there at the start, as PyTorch does after reset_peak_memory_stats
}

// Storage is what one storage took.
type Storage struct {
	Alloc, Free int         // events; Before where it was there at the start, Never where it stays or never was
	Addr        Addr        // 0 for none
	Requested   units.Bytes // asked for
	Size        units.Bytes // of its block
	Stream      int
}

// Never is the event of what did not happen.
const Never = int(^uint(0) >> 1)

// Live says whether the storage is held after an event.
func (s *Storage) Live(event int) bool { return s.Alloc <= event && event < s.Free }

// OOM is an allocation that did not fit. Running out of memory is a result, not an error.
type OOM struct {
	Event int
	*OOMError
}

// firstPhase is the phase in which a pass begins with the event: that of its first allocation which
// says of its place. What it frees before is of the pass before, and reported by the place where it
// was made.
func firstPhase(tr *trace.Trace, i int, before trace.Phase) trace.Phase {
	for pass := tr.Events[i].Pass; i < len(tr.Events) && tr.Events[i].Pass == pass; i++ {
		if e := &tr.Events[i]; e.Action == trace.Alloc && e.Site >= 0 && int(e.Site) < len(tr.Sites) {
			return tr.Sites[e.Site].Phase
		}
	}
	return before
}

// Replay takes every event of a trace through an allocator, which it may no longer be used after.
// Recorded segments are passed over: segments are the allocator's. The error says that the trace
// contradicts itself.
func Replay(tr *trace.Trace, a Allocator) (*Timeline, error) {
	r := newReplayer(tr, a)
	start := a.Stats()
	tl := &Timeline{Trace: tr, first: a.Fresh(), Idle: start.Inactive()}
	tl.Peaks.begin(&start)
	phase := trace.Load
	var begun bool
	for i := range tr.Events {
		e := &tr.Events[i]
		if i == 0 || e.Pass != tr.Events[i-1].Pass {
			begun, phase = false, firstPhase(tr, i, phase)
		}
		begun = begun || e.Action == trace.Alloc
		if begun && e.Site >= 0 && int(e.Site) < len(tr.Sites) {
			phase = tr.Sites[e.Site].Phase
		}
		enter(&tl.Passes, i, e.Pass, 0, &start)
		enter(&tl.Phases, i, e.Pass, phase, &start)
		oom, err := r.step(i)
		if err != nil {
			return nil, err
		}
		st := a.Stats()
		if e.Action == trace.Alloc && oom == nil { // only then can a peak be passed
			if st.Reserved > tl.Peaks.Reserved.Bytes {
				tl.Idle = maxBytes
			}
			r.storages[e.Storage].Size = st.Allocated - start.Allocated
			tl.Peaks.raise(&st, i)
			tl.Passes[len(tl.Passes)-1].Peaks.raise(&st, i)
			tl.Phases[len(tl.Phases)-1].Peaks.raise(&st, i)
		}
		if st.Reserved == tl.Peaks.Reserved.Bytes {
			tl.Idle = min(tl.Idle, st.Inactive())
		}
		start = st
		if oom != nil {
			tl.OOM = &OOM{i, oom}
			break
		}
	}
	tl.End = start
	for _, spans := range [][]Span{tl.Passes, tl.Phases} {
		if n := len(spans); n > 0 {
			spans[n-1].End = start
		}
	}
	tl.Storages = r.storages
	return tl, nil
}

// ReplayUpper takes every event of a trace that Replay took through an allocator, every allocation
// of estimated size at the upper bound, and returns the peaks, up to where memory runs out.
func ReplayUpper(tr *trace.Trace, a Allocator) (*Upper, error) {
	r := newReplayer(tr, a)
	r.most = make([]units.Bytes, len(r.storages))
	for _, u := range tr.Upper {
		if u.Storage < 0 || int(u.Storage) >= len(r.most) {
			return nil, fmt.Errorf("estimate of storage %d: got no such storage, want one from 0 to %d", u.Storage,
				len(r.most)-1)
		}
		r.most[u.Storage] = u.Bytes
	}
	p := &Upper{}
	st := a.Stats()
	p.begin(&st)
	for i := range tr.Events {
		oom, _ := r.step(i)
		if oom != nil {
			p.OOM = oom
			return p, nil
		}
		if tr.Events[i].Action == trace.Alloc {
			st = a.Stats()
			p.raise(&st, i)
		}
	}
	return p, nil
}

// enter opens a span at an event where its key changes, and closes the one before.
func enter(spans *[]Span, event, pass int, phase trace.Phase, st *Stats) {
	if n := len(*spans); n > 0 {
		s := &(*spans)[n-1]
		if s.Pass == pass && s.Phase == phase {
			s.Last = event
			return
		}
		s.End = *st
	}
	s := Span{Pass: pass, Phase: phase, First: event, Last: event, Start: *st}
	s.Peaks.begin(st)
	for _, p := range []*Peak{&s.Peaks.Requested, &s.Peaks.Allocated, &s.Peaks.Active, &s.Peaks.Reserved} {
		p.Event = event - 1
	}
	*spans = append(*spans, s)
}

func (p *Peaks) begin(st *Stats) {
	*p = Peaks{Peak{st.Requested, Before}, Peak{st.Allocated, Before}, Peak{st.Active, Before},
		Peak{st.Reserved, Before}}
}

func (p *Peaks) raise(st *Stats, event int) {
	p.Requested.raise(st.Requested, event)
	p.Allocated.raise(st.Allocated, event)
	p.Active.raise(st.Active, event)
	p.Reserved.raise(st.Reserved, event)
}

func (p *Peak) raise(b units.Bytes, event int) {
	if b > p.Bytes {
		p.Bytes, p.Event = b, event
	}
}

// replayer applies events to an allocator.
type replayer struct {
	tr       *trace.Trace
	a        Allocator
	storages []Storage
	// what an allocation of estimated size takes at the upper bound, 0 where none is; nil to take
	// the estimates
	most    []units.Bytes
	twoStep bool  // the trace says when frees were completed
	first   int32 // the site of the first allocation that an operator made, plus 1
}

// launch notes when the first kernel has run: an operator allocates before it launches, so it is
// when another one allocates.
func (r *replayer) launch(e *trace.Event) {
	c, ok := r.a.(*caching)
	if !ok || c.local.size == 0 || e.Site < 0 || int(e.Site) >= len(r.tr.Sites) || r.tr.Sites[e.Site].Phase == trace.Load {
		return
	}
	if r.first == 0 {
		r.first = int32(e.Site) + 1
	} else if int32(e.Site)+1 != r.first {
		c.kernelRan()
	}
}

func newReplayer(tr *trace.Trace, a Allocator) *replayer {
	r := &replayer{tr: tr, a: a, storages: make([]Storage, tr.Storages()), twoStep: hasCompleted(tr)}
	for i := range r.storages {
		r.storages[i] = Storage{Alloc: Never, Free: Never}
	}
	for i := range tr.Heap {
		for _, b := range tr.Heap[i].Blocks {
			if b.Storage >= 0 {
				free := Never
				if b.State == trace.ActiveAwaitingFree { // its owner released it before
					free = Before
				}
				r.storages[b.Storage] = Storage{Before, free, Addr(b.Addr), b.Requested, b.Size, tr.Heap[i].Stream}
			}
		}
	}
	return r
}

// hasCompleted says whether a trace says when frees were completed.
func hasCompleted(tr *trace.Trace) bool {
	for i := range tr.Events {
		if tr.Events[i].Action == trace.FreeCompleted {
			return true
		}
	}
	return false
}

func (r *replayer) step(i int) (*OOMError, error) {
	e := &r.tr.Events[i]
	switch e.Action {
	case trace.Alloc:
		s, err := r.storage(i, e.Storage)
		if err != nil {
			return nil, err
		}
		if s.Alloc != Never {
			return nil, fmt.Errorf("event %d: storage %d: got it allocated twice", i, e.Storage)
		}
		bytes := e.Bytes
		if r.most != nil && r.most[e.Storage] > 0 {
			bytes = r.most[e.Storage]
		}
		r.launch(e)
		addr, err := r.a.Malloc(bytes, e.Stream)
		if err != nil {
			return err.(*OOMError), nil
		}
		*s = Storage{Alloc: i, Free: Never, Addr: addr, Requested: bytes, Stream: e.Stream}
	case trace.FreeRequested:
		s, err := r.storage(i, e.Storage)
		if err != nil {
			return nil, err
		}
		if s.Alloc == Never || s.Free != Never {
			return nil, fmt.Errorf("event %d: storage %d: got a free, want it allocated", i, e.Storage)
		}
		s.Free = i
		if r.twoStep {
			r.a.FreeRequested(s.Addr)
		} else {
			r.a.Free(s.Addr)
		}
	case trace.FreeCompleted:
		s, err := r.storage(i, e.Storage)
		if err != nil {
			return nil, err
		}
		r.a.FreeCompleted(s.Addr)
	case trace.EmptyCache:
		r.a.EmptyCache()
	case trace.OOM: // the program went on without it; PyTorch had given back what was cached before it gave up
		if addr, err := r.a.Malloc(e.Bytes, e.Stream); err == nil {
			r.a.Free(addr)
		}
	}
	return nil, nil
}

func (r *replayer) storage(i int, id tensor.StorageID) (*Storage, error) {
	if id < 0 {
		return nil, fmt.Errorf("event %d: got storage %d, want one from 0 to %d", i, id, len(r.storages)-1)
	}
	return &r.storages[id], nil
}

// Each replays again and calls f after every event, until it returns false.
func (tl *Timeline) Each(f func(event int, s Stats) bool) {
	tl.Walk(func(event int, a Allocator) bool { return f(event, a.Stats()) })
}

// At replays again up to an event, included, and returns what the allocator held then. Blocks name
// their storages.
func (tl *Timeline) At(event int) (Snapshot, Stats) {
	a := tl.first.Fresh()
	if event > Before {
		tl.Walk(func(i int, b Allocator) bool {
			a = b
			return i < event
		})
	}
	s := a.Snapshot()
	owner := make(map[Addr]tensor.StorageID, len(tl.Storages))
	for id := range tl.Storages {
		if st := &tl.Storages[id]; st.Addr != 0 && st.Live(event) {
			owner[st.Addr] = tensor.StorageID(id)
		}
	}
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			b := &s.Segments[i].Blocks[j]
			if id, ok := owner[Addr(b.Addr)]; ok && b.State == trace.ActiveAllocated {
				b.Storage = id
			}
		}
	}
	return s, a.Stats()
}

// Walk replays again and calls f with the allocator after every event, until it returns false. f
// may ask the allocator for its Stats and its Snapshot, and must not change it.
func (tl *Timeline) Walk(f func(event int, a Allocator) bool) {
	r := newReplayer(tl.Trace, tl.first.Fresh())
	for i := range tl.Trace.Events {
		oom, _ := r.step(i) // Replay took every event
		if !f(i, r.a) || oom != nil {
			return
		}
	}
}

// Pass returns the span of a pass.
func (tl *Timeline) Pass(pass int) (Span, bool) {
	for _, s := range tl.Passes {
		if s.Pass == pass {
			return s, true
		}
	}
	return Span{}, false
}

// Baseline is what was held before the first pass: the loaded model and the inputs.
func (tl *Timeline) Baseline() Stats {
	for _, s := range tl.Passes {
		if s.Pass > 0 {
			return s.Start
		}
	}
	return tl.End
}

// Kept are the sizes of blocks that were handed out at the start and that no event frees: no
// storage of the trace is in them.
func (tl *Timeline) Kept() []units.Bytes {
	var out []units.Bytes
	for i := range tl.Trace.Heap {
		for _, b := range tl.Trace.Heap[i].Blocks {
			if b.State == trace.ActiveAllocated && b.Storage == trace.NoStorage {
				out = append(out, b.Size)
			}
		}
	}
	return out
}

// Held lists the storages held after an event, by number.
func (tl *Timeline) Held(event int) []tensor.StorageID {
	var out []tensor.StorageID
	for id := range tl.Storages {
		if tl.Storages[id].Live(event) {
			out = append(out, tensor.StorageID(id))
		}
	}
	return out
}
