package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// activation is one call of a Python function within a module's forward.
type activation struct {
	depth   int   // 0 is the forward itself
	last    int   // its last instruction
	locals  []int // values that its locals hold
	passing []int // values that it gives to its callers
}

// pyStep is one execution of a statement: a run of instructions on one line, in one activation.
type pyStep struct {
	line, depth int
	first, last int
	done        bool        // a local was given its value
	callee      *activation // by this call's result
	part        *pyStep     // of this statement, over several lines; nil where it is whole
}

// place is where an instruction stands: the calls around it from the forward inward, and the step in each.
type place struct {
	calls []*activation
	steps []*pyStep
}

// inner is the innermost call, nil where nothing is known.
func (p *place) inner() *activation {
	if len(p.calls) == 0 {
		return nil
	}
	return p.calls[len(p.calls)-1]
}

// in says whether a is one of the calls.
func (p *place) in(a *activation) bool { return a.depth < len(p.calls) && p.calls[a.depth] == a }

// step is the statement at a depth.
func (p *place) step(depth int) *pyStep { return p.steps[depth].whole() }

// common is the depth of the innermost call that two places share, -1 for none.
func common(a, b *place) int {
	d := -1
	for i := 0; i < len(a.calls) && i < len(b.calls) && a.calls[i] == b.calls[i]; i++ {
		d = i
	}
	return d
}

// framesOf are the frames of each instruction, outermost first.
func (t *tracedCode) framesOf(m *machine, g *program.Graph, self *Object) [][]*program.Frame {
	stacks := m.stacksOf()
	objects := map[int]*Object{}
	if len(g.Params) > 0 {
		objects[g.Params[0].ID] = self
	}
	frames := make([][]*program.Frame, len(t.nodes))
	for i, n := range t.nodes {
		m.submodule(n, objects)
		frames[i] = stacks.framesOf(n, objects)
	}
	t.fillFrames(frames)
	return frames
}

// fillFrames gives instructions without a stack that of their user, which takes them at once, or, for what takes a value apart, that of
// the one before.
func (t *tracedCode) fillFrames(frames [][]*program.Frame) {
	var last []*program.Frame
	for i := range frames {
		switch op := t.nodes[i].Op; {
		case frames[i] != nil:
			last = frames[i]
		case op == "prim::TupleUnpack" || op == "prim::ListUnpack" || op == "prim::Return":
			frames[i] = last
		}
	}
	var next []*program.Frame
	for i := len(frames) - 1; i >= 0; i-- {
		switch {
		case frames[i] != nil:
			next = frames[i]
		case t.nodes[i].Op != "prim::GetAttr" && (t.nodes[i].Op != "prim::CallMethod" || t.used(t.nodes[i])):
			frames[i] = next
		}
	}
}

// used says whether anything takes a result of n.
func (t *tracedCode) used(n *program.Node) bool {
	return slices.ContainsFunc(n.Outs, func(v *program.Value) bool { return len(t.uses[v.ID]) > 0 })
}

// findCalls rebuilds the calls: two neighbours share one where module, file and function agree and all callers' lines do.
func (t *tracedCode) findCalls(frames [][]*program.Frame) {
	var prev []*program.Frame
	var calls []*activation
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
		if shared < len(f) || shared < len(calls) {
			calls = append(calls[:shared:shared], make([]*activation, len(f)-shared)...)
			for d := shared; d < len(f); d++ {
				calls[d] = &activation{depth: d}
			}
		}
		for _, a := range calls {
			a.last = i
		}
		t.at[i].calls, prev = calls, f
	}
}

// lineIn is a line of a call.
type lineIn struct {
	call *activation
	line int
}

// findSteps parts each call's instructions into statements, by line and by name: one that gives a local its value is complete with that.
func (t *tracedCode) findSteps(frames [][]*program.Frame) {
	var prev place
	var room slab[*pyStep]
	t.opened = map[lineIn]bool{}
	for i, f := range frames {
		if f == nil {
			continue
		}
		p := &t.at[i]
		p.steps = room.cut(len(f))
		for d := range f {
			if d < len(prev.calls) && prev.calls[d] == p.calls[d] {
				p.steps[d] = t.goesOn(i, prev.steps[d], f[d].Line)
			}
			if p.steps[d] == nil {
				p.steps[d] = &pyStep{line: f[d].Line, depth: d, first: i}
				t.opened[lineIn{p.calls[d], f[d].Line}] = true
			}
			p.steps[d].last = i
		}
		t.complete(i)
		prev = *p
	}
}

