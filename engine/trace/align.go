package trace

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Divergence is where two traces part.
type Divergence struct {
	A, B       int // events; len(Events) where that trace has ended
	Why        string
	AText      string // the events as text, "(end)" where the trace has ended
	BText      string
	ABefore    []string // up to context events before, both traces alike
	Compared   int      // events that agree
	Unexpected bool     // the second trace has an event where the first has ended
}

// contextEvents is how many events before a divergence are reported.
const contextEvents = 3

func (d *Divergence) Error() string {
	return fmt.Sprintf("after %d events: %s: got %s, want %s", d.Compared, d.Why, d.BText, d.AText)
}

// Kind says which events Align compares.
type Kind func(*Trace, *Event) bool

// Memory selects allocations and frees of at least one byte: what both a prediction and a recording
// know. Completion of frees, segments and marks are left out.
func Memory(_ *Trace, e *Event) bool {
	return (e.Action == Alloc || e.Action == FreeRequested) && e.Bytes > 0
}

// Align compares two traces event by event, want first, and returns the first divergence, or nil.
// Storages are matched by their order of birth, as the numbers mean nothing; addresses, streams,
// passes and sites are not compared. A free of something neither trace allocated is matched by
// size.
func Align(want, got *Trace, select_ Kind) *Divergence {
	a, b := side{t: want}, side{t: got}
	a.init()
	b.init()
	pair := make(map[tensor.StorageID]tensor.StorageID)
	for n := 0; ; n++ {
		one, other := a.next(select_), b.next(select_)
		if !one && !other {
			return nil
		}
		if why := differ(&a, &b, pair); why != "" {
			return diverge(&a, &b, why, n)
		}
	}
}

type side struct {
	t    *Trace
	at   int // the event under way
	last []int
	born []bool
}

func (s *side) init() {
	s.at = -1
	s.born = make([]bool, s.t.Storages())
}

// next moves to the next selected event, and says whether there is one.
func (s *side) next(selected Kind) bool {
	if s.at >= 0 {
		s.last = append(s.last, s.at)
		if len(s.last) > contextEvents {
			s.last = slices.Delete(s.last, 0, 1)
		}
	}
	for s.at++; s.at < len(s.t.Events); s.at++ {
		if selected(s.t, &s.t.Events[s.at]) {
			return true
		}
	}
	return false
}

func differ(a, b *side, pair map[tensor.StorageID]tensor.StorageID) string {
	if a.at >= len(a.t.Events) {
		return "one event too many"
	}
	if b.at >= len(b.t.Events) {
		return "an event is missing"
	}
	e, f := &a.t.Events[a.at], &b.t.Events[b.at]
	switch {
	case e.Action != f.Action:
		return "the actions differ"
	case e.Bytes != f.Bytes:
		return "the sizes differ"
	case e.Storage < 0 || f.Storage < 0:
		return ""
	case e.Action == Alloc:
		a.born[e.Storage], b.born[f.Storage] = true, true
		pair[e.Storage] = f.Storage
	case a.born[e.Storage] != b.born[f.Storage], a.born[e.Storage] && pair[e.Storage] != f.Storage:
		return "the storages differ"
	}
	return ""
}

func diverge(a, b *side, why string, n int) *Divergence {
	d := &Divergence{A: a.at, B: b.at, Why: why, Compared: n, AText: a.text(a.at), BText: b.text(b.at)}
	d.Unexpected = a.at >= len(a.t.Events)
	for _, i := range a.last {
		d.ABefore = append(d.ABefore, a.text(i))
	}
	return d
}

func (s *side) text(i int) string {
	if i >= len(s.t.Events) {
		return "(end)"
	}
	return s.t.EventText(i)
}

// EventText is one event as a line: with its site and size, also where the text form leaves them
// out.
func (t *Trace) EventText(i int) string {
	e := t.Events[i]
	p := printer{t: t, birth: make([]birth, max(int(e.Storage)+1, 0)), pass: e.Pass, phase: t.Site(e.Site).Phase}
	p.event(&e)
	return string(p.buf[:len(p.buf)-1])
}
