// Package recorded takes a recorded run for that of a case. It is not run again: its events are replayed under the case's
// allocator, on the case's device.
package recorded

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Trace is the trace of a recorded run, with what has to be assumed where it is taken for the case's.
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
			tr.Notes = append(tr.Notes, trace.Note{Note: note.Note{ID: note.ID(n.ID), Subject: n.Text}, Site: trace.SiteID(len(tr.Sites) - 1)})
		}
	}
	if h := rec.Header; h != nil && h.OOM != nil { // what the run does not tell, should it fit this device
		tr.Coverage.Unsupported = []trace.Unsupported{{Reason: trace.CutShort, Detail: h.OOM.Pass, Count: 1}}
	}
	if n := elsewhere(rec.Header, c); n != nil {
		tr.Notes = append(tr.Notes, trace.Note{Note: *n, Site: trace.NoSite})
	}
	return &tr, nil
}

// contradictions are what a case states and the recording says otherwise. Settings of the allocator are the case's to choose.
func contradictions(h *recording.Header, c *spec.Case) []string {
	var parts []string
	inputs := spec.InputTexts(c.Inputs)
	if h == nil {
		if len(inputs) > 0 {
			parts = append(parts, "inputs that a memory snapshot does not tell, the case says "+strings.Join(inputs, "; "))
		}
		return parts
	}
	differ := func(what, got, want string) {
		if got != want {
			parts = append(parts, fmt.Sprintf("%s %s, the case says %s", what, orNone(got), orNone(want)))
		}
	}
	if len(inputs) > 0 && !sameInputs(h.Inputs, c.Inputs) {
		differ("inputs", strings.Join(h.Inputs, "; "), strings.Join(inputs, "; "))
	}
	if c.DType != "" {
		differ("dtype", h.DType, c.DType)
	}
	parts = append(parts, otherTraining(h.Training, c.Training)...)
	p := &c.Platform
	if p.Autocast != "" {
		differ("autocast", h.Autocast, p.Autocast)
	}
	if p.Attention != 0 {
		differ("attention", strings.Join(h.Flags.Attention, ", "), strings.Join(p.Attention.Names(), ", "))
	}
	for _, flag := range []struct {
		name      string
		got, want bool
	}{{"benchmark", h.Flags.Benchmark, p.Benchmark}, {"deterministic", h.Flags.Deterministic, p.Deterministic}, {"cudnn_v7", h.Flags.CuDNNv7, p.CuDNNv7}} {
		if flag.want && !flag.got {
			parts = append(parts, flag.name+" off, the case says on")
		}
	}
	return parts
}

// otherTraining is what a case states of its step and the recording says otherwise.
func otherTraining(got, want *recording.Training) []string {
	if got == nil || want == nil {
		return nil
	}
	var parts []string
	differ := func(what, got, want string) {
		if got != want {
			parts = append(parts, fmt.Sprintf("%s %s, the case says %s", what, orNone(got), orNone(want)))
		}
	}
	if want.Optimizer != "" {
		differ("optimizer", optimizerText(got), optimizerText(want))
	}
	if want.Loss != "" {
		differ("loss", got.Loss, want.Loss)
	}
	differ("accumulate", strconv.Itoa(got.Accumulate), strconv.Itoa(want.Accumulate))
	differ("clip", jsonText(got.Clip), jsonText(want.Clip))
	differ("checkpoint", jsonText(got.Checkpoint), jsonText(want.Checkpoint))
	return parts
}

// optimizerText is "AdamW" or "AdamW {"fused":true}".
func optimizerText(t *recording.Training) string {
	if len(t.Arguments) == 0 {
		return t.Optimizer
	}
	return t.Optimizer + " " + jsonText(t.Arguments)
}

// jsonText writes what two sides can be compared by: keys are sorted.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil || string(text) == "null" {
		return ""
	}
	return string(text)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
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

// RecordsWeights says whether a recorded run records which storages are weights. Its header has their bytes in any event, which
// the allocator rounds up.
func RecordsWeights(tr *trace.Trace) bool {
	return slices.ContainsFunc(tr.Sites, func(s trace.Site) bool { return s.Category == tensor.Parameter || s.Category == tensor.Buffer })
}

// sameInputs says whether a case's inputs are those that a run was recorded with. One that was given by position is the case's at
// that place, whatever the case calls it; the other way round too.
func sameInputs(recorded []string, inputs []spec.Input) bool {
	return slices.EqualFunc(recorded, inputs, func(text string, in spec.Input) bool {
		if was, err := spec.ParseInput(text); err == nil && (was.Name == "") != (in.Name == "") {
			return was.Value.String() == in.Value.String()
		}
		return text == in.String()
	})
}
