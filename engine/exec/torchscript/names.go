package torchscript

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/slab"
	"github.com/memspec/memspec/engine/program"
)

// In eager execution a local name holds its tensor until it is bound anew, deleted, or its frame ends. A scripted archive carries the
// source text of every function beside the code, and the printed names of the code say which of the user's names a value had. This file
// reads from both, before a function runs, where each node stands in the text and which names its results get; locals.go and cursor.go
// follow the names while it runs.

// names is what is known of a function's names before it runs.
type names struct {
	text      *program.SourceText // the user's function
	src       *pysource.Source    // nil where the archive carries no text: then printed names alone are followed
	locals    []string            // parameters first, then as the compiler numbers them
	index     map[string]int32    // where there are many
	stmt      []int32             // by instruction: its statement in src, -1 where unknown
	header    []int32             // by instruction: the compound statement that an If or Loop is, -1 where it is none (a condition in an expression)
	bind      [][]int32           // by value: the locals it is bound to
	fill      []bool              // by instruction: makes the tensor of `x[i] = number`
	placed    []bool              // by statement: it left nodes in the archive
	together  map[int]int32       // by instruction: the local that holds all its results as one tuple, `t = torch.topk(x, 4)`
	*nameWork                     // while names are read
}

// nameWork is what reading one function's names needs; the next function uses it again.
type nameWork struct {
	uses  []consumer // by value
	defs  []*inst    // by value
	nodes []*inst    // by instruction
	first []int32    // by printed statement: its first instruction and one more, 0 for none
	mate  []int32    // by instruction: the next one of its printed statement and one more, 0 for none
}

// consumer is what is known of a value's uses.
type consumer struct {
	used  bool
	stmt  int32 // the statement they are in
	mixed bool  // or there are several
	first *inst
}

// atEnd stands for the place of a return, outFlow for that of a block's end, where consumers are concerned.
const (
	nowhere = -1
	outFlow = -2
)

// namesOf reads the names of c's function.
func (m *interp) namesOf(c *code) *names {
	w := &m.nameWork
	w.uses, w.defs = slab.Extend(w.uses[:0], c.graph.NumValues), slab.Extend(w.defs[:0], c.graph.NumValues)
	w.nodes, w.mate, w.first = slab.Extend(w.nodes[:0], c.count), slab.Extend(w.mate[:0], c.count), w.first[:0]
	n := &names{
		stmt: m.numbers.Cut(c.count), header: m.numbers.Cut(c.count), fill: m.flags.Cut(c.count), bind: m.bindings.Cut(c.graph.NumValues), nameWork: w,
	}
	n.text = c.graph.Source
	locals := len(c.graph.Params)
	if n.text != nil {
		n.src = m.python(n.text)
		locals += len(n.src.Locals)
	}
	n.locals = m.names.Cut(locals)[:0]
	for _, prm := range c.graph.Params {
		n.local(prm.Name)
	}
	if n.text != nil {
		for _, name := range n.src.Locals {
			n.local(name)
		}
		n.placed = m.flags.Cut(len(n.src.Stmts))
	}
	n.gather(c.body)
	if n.src == nil {
		n.strip(c.body)
		n.nameWork = nil
		return n
	}
	n.place()
	n.consume(c.body)
	for _, in := range n.nodes {
		n.bindNode(in)
	}
	n.nameWork = nil
	return n
}

// python is a text read; functions of many classes share theirs.
func (m *interp) python(t *program.SourceText) *pysource.Source {
	s := m.texts[t]
	if s == nil {
		s = pysource.Read(t.Text)
		if m.texts == nil {
			m.texts = map[*program.SourceText]*pysource.Source{}
		}
		m.texts[t] = s
	}
	return s
}

// local is the number of a name.
func (n *names) local(name string) int32 {
	i, ok := n.find(name)
	if !ok {
		i = int32(len(n.locals))
		n.locals = append(n.locals, name)
		if n.index != nil {
			n.index[name] = i
		}
	}
	return i
}

// manyLocals is from how many on a map finds names faster.
const manyLocals = 16

// find is the number of a name that has one.
func (n *names) find(name string) (i int32, ok bool) {
	if len(n.locals) < manyLocals {
		for i, l := range n.locals {
			if l == name {
				return int32(i), true
			}
		}
		return 0, false
	}
	if n.index == nil {
		n.index = make(map[string]int32, 2*len(n.locals))
		for i, l := range n.locals {
			n.index[l] = int32(i)
		}
	}
	i, ok = n.index[name]
	return i, ok
}

