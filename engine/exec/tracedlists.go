package exec

import "slices"

// grown is what holds a list's members: they stay to the end of the call. The newest is taken to have a name besides.
type grown struct {
	call  *activation
	first int // the first member's number
	named bool
}

// grownLists finds lists that grow from operator to operator (cat([a, b]), then cat([a, b, c])) or from a module's call to the next.
func (t *tracedCode) grownLists() map[int]grown {
	out := map[int]grown{}
	type list struct {
		inst, grew int
		ids        []int
		calls      bool
	}
	var lists []list
	for i, n := range t.nodes {
		args := n.Args
		switch {
		case n.Op == "prim::CallMethod" && len(args) > 0:
			args = args[1:]
		case n.Op != "prim::ListConstruct" || len(args) < 2:
			continue
		}
		l := list{inst: i, calls: n.Op == "prim::CallMethod"}
		for j := range args {
			if v := args[j].Value; v != nil && !t.host[v.ID] {
				l.ids = append(l.ids, v.ID)
			}
		}
		for _, o := range lists {
			if len(o.ids) >= len(l.ids) || !slices.Equal(o.ids, l.ids[:len(o.ids)]) {
				continue
			}
			d := common(&t.at[o.inst], &t.at[i])
			if d < 0 {
				continue
			}
			l.grew = max(l.grew, o.grew+1)
			l.calls = o.calls
			if o.calls && l.grew < 2 {
				continue
			}
			g := grown{call: t.at[i].calls[d], first: len(t.def)}
			for _, id := range l.ids {
				if t.def[id] >= 0 {
					g.first = min(g.first, id)
				}
			}
			for k, id := range l.ids {
				if t.def[id] >= 0 {
					g.named = o.calls && k == len(l.ids)-1
					out[id] = g
				}
			}
		}
		if len(l.ids) > 0 {
			lists = append(lists, l)
		}
	}
	return out
}

// findPacks finds containers: values of one statement, which later ones use together.
func (t *tracedCode) findPacks() {
	t.ends, t.packs = make([]int, len(t.uses)), map[int][]int{}
	for id, us := range t.uses {
		if len(us) > 0 {
			t.ends[id] = us[len(us)-1]
		}
	}
	for i, n := range t.nodes {
		if n.Op != "prim::ListConstruct" || len(n.Args) < 2 {
			continue
		}
		var ids []int
		for j := range n.Args {
			v := n.Args[j].Value
			if v == nil || t.def[v.ID] < 0 || t.host[v.ID] || t.uses[v.ID][0] != i || slices.Contains(ids, v.ID) || !t.names[v.ID].none && t.names[v.ID].call != nil {
				ids = nil
				break
			}
			ids = append(ids, v.ID)
		}
		if len(ids) < 2 {
			continue
		}
		depth, last := operand, 0
		for _, id := range ids {
			depth = min(depth, common(&t.at[t.def[id]], &t.at[i]))
			last = max(last, t.ends[id])
		}
		if depth < 0 {
			continue
		}
		made := t.at[t.def[ids[0]]].step(depth)
		if made == t.at[i].step(depth) {
			continue
		}
		if slices.ContainsFunc(ids, func(id int) bool { return t.at[t.def[id]].step(depth) != made }) {
			depth = t.spread(ids, i)
			if depth < 0 {
				continue
			}
			first := t.at[t.def[ids[0]]].step(depth)
			for _, id := range ids[1:] {
				s := t.at[t.def[id]].step(depth)
				if s != first {
					s.part, first.last = first, s.last
				}
			}
		}
		t.packs[ids[0]] = ids
		for _, id := range ids {
			t.ends[id] = last
			t.names[id] = localName{}
		}
	}
}

// spread is the depth of the call in which values look like a list written over several lines, one a line and nothing on the lines of the
// brackets; -1 where they do not.
func (t *tracedCode) spread(ids []int, list int) int {
	at := &t.at[list]
	depth := len(at.calls) - 1
	var first, last *pyStep
	for _, id := range ids {
		p := &t.at[t.def[id]]
		if len(p.calls) <= depth || p.calls[depth] != at.calls[depth] {
			return -1
		}
		s := p.step(depth)
		if first == nil {
			first = s
		} else if s.line != last.line+1 {
			return -1
		}
		last = s
	}
	if before := t.before(first, depth); before == nil || before.line > first.line-2 || at.step(depth).line != last.line+2 {
		return -1
	}
	return depth
}

// before is the statement before s in its call.
func (t *tracedCode) before(s *pyStep, depth int) *pyStep {
	for i := s.first - 1; i >= 0; i-- {
		if p := &t.at[i]; len(p.calls) > depth && p.calls[depth] == t.at[s.first].calls[depth] {
			return p.step(depth)
		}
	}
	return nil
}
