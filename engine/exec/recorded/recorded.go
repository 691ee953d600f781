// Package recorded takes a recorded run for that of a case. It is not run again: its events are
// replayed under the case's allocator, on the case's device.
package recorded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Trace is the trace of a recorded run, with what has to be assumed where it is taken for the
// case's.
func Trace(rec *artifact.Recorded, c *spec.Case) (*trace.Trace, error) {
	if parts := contradictions(rec.Header, c); len(parts) > 0 {
		return nil, fmt.Errorf("the run was recorded with %s", strings.Join(parts, "; "))
	}
	tr := *rec.Trace // the events are shared: nothing changes them
	tr.Notes = slices.Clone(tr.Notes)
	if h := rec.Header; h != nil {
		tr.Sites = slices.Clone(tr.Sites)
		for _, n := range valueNotes(h) {
			tr.Sites = append(tr.Sites, trace.Site{File: n.File, Line: n.Line})
			tr.Notes = append(tr.Notes, trace.Note{Note: note.Note{ID: note.ID(n.ID), Subject: n.Text},
				Site: trace.SiteID(len(tr.Sites) - 1)})
		}
	}
	if h := rec.Header; h != nil && h.OOM != nil { // what the run does not record, should it fit this device
		tr.Coverage.Unsupported = []trace.Unsupported{{Reason: trace.CutShort, Detail: h.OOM.Pass, Count: 1}}
	}
	for _, dim := range c.Varies {
		if !differs(rec.Header, dim) {
			tr.Notes = append(tr.Notes, trace.Note{Note: note.Note{ID: note.FixedLengths, Subject: dim},
				Site: trace.NoSite})
		}
	}
	if n := elsewhere(rec.Header, c); n != nil {
		tr.Notes = append(tr.Notes, trace.Note{Note: *n, Site: trace.NoSite})
	}
	return &tr, nil
}

// differs says whether a dim had several sizes in the iterations of a recorded run.
func differs(h *recording.Header, dim string) bool {
	return h != nil && slices.ContainsFunc(h.Lengths[dim], func(n int64) bool { return n != h.Lengths[dim][0] })
}

// Unknown are the metrics that a recording does not record.
func Unknown(rec *artifact.Recorded) []report.Metric {
	if rec != nil && (rec.Header == nil || OfProgram(rec) && !RecordsWeights(rec.Trace)) {
		return []report.Metric{report.Weights} // which blocks are weights
	}
	return nil
}

// OfProgram says whether a whole program was recorded (memshim run), not an iteration of a model.
func OfProgram(rec *artifact.Recorded) bool {
	return rec != nil && rec.Header != nil && rec.Header.Built == "a program"
}

// RecordsWeights says whether a recorded run records which storages are weights. Its header has
// their bytes in any event, which the allocator rounds up.
func RecordsWeights(tr *trace.Trace) bool {
	return slices.ContainsFunc(tr.Sites, func(s trace.Site) bool {
		return s.Category == tensor.Parameter || s.Category == tensor.Buffer
	})
}