// numberOf is the number of a name that a statement assigns.
func (n *names) numberOf(name string) int32 {
	i, _ := n.find(name)
	return i
}

// gather lists nodes, and what defines each value.
func (n *names) gather(b *block) {
	for i := range b.insts {
		in := &b.insts[i]
		n.nodes[in.num] = in
		for _, v := range in.node.Outs {
			n.defs[v.ID] = in
		}
		for _, sub := range in.blocks {
			n.gather(sub)
		}
	}
}

// consume notes where values are used.
func (n *names) consume(b *block) {
	use := func(v *program.Value, stmt int32, in *inst) {
		if v == nil {
			return
		}
		u := &n.uses[v.ID]
		switch {
		case !u.used:
			*u = consumer{used: true, stmt: stmt, first: in}
		case u.stmt != stmt:
			u.mixed = true
		}
	}
	for i := range b.insts {
		in := &b.insts[i]
		for j := range in.node.Args {
			use(in.node.Args[j].Value, n.stmt[in.num], in)
		}
		for _, sub := range in.blocks {
			n.consume(sub)
		}
	}
	for i := range b.src.Outs {
		use(b.src.Outs[i].Value, outFlow, nil)
	}
}

// bindNode finds the names of a node's results.
func (n *names) bindNode(in *inst) {
	switch in.node.Op {
	case "prim::GetAttr", "prim::unchecked_cast", "prim::Uninitialized": // a name of the attribute's; the same value seen as another type
		return
	case "prim::If", "prim::Loop":
		if n.header[in.num] >= 0 {
			return // its results were bound inside
		}
	}
	if in.initializes() {
		return // the name is the object's
	}
	stmt := n.stmt[in.num]
	if stmt < 0 {
		for _, v := range in.node.Outs {
			if printed(v.Name) {
				n.bindTo(v, n.anyLocal(v.Name))
			}
		}
		return
	}
	st := &n.src.Stmts[stmt]
	n.fill[in.num] = in.node.Op == "aten::tensor" && n.feedsCopy(in, stmt)
	if len(in.node.Outs) > 1 && (n.unpack(in, st) || n.keepTogether(in, st)) {
		return
	}
	for _, v := range in.node.Outs {
		n.bindValue(in, v, stmt)
	}
}

// initializes says whether in is the second half of `Class(x)`, which scripting writes as __new__ and __init__.
func (in *inst) initializes() bool {
	return in.node.Op == "prim::CallMethod" && in.node.Text == "__init__"
}

// unpack binds the results of `a, _, b = f(x)` by place: a name that is underscores alone is not printed.
func (n *names) unpack(in *inst, st *pysource.Stmt) bool {
	outs := in.node.Outs
	for _, group := range st.Targets {
		fits := len(group.Names) == len(outs) && !group.Deep
		for i := 0; fits && i < len(outs); i++ {
			fits = printedAs(outs[i].Name, group.Names[i]) || !printed(outs[i].Name)
		}
		if !fits {
			continue
		}
		for i, v := range outs {
			if group.Names[i] != "" {
				n.bindTo(v, n.numberOf(group.Names[i]))
			}
		}
		return true
	}
	return false
}

// keepTogether binds the results of `t = f(x)` to the one name that holds their tuple, and that of `a = f(x)[0]` or `a = f(x).values` alone.
// Where a member is printed as the name itself, bindValue binds it.
func (n *names) keepTogether(in *inst, st *pysource.Stmt) bool {
	if st.Kind != pysource.Simple || len(st.Targets) != 1 || !n.whole(in, st) || int(in.node.Src.End) > st.End {
		return false
	}
	name := st.Targets[0].Single()
	if name == "" {
		return false
	}
	var member *program.Value // the only one that is used
	several := false
	for _, v := range in.node.Outs {
		if printed(v.Name) {
			return false
		}
		if n.uses[v.ID].used {
			several = member != nil
			member = v
		}
	}
	part, ok := afterCall(n.src.Text[in.node.Src.End:st.End])
	switch {
	case !ok:
		return false
	case part != "" && (several || member == nil):
		return false
	case part != "":
		n.bindTo(member, n.numberOf(name))
		return true
	}
	if n.together == nil {
		n.together = map[int]int32{}
	}
	n.together[int(in.num)] = n.numberOf(name)
	return true
}

