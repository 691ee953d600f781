package cudameasure

import (
	"fmt"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Trace is the record's events as the engine has them, so that they can be aligned with a prediction and replayed through the simulated
// allocator. A storage that was there before the recording began and is freed in it has the number NoStorage.
func (m *Measurement) Trace() (*trace.Trace, error) {
	r := &eventReader{m: m, t: &trace.Trace{Origin: "measurement of " + m.Case}, live: map[uint64]tensor.StorageID{}, sites: map[siteKey]trace.SiteID{}}
	for i := range m.Events {
		if err := r.event(i); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return r.t, nil
}

type siteKey struct {
	op    string
	stack int
	load  bool
}

type eventReader struct {
	m     *Measurement
	t     *trace.Trace
	live  map[uint64]tensor.StorageID // by key: addresses come again
	next  tensor.StorageID
	sites map[siteKey]trace.SiteID
	pass  int
}

func (r *eventReader) event(i int) error {
	for r.pass < len(r.m.Phases) && i >= r.m.Phases[r.pass].Events {
		r.pass++
	}
	e := &r.m.Events[i]
	action, known := trace.ParseAction(e.Action)
	if !known {
		return fmt.Errorf("got action %q, want PyTorch's word for one", e.Action)
	}
	if r.m.Where == OnCPU && action == trace.FreeCompleted { // a storage's death: there are no streams
		action = trace.FreeRequested
	}
	out := trace.Event{Action: action, Storage: trace.NoStorage, Bytes: e.Size, Stream: int(e.Stream), Pass: min(r.pass, 2), Site: r.site(e)}
	if r.m.Where == OnCUDA && action != trace.OOM {
		out.Addr = e.Key
	}
	switch action {
	case trace.Alloc:
		if _, twice := r.live[e.Key]; twice {
			return fmt.Errorf("got an alloc at %#x, which is not free", e.Key)
		}
		out.Storage = r.next
		r.live[e.Key] = r.next
		r.next++
	case trace.FreeRequested, trace.FreeCompleted:
		if s, ok := r.live[e.Key]; ok {
			out.Storage = s
		}
		if action == trace.FreeCompleted || r.m.Where == OnCPU {
			delete(r.live, e.Key)
		}
	}
	r.t.Events = append(r.t.Events, out)
	return nil
}

// site is the event's innermost frame that is a user's: Python's, where the stack has one.
func (r *eventReader) site(e *Event) trace.SiteID {
	key := siteKey{op: e.Op, stack: -1, load: r.pass == 0}
	if e.Stack != nil {
		key.stack = *e.Stack
	}
	if id, ok := r.sites[key]; ok {
		return id
	}
	s := trace.Site{Op: e.Op, Phase: trace.Forward}
	if key.load {
		s.Phase = trace.Load
	}
	if e.Stack != nil && len(r.m.Stacks[*e.Stack]) > 0 {
		f := r.m.Frames[r.m.Stacks[*e.Stack][0]]
		for _, n := range r.m.Stacks[*e.Stack] {
			if isPython(r.m.Frames[n].File) {
				f = r.m.Frames[n]
				break
			}
		}
		s.File, s.Line = f.File, f.Line
		if s.Op == "" {
			s.Op = f.Function
		}
	}
	id := trace.SiteID(len(r.t.Sites))
	r.t.Sites = append(r.t.Sites, s)
	r.sites[key] = id
	return id
}

func isPython(file string) bool { return len(file) > 3 && file[len(file)-3:] == ".py" }

// Replayable is Trace without the events that a replay cannot follow, and how many those are: frees of what was there before the recording
// began, and everything but allocations, frees and segments.
func (m *Measurement) Replayable() (*trace.Trace, int, error) {
	t, err := m.Trace()
	if err != nil {
		return nil, 0, err
	}
	kept := t.Events[:0]
	for _, e := range t.Events {
		switch e.Action {
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
