package exec

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// A traced archive has no names, but every node carries its Python stack. From the stacks the frames and statements of a module's forward
// are rebuilt, and with them most of what eager execution holds: a value used within its own statement is a temporary and goes when its
// last user is done; one used by a later statement had a name and goes at the end of the statement of its last use; what sits in a list
// that grows stays to the end of the frame. Names that are never bound anew live longer than that: the note locals-unknown says so.

// tracedInst is where an instruction stands: the frames from the module's forward inward, and the statement in each.
type tracedInst struct {
	frames []*activation
	stmts  []*statement // one a frame
}

// activation is one call of a function, statement a run of its instructions on one source statement.
type (
	activation struct {
		last int // its last instruction
	}
	statement struct {
		line, last int
		first      int
	}
)

// followStacks replaces the last uses of a traced function by what its stacks tell.
func (m *machine) followStacks(c *code, self *Object) {
	b := c.body
	at := m.place(b, c.graph, self)
	defs := map[int]int{} // value: its instruction
	uses := map[int][]int{}
	for i := range b.insts {
		in := &b.insts[i]
		for _, v := range in.node.Outs {
			defs[v.ID] = i
		}
		collectUses(in.node, i, uses)
	}
	keep := grownLists(b, at, uses)
	type death struct{ inst, order, value int }
	var deaths []death
	for i := range b.insts {
		in := &b.insts[i]
		for j := range in.node.Args {
			v := in.node.Args[j].Value
			if v == nil {
				continue
			}
			if _, own := defs[v.ID]; own {
				in.move[j] = false
			}
		}
		in.drop = slices.DeleteFunc(in.drop, func(id int) bool { _, own := defs[id]; return own && len(uses[id]) > 0 })
	}
	for i := range b.insts {
		for _, v := range b.insts[i].node.Outs {
			us := uses[v.ID]
			if len(us) == 0 {
				continue
			}
			end, order := releaseAt(b, at, i, us)
			if k, held := keep[v.ID]; held {
				end = max(end, k)
			}
			if b.insts[end].node.Op == "prim::Return" {
				continue // the frame's end lets go of it
			}
			deaths = append(deaths, death{end, order, v.ID})
		}
	}
	slices.SortStableFunc(deaths, func(a, b death) int { return a.order - b.order })
	for _, d := range deaths {
		b.insts[d.inst].drop = append(b.insts[d.inst].drop, d.value)
	}
}

func collectUses(n *program.Node, i int, uses map[int][]int) {
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			uses[v.ID] = append(uses[v.ID], i)
		}
	}
	for _, b := range n.Blocks {
		for _, sub := range b.Nodes {
			collectUses(sub, i, uses)
		}
		for j := range b.Outs {
			if v := b.Outs[j].Value; v != nil {
				uses[v.ID] = append(uses[v.ID], i)
			}
		}
	}
}

// releaseAt is the instruction after which a value goes, and its place among those that go there: temporaries by argument, then names.
func releaseAt(b *block, at []tracedInst, def int, uses []int) (end, order int) {
	end = def
	order = def
	for _, u := range uses {
		e := u
		named := false
		depth := common(&at[def], &at[u])
		if depth >= 0 {
			if at[def].stmts[depth] != at[u].stmts[depth] {
				e, named = at[u].stmts[depth].last, true
			} else if len(at[u].frames) > depth+1 {
				e = at[u].frames[depth+1].last // moved into a parameter of the function that uses it
			}
		}
		if e >= end {
			end, order = e, def
			if named {
				order += len(b.insts)
			}
		}
	}
	return end, order
}

// common is the depth of the innermost frame that two instructions share, -1 for none.
func common(a, b *tracedInst) int {
	d := -1
	for i := 0; i < len(a.frames) && i < len(b.frames) && a.frames[i] == b.frames[i]; i++ {
		d = i
	}
	return d
}

// place rebuilds frames and statements.
func (m *machine) place(b *block, g *program.Graph, self *Object) []tracedInst {
	at := make([]tracedInst, len(b.insts))
	if m.stacks == nil {
		m.stacks = &stacks{m: m, known: map[*program.Func][][]*program.Frame{}, grouped: map[*program.SourceText][][]*program.Frame{}}
	}
	objects := map[int]*Object{}
	if len(g.Params) > 0 {
		objects[g.Params[0].ID] = self
	}
	var prev []*program.Frame
	var cur tracedInst
	made := map[int]int{}
	for i := range b.insts {
		in := &b.insts[i]
		m.submodule(in.node, objects)
		frames := m.stacks.framesOf(in.node, objects)
		if len(frames) == 0 {
			frames = prev // no stack: where the one before stands
		}
		if len(frames) == 0 {
			continue
		}
		shared := 0
		for shared < len(frames) && shared < len(prev) && shared < len(cur.frames) {
			if frames[shared].File != prev[shared].File || frames[shared].Function != prev[shared].Function {
				break
			}
			shared++
			if frames[shared-1].Line != prev[shared-1].Line {
				break
			}
		}
		next := tracedInst{frames: slices.Clone(cur.frames[:shared]), stmts: slices.Clone(cur.stmts[:shared])}
		for d := range frames {
			if d >= shared {
				next.frames = append(next.frames, &activation{})
				next.stmts = append(next.stmts, &statement{line: frames[d].Line, first: i})
			} else if s := next.stmts[d]; s.line != frames[d].Line {
				if frames[d].Line < s.line && takes(in.node, made, s.first, i) {
					s.line = frames[d].Line
				} else {
					next.stmts[d] = &statement{line: frames[d].Line, first: i}
				}
			}
			next.frames[d].last, next.stmts[d].last = i, i
		}
		at[i], cur, prev = next, next, frames
		for _, v := range in.node.Outs {
			made[v.ID] = i
		}
	}
	return at
}

