package exec

import (
	"cmp"
	"slices"
	"strings"
)

// variable is a local of a call, base is "" where its name is not known.
type variable struct {
	base  string
	value int  // what it holds, -1 for nothing
	count int  // of values it held
	first int  // the first value that it held
	param bool // it was one of the call's, going by the names of the program
}

// tracedScope is what the locals of a call hold while its statements are gone through.
type tracedScope struct {
	t      *tracedCode
	p      *tracedProgram
	a      *activation
	vars   map[int]*variable // by value
	named  map[string]*variable
	deaths []death
}

// turn is one statement: what it gives to locals, and what it is the last to use.
type turn struct {
	s     *pyStep
	given []int
	ended []int
}

// follow goes through the statements of a call and finds which local takes each result. That of a known name is known. Another one takes the
// local of a value that the statement is the last to use, for `x = f(x)` is far more common than a name left lying; what is not taken stays.
func (t *tracedCode) follow(p *tracedProgram, a *activation, deaths []death) []death {
	c := &tracedScope{t: t, p: p, a: a, vars: map[int]*variable{}, named: map[string]*variable{}, deaths: deaths}
	for _, n := range t.turns(a) {
		c.turn(n)
	}
	for _, id := range a.locals {
		if v := c.vars[id]; v != nil && v.value == id {
			c.deaths = append(c.deaths, t.frameEndAt(id, a, v.first))
		}
	}
	return c.deaths
}

// turns lists the statements of a call that give a local a value or are the last to use one.
func (t *tracedCode) turns(a *activation) []*turn {
	var turns []*turn
	at := map[*pyStep]*turn{}
	find := func(i int) *turn {
		s := t.at[i].step(a.depth)
		n := at[s]
		if n == nil {
			n = &turn{s: s}
			at[s] = n
			turns = append(turns, n)
		}
		return n
	}
	for _, id := range a.locals {
		n := find(t.def[id])
		n.given = append(n.given, id)
		n = find(t.last(id))
		n.ended = append(n.ended, id)
	}
	for _, id := range a.passing {
		n := find(t.def[id])
		n.given = append(n.given, id)
	}
	for _, n := range turns {
		slices.Sort(n.given)
	}
	slices.SortFunc(turns, func(x, y *turn) int { return cmp.Compare(x.s.last, y.s.last) })
	return turns
}

// turn goes through a statement. The last one of a call binds nothing that is told: `return f(x)`.
func (c *tracedScope) turn(n *turn) {
	t := c.t
	over := n.s.last >= c.a.last || t.nodes[n.s.last].Op == "prim::Return"
	ended := c.ended(n)
	var open []int
	for _, id := range n.given { // known names first
		name := t.names[id]
		if name.call != c.a || name.none {
			if c.opens(id) {
				open = append(open, id)
			} else {
				c.vars[id] = &variable{value: id, count: 1, first: id}
			}
			continue
		}
		v := c.named[name.base]
		if v == nil {
			v = &variable{base: name.base, value: -1, first: id, param: t.made[id] != embedding && c.takesParam(n.s)}
			c.named[name.base] = v
			if !over && t.made[id] != embedding {
				if w := c.anonymous(ended); w != nil {
					w.base, v = name.base, w
					c.named[name.base] = v
				}
			}
		}
		c.give(v, id, n.s)
	}
	ended = slices.DeleteFunc(ended, func(id int) bool { return c.vars[id].value != id })
	for i, id := range open {
		if !over && i < len(ended) && t.made[id] != embedding {
			c.give(c.vars[ended[i]], id, n.s)
		} else {
			c.give(&variable{value: -1, first: id, param: t.made[id] != embedding && c.takesParam(n.s)}, id, n.s)
		}
	}
}

// operand is where a statement's first user takes a value.
func (c *tracedScope) operand(id int, s *pyStep) int {
	for _, u := range c.t.uses[id] {
		if u < s.first {
			continue
		}
		for j := range c.t.nodes[u].Args {
			if v := c.t.nodes[u].Args[j].Value; v != nil && v.ID == id {
				return u<<8 + j
			}
		}
	}
	return 0
}

// reads says whether a statement uses more of a value than its sizes.
func (c *tracedScope) reads(id int, s *pyStep) bool {
	for _, u := range c.t.uses[id] {
		if u >= s.first && u <= s.last && c.t.nodes[u].Op != "aten::size" {
			return true
		}
	}
	return false
}

// embedding is the operator whose result is not what its indices were.
const embedding = "aten::embedding"

// products are operators whose result is something else than their operands.
var products = map[string]bool{"aten::matmul": true, "aten::bmm": true, "aten::einsum": true, "aten::scaled_dot_product_attention": true}

