package stacks

import (
	"strings"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// most holds every value that a local might hold to the end of its call. What is surely a temporary goes with its user: what one execution of a
// line makes and takes, and no name is told of. A line that calls a module or function again, or the next module of a list, may be a loop's and
// is then another execution.
func (t *function) most() []lifetime.Range {
	run := t.lineRuns()
	var ends []end
	for i, n := range t.nodes {
		for _, v := range n.Outs {
			if len(t.uses[v.ID]) > 0 {
				ends = append(ends, t.longest(v.ID, i, run))
			}
		}
	}
	return t.inOrder(ends)
}

// longest is the latest end of a value that node def makes.
func (t *function) longest(id, def int, run [][]int) end {
	last := t.uses[id][len(t.uses[id])-1]
	if t.number[id] != notNumber {
		return end{node: last, value: id, depth: operand, why: lifetime.Number}
	}
	depth := t.shared(id)
	if depth < 0 {
		return end{node: len(t.nodes) - 1, value: id, frame: true, key: id, why: lifetime.Unknown}
	}
	home := t.at[def].calls[depth]
	switch name := &t.names[id]; {
	case bindsAnew(t.frames[def][depth]):
		return end{node: last, value: id, depth: operand, why: lifetime.Rebound}
	case name.known() && name.call == home, run[def][depth] != run[last][depth]:
		return t.frameEndAt(id, home, id)
	case len(t.at[last].calls) == depth+1:
		return end{node: last, value: id, depth: operand, key: id, why: lifetime.Temporary}
	}
	e := t.frameEndAt(id, t.at[last].calls[depth+1], id)
	e.why = lifetime.Passed
	return e
}

// bindsAnew says whether a function is Sequential's forward, which binds its one local to each module's result in turn.
func bindsAnew(f *program.Frame) bool {
	return f.Function == "forward" && strings.HasSuffix(f.File, "torch/nn/modules/container.py")
}

// lineRuns numbers, by node and depth of call, the executions of lines.
func (t *function) lineRuns() [][]int {
	type key struct{ file, function string }
	type lineRun struct {
		number  int
		line    int
		call    *call
		inner   *call
		objects map[*program.Object]bool
		called  map[key]bool
	}
	out := make([][]int, len(t.nodes))
	var open []*lineRun
	count := 0
	for i, f := range t.frames {
		calls := t.at[i].calls
		out[i] = make([]int, len(f))
		for d := range f {
			var inner *call
			var fn key
			if d+1 < len(f) {
				inner, fn = calls[d+1], key{f[d+1].File, f[d+1].Function}
			}
			var r *lineRun
			if d < len(open) && open[d].call == calls[d] && open[d].line == f[d].Line {
				r = open[d]
				switch {
				case inner != nil && inner != r.inner && r.called[fn]:
					r = nil
				case inner == nil && (t.callee[i] != nil && r.objects[t.callee[i]] || t.list[i] != nil && r.objects[t.list[i]]):
					r = nil
				}
			}
			if r == nil {
				r = &lineRun{number: count, line: f[d].Line, call: calls[d], objects: map[*program.Object]bool{}, called: map[key]bool{}}
				count++
				if d < len(open) {
					open = open[:d]
				}
			}
			if d >= len(open) {
				open = append(open, r)
			}
			open[d] = r
			r.inner = inner
			if inner != nil {
				r.called[fn] = true
			} else {
				r.objects[t.callee[i]], r.objects[t.list[i]] = true, true
			}
			out[i][d] = r.number
		}
	}
	return out
}