// afterCall is what takes a part of a call's result, `[0]` or `.name`, or "". The text s begins behind the function's name; ok says that it
// is a call and nothing else.
func afterCall(s string) (part string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		return "", false
	}
	end := pysource.ScanTop(s, func(i int) bool { return i > 0 && s[i] != ' ' && s[i] != '\n' })
	if end < 0 {
		return "", true
	}
	part = strings.TrimSpace(s[end:])
	inner := strings.TrimPrefix(part, ".")
	if strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]") {
		inner = part[1 : len(part)-1]
	} else if inner == part {
		return "", false
	}
	for i := range len(inner) {
		if !pysource.InName(inner[i]) {
			return "", false
		}
	}
	return part, inner != ""
}

// bindValue finds the names of one result: the statement's target that it was printed as; where it has no printed name, it is the whole right
// side of an assignment if something outside of the statement uses it, or nothing at all.
func (n *names) bindValue(in *inst, v *program.Value, stmt int32) {
	st := &n.src.Stmts[stmt]
	if printed(v.Name) {
		best := ""
		for _, group := range st.Targets {
			for _, p := range group.Names {
				if printedAs(v.Name, p) && len(p) > len(best) {
					best = p
				}
			}
		}
		if best == "" {
			if st.Kind != pysource.Simple || len(st.Targets) == 0 {
				n.bindTo(v, n.anyLocal(v.Name))
			}
			return
		}
		n.bindTo(v, n.numberOf(best))
		if len(st.Targets) > 1 {
			n.chain(v, st, best)
		}
		return
	}
	u := &n.uses[v.ID]
	if st.Kind != pysource.Simple || len(in.node.Outs) != 1 || len(st.Targets) == 0 {
		return
	}
	if u.used && !u.mixed && u.stmt == stmt || !u.used && (in.node.Op == "aten::append" || !n.whole(in, st)) {
		return
	}
	n.chain(v, st, "")
}

// chain binds v to the single names of `a = b = value`, but for the one that is done.
func (n *names) chain(v *program.Value, st *pysource.Stmt, done string) {
	for _, group := range st.Targets {
		if name := group.Single(); name != "" && name != done {
			n.bindTo(v, n.numberOf(name))
		}
	}
}

// whole says whether in begins where a statement's right side does.
func (n *names) whole(in *inst, st *pysource.Stmt) bool {
	if in.node.Src.Text != n.text {
		return false
	}
	i := st.Right
	for i < st.End && strings.IndexByte(" \t\n\\(", n.src.Text[i]) >= 0 {
		i++
	}
	return int(in.node.Src.Start) == i
}

func (n *names) bindTo(v *program.Value, local int32) {
	if local >= 0 && !slices.Contains(n.bind[v.ID], local) {
		n.bind[v.ID] = append(n.bind[v.ID], local)
	}
}

// feedsCopy says whether in makes the tensor of `x[i] = number`: scripting copies a tensor of the number into the slice.
func (n *names) feedsCopy(in *inst, stmt int32) bool {
	u := &n.uses[in.node.Outs[0].ID]
	return u.used && !u.mixed && u.stmt == stmt && u.first != nil && (u.first.node.Op == "aten::copy_" || u.first.node.Op == "aten::index_put_")
}

// printed says whether a printed name came from a name of the user's; the printer's own are an underscore and a number.
func printed(name string) bool {
	return strings.TrimLeft(name, "_0123456789") != ""
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

// anyLocal is the longest local that name may stand for, -1 for none.
func (n *names) anyLocal(name string) int32 {
	for end := len(name); end > 0; end-- {
		if i, ok := n.find(name[:end]); ok && printedAs(name, name[:end]) {
			return i
		}
		if c := name[end-1]; c < '0' || c > '9' {
			break
		}
	}
	return nowhere
}

// strip is the rule without text: the counter is cut off down to a name that was seen before.
func (n *names) strip(b *block) {
	for i := range b.insts {
		in := &b.insts[i]
		for _, sub := range in.blocks {
			n.strip(sub)
		}
		if in.node.Op == "prim::GetAttr" {
			continue
		}
		for _, v := range in.node.Outs {
			if !printed(v.Name) {
				continue
			}
			at := n.anyLocal(v.Name)
			if at < 0 {
				at = n.local(v.Name)
			}
			n.bindTo(v, at)
		}
	}
	for i := range n.stmt {
		n.stmt[i], n.header[i] = nowhere, nowhere
	}
}