// ended are the values that a statement is the last to use and that its results may take the place of, the likeliest first. A product is something
// new, and so is what joins values, unless one of them has a name that is known to be bound again.
func (c *tracedScope) ended(n *turn) []int {
	t := c.t
	var out []int
	for _, id := range n.ended {
		if v := c.vars[id]; v != nil && v.value == id && t.at[t.def[id]].step(c.a.depth) != n.s && c.reads(id, n.s) {
			out = append(out, id)
		}
	}
	slices.SortStableFunc(out, func(x, y int) int {
		return cmp.Or(c.running(y)-c.running(x), c.operand(x, n.s)-c.operand(y, n.s), x-y)
	})
	out = slices.DeleteFunc(out, func(id int) bool { return c.running(id) < 2 && c.branches(id, n.s) })
	if c.entersLoop(n.s) {
		out = slices.DeleteFunc(out, func(id int) bool {
			v := c.vars[id]
			return v.count == 1 && !v.param && t.nodes[t.def[id]].Op == "prim::CallMethod"
		})
	}
	for i := n.s.first; i <= n.s.last; i++ {
		node := t.nodes[i]
		list := node.Op == "prim::ListConstruct"
		sum := node.Op == "aten::add"
		if !products[node.Op] && !list && !sum {
			continue
		}
		var taken []int
		for j := range node.Args {
			if v := node.Args[j].Value; v != nil && slices.Contains(out, t.argumentOf(v.ID)) {
				taken = append(taken, t.argumentOf(v.ID))
			}
		}
		if products[node.Op] {
			taken = slices.Clone(out) // through whatever the statement does to them first
		}
		if sum && !c.newSum(taken) {
			continue
		}
		if len(taken) > 1 {
			out = slices.DeleteFunc(out, func(id int) bool {
				return slices.Contains(taken, id) && (!list || c.vars[id].base == "" || c.running(id) < 2)
			})
		}
	}
	return out
}

// newSum says whether the sum of values is something new: of what embeddings gave, or of locals none of which is bound again anywhere.
func (c *tracedScope) newSum(ids []int) bool {
	embeddings := !slices.ContainsFunc(ids, func(id int) bool { return c.t.made[id] != embedding })
	return embeddings || !slices.ContainsFunc(ids, func(id int) bool { return c.vars[id].base == "" || c.running(id) > 0 })
}

// branches says whether an earlier statement made of a value something that outlives s: several things are made of it, and it is none of them.
func (c *tracedScope) branches(id int, s *pyStep) bool {
	t := c.t
	for _, u := range t.uses[id] {
		if u >= s.first || t.nodes[u].Op == "aten::size" {
			continue
		}
		e := t.at[u].step(c.a.depth)
		for w, v := range c.vars {
			if w != id && v != c.vars[id] && v.value >= 0 && t.at[t.def[w]].step(c.a.depth) == e && t.last(v.value) > s.last {
				return true
			}
		}
	}
	return false
}

// entersLoop says whether a statement is the first round of a loop over a list of modules: `y = made(x); for f in fs: y = f(y)` is told from
// `made = make(x); y = made; for …` by whether the local was bound before.
func (c *tracedScope) entersLoop(s *pyStep) bool {
	t := c.t
	for i := s.first; i <= s.last; i++ {
		list := t.member[i]
		if list == nil || len(t.at[i].calls) != c.a.depth+1 {
			continue
		}
		before, after := false, false
		for k, m := range t.member {
			if m == list && t.at[k].in(c.a) && len(t.at[k].calls) == c.a.depth+1 {
				before = before || k < s.first
				after = after || k > s.last
			}
		}
		return !before && after
	}
	return false
}

// takesParam says whether a statement is the last to use a parameter that is likely to be bound again.
func (c *tracedScope) takesParam(s *pyStep) bool {
	t := c.t
	for i := s.first; i <= s.last; i++ {
		for j := range t.nodes[i].Args {
			v := t.nodes[i].Args[j].Value
			if v == nil || t.def[v.ID] >= 0 {
				continue
			}
			us := t.uses[v.ID]
			if c.p.bindsParam(t, t.base[v.ID]) && us[len(us)-1] <= s.last {
				return true
			}
		}
	}
	return false
}

// anonymous is the local of the first of values whose local has no known name, nil for none.
func (c *tracedScope) anonymous(ids []int) *variable {
	for _, id := range ids {
		if v := c.vars[id]; v.base == "" {
			return v
		}
	}
	return nil
}

// give binds v to a result of statement s: what it held goes when that ends, unless something else holds it.
func (c *tracedScope) give(v *variable, id int, s *pyStep) {
	t := c.t
	if old := v.value; old >= 0 && !slices.Contains(c.a.passing, old) {
		switch last := t.last(old); {
		case last > s.last:
			c.deaths = append(c.deaths, t.frameEndAt(old, c.a, id))
		case s.last >= c.a.last:
			c.deaths = append(c.deaths, t.frameEndAt(old, c.a, v.first))
		default:
			c.deaths = append(c.deaths, death{inst: s.last, value: old, depth: c.a.depth, key: old})
		}
	}
	v.value = id
	if t.made[id] != "aten::dropout" || v.count == 0 { // which gives its argument
		v.count++
	}
	c.vars[id] = v
}

// running says how likely a local is to be bound again.
func (c *tracedScope) running(id int) int {
	v := c.vars[id]
	switch n := c.t.names[id]; {
	case v.base == "" && v.count > 1, n.call == c.a && len(c.t.bound[n]) > 1, c.p.again[v.base]:
		return 2
	case v.base == "":
		return 1
	}
	return 0
}

// opens says whether a result may bind any name.
func (c *tracedScope) opens(id int) bool {
	if n := c.t.names[id]; n.none && n.call == c.a {
		return false
	}
	op := c.t.nodes[c.t.def[id]].Op
	return !strings.HasSuffix(op, "_") || strings.HasSuffix(op, "__") // an operator that writes its argument gives it back
}
