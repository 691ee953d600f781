package exec

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// In eager execution a local name holds its tensor until it is bound anew, deleted, or its frame ends. A scripted archive carries the
// source text of every function beside the code, and the printed names of the code say which of the user's names a value had. With both
// the names' holds can be followed; registers hold a value besides, to its last use.

// names is what is known of a function's names before it runs.
type names struct {
	src    *pySource // nil where the archive carries no text: then printed names alone are followed
	locals []string  // parameters first, then by first appearance
	params int
	stmt   []int32 // by instruction: its statement in src, -1 where unknown
	bind   []int32 // by value: the local it is bound to, -1 where it had no name
}

// locals is what the names of one frame hold.
type locals struct {
	held    []any
	set     []bool
	pending []binding // of the statement under way: names are bound when its right side is complete
	last    int       // statement under way, -1 before the first
}

type binding struct {
	local int32
	value any
	id    int // the SSA value, -1
}

// namesOf reads the names of c's function; nil for a traced program, whose names mean nothing.
func namesOf(p *program.Program, c *code) *names {
	if p.Kind == program.Traced {
		return nil
	}
	n := &names{stmt: make([]int32, c.count), bind: make([]int32, c.graph.NumValues)}
	for _, prm := range c.graph.Params {
		n.locals = append(n.locals, prm.Name)
	}
	n.params = len(n.locals)
	if src := c.graph.Source; src != nil {
		n.src = readPython(src.Text)
		for _, name := range n.src.order {
			if !slices.Contains(n.locals, name) {
				n.locals = append(n.locals, name)
			}
		}
	}
	for i := range n.bind {
		n.bind[i] = -1
	}
	n.place(c, c.body, make([]int32, c.graph.NumValues))
	consumers := map[int]consumer{}
	n.scan(c, c.body, consumers)
	n.bindBlock(c, c.body, consumers)
	return n
}

// place finds the statement of each instruction, backwards: a node without a place of its own (a list, a tuple) stands where its result is
// used. used holds a value's first use, 0 where there is none, else the statement plus 2.
func (n *names) place(c *code, b *block, used []int32) {
	for i := len(b.insts) - 1; i >= 0; i-- {
		in := &b.insts[i]
		stmt := int32(-1)
		if n.src != nil && in.node.Src.Text == c.graph.Source && in.node.Op != "prim::GetAttr" {
			stmt = int32(n.src.at(int(in.node.Src.Start)))
		}
		if stmt < 0 && len(in.node.Outs) > 0 && in.node.Op != "prim::GetAttr" {
			if u := used[in.node.Outs[0].ID]; u > 0 {
				stmt = u - 2
			}
		}
		n.stmt[in.num] = stmt
		for j := range in.node.Args {
			if v := in.node.Args[j].Value; v != nil {
				used[v.ID] = stmt + 2
			}
		}
		for _, sub := range in.blocks {
			n.place(c, sub, used)
		}
	}
}

// consumer is what is known of a value's uses: the statement they are in, or that there are several.
type consumer struct {
	stmt  int32
	mixed bool
}

func (n *names) scan(c *code, b *block, uses map[int]consumer) {
	use := func(v *program.Value, stmt int32) {
		if v == nil {
			return
		}
		if u, ok := uses[v.ID]; ok {
			u.mixed = u.mixed || u.stmt != stmt
			uses[v.ID] = u
			return
		}
		uses[v.ID] = consumer{stmt: stmt}
	}
	for i := range b.insts {
		in := &b.insts[i]
		for j := range in.node.Args {
			use(in.node.Args[j].Value, n.stmt[in.num])
		}
		for _, sub := range in.blocks {
			n.scan(c, sub, uses)
		}
	}
	for i := range b.src.Outs {
		use(b.src.Outs[i].Value, -2)
	}
}

// bindBlock finds the name of each value.
func (n *names) bindBlock(c *code, b *block, uses map[int]consumer) {
	for i := range b.insts {
		in := &b.insts[i]
		for _, sub := range in.blocks {
			n.bindBlock(c, sub, uses)
		}
		if in.node.Op == "prim::GetAttr" {
			continue
		}
		for _, v := range in.node.Outs {
			n.bind[v.ID] = n.nameOf(in, v, uses)
		}
	}
}

// nameOf is the local that a value is bound to, -1 for none.
func (n *names) nameOf(in *inst, v *program.Value, uses map[int]consumer) int32 {
	stmt := n.stmt[in.num]
	if n.src == nil {
		return n.stripped(v.Name)
	}
	var targets [][]string
	if stmt >= 0 {
		targets = n.src.stmts[stmt].targets
	}
	if v.Name != "" && v.Name[0] != '_' || strings.TrimLeft(v.Name, "_0123456789") != "" {
		best := ""
		for _, group := range targets {
			for _, p := range group {
				if printedAs(v.Name, p) && len(p) > len(best) {
					best = p
				}
			}
		}
		if best == "" {
			for _, p := range n.locals {
				if printedAs(v.Name, p) && len(p) > len(best) {
					best = p
				}
			}
		}
		if best != "" {
			return int32(slices.Index(n.locals, best))
		}
	}
	// a value without a printed name that is the whole right side of an assignment: something outside the statement uses it
	if len(targets) == 1 && len(targets[0]) == 1 && targets[0][0] != "" {
		if u, used := uses[v.ID]; used && (u.mixed || u.stmt != stmt) && len(in.node.Outs) == 1 {
			return int32(slices.Index(n.locals, targets[0][0]))
		}
	}
	return -1
}

