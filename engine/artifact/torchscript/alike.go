package torchscript

import (
	"slices"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// Scripting makes a separate class of each module whose attributes differ in type or value, under
// another name: the 53 convolutions of resnet50 are of 23 classes, which have the same two methods.
// Such functions have one graph: a body says nothing of its class, for which method a call means
// and which attribute a name is known when it runs.

// bodyText is the text of a function's body and where it begins.
type bodyText struct {
	text   string
	line   int
	indent int32
}

// alike is the function that was lowered first of those with one text.
type alike struct {
	*body
	fn    *program.Func
	graph *program.Graph
}

func (b *body) text() (t bodyText, at python.Span) {
	at, t.line, t.indent = b.def.Unread()
	t.text = b.file.Text(at)
	return t, at
}

// keep has a function's graph for others that are alike. Traced archives have none: what their
// operations come from differs.
func (d *decoder) keep(b *body, fn *program.Func, g *program.Graph) {
	if d.prog.Records != program.RecordsSource || fn.Class == nil || d.low.forks || !b.file.debug.known() {
		return
	}
	if d.alike == nil {
		d.alike = map[bodyText]alike{}
	}
	t, _ := b.text()
	d.alike[t] = alike{b, fn, g}
}

// lowered is the graph of a function that was lowered before and is the same as b except its class:
// the same text at the same line, parameters of the same names and types, and operations that come
// from the same places of the user's text. It is nil where there is none.
func (d *decoder) lowered(b *body, fn *program.Func) *program.Graph {
	if len(d.alike) == 0 || fn.Class == nil || !b.file.debug.known() {
		return nil
	}
	t, at := b.text()
	a, ok := d.alike[t]
	if !ok || !slices.EqualFunc(a.fn.Params, fn.Params,
		func(p, q program.Param) bool { return p.Name == q.Name && p.Type == q.Type }) {
		return nil
	}
	from, _, _ := a.def.Unread()
	if !a.file.debug.same(from, &b.file.debug, at) || isLibrary(b.file.Name, a.graph.Body) != a.graph.Library {
		return nil
	}
	return a.graph
}

// known says whether all sources of a file are made, or there are none.
func (t *debugTable) known() bool { return t.whole || len(t.records) == 0 }

// same says whether two spans of one length come from the same places. The end of a span is one of
// its places: there a function returns that does not say so.
func (t *debugTable) same(at python.Span, other *debugTable, there python.Span) bool {
	if len(t.records) == 0 || len(other.records) == 0 {
		return len(t.records) == len(other.records)
	}
	a, b := t.after(at.Start), other.after(there.Start)
	if (a == 0) != (b == 0) || a > 0 && !t.alike(a-1, other, b-1) {
		return false
	}
	for {
		endA := a == len(t.records) || t.records[a].offset > int32(at.End)
		endB := b == len(other.records) || other.records[b].offset > int32(there.End)
		if endA || endB {
			return endA == endB
		}
		if t.records[a].offset-int32(at.Start) != other.records[b].offset-int32(there.Start) || !t.alike(a, other, b) {
			return false
		}
		a, b = a+1, b+1
	}
}

// after is the number of the first record behind an offset.
func (t *debugTable) after(pos python.Pos) int {
	i, _ := slices.BinarySearchFunc(t.records, int32(pos)+1,
		func(r debugRecord, offset int32) int { return int(r.offset) - int(offset) })
	return i
}

// alike says whether two records record the same place.
func (t *debugTable) alike(i int, other *debugTable, k int) bool {
	r, s := &t.records[i], &other.records[k]
	return r.start == s.start && r.end == s.end && t.sources[r.source].from == other.sources[s.source].from
}
