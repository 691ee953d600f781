package stacks

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// The other end of the reading: how long a function's values might be held, where a name could hold
// them that nothing records of.
//
// A temporary goes with its user: what one execution of a line makes and takes, and no name is
// known of. Anything else may be a local, and is held to the end of its call. What a call leaves,
// its caller may hold: in a tuple of which the rest is used, in a list that was passed in. The
// statement that made the call binds the same names anew when it runs again, so it is held until
// then, or else to the end of the caller's own call, and so on outward. Out of account are what is
// written to attributes that no line of a caller holds too (except what depends on no input:
// exec.Heap.KeepOwn), and containers that keep what each round of a loop gave and are then thrown
// away.

// Held is how long values might be held at most.
type Held struct {
	Ranges []lifetime.Range
	// Until is, by node in the order of lifetime.Numbering, the node after which the function
	// releases what a call there left; Stays where it may pass that on to its own caller.
	Until []int
}

// Stays is Held.Until of what a function does not released.
const Stays = -1

// Most is how long the values of fn's nodes might be held, for the module self.
func (p *Program) Most(fn *program.Func, self *program.Object) (*Held, error) {
	t, err := p.function(fn, self)
	if err != nil || t == nil {
		return nil, err
	}
	runs := t.lineRuns()
	ends := t.p.ends[:0]
	for i, n := range t.nodes {
		for _, v := range n.Outs {
			if len(t.uses[v.ID]) > 0 {
				ends = append(ends, t.longest(v.ID, i, runs))
			}
		}
	}
	h := new(Held)
	*h = Held{Ranges: t.inOrder(ends), Until: make([]int, t.count)}
	for i := range h.Until {
		h.Until[i] = Stays
	}
	for i, n := range t.nodes {
		if n.Op != "prim::CallMethod" {
			continue
		}
		if k := t.boundAnew(i, len(t.frames[i])-1, runs); k >= 0 {
			h.Until[t.num[i]] = t.num[k]
		}
	}
	return h, nil
}

// longest is the latest end of a value that node def makes.
func (t *function) longest(id, def int, runs *lineRuns) end {
	last := t.uses[id][len(t.uses[id])-1]
	if t.number[id] != notNumber {
		return end{node: last, value: id, depth: operand, why: lifetime.Number}
	}
	depth := t.shared(id)
	if depth < 0 {
		return end{node: len(t.nodes) - 1, value: id, frame: true, key: id, why: lifetime.Unknown, escapes: true}
	}
	home, name := t.at[def].calls[depth], &t.names[id]
	if sequential(t.frames[def]) {
		return end{node: last, value: id, depth: operand, key: id, why: lifetime.Rebound}
	}
	if (name.call != home || name.none) && runs.at[def][depth] == runs.at[last][depth] {
		if len(t.at[last].calls) == depth+1 {
			return end{node: last, value: id, depth: operand, key: id, why: lifetime.Temporary}
		}
		e := t.frameEnd(id, t.at[last].calls[depth+1], id)
		e.why = lifetime.Passed
		return e
	}
	if k := t.boundAnew(def, depth-1, runs); k >= last {
		return end{node: k, value: id, key: id, why: lifetime.Rebound}
	}
	return end{node: len(t.nodes) - 1, value: id, frame: true, key: id, why: lifetime.FrameEnd, escapes: true}
}

// sequential says whether a node stands in Sequential's forward, whose one local takes each
// module's result in turn (torch/nn/modules/container.py).
func sequential(frames []*program.Frame) bool {
	return len(frames) == 1 && frames[0].Function == "forward" &&
		strings.HasSuffix(frames[0].File, "torch/nn/modules/container.py")
}

// boundAnew is the last node of the next execution of the statement around node i, in the innermost
// of its calls from depth outward that runs it again; -1 where none does.
func (t *function) boundAnew(i, depth int, runs *lineRuns) int {
	if sequential(t.frames[i]) { // its loop is one line, whatever stands in between
		for k := i + 1; k < len(t.nodes); k++ {
			if t.nodes[k].Op == "prim::CallMethod" {
				return k
			}
		}
		return -1
	}
	for d := min(depth, len(t.frames[i])-1); d >= 0; d-- {
		if next := runs.next[runs.at[i][d]]; next >= 0 {
			return runs.last[next]
		}
	}
	return -1
}

// called is a function that a line calls.
type called struct{ file, function string }

// lineRun is an execution of a line in a call.
type lineRun struct {
	number, line int
	call, inner  *call             // inner is the call that the line is making
	modules      []*program.Object // that it called, and the lists that these are members of
	functions    []called          // that it called
	few          struct {          // room for most lines'
		modules   [2]*program.Object
		functions [1]called
	}
}

// goesOn says whether node i, with the inner call and its function, is part of the execution. A
// line that calls a module or function again, or the next module of a list, may be a loop's.
func (r *lineRun) goesOn(t *function, i int, inner *call, fn called) bool {
	if inner != nil {
		return inner == r.inner || !slices.Contains(r.functions, fn)
	}
	again := func(o *program.Object) bool { return slices.Contains(r.modules, o) } // which has no nil
	return !again(t.callee[i]) && !again(t.list[i])
}

// lineRuns are the executions of a function's lines, numbered.
type lineRuns struct {
	at   [][]int // by node and depth of call
	next []int   // by execution: the next one of its line in its call, -1 for none
	last []int   // by execution: its last node
}

// line is one in a call.
type line struct {
	call   *call
	number int
}

// lineRuns numbers the executions of lines.
func (t *function) lineRuns() *lineRuns {
	out := &lineRuns{at: make([][]int, len(t.nodes))}
	out.next, out.last = make([]int, 0, len(t.nodes)), make([]int, 0, len(t.nodes))
	var latest few[line, int]   // execution
	lines, open := t.p.lines, 0 // the execution that each call is in, and how many calls are
	for i, f := range t.frames {
		calls := t.at[i].calls
		out.at[i] = make([]int, len(f))
		for d := range f {
			var inner *call
			fn := called{}
			if d+1 < len(f) {
				inner, fn = calls[d+1], called{f[d+1].File, f[d+1].Function}
			}
			if d == len(lines) {
				lines = append(lines, new(lineRun))
			}
			r := lines[d]
			if d >= open || r.call != calls[d] || r.line != f[d].Line || !r.goesOn(t, i, inner, fn) {
				number := len(out.next)
				*r = lineRun{number: number, line: f[d].Line, call: calls[d], modules: r.few.modules[:0],
					functions: r.few.functions[:0]}
				open = d + 1
				key := line{calls[d], f[d].Line}
				if before, ok := latest.get(key); ok {
					out.next[before] = number
				}
				latest.set(key, number)
				out.next, out.last = append(out.next, -1), append(out.last, i)
			}
			r.inner = inner
			if inner != nil {
				r.functions = append(r.functions, fn)
			} else {
				for _, o := range [...]*program.Object{t.callee[i], t.list[i]} {
					if o != nil {
						r.modules = append(r.modules, o)
					}
				}
			}
			out.at[i][d], out.last[r.number] = r.number, i
		}
	}
	t.p.lines = lines
	return out
}