// whole is the statement that s is part of.
func (s *pyStep) whole() *pyStep {
	for s.part != nil {
		s = s.part
	}
	return s
}

// goesOn is s where instruction i, which stands on line in the call of s, is part of it, else nil.
func (t *tracedCode) goesOn(i int, s *pyStep, line int) *pyStep {
	s = s.whole()
	if s.done {
		var callee *activation
		if p := &t.at[i]; s.depth+1 < len(p.calls) {
			callee = p.calls[s.depth+1]
		}
		if callee == nil || callee != s.callee {
			return nil
		}
	}
	switch {
	case line < s.line:
		if !t.opened[lineIn{t.at[i].calls[s.depth], line}] || t.unnamed(i, s, s.first) >= 0 { // else a loop has begun again
			t.join(i, s, line)
		}
	case t.nextRound(i, s):
		return nil
	case line > s.line && t.unnamed(i, s, s.first) >= 0:
		// A method's call stands on the line of the method (Python/compile.c update_start_location_to_match_attr).
		s.line = line
	case line == s.line:
		if def := t.unnamed(i, s, 0); def >= 0 && def < s.first {
			t.merge(i, s, def, line)
		}
	}
	if line != s.line {
		return nil
	}
	return s
}

// unnamed is the node that gives i, and nothing else, a value without a name; -1 for none at or after from.
func (t *tracedCode) unnamed(i int, s *pyStep, from int) int {
	n := t.nodes[i]
	if n.Op == "prim::ListConstruct" || n.Op == "prim::TupleConstruct" {
		return -1
	}
	for j := range n.Args {
		v := n.Args[j].Value
		if v == nil || len(t.uses[v.ID]) != 1 || t.def[v.ID] < from {
			continue
		}
		if name := t.names[v.ID]; name.none && name.call.depth == s.depth && t.at[i].calls[s.depth] == name.call {
			return t.def[v.ID]
		}
	}
	return -1
}

// nextRound says whether node i calls the next module of a list that s called one of: a loop.
func (t *tracedCode) nextRound(i int, s *pyStep) bool {
	n := t.nodes[i]
	if n.Op != "prim::CallMethod" || t.member[i] == nil || len(t.at[i].calls) != s.depth+1 {
		return false
	}
	for k := s.first; k <= s.last && k < i; k++ {
		if t.member[k] == t.member[i] && len(t.at[k].calls) == s.depth+1 {
			return true
		}
	}
	return false
}

// join makes one statement of the steps whose results instruction i takes, where it stands on an earlier line: a call over several lines
// comes behind its arguments, and none of these lines is before its own.
func (t *tracedCode) join(i int, s *pyStep, line int) {
	first, last := i, -1
	n := t.nodes[i]
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil && t.def[v.ID] >= 0 && len(t.at[t.def[v.ID]].calls) > s.depth {
			first, last = min(first, t.def[v.ID]), max(last, t.def[v.ID])
		}
	}
	t.merge(i, s, first, line)
	if last >= s.first {
		s.line = line
	}
}

// merge makes the steps before s part of it, back to node first, as far as they are on no earlier line.
func (t *tracedCode) merge(i int, s *pyStep, first, line int) {
	for k := s.first - 1; first < s.first && k >= 0; k-- {
		if len(t.at[k].calls) == 0 { // a module's call that does nothing
			continue
		}
		if len(t.at[k].calls) <= s.depth {
			break
		}
		e := t.at[k].steps[s.depth].whole()
		if t.at[k].calls[s.depth] != t.at[i].calls[s.depth] || e.line < line || e.done {
			break
		}
		if e != s {
			e.part = s
			s.first = e.first
			k = e.first
		}
	}
}

// complete marks the statements that instruction i's results end: a value that is a local of one of the calls around has been bound there.
func (t *tracedCode) complete(i int) {
	p := &t.at[i]
	for _, v := range t.nodes[i].Outs {
		if len(t.uses[v.ID]) == 0 {
			continue
		}
		a := t.names[v.ID].call
		if a == nil || t.names[v.ID].none || !p.in(a) {
			continue
		}
		s := p.steps[a.depth].whole()
		s.done, s.callee = true, nil
		if a.depth+1 < len(p.calls) {
			s.callee = p.calls[a.depth+1]
		}
	}
}
