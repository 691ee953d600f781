package stacks

// The fourth step: lines and names to executions of statements, in each call.

// statement is one execution of a statement: a run of nodes on one line, in one call; or on
// several, where the statement stands on several.
type statement struct {
	line, depth int
	first, last int
	done        bool       // a local was given its value
	part        *statement // it is part of this one; nil where it is whole
}

// whole is the statement that s is part of.
func (s *statement) whole() *statement {
	for s.part != nil {
		s = s.part
	}
	return s
}

// statements parts each call's nodes into statements, by line and by name: one that gives a local
// its value is complete with that.
func statements(t *function) {
	p := &parting{t}
	var prev position
	for i, f := range t.frames {
		if f == nil {
			continue
		}
		at := &t.at[i]
		at.stmts = make([]*statement, len(f))
		for d := range f {
			if d < len(prev.calls) && prev.calls[d] == at.calls[d] {
				at.stmts[d] = p.goesOn(i, prev.stmts[d].whole(), f[d].Line)
			}
			if at.stmts[d] == nil {
				at.stmts[d] = new(statement)
				*at.stmts[d] = statement{line: f[d].Line, depth: d, first: i}
			}
			at.stmts[d].last = i
		}
		p.complete(i)
		prev = *at
	}
}

// parting is the work of parting nodes into statements.
type parting struct{ *function }

// goesOn is s where node i, which stands on line in the call of s, is part of it, else nil.
func (p *parting) goesOn(i int, s *statement, line int) *statement {
	if s.done {
		return nil
	}
	switch {
	case line < s.line:
		p.join(i, s, line)
	case p.nextRound(i, s):
		return nil
	case line == s.line:
		if def := p.unnamed(i, s, 0); def >= 0 && def < s.first {
			p.merge(i, s, def, line)
		}
	}
	if line != s.line {
		return nil
	}
	return s
}

// unnamed is the node that gives i, and nothing else, a value that no local of the call holds; -1
// for none at or after from.
func (p *parting) unnamed(i int, s *statement, from int) int {
	n := p.nodes[i]
	if n.Op == "prim::ListConstruct" || n.Op == "prim::TupleConstruct" {
		return -1
	}
	for j := range n.Args {
		v := n.Args[j].Value
		if v == nil || len(p.uses[v.ID]) != 1 || p.def[v.ID] < from {
			continue
		}
		if name := p.names[v.ID]; name.none && name.call.depth == s.depth && p.at[i].calls[s.depth] == name.call {
			return p.def[v.ID]
		}
	}
	return -1
}

// nextRound says whether node i calls the next module of a list that s called one of: a loop.
func (p *parting) nextRound(i int, s *statement) bool {
	if p.list[i] == nil || len(p.at[i].calls) != s.depth+1 {
		return false
	}
	for k := s.first; k <= s.last && k < i; k++ {
		if p.list[k] == p.list[i] && len(p.at[k].calls) == s.depth+1 {
			return true
		}
	}
	return false
}

// join makes one statement of those whose results node i takes, where it stands on an earlier line:
// a call over several lines comes behind its arguments, and none of these lines is before its own.
func (p *parting) join(i int, s *statement, line int) {
	first, last := i, -1
	n := p.nodes[i]
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil && p.def[v.ID] >= 0 && len(p.at[p.def[v.ID]].calls) > s.depth {
			first, last = min(first, p.def[v.ID]), max(last, p.def[v.ID])
		}
	}
	p.merge(i, s, first, line)
	if last >= s.first {
		s.line = line
	}
}

// merge makes the statements before s part of it, back to node first, as far as they are on no
// earlier line.
func (p *parting) merge(i int, s *statement, first, line int) {
	for k := s.first - 1; first < s.first && k >= 0; k-- {
		if len(p.at[k].calls) == 0 { // a module's call that does nothing
			continue
		}
		if len(p.at[k].calls) <= s.depth {
			break
		}
		e := p.at[k].stmts[s.depth].whole()
		if p.at[k].calls[s.depth] != p.at[i].calls[s.depth] || e.line < line || e.done {
			break
		}
		if e != s {
			e.part = s
			s.first = e.first
			k = e.first
		}
	}
}

// complete marks the statements that node i's results end: a value that is a local of one of the
// calls around has been bound there.
func (p *parting) complete(i int) {
	at := &p.at[i]
	for _, v := range p.nodes[i].Outs {
		n := &p.names[v.ID]
		if len(p.uses[v.ID]) == 0 || !n.known() || !at.in(n.call) {
			continue
		}
		at.stmt(n.call.depth).done = true
	}
}
