package format

import (
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
func points(tl *allocator.Timeline) ([]point, error) {
	out := make([]point, 0, len(tl.Trace.Events))
	err := tl.Each(func(_ int, s allocator.Stats) bool {
		out = append(out, point{s.Requested, s.Allocated, s.Reserved})
		return true
	})
	return out, err
}

// A band is a stretch of events within one call: of a phase, of a module, of an operator. Bands of
// one depth do not overlap, and each lies within one of the depth above.
type band struct {
	Depth       int
	Name        string
	Module      bool
	First, Last int // events, both included
}

// bands follow the calls of a run: phase, modules from the outermost in, and the operator with its
// line. A free belongs to the call that was last heard of: when something dies is all that a trace
// says of it. They are in the order of their first event, outer before inner.
func bands(c *Case, events int) []band {
	tr := c.Timeline.Trace
	var out []band
	var open []int // numbers of the bands that the last event lies in, by depth
	var names []string
	phase, modules := "", 0 // how many of the names after the phase are modules
	for i := range events {
		e := &tr.Events[i]
		if p := phaseName(c, e); p != phase || i == 0 {
			phase, names, modules = p, []string{p}, 0
		}
		if e.Action == trace.Alloc || e.Action == trace.Mark || e.Action == trace.EmptyCache || e.Action == trace.OOM {
			site := tr.Site(e.Site)
			names = append([]string{phase}, callNames(site)...)
			modules = len(modulePaths(site.Module))
		}
		same := 0
		for same < len(names) && same < len(open) && out[open[same]].Name == names[same] {
			out[open[same]].Last = i
			same++
		}
		open = open[:same]
		for depth := same; depth < len(names); depth++ {
			open = append(open, len(out))
			out = append(out, band{depth, names[depth], depth > 0 && depth <= modules, i, i})
		}
	}
	return out
}

// callNames are the calls that a site lies in, the outermost first: each module by its whole path, then the operator.
func callNames(s trace.Site) []string {
	names := modulePaths(s.Module)
	if leaf := leafName(s.Op, s.File, s.Line); leaf != "" {
		names = append(names, leaf)
	}
	return names
}

// modulePaths are a module and those above it, the outermost first: layer1, layer1.0, layer1.0.conv1.
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

// phaseName is what an event belongs to: "load", "first pass", "steady pass, backward".
func phaseName(c *Case, e *trace.Event) string {
	if e.Pass == 0 {
		return "load"
	}
	name := "pass " + strconv.Itoa(e.Pass)
	if c.Report != nil && e.Pass <= len(c.Report.Passes) {
		name = oneLine(c.Report.Passes[e.Pass-1].Name) + " pass"
	}
	if s := c.Timeline.Trace.Site(e.Site); e.Action == trace.Alloc && s.Phase > trace.Forward {
		name += ", " + s.Phase.String()
	}
	return name
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
