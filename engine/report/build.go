package report

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Source is what a report is built from.
type Source struct {
	Run      Run
	Platform *platform.Platform
	Timeline *allocator.Timeline
	// of the same run with estimated workspace at the upper bound; nil where none is estimated
	Upper     *allocator.Upper
	Workspace []Workspace
	Ask       string // the command that asks libraries for what is by formula
	// the command that settles what the artifact does not have of Python's names or the live
	// model's operators
	Remake  string
	Record  string       // the command that records a run which has what is not known here; "" where there is none
	Origin  string       // OriginUnknown, or "" where something records what the artifact was made from
	Weights *units.Bytes // where the trace does not say which storages are weights; else nil
	Unknown []Metric     // what nothing records of
	// CheckValues is the command that runs a recorded program with other values; "" where there is
	// none.
	CheckValues string
	Compiled    bool // the model: its peak is that of the calls after the first

	NCCL       *NCCL        // as a recording has it; nil where it has none
	HostPinned *units.Bytes // as a recording has it; nil where it has none

	OtherValues []OtherValues // what the run takes with other values, where that is not the same
}

// Build makes the account of a replayed run.
func Build(s Source) *Report {
	tl := s.Timeline
	tr := tl.Trace
	base := tl.Baseline()
	r := &Report{
		Schema:   Schema,
		Run:      s.Run,
		Weights:  weights(tl).Add(tr.Outside),
		Outside:  tr.Outside,
		Baseline: Sizes{base.Requested, base.Allocated, base.Reserved},
		Peak: Peak{Requested: tl.Peaks.Requested.Bytes, Allocated: tl.Peaks.Allocated.Bytes,
			Active: tl.Peaks.Active.Bytes, Reserved: tl.Peaks.Reserved.Bytes},
		Delta: tl.Peaks.Allocated.Bytes - base.Allocated, PeakAt: moment(tr, tl.Peaks.Allocated.Event),
		Workspace: s.Workspace,
		Holders:   holders(tl, tl.Peaks.Allocated.Event),
		Coverage:  coverage(&tr.Coverage),
	}
	if s.Weights != nil {
		r.Weights = *s.Weights
	}
	r.Unknown, r.Origin = s.Unknown, s.Origin
	r.NCCL, r.HostPinned = s.NCCL, s.HostPinned
	if stated := s.Platform.NCCL; stated != nil {
		r.NCCL = &NCCL{Low: *stated, High: *stated}
		if s.NCCL != nil {
			r.NCCL.Communicators = s.NCCL.Communicators
		}
	}
	switch d := &s.Platform.Device; {
	case d.ContextKnown:
		if n := r.NCCL; n == nil || n.Low == n.High {
			total := r.Peak.Reserved.Add(d.Context).Add(r.Outside)
			if n != nil {
				total = total.Add(n.Low)
			}
			r.Peak.Total = &total
		}
		if d.Kind != device.None {
			r.Context = &Context{d.Context, d.Context, d.Source}
		}
	case d.ContextRange != nil:
		r.Context = &Context{d.ContextRange.Low, d.ContextRange.High, d.ContextRange.Source}
	}
	r.Passes = passes(tl, r.Baseline)
	if s.Compiled {
		r.ofLaterCalls(tl)
	}
	if s.Run.Program {
		r.Weights = weightsHeld(r.Holders)
	}
	if s.Upper != nil {
		// Other sizes split and fit other blocks, so that more workspace may end in less memory, and
		// sizes between the two in more. So the upper bound of reserved is not below the upper bound of
		// allocated with what the prediction reserves beyond it.
		allocated := max(s.Upper.Allocated.Bytes, r.Peak.Allocated)
		r.Upper = &Upper{Allocated: allocated,
			Reserved: max(s.Upper.Reserved.Bytes, allocated+r.Peak.Reserved-r.Peak.Allocated)}
		if oom := s.Upper.OOM; oom != nil && tl.OOM == nil {
			r.Upper.OOM = &NoRoom{Requested: oom.Requested, Limit: oom.Limit}
		}
	}
	r.ReservedAt = moment(tr, tl.Peaks.Reserved.Event)
	r.Cached = cached(tl)
	if tl.OOM != nil {
		r.OOM = &OutOfMemory{Requested: tl.OOM.Requested, Limit: tl.OOM.Limit, Allocated: tl.OOM.Stats.Allocated,
			Holders: holders(tl, tl.OOM.Event-1)}
		if m := moment(tr, tl.OOM.Event); m != nil {
			r.OOM.Moment = *m
		}
	}
	r.OtherValues = s.OtherValues
	r.Notes = notes(tr, &s)
	r.Quality = quality(r)
	r.Normalize()
	return r
}