// printedAs says whether the printer may have written local p as name: itself, or with its counter behind.
func printedAs(name, p string) bool {
	if p == "" || !strings.HasPrefix(name, p) {
		return false
	}
	digits := name[len(p):]
	if digits == "" {
		return true
	}
	if digits[0] == '0' && len(digits) > 1 {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

// stripped is the rule without text: the counter is cut off down to a name that was seen before.
func (n *names) stripped(name string) int32 {
	if name == "" || name[0] == '_' {
		return -1
	}
	for end := len(name); end > 0; end-- {
		if i := slices.Index(n.locals, name[:end]); i >= 0 {
			return int32(i)
		}
		if c := name[end-1]; c < '0' || c > '9' {
			break
		}
	}
	n.locals = append(n.locals, name)
	return int32(len(n.locals) - 1)
}

// enterNames binds a frame's parameters.
func (m *machine) enterNames(f *frame, args []any) {
	n := f.code.names
	l := &locals{held: make([]any, len(n.locals)), set: make([]bool, len(n.locals)), last: -1}
	f.locals = l
	for i, v := range args {
		m.hold(v)
		l.held[i], l.set[i] = v, true
	}
}

// leaveNames ends a frame: the parameters go in order, then the locals by first appearance.
func (m *machine) leaveNames(f *frame) {
	m.flush(f)
	l := f.locals
	f.locals = nil
	for i := range l.held {
		if l.set[i] {
			l.set[i] = false
			m.drop(l.held[i])
		}
	}
}

// bindLocal binds a name: the new value is held before the old one goes.
func (m *machine) bindLocal(l *locals, local int32, v any) {
	m.hold(v)
	old, had := l.held[local], l.set[local]
	l.held[local], l.set[local] = v, true
	if had {
		m.drop(old)
	}
}

// flush binds the names of the statement under way.
func (m *machine) flush(f *frame) {
	l := f.locals
	for _, p := range l.pending {
		m.bindLocal(l, p.local, p.value)
		m.drop(p.value)
	}
	l.pending = l.pending[:0]
}

// beforeInst ends the statement before, where in begins another, and runs what the archive left out between the two.
func (m *machine) beforeInst(f *frame, in *inst) {
	n, l := f.code.names, f.locals
	if n.src == nil {
		if len(l.pending) > 0 {
			m.flush(f)
		}
		return
	}
	j := int(n.stmt[in.num])
	if j < 0 {
		return
	}
	if j == l.last && !l.reads(in) {
		return
	}
	m.flush(f)
	for _, k := range n.src.between(l.last, j) {
		m.silent(f, &n.src.stmts[k])
	}
	l.last = j
}

// reads says whether in uses a value that the statement under way is about to bind: then the statement runs again (an unrolled loop).
func (l *locals) reads(in *inst) bool {
	if len(l.pending) == 0 {
		return false
	}
	for i := range in.node.Args {
		v := in.node.Args[i].Value
		if v == nil {
			continue
		}
		for _, p := range l.pending {
			if p.id == v.ID {
				return true
			}
		}
	}
	return false
}

// silent runs a statement that only moves names.
func (m *machine) silent(f *frame, st *pyStmt) {
	l := f.locals
	for _, name := range st.del {
		if i := slices.Index(f.code.names.locals, name); i >= 0 && l.set[i] {
			l.set[i] = false
			m.drop(l.held[i])
		}
	}
	if len(st.names) == 0 {
		return
	}
	values := make([]any, 0, len(st.names))
	for _, name := range st.names {
		i := slices.Index(f.code.names.locals, name)
		if i < 0 || !l.set[i] {
			return
		}
		values = append(values, l.held[i])
	}
	var v any
	if st.list {
		if len(st.targets[0]) > 1 { // a, b = b, a
			m.swap(f, st, values)
			return
		}
		for _, item := range values {
			m.hold(item)
		}
		v = &ops.List{Items: values}
	} else {
		v = values[0]
	}
	m.hold(v)
	for _, group := range st.targets {
		if len(group) == 1 && group[0] != "" {
			m.bindLocal(l, int32(slices.Index(f.code.names.locals, group[0])), v)
		}
	}
	m.drop(v)
}

// swap binds several names to several names' values at once.
func (m *machine) swap(f *frame, st *pyStmt, values []any) {
	if len(st.targets[0]) != len(values) {
		return
	}
	for _, v := range values {
		m.hold(v)
	}
	for i, name := range st.targets[0] {
		if name != "" {
			m.bindLocal(f.locals, int32(slices.Index(f.code.names.locals, name)), values[i])
		}
	}
	for _, v := range values {
		m.drop(v)
	}
}

// afterInst puts the names of in's results on the list to be bound.
func (m *machine) afterInst(f *frame, in *inst, _ any) {
	for _, out := range in.node.Outs {
		m.name(f, out.ID)
	}
}

// afterOut names a result of an If or Loop.
func (m *machine) afterOut(f *frame, in *inst, i int, _ any) { m.name(f, in.node.Outs[i].ID) }

func (m *machine) name(f *frame, id int) {
	n, l := f.code.names, f.locals
	local := n.bind[id]
	if local < 0 || !f.set[id] {
		return
	}
	v := f.regs[id]
	m.hold(v)
	if n.src == nil {
		l.grow(len(n.locals))
		m.bindLocal(l, local, v)
		m.drop(v)
		return
	}
	l.pending = append(l.pending, binding{local: local, value: v, id: id})
}

// grow makes room for names that were found while the frame ran.
func (l *locals) grow(n int) {
	for len(l.held) < n {
		l.held, l.set = append(l.held, nil), append(l.set, false)
	}
}
