package stacks

import (
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// What containers hold, as far as their uses report.

// listed is what holds a list's members: they stay to the end of the call. A local may hold the
// newest member too (named).
type listed struct {
	call  *call
	first int // the first member
	named bool
}

// growingLists finds lists that grow from operator to operator (cat([a, b]), then cat([a, b, c]))
// or from a module's call to the next.
func (t *function) growingLists() map[int]listed {
	if !t.joinsSeveral() {
		return nil
	}
	var out map[int]listed
	type list struct {
		node  int
		ids   []int
		calls bool
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
		l := list{node: i, calls: n.Op == "prim::CallMethod"}
		for j := range args {
			if v := args[j].Value; v != nil && t.number[v.ID] == notNumber {
				l.ids = append(l.ids, v.ID)
			}
		}
		for _, o := range lists {
			if len(o.ids) >= len(l.ids) || !slices.Equal(o.ids, l.ids[:len(o.ids)]) {
				continue
			}
			d := common(&t.at[o.node], &t.at[i])
			if d < 0 {
				continue
			}
			l.calls = o.calls
			g := listed{call: t.at[i].calls[d], first: len(t.def)}
			for _, id := range l.ids {
				if t.def[id] >= 0 {
					g.first = min(g.first, id)
				}
			}
			if out == nil {
				out = map[int]listed{}
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

// joinsSeveral says whether any node may take a list of more than one member.
func (t *function) joinsSeveral() bool {
	return slices.ContainsFunc(t.nodes, func(n *program.Node) bool {
		return n.Op == "prim::CallMethod" && len(n.Args) > 2 || n.Op == "prim::ListConstruct" && len(n.Args) > 1
	})
}

// findContainers finds lists: values without names that one statement makes and a later one joins.
// They end together.
func (t *function) findContainers() map[int][]int {
	var out map[int][]int
	t.ends = make([]int, len(t.uses))
	for id, us := range t.uses {
		if len(us) > 0 {
			t.ends[id] = us[len(us)-1]
		}
	}
	for i, n := range t.nodes {
		if n.Op != "prim::ListConstruct" || len(n.Args) < 2 {
			continue
		}
		ids := t.members(i)
		if len(ids) < 2 {
			continue
		}
		depth, last := len(t.at[i].calls)-1, 0
		for _, id := range ids {
			depth = min(depth, common(&t.at[t.def[id]], &t.at[i]))
			last = max(last, t.ends[id])
		}
		if depth < 0 {
			continue
		}
		made := t.at[t.def[ids[0]]].stmt(depth)
		if made == t.at[i].stmt(depth) {
			continue
		}
		if slices.ContainsFunc(ids, func(id int) bool { return t.at[t.def[id]].stmt(depth) != made }) {
			if depth = t.display(ids, i); depth < 0 {
				continue
			}
			first := t.at[t.def[ids[0]]].stmt(depth)
			for _, id := range ids[1:] {
				if s := t.at[t.def[id]].stmt(depth); s != first {
					s.part, first.last = first, s.last
				}
			}
		}
		if out == nil {
			out = map[int][]int{}
		}
		out[ids[0]] = ids
		for _, id := range ids {
			t.ends[id] = last
			t.names[id] = name{}
		}
	}
	return out
}

// members are the values that list node i is the first to use, nil where one is anything else: a
// number, a local, made elsewhere.
func (t *function) members(i int) []int {
	var ids []int
	for j := range t.nodes[i].Args {
		v := t.nodes[i].Args[j].Value
		if v == nil || t.def[v.ID] < 0 || t.number[v.ID] != notNumber || t.uses[v.ID][0] != i ||
			slices.Contains(ids, v.ID) || t.names[v.ID].known() {
			return nil
		}
		ids = append(ids, v.ID)
	}
	return ids
}

// display is the depth of the call in which values look like a list written over several lines, one
// a line and nothing on the lines of the brackets; -1 where they do not.
func (t *function) display(ids []int, list int) int {
	at := &t.at[list]
	depth := len(at.calls) - 1
	var first, last *statement
	for _, id := range ids {
		p := &t.at[t.def[id]]
		if len(p.calls) <= depth || p.calls[depth] != at.calls[depth] {
			return -1
		}
		s := p.stmt(depth)
		if first == nil {
			first = s
		} else if s.line != last.line+1 {
			return -1
		}
		last = s
	}
	if before := t.before(first, depth); before == nil || before.line > first.line-2 ||
		at.stmt(depth).line != last.line+2 {
		return -1
	}
	return depth
}

// before is the statement before s in its call.
func (t *function) before(s *statement, depth int) *statement {
	for i := s.first - 1; i >= 0; i-- {
		if p := &t.at[i]; len(p.calls) > depth && p.calls[depth] == t.at[s.first].calls[depth] {
			return p.stmt(depth)
		}
	}
	return nil
}