// passes are the peaks of each pass, those of one name (the steady iterations of a training run) as
// one. One without an event holds what was held before it; none follows where memory ran out.
func passes(tl *allocator.Timeline, held Sizes) []Pass {
	var out []Pass
	for i := range tl.Trace.Passes {
		pass := i + 1
		name := tl.Trace.PassName(pass)
		span, ok := tl.Pass(pass)
		if !ok {
			if tl.OOM != nil {
				break
			}
			out = addPass(out, Pass{Name: name, Peak: held})
			continue
		}
		out = addPass(out, Pass{Name: name, Peak: sizesOf(&span.Peaks), Phases: phases(tl, pass)})
		held = Sizes{span.End.Requested, span.End.Allocated, span.End.Reserved}
	}
	return out
}

// ofLaterCalls sets the first call of a compiled model apart: what it takes for compiling and
// tuning comes once, and only reserved memory keeps it. A run that ends in the first call has no
// other peak.
func (r *Report) ofLaterCalls(tl *allocator.Timeline) {
	first, ok := tl.Pass(1)
	if !ok {
		return
	}
	called := r.Passes[0].Peak
	r.FirstCall = &called
	if len(r.Passes) < 2 {
		return
	}
	held := func(bytes units.Bytes) allocator.Peak { return allocator.Peak{Bytes: bytes, Event: first.Last} }
	most := allocator.Peaks{Requested: held(first.End.Requested), Allocated: held(first.End.Allocated),
		Active: held(first.End.Active)}
	for _, s := range tl.Passes {
		if s.Pass > 1 {
			most.Requested = larger(most.Requested, s.Peaks.Requested)
			most.Allocated = larger(most.Allocated, s.Peaks.Allocated)
			most.Active = larger(most.Active, s.Peaks.Active)
		}
	}
	r.Peak.Requested, r.Peak.Allocated, r.Peak.Active = most.Requested.Bytes, most.Allocated.Bytes, most.Active.Bytes
	r.Delta = r.Peak.Allocated - r.Baseline.Allocated
	r.PeakAt = moment(tl.Trace, most.Allocated.Event)
	r.Holders = holders(tl, most.Allocated.Event)
}

// larger is the larger of two peaks, the first where they are equal.
func larger(a, b allocator.Peak) allocator.Peak {
	if b.Bytes > a.Bytes {
		return b
	}
	return a
}

func sizesOf(p *allocator.Peaks) Sizes {
	return Sizes{p.Requested.Bytes, p.Allocated.Bytes, p.Reserved.Bytes}
}

// weights is what the blocks of parameters, buffers and constants take.
func weights(tl *allocator.Timeline) (sum units.Bytes) {
	for i := range tl.Trace.Events {
		e := &tl.Trace.Events[i]
		if e.Pass > 0 {
			break
		}
		if e.Action == trace.Alloc && e.Site >= 0 && isWeight(tl.Trace.Sites[e.Site].Category) {
			sum += tl.Storages[e.Storage].Size
		}
	}
	return sum
}

// weightsHeld is weights of a program, which makes them while it runs: those held at the peak.
func weightsHeld(hs []Holder) (sum units.Bytes) {
	for i := range hs {
		if c, known := tensor.ParseCategory(hs[i].Category); known && isWeight(c) {
			sum += hs[i].Flat
		}
	}
	return sum
}

func isWeight(c tensor.Category) bool {
	return c == tensor.Parameter || c == tensor.Buffer || c == tensor.Constant
}

// MomentOf says where an event of the trace is, as an account does.
func MomentOf(tr *trace.Trace, event int) string {
	m := moment(tr, event)
	if m == nil {
		return "the start"
	}
	return m.String()
}

// moment is where an event of the trace is; nil for what was there before it.
func moment(tr *trace.Trace, event int) *Moment {
	if event < 0 || event >= len(tr.Events) {
		return nil
	}
	e := &tr.Events[event]
	m := &Moment{Pass: tr.PassName(e.Pass), Event: event}
	if e.Site != trace.NoSite {
		s := tr.Site(e.Site)
		m.Site, m.Phase = siteOf(s), s.Phase.String()
	}
	return m
}

func siteOf(s trace.Site) Site {
	return Site{Op: s.Op, Module: s.Module, File: s.File, Line: s.Line}
}

func savedBy(s trace.Saver) *Site {
	if s == (trace.Saver{}) {
		return nil
	}
	return &Site{Op: s.Op, Module: s.Module, File: s.File, Line: s.Line}
}

// Untraced is the category of what was there before a recording began, and of what it says nothing
// of.
var Untraced = tensor.Untraced.String()

// holders are the storages held after an event, gathered by where they were made.
func holders(tl *allocator.Timeline, event int) []Holder {
	tr := tl.Trace
	source := make(map[tensor.StorageID]string, len(tr.Sources))
	for _, s := range tr.Sources {
		source[s.Storage] = s.Text
	}
	index := newSiteIndex(tr)
	var out []Holder
	unattributed := Holder{Category: Untraced}
	for _, size := range tl.Kept() {
		unattributed.Flat += size
		unattributed.Count++
	}
	for id := range tl.Storages {
		st := &tl.Storages[id]
		if !st.Live(event) {
			continue
		}
		if st.Alloc < 0 || tr.Events[st.Alloc].Site == trace.NoSite {
			unattributed.Flat += st.Size
			unattributed.Count++
			continue
		}
		i, first := index.of(tr.Events[st.Alloc].Site)
		if first {
			site := tr.Site(tr.Events[st.Alloc].Site)
			out = append(out, Holder{Site: siteOf(site), Category: site.Category.String(), SavedBy: savedBy(site.Saver)})
		}
		out[i].Flat += st.Size
		out[i].Count++
		if out[i].Source == "" {
			out[i].Source = source[tensor.StorageID(id)]
		}
	}
	if unattributed.Count > 0 {
		out = append(out, unattributed)
	}
	sortHolders(out)
	return out
}

