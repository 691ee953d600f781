package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

// A heldLine is a source line that holds memory at the peak: a row of the table that python -m
// memshim trace prints of a real run.
type heldLine struct {
	location string
	ops      []string // that took it, in the order of their first storage
	blocks   []units.Bytes
	mem      units.Bytes
}

// untraced is the row of what was there before the first pass.
const untraced = "untraced"

// heldByLine gathers what is held at the allocated peak by source line, the largest first; where
// the run did not fit, what was held then.
func heldByLine(tl *allocator.Timeline) []*heldLine {
	var out []*heldLine
	at := map[string]*heldLine{}
	add := func(where, op string, size units.Bytes) {
		l := at[where]
		if l == nil {
			l = &heldLine{location: where}
			at[where] = l
			out = append(out, l)
		}
		if op != "" && !slices.Contains(l.ops, op) {
			l.ops = append(l.ops, op)
		}
		l.blocks = append(l.blocks, size)
		l.mem += size
	}
	for _, size := range tl.Kept() {
		add(untraced, "", size)
	}
	event := tl.Peaks.Allocated.Event
	if tl.OOM != nil && tl.OOM.Stats.Allocated > 0 {
		event = tl.OOM.Event - 1
	}
	for _, id := range tl.Held(event) {
		where, op := lineOfStorage(tl, id)
		add(where, op, tl.Storages[id].Size)
	}
	slices.SortFunc(out, func(a, b *heldLine) int {
		return cmp.Or(cmp.Compare(b.mem, a.mem), cmp.Compare(a.location, b.location))
	})
	return out
}

func lineOfStorage(tl *allocator.Timeline, id tensor.StorageID) (where, op string) {
	alloc := tl.Storages[id].Alloc
	if alloc < 0 || tl.Trace.Events[alloc].Pass == 0 {
		return untraced, ""
	}
	site := tl.Trace.Site(tl.Trace.Events[alloc].Site)
	if site.File == "" {
		return "no line known", site.Op
	}
	file, _ := cli.RepositoryPaths().Source(site.File)
	return file + ":" + strconv.Itoa(site.Line), site.Op
}

func (l *heldLine) median() units.Bytes {
	b := slices.Sorted(slices.Values(l.blocks))
	n := len(b)
	if n%2 == 1 {
		return b[n/2]
	}
	return (b[n/2-1] + b[n/2]) / 2
}

// String is the line with the operators that took its memory: the functions of a prediction.
func (l *heldLine) String() string {
	const most = 3
	ops := l.ops
	if len(ops) > most {
		ops = append(slices.Clone(ops[:most]), fmt.Sprintf("%d more", len(l.ops)-most))
	}
	if len(ops) == 0 {
		return l.location
	}
	return l.location + " (" + strings.Join(ops, ", ") + ")"
}

// writeLines writes the table, at most so many rows of it; 0 means all.
func writeLines(w io.Writer, lines []*heldLine, most int) error {
	t := layout.NewTable("rrrrl")
	t.Add("Mem", "Cumulative Mem", "Median", "Count", "Location")
	var sum units.Bytes
	shown := lines
	if most > 0 && len(lines) > most {
		shown = lines[:most]
	}
	for _, l := range shown {
		sum += l.mem
		median, count := l.median().String(), strconv.Itoa(len(l.blocks))
		if l.location == untraced {
			median, count = "", ""
		}
		t.Add(l.mem.String(), sum.String(), median, count, l.String())
	}
	p := layout.To(w)
	p.Table(2, t)
	if more := len(lines) - len(shown); more > 0 {
		var rest units.Bytes
		for _, l := range lines[len(shown):] {
			rest += l.mem
		}
		p.Line("  … %d more, %s (-v)", more, rest)
	}
	return p.Err
}
