package exec

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// What eager execution holds in a traced archive. From the stacks come the calls and statements (activations.go), from the printed names a
// part of the user's (tracednames.go).
//
// A value used within its own statement is a temporary and goes when its user is done. One used later was a local (variables.go), or a list
// held it (tracedlists.go). The note locals-unknown says that not all of this is known.

// tracedCode is what is found out about a traced function.
type tracedCode struct {
	nodes  []*program.Node
	root   bool
	frames [][]*program.Frame // by node, outermost first
	base   []string           // by value: its printed name, as the user wrote it
	at     []place
	def    []int   // by value: its node, -1 for parameters
	uses   [][]int // by value
	names  []localName
	made   []string            // by value: the operator that made it, be it in a module
	member []*Object           // by node: the list that the module it calls is in
	opened map[lineIn]bool     // where statements began
	given  []origin            // what the function gives back
	bound  map[localName][]int // values by name, in order
	host   []bool              // by value: a number
	ends   []int               // by value: its last use
	packs  map[int][]int       // containers of values that one statement made, by the first of them
}

// death is a value's end: the instruction after which it goes, and its place among those that go there.
type death struct {
	inst, value int
	depth       int  // of the call whose statement ends; operands go first of all
	frame       bool // the call itself ends
	key, sub    int
}

const operand = 1 << 20

// followStacks replaces the last uses of a traced function by what its stacks tell.
func (m *machine) followStacks(c *code, self *Object) {
	p := m.tracedProgram()
	t := p.code(c.fn, c.graph, self)
	t.findSteps(t.frames)
	t.forget(c.body.insts)
	t.release(c.body.insts, p)
}

// eachUse calls f with every value that n and its blocks use.
func eachUse(n *program.Node, f func(*program.Value)) {
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			f(v)
		}
	}
	for _, b := range n.Blocks {
		for _, sub := range b.Nodes {
			eachUse(sub, f)
		}
		for j := range b.Outs {
			if v := b.Outs[j].Value; v != nil {
				f(v)
			}
		}
	}
}

// collectUses notes that instruction i is n.
func collectUses(n *program.Node, i int, uses map[int][]int) {
	eachUse(n, func(v *program.Value) { uses[v.ID] = append(uses[v.ID], i) })
}

// forget drops the last uses that compile found.
func (t *tracedCode) forget(insts []inst) {
	for i := range insts {
		in := &insts[i]
		for j := range in.node.Args {
			if v := in.node.Args[j].Value; v != nil && t.def[v.ID] >= 0 {
				in.move[j] = false
			}
		}
		in.drop = slices.DeleteFunc(in.drop, func(id int) bool { return t.def[id] >= 0 && len(t.uses[id]) > 0 })
	}
}

// release puts every value's end into the instruction after which it goes.
func (t *tracedCode) release(insts []inst, p *tracedProgram) {
	var deaths []death
	var calls []*activation
	lists := t.grownLists()
	t.findPacks()
	packed := map[int]bool{} // with the first of them
	for _, ids := range t.packs {
		for _, id := range ids[1:] {
			packed[id] = true
		}
	}
	for _, n := range t.nodes {
		for _, v := range n.Outs {
			if len(t.uses[v.ID]) == 0 {
				continue
			}
			if packed[v.ID] {
				t.passes(v.ID)
				continue
			}
			d, home := t.end(v.ID)
			if t.host[v.ID] {
				d, home = death{inst: t.last(v.ID), value: v.ID, depth: operand}, nil
			} else {
				t.passes(v.ID)
			}
			if g, ok := lists[v.ID]; ok && (home != nil || d.inst < g.call.last) {
				d, home = t.frameEnd(v.ID, g.call), nil
				d.key, d.sub = g.first, -v.ID
				if g.named {
					d.sub = 1
				}
			}
			if home == nil {
				deaths = append(deaths, d)
				continue
			}
			if home.locals == nil {
				calls = append(calls, home)
			}
			home.locals = append(home.locals, v.ID)
		}
	}
	for _, a := range calls {
		deaths = t.follow(p, a, deaths)
	}
	for _, d := range deaths {
		for i, id := range t.packs[d.value] {
			if i > 0 {
				d.value, d.sub = id, -i
				deaths = append(deaths, d)
			}
		}
	}
	slices.SortStableFunc(deaths, func(a, b death) int {
		if c := cmp.Or(cmp.Compare(a.inst, b.inst), cmp.Compare(b.depth, a.depth)); c != 0 {
			return c
		}
		if a.frame != b.frame {
			if a.frame {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.sub, b.sub))
	})
	for _, d := range deaths {
		insts[d.inst].drop = append(insts[d.inst].drop, d.value)
	}
}

