package engine

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// served is the recorded start of an engine, taken for a case's. Nothing is replayed: its figures
// are the engine's own, and hold for the card that it was started on.
func (m *Model) served(c spec.Case, origin []trace.Note) (*Run, error) {
	s := m.Artifact.Served
	switch d := &c.Platform.Device; {
	case d.Name != s.Device.Name:
		return nil, fmt.Errorf("%s: got the start of an engine on %s, want one on %s: "+
			"its figures hold for that card alone", m.Path, s.Device.Name, d.Name)
	case d.Memory != s.Device.Memory:
		return nil, fmt.Errorf("%s: got the start of an engine on %s of memory, want one on %s",
			m.Path, s.Device.Memory, d.Memory)
	}
	r := &report.Report{
		Schema: report.Schema,
		Run: report.Run{Artifact: m.Path, Format: m.Artifact.Format, Producer: m.Artifact.Producer,
			Where:   string(recording.OnPretend),
			Runtime: s.Engine.Name, Mode: report.Serve, Device: c.Platform.Device.Name, Torch: s.Torch},
		Serving: serving(s),
		Unknown: report.BudgetMetrics(),
		Origin:  m.Origin.Unknown(&c),
	}
	if s.Device.Count > 1 {
		r.GPUs = s.Device.Count
	}
	for _, n := range append(driverNotes(s), origin...) {
		r.Notes = append(r.Notes, report.Note{ID: n.ID, Text: n.Text(), Undecided: n.Undecided})
	}
	r.Quality = report.Exact
	if len(driverNotes(s)) > 0 {
		r.Quality = report.Estimated
	}
	r.Normalize()
	return &Run{Case: c, Model: m, Report: r}, nil
}

// serving is a recorded start as a report has it.
func serving(s *recording.Served) *report.Serving {
	d := &s.Driver
	out := &report.Serving{Engine: s.Engine.Name, Release: s.Engine.Release, Model: s.Model, GPUs: s.Device.Count,
		Fits: *s.Fits, MadeUp: s.MadeUp, Defaults: s.Defaults,
		Driver: report.DriverBytes{Bytes: d.Bytes, Least: d.Least, Most: d.Most, Source: d.Source, Logged: d.Logged}}
	for i := range s.Workers {
		w := &s.Workers[i]
		out.Loaded = larger(out.Loaded, &w.Loaded)
		out.Activation = larger(out.Activation, w.Activation)
	}
	if s.KV == nil {
		out.Unfit = strings.TrimPrefix(s.Error.Stage+": "+s.Error.Text, ": ")
		return out
	}
	k, w := s.KV, s.Least()
	dtype := k.CacheDType
	if dtype == "auto" {
		dtype = k.DType
	}
	out.KV = &report.KVCache{Tokens: k.Tokens, Requests: k.Requests(), Blocks: k.Blocks, BlockSize: k.BlockSize,
		Memory: w.KVMemory, Budget: w.Requested, Total: w.Total,
		Utilization: k.Utilization, Outside: w.Outside, Graphs: w.Graphs, GraphsOfDriver: w.OfDriver,
		GraphsInBudget: w.InBudget, MaxModelLen: k.MaxModelLen,
		MaxNumSeqs: k.MaxNumSeqs, MaxBatchedTokens: k.MaxBatchedTokens, DType: dtype}
	if k.Replicas > 1 {
		out.KV.Replicas, out.KV.TokensInAll = k.Replicas, k.TokensInAll
	}
	if d.Logged || w.Outside == nil {
		least := s.WithDriver(d.Most - d.Bytes)
		whole := least.Requests()
		out.LeastTokens, out.LeastWhole = &least.Tokens, &whole
	}
	return out
}

// larger is the larger of two sizes, nil where both are not known.
func larger(a, b *units.Bytes) *units.Bytes {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// driverNotes say what of an engine's figures is read off logs. None where the engine did not
// measure what is left: then the command states the size of its KV cache.
func driverNotes(s *recording.Served) []trace.Note {
	d := &s.Driver
	if least := s.Least(); s.KV == nil || least.Outside == nil {
		return nil
	}
	n := note.Note{ID: note.DriverUnlogged, Subject: fmt.Sprintf("%s, by %s", d.Bytes, d.Source)}
	if d.Logged {
		n = note.Note{ID: note.DriverEstimate,
			Subject: fmt.Sprintf("%s, in logs %s to %s: %s", d.Bytes, d.Least, d.Most, d.Source)}
	}
	return []trace.Note{{Note: n, Site: trace.NoSite}}
}