// siteIndex numbers sites, equal ones alike whatever their phase: a place holds what it holds,
// whenever that was made.
type siteIndex struct {
	tr     *trace.Trace
	byID   []int32          // number and one more; 0 where a site was not asked for
	byHash map[uint64]int32 // number; the next hash is tried where it is another site's
	sites  []trace.SiteID   // by number
	seed   maphash.Seed
}

func newSiteIndex(tr *trace.Trace) *siteIndex {
	return &siteIndex{tr: tr, byID: make([]int32, len(tr.Sites)), byHash: map[uint64]int32{}, seed: maphash.MakeSeed()}
}

// of is the number of a site; first says that it is new.
func (x *siteIndex) of(id trace.SiteID) (number int, first bool) {
	known := int(id) < len(x.byID) // a trace may name sites that it does not have
	if known && x.byID[id] > 0 {
		return int(x.byID[id] - 1), false
	}
	site := x.site(id)
	for hash := maphash.Comparable(x.seed, site); ; hash++ {
		n, ok := x.byHash[hash]
		if ok && x.site(x.sites[n]) != site {
			continue
		}
		if !ok {
			n = int32(len(x.sites))
			x.byHash[hash] = n
			x.sites = append(x.sites, id)
		}
		if known {
			x.byID[id] = n + 1
		}
		return int(n), !ok
	}
}

func (x *siteIndex) site(id trace.SiteID) trace.Site {
	site := x.tr.Site(id)
	site.Phase = 0
	return site
}

// cached is what is reserved and free while the reserved peak lasts, when that is least: what the
// cache holds in vain even then.
func cached(tl *allocator.Timeline) units.Bytes {
	peak := tl.Peaks.Reserved
	if peak.Event < 0 {
		return 0
	}
	return min(peak.Bytes, tl.Idle)
}

func coverage(c *trace.Coverage) Coverage {
	out := Coverage{Nodes: c.Nodes, TensorOutputs: c.TensorOutputs, KnownDType: c.KnownDType, Sized: c.Sized}
	for _, u := range c.Unsupported {
		out.Unsupported = append(out.Unsupported,
			Unsupported{Op: u.Op, Reason: u.Reason, Detail: u.Detail, Count: u.Count, First: siteOf(u.First)})
	}
	return out
}

// notes are the trace's, each once at a place, and one for everything that is missing.
func notes(tr *trace.Trace, s *Source) []Note {
	out := slices.Grow([]Note(nil), len(tr.Notes))
	seen := make(map[Note]bool, len(tr.Notes))
	for _, n := range tr.Notes {
		m := Note{ID: n.ID, Text: n.Text(), First: siteOf(tr.Site(n.Site)), Undecided: n.Undecided}
		switch {
		case n.Askable && s.Ask != "":
			m.Text, m.Settle = m.Text+"; to settle it: "+s.Ask, s.Ask
		case n.ID == note.LocalsUnknown || n.ID == note.OperatorsDiffer:
			m.Settle = s.Remake
		case n.ID == note.ValueRead:
			m.Settle = s.CheckValues
		case n.ID.Effect() == note.Open || n.ID.Effect() == note.OpenTotal:
			m.Settle = s.Record
		}
		if k, _ := note.Of(n.ID); k.Assume.What != "" && m.First.File != "" {
			m.Assume = m.First.File + ":" + strconv.Itoa(m.First.Line)
		}
		if !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	for _, u := range tr.Coverage.Unsupported {
		lacks := Lacking([]Unsupported{{Op: u.Op, Reason: u.Reason, Detail: u.Detail}})
		n := note.Note{ID: note.OpMissing,
			Subject: fmt.Sprintf("%s, met %d times: its results are missing from the report", lacks, u.Count)}
		out = append(out, Note{ID: n.ID, Text: n.Text(), First: siteOf(u.First)})
	}
	return out
}

// quality is that of the figures, by the notes beside them.
func quality(r *Report) Quality {
	has := func(is func(note.Effect) bool) bool {
		return slices.ContainsFunc(r.Notes, func(n Note) bool { return is(n.ID.Effect()) })
	}
	switch {
	case len(r.Coverage.Unsupported) > 0 || has(func(e note.Effect) bool { return e == note.Partial }):
		return Incomplete
	case has(func(e note.Effect) bool { return e == note.Ends }):
		return Bound
	case r.Upper != nil || has(func(e note.Effect) bool { return e != note.Exact }):
		return Estimated
	}
	return Exact
}
