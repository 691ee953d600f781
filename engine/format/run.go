package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// What the formats that draw a run take from its timeline.

// A point is what the allocator holds after an event.
type point struct{ Requested, Allocated, Reserved units.Bytes }

// points are one an event, up to where memory ran out.
func points(tl *allocator.Timeline) []point {
	out := make([]point, 0, len(tl.Trace.Events))
	tl.Each(func(_ int, s allocator.Stats) bool {
		out = append(out, point{s.Requested, s.Allocated, s.Reserved})
		return true
	})
	return out
}

// A band is a stretch of events within one call: of a phase, of a module, of an operator. Bands of
// one depth do not overlap, and each lies within one of the depth above.
type band struct {
	Depth       int
	Name        string
	Kind        bandKind
	First, Last int // events, both included
}

// bandKind is what a band is of.
type bandKind uint8

const (
	passBand   bandKind = iota // a pass, or an iteration of a training loop
	phaseBand                  // forward, backward or the optimizer's step of it
	moduleBand                 // a call of a module
	callBand                   // an operator
)

// bands follow the calls of a run: iteration or pass, the phases of one that has several, modules
// from the outermost in, and the operator with its line. A free belongs to the call that was last
// heard of: when something dies is all that a trace says of it. They are in the order of their
// first event, outer before inner.
func bands(c *Case, events int) []band {
	tr := c.Timeline.Trace
	var out []band
	var open []int // numbers of the bands that the last event lies in, by depth
	var names []string
	spans, span := c.Timeline.Phases, 0
	several := severalPhases(spans)
	outer, modules := []string(nil), 0 // the names of pass and phase; how many of those after them are modules
	for i := range events {
		e := &tr.Events[i]
		for span+1 < len(spans) && spans[span].Last < i {
			span++
		}
		now := []string{passName(c, e.Pass)}
		if several[e.Pass] {
			now = append(now, phaseText(spans[span].Phase))
		}
		if i == 0 || e.Pass != tr.Events[i-1].Pass || !slices.Equal(now, outer) {
			outer, names, modules = now, now, 0
		}
		if e.Action == trace.Alloc || e.Action == trace.Mark || e.Action == trace.EmptyCache || e.Action == trace.OOM {
			site := tr.Site(e.Site)
			names = slices.Concat(outer, callNames(site))
			modules = len(modulePaths(site.Module))
		}
		same := 0
		for same < len(names) && same < len(open) && out[open[same]].Name == names[same] {
			out[open[same]].Last = i
			same++
		}
		open = open[:same]
		for depth := same; depth < len(names); depth++ {
			kind := callBand
			switch {
			case depth == 0:
				kind = passBand
			case depth < len(outer):
				kind = phaseBand
			case depth < len(outer)+modules:
				kind = moduleBand
			}
			open = append(open, len(out))
			out = append(out, band{depth, names[depth], kind, i, i})
		}
	}
	return out
}

// severalPhases says of each pass whether it has more than one phase.
func severalPhases(spans []allocator.Span) map[int]bool {
	out := map[int]bool{}
	for i := 1; i < len(spans); i++ {
		if spans[i].Pass == spans[i-1].Pass {
			out[spans[i].Pass] = true
		}
	}
	return out
}

// callNames are the calls that a site lies in, the outermost first: each module by its whole path,
// then the operator.
func callNames(s trace.Site) []string {
	names := modulePaths(s.Module)
	if leaf := leafName(s.Op, s.File, s.Line); leaf != "" {
		names = append(names, leaf)
	}
	return names
}

// modulePaths are a module and those above it, the outermost first: layer1, layer1.0,
// layer1.0.conv1.
func modulePaths(module string) []string {
	var names []string
	for i := range len(module) {
		if module[i] == '.' {
			names = append(names, oneLine(module[:i]))
		}
	}
	if module != "" {
		names = append(names, oneLine(module))
	}
	return names
}

// leafName is "aten::conv2d resnet.py:146".
func leafName(op, file string, line int) string {
	return oneLine(strings.TrimSpace(op + " " + report.Site{File: file, Line: line}.Source()))
}

// passName is what a pass is called: "load", "first pass", of a training loop "first iteration". Of
// several steady ones each has its number: "steady iteration 2".
func passName(c *Case, pass int) string {
	if pass == 0 {
		return "load"
	}
	passes := c.Timeline.Trace.Passes
	if pass > len(passes) || passes[pass-1].Name == "" || c.Report == nil {
		return "pass " + strconv.Itoa(pass)
	}
	of := passes[pass-1]
	name := oneLine(c.Report.PassText(&report.Pass{Name: of.Name}))
	alike := func(p trace.Pass) bool { return p == of }
	if first := slices.IndexFunc(passes, alike); slices.ContainsFunc(passes[first+1:], alike) {
		name += " " + strconv.Itoa(pass)
	}
	return name
}

// phaseText is a phase of a pass for people: a step is the optimizer's.
func phaseText(p trace.Phase) string {
	if p == trace.Step {
		return "optimizer"
	}
	return p.String()
}

// A held storage is one that is held at a moment.
type held struct {
	trace.Site
	Requested, Size units.Bytes
}

// heldAt are the storages held after an event, in the order of their numbers.
func heldAt(tl *allocator.Timeline, event int) []held {
	var out []held
	for _, id := range tl.Held(event) {
		out = append(out, heldStorage(tl, id))
	}
	return out
}

func heldStorage(tl *allocator.Timeline, id tensor.StorageID) held {
	st := &tl.Storages[id]
	h := held{Requested: st.Requested, Size: st.Size}
	if st.Alloc >= 0 {
		h.Site = tl.Trace.Site(tl.Trace.Events[st.Alloc].Site)
	}
	return h
}
