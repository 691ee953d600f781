package stacks

import "github.com/memspec/memspec/engine/program"

// The second step: frames of neighbouring nodes to the executions of Python functions that they
// belong to.

// call is one execution of a Python function within a module's forward.
type call struct {
	depth   int   // 0 is the forward itself
	last    int   // its last node
	locals  []int // values that its locals hold
	passing []int // values that it gives to its callers
}

// position is where a node stands: the calls around it from the forward inward, and the statement
// in each.
type position struct {
	calls []*call
	stmts []*statement
}

// inner is the innermost call, nil where nothing is known.
func (p *position) inner() *call {
	if len(p.calls) == 0 {
		return nil
	}
	return p.calls[len(p.calls)-1]
}

// in says whether c is one of the calls.
func (p *position) in(c *call) bool { return c.depth < len(p.calls) && p.calls[c.depth] == c }

// stmt is the statement at a depth.
func (p *position) stmt(depth int) *statement { return p.stmts[depth].whole() }

// common is the depth of the innermost call that two positions share, -1 for none.
func common(a, b *position) int {
	d := -1
	for i := 0; i < len(a.calls) && i < len(b.calls) && a.calls[i] == b.calls[i]; i++ {
		d = i
	}
	return d
}

// callsOf rebuilds the calls around each node: neighbours share one where file and function agree,
// and the lines of all its callers do.
func (p *Program) callsOf(frames [][]*program.Frame) []position {
	at := make([]position, len(frames))
	var prev []*program.Frame
	var open []*call
	for i, f := range frames {
		if f == nil {
			continue
		}
		shared := 0
		for shared < len(f) && shared < len(prev) {
			x, y := f[shared], prev[shared]
			if x != y && (x.File != y.File || x.Function != y.Function) {
				break
			}
			shared++
			if x != y {
				break
			}
		}
		if shared < len(f) || shared < len(open) {
			was := open[:shared]
			open = make([]*call, len(f))
			copy(open, was)
			for d := shared; d < len(f); d++ {
				open[d] = new(call)
				open[d].depth = d
			}
		}
		for _, c := range open {
			c.last = i
		}
		at[i].calls, prev = open, f
	}
	return at
}