// takes says whether a node uses a result of instructions [from, to).
func takes(n *program.Node, made map[int]int, from, to int) bool {
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			if i, ok := made[v.ID]; ok && i >= from && i < to {
				return true
			}
		}
	}
	return false
}

// groupsOf cuts a stack at the calls of modules (runs of lines of module.py): each group is one module's forward and the functions it
// calls, the innermost module first, in a group the outermost frame first.
func (s *stacks) groupsOf(t *program.SourceText) [][]*program.Frame {
	if groups, ok := s.grouped[t]; ok {
		return groups
	}
	var groups [][]*program.Frame
	from := len(s.frames)
	for _, f := range t.Stack {
		if strings.HasSuffix(f.File, "torch/nn/modules/module.py") {
			if to := len(s.frames); to > from {
				group := s.frames[from:to:to]
				slices.Reverse(group)
				groups, from = append(groups, group), to
			}
			continue
		}
		s.frames = append(s.frames, f)
	}
	s.frames = s.frames[:from] // what is left called the root: the tracer and the user's script
	s.grouped[t] = groups
	return groups
}

// stacks finds the frames of instructions. A call of a submodule has no record of its own: the first operator inside it tells where it
// was called.
type stacks struct {
	m     *machine
	known map[*program.Func][][]*program.Frame
	depth int

	grouped map[*program.SourceText][][]*program.Frame
	frames  []*program.Frame // of all groups, in one piece
}

// framesOf are the frames of a node inside self's forward, outermost first; nil where nothing tells.
func (s *stacks) framesOf(n *program.Node, objects map[int]*Object) []*program.Frame {
	if n.Op == "prim::CallMethod" {
		if o := objects[n.Args[0].Value.ID]; o != nil {
			if g := s.groups(o.Class.Method(n.Text), o); len(g) > 1 {
				return g[1]
			}
		}
		return nil
	}
	if n.Src.Text == nil || n.Src.Text.File != "" {
		return nil
	}
	if g := s.groupsOf(n.Src.Text); len(g) > 0 {
		return g[0]
	}
	return nil
}

// groups is the stack of the first operator in fn, in groups; the first is fn's own.
func (s *stacks) groups(fn *program.Func, self *Object) [][]*program.Frame {
	if fn == nil || s.depth > maxNesting {
		return nil
	}
	if g, ok := s.known[fn]; ok {
		return g
	}
	s.depth++
	defer func() { s.depth-- }()
	s.known[fn] = nil
	graph, err := fn.Graph()
	if err != nil {
		return nil
	}
	objects := map[int]*Object{}
	if len(graph.Params) > 0 {
		objects[graph.Params[0].ID] = self
	}
	for _, n := range graph.Body.Nodes {
		s.m.submodule(n, objects)
		if n.Op == "prim::CallMethod" {
			if o := objects[n.Args[0].Value.ID]; o != nil {
				if g := s.groups(o.Class.Method(n.Text), o); len(g) > 1 {
					s.known[fn] = g[1:]
					return g[1:]
				}
			}
			continue
		}
		if n.Src.Text != nil && n.Src.Text.File == "" && !strings.HasPrefix(n.Op, "prim::") {
			if g := s.groupsOf(n.Src.Text); len(g) > 0 {
				s.known[fn] = g
				return g
			}
		}
	}
	return nil
}

// maxNesting is how deep modules are followed.
const maxNesting = 200

// submodule notes which object a GetAttr of a module reads.
func (m *machine) submodule(n *program.Node, objects map[int]*Object) {
	if n.Op != "prim::GetAttr" || n.Args[0].Value == nil {
		return
	}
	o := objects[n.Args[0].Value.ID]
	if o == nil {
		return
	}
	if v, ok := m.getAttr(o, n.Text); ok {
		if sub, ok := v.(*Object); ok {
			objects[n.Outs[0].ID] = sub
		}
	}
}

// grownLists finds lists that grow from operator to operator (cat([a, b]), then cat([a, b, c])): their members stay to the end of the frame.
func grownLists(b *block, at []tracedInst, _ map[int][]int) map[int]int {
	keep := map[int]int{}
	type list struct {
		inst int
		ids  []int
	}
	var lists []list
	for i := range b.insts {
		n := b.insts[i].node
		if n.Op != "prim::ListConstruct" || len(n.Args) == 0 {
			continue
		}
		l := list{inst: i}
		for j := range n.Args {
			if v := n.Args[j].Value; v != nil {
				l.ids = append(l.ids, v.ID)
			}
		}
		for _, o := range lists {
			if len(o.ids) == 0 || len(o.ids) >= len(l.ids) || !slices.Equal(o.ids, l.ids[:len(o.ids)]) {
				continue
			}
			d := common(&at[o.inst], &at[i])
			if d < 0 {
				continue
			}
			for _, id := range l.ids {
				keep[id] = max(keep[id], at[i].frames[d].last)
			}
		}
		lists = append(lists, l)
	}
	return keep
}
