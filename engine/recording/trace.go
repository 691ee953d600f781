package recording

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Trace is the recording's events as the engine has them, so that they can be aligned with a
// prediction and replayed through the simulated allocator. A storage that was there before the
// recording began and is freed in it has the number NoStorage.
func (r *Recording) Trace() (*trace.Trace, error) {
	t := &tracer{r: r, t: &trace.Trace{Origin: "measurement of " + r.Case}, live: map[uint64]tensor.StorageID{},
		sites: map[siteKey]trace.SiteID{}}
	t.t.Events = make([]trace.Event, 0, len(r.Events))
	for i := range r.Events {
		if err := t.event(i); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	for i := 1; i < max(len(r.Passes), t.pass+1); i++ { // Baseline is no pass of a trace
		t.t.Passes = append(t.t.Passes, trace.Pass{Name: passName(i)})
	}
	if !slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Category != tensor.Activation }) {
		// no site has a category
		for i := range t.t.Sites {
			t.t.Sites[i].Category = tensor.Untraced
		}
	}
	return t.t, nil
}

// siteKey distinguishes sites: one place may be gone through in several phases.
type siteKey struct {
	site  int
	phase trace.Phase
}

type tracer struct {
	r         *Recording
	t         *trace.Trace
	live      map[uint64]tensor.StorageID // by key: addresses come again
	requested []bool                      // by storage: its free was
	sites     map[siteKey]trace.SiteID
	pass      int
	part      int // how many phases of the pass have begun
}

func (t *tracer) event(i int) error {
	t.enter(i)
	e := &t.r.Events[i]
	action := e.Action
	if t.r.Where == OnCPU && action == trace.FreeCompleted { // a storage's death: there are no streams
		action = trace.FreeRequested
	}
	out := trace.Event{Action: action, Storage: trace.NoStorage, Bytes: e.Size, Stream: int(e.Stream), Pass: t.pass,
		Site: t.site(e.Site)}
	if t.r.Where.Allocator() && action != trace.OOM {
		out.Addr = e.Key
	}
	switch action {
	case trace.Alloc:
		if _, twice := t.live[e.Key]; twice {
			return fmt.Errorf("got an alloc at %#x, which is not free", e.Key)
		}
		out.Storage = tensor.StorageID(len(t.requested))
		t.live[e.Key] = out.Storage
		t.requested = append(t.requested, false)
	case trace.FreeRequested, trace.FreeCompleted:
		s, known := t.live[e.Key]
		if !known {
			break
		}
		if t.requested[s] == (action == trace.FreeRequested) {
			return fmt.Errorf("got %s of %#x, want one free_requested and then one free_completed", action, e.Key)
		}
		out.Storage, t.requested[s] = s, true
		if action == trace.FreeCompleted || t.r.Where == OnCPU {
			delete(t.live, e.Key)
		}
	}
	t.t.Events = append(t.t.Events, out)
	return nil
}

// lastPass is the last pass that events may belong to: one after those that are reported where
// memory ran out in it, or where a run on CPU tensors ended early.
func (t *tracer) lastPass() int {
	if n := len(t.r.Passes); n >= 3 && t.r.OOM == nil || t.r.Stopped(&t.r.Passes[n-1]) {
		return n - 1
	}
	return len(t.r.Passes)
}

// enter follows passes and their phases up to an event. What comes after the last pass belongs to
// it.
func (t *tracer) enter(event int) {
	for last := t.lastPass(); t.pass < last && event >= t.r.Passes[t.pass].Events; {
		t.pass++
		t.part = 0
	}
	for phases := t.phases(); t.part < len(phases) && event >= phases[t.part].Events; {
		t.part++
	}
}

// phases are those of the pass under way.
func (t *tracer) phases() []Phase {
	if t.pass >= len(t.r.Passes) {
		return nil
	}
	return t.r.Passes[t.pass].Phases
}

func (t *tracer) phase() trace.Phase {
	switch {
	case t.pass == 0:
		return trace.Load
	case t.part == 0:
		return trace.Forward
	}
	p, _ := trace.ParsePhase(t.phases()[t.part-1].Name)
	return p
}

// site is where an event comes from; its line is the user's, as far as the stack records.
func (t *tracer) site(n int) trace.SiteID {
	key := siteKey{site: n, phase: t.phase()}
	if id, ok := t.sites[key]; ok {
		return id
	}
	s := trace.Site{Phase: key.phase}
	if n > 0 {
		from := &t.r.Sites[n-1]
		s.Op, s.Module, s.Category = from.Op, from.Module, from.Category
		if from.Stack > 0 {
			t.line(&s, t.r.Stacks[from.Stack-1])
		}
		if from.Saver > 0 {
			s.Saver = t.saver(&t.r.Sites[from.Saver-1])
		}
	}
	id := trace.SiteID(len(t.t.Sites))
	t.t.Sites = append(t.t.Sites, s)
	t.sites[key] = id
	return id
}

func (t *tracer) saver(of *Site) trace.Saver {
	s := trace.Site{Op: of.Op, Module: of.Module}
	if of.Stack > 0 {
		t.line(&s, t.r.Stacks[of.Stack-1])
	}
	return trace.Saver{Op: s.Op, Module: s.Module, File: s.File, Line: s.Line}
}

func (t *tracer) line(s *trace.Site, stack []int) {
	user, _ := trace.UserFrame(len(stack), func(i int) string { return t.r.Frames[stack[i]].File })
	if user < 0 {
		if len(stack) == 0 {
			return
		}
		user = 0
	}
	f := &t.r.Frames[stack[user]]
	s.File, s.Line = f.File, f.Line
	if s.Op == "" {
		s.Op = f.Function
	}
}

// Replayable is Trace without the events that a replay cannot follow, and how many those are: frees
// of what was there before the recording began, and everything but allocations, frees and segments.
func (r *Recording) Replayable() (*trace.Trace, int, error) { return r.replayable(false) }

// Asked is Replayable for a device that may be another: where memory ran out and ended the run,
// that request is an allocation, which may fit there. Those that failed while the program went on
// stay: they emptied the cache.
func (r *Recording) Asked() (*trace.Trace, int, error) { return r.replayable(true) }

func (r *Recording) replayable(asked bool) (*trace.Trace, int, error) {
	t, err := r.Trace()
	if err != nil {
		return nil, 0, err
	}
	ended, next := -1, tensor.StorageID(0)
	if r.OOM != nil {
		ended, next = lastOOM(t), storages(t)
	}
	kept := t.Events[:0]
	for i, e := range t.Events {
		switch e.Action {
		case trace.OOM:
			if !asked {
				continue
			}
			if i == ended {
				e.Action, e.Storage = trace.Alloc, next
			}
		case trace.FreeRequested, trace.FreeCompleted:
			if e.Storage == trace.NoStorage {
				continue
			}
		case trace.Alloc, trace.SegmentAlloc, trace.SegmentFree, trace.SegmentMap, trace.SegmentUnmap:
		default:
			continue
		}
		kept = append(kept, e)
	}
	skipped := len(t.Events) - len(kept)
	t.Events = kept
	return t, skipped, nil
}

// lastOOM is the last event that says that memory ran out, -1 where there is none.
func lastOOM(t *trace.Trace) int {
	for i, e := range slices.Backward(t.Events) {
		if e.Action == trace.OOM {
			return i
		}
	}
	return -1
}

// storages is how many there are.
func storages(t *trace.Trace) tensor.StorageID {
	n := tensor.StorageID(0)
	for i := range t.Events {
		n = max(n, t.Events[i].Storage+1)
	}
	return n
}