// passes notes the calls that give a value to their callers.
func (t *tracedCode) passes(id int) {
	def := &t.at[t.def[id]]
	depth := operand
	for _, u := range t.uses[id] {
		depth = min(depth, common(def, &t.at[u]))
	}
	for d := depth + 1; d < len(def.calls); d++ {
		def.calls[d].passing = append(def.calls[d].passing, id)
	}
}

// last is a value's last use.
func (t *tracedCode) last(id int) int { return t.ends[id] }

// end finds when a value goes, or the call whose local it is.
func (t *tracedCode) end(id int) (death, *activation) {
	def := t.def[id]
	depth, last := operand, t.last(id)
	for _, u := range t.uses[id] {
		depth = min(depth, common(&t.at[def], &t.at[u]))
	}
	if depth < 0 {
		return death{inst: last, value: id, depth: operand}, nil
	}
	home, name := t.at[def].calls[depth], &t.names[id]
	made := t.at[def].step(depth)
	switch {
	case name.call == home && !name.none:
	case made == t.at[last].step(depth):
		return t.temporary(id, depth), nil
	case name.none && name.call == home && made != t.at[t.uses[id][0]].step(depth):
		return t.listed(id, home), nil
	}
	return death{}, home
}

// temporary is the end of a value that nothing but its user holds: an operator, or a parameter of the function it went into.
func (t *tracedCode) temporary(id, depth int) death {
	last := t.last(id)
	p := &t.at[last]
	if len(p.calls) == depth+1 {
		return death{inst: last, value: id, depth: operand, key: id}
	}
	callee := p.calls[depth+1]
	if n := t.names[id]; n.call == callee && !n.none {
		if d, ok := t.rebound(id); ok {
			return d
		}
	}
	return t.frameEnd(id, callee)
}

// rebound finds the statement that binds the name of a value anew. What is used even after that has another holder, to the end of the frame.
func (t *tracedCode) rebound(id int) (death, bool) {
	name := t.names[id]
	for _, w := range t.bound[name] {
		if t.def[w] <= t.def[id] || !t.at[t.def[w]].in(name.call) {
			continue
		}
		end := t.at[t.def[w]].step(name.call.depth).last
		if last := t.last(id); last > end {
			d := t.frameEnd(id, name.call)
			d.key = w
			return d, true
		}
		return death{inst: end, value: id, depth: name.call.depth, key: id}, true
	}
	return death{}, false
}

// frameEnd is the end of call a: names go by number, which is their first appearance.
func (t *tracedCode) frameEnd(id int, a *activation) death {
	first := id
	if name := t.names[id]; name.call == a && !name.none {
		first = t.bound[name][0]
	}
	return t.frameEndAt(id, a, first)
}

// frameEndAt is the end of call a, for a local that value first appeared with.
func (t *tracedCode) frameEndAt(id int, a *activation, first int) death {
	last := a.last
	if a.depth == 0 {
		last = len(t.nodes) - 1
	}
	return death{inst: last, value: id, depth: a.depth, frame: true, key: first}
}

// listed is the end of a value that a list or tuple holds, which is taken to live as long as the call: its last member goes first.
func (t *tracedCode) listed(id int, a *activation) death {
	d := t.frameEnd(id, a)
	if first := t.nodes[t.uses[id][0]]; first.Op == "prim::ListConstruct" || first.Op == "prim::TupleConstruct" {
		for j := range first.Args {
			if v := first.Args[j].Value; v != nil && t.def[v.ID] >= 0 {
				d.key = min(d.key, v.ID)
			}
		}
	}
	d.sub = -id
	return d
}
