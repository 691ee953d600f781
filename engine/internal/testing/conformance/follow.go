package conformance

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Agreement is how far a trace does what was recorded.
type Agreement struct {
	Events int    // that agree before the two part
	Parted string // where they part, "" where they do not
	Peak   int64  // of the trace's pass, in bytes as asked for
	Lines  []Line // of the births that agree, where the user's line was recorded
}

// Line is where a birth was recorded, and where the trace has it.
type Line struct {
	Recorded string // "file:line", or the end of it
	Got      trace.Site
}

// Agrees says whether the trace has the recorded line.
func (l Line) Agrees() bool {
	return strings.HasSuffix(fmt.Sprintf("%s:%d", l.Got.File, l.Got.Line), l.Recorded)
}

// Follow goes through the first pass of a trace and a stream side by side, up to where they part.
func (r *Recording) Follow(s *Stream, tr *trace.Trace) (a Agreement) {
	number := map[tensor.StorageID]int{}
	var live int64
	loaded := map[tensor.StorageID]bool{} // the model's, whose deaths the recordings do not see
	for _, e := range tr.Events {
		if e.Pass == 0 && e.Action == trace.Alloc && tr.Site(e.Site).Phase == trace.Load {
			loaded[e.Storage] = true
		}
		if e.Pass != 1 || e.Action != trace.Alloc && e.Action != trace.FreeRequested ||
			e.Action == trace.FreeRequested && loaded[e.Storage] {
			continue
		}
		got := birthOrDeath(e, number)
		if e.Action == trace.Alloc {
			live += int64(e.Bytes)
			a.Peak = max(a.Peak, live)
		} else {
			live -= int64(e.Bytes)
		}
		if a.Parted != "" {
			continue
		}
		want, where := "the end", ""
		if a.Events < len(s.Events) {
			want, where = r.describe(s.Events[a.Events])
		}
		site := tr.Site(e.Site)
		if got != want {
			a.Parted = fmt.Sprintf("event %d: got %s (%s %s %s:%d), want %s%s", a.Events, got, site.Op, site.Module,
				site.File, site.Line, want, where)
			continue
		}
		if a.Events < len(s.Events) && s.Events[a.Events].Bytes > 0 {
			if _, line, ok := strings.Cut(r.Sites[s.Events[a.Events].Site], " "); ok {
				a.Lines = append(a.Lines, Line{line, site})
			}
		}
		a.Events++
	}
	if a.Parted == "" && a.Events < len(s.Events) {
		a.Parted = fmt.Sprintf("event %d: got the end, want %+v", a.Events, s.Events[a.Events])
	}
	return a
}

// birthOrDeath writes an event as "+bytes" or "-number"; births are numbered in order, what was
// there before is -1.
func birthOrDeath(e trace.Event, number map[tensor.StorageID]int) string {
	if e.Action == trace.Alloc {
		number[e.Storage] = len(number)
		return fmt.Sprintf("+%d", e.Bytes)
	}
	if k, own := number[e.Storage]; own {
		return fmt.Sprintf("-%d", k)
	}
	return "--1"
}

func (r *Recording) describe(e Event) (what, where string) {
	if e.Bytes > 0 {
		return fmt.Sprintf("+%d", e.Bytes), " (" + r.Sites[e.Site] + ")"
	}
	return fmt.Sprintf("-%d", e.Birth), ""
}
