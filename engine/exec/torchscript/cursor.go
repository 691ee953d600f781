package torchscript

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/ops"
)

// While a function runs, a cursor goes through its text with it: from the statement of one node to that of the next by Python's flow of
// control. On its way it runs the statements that left nothing in the archive: aliases, lists of names, del.

// pyPos is a place in the text.
type pyPos struct {
	stmt  int // -1 is the function
	suite int // before the first statement of that suite of stmt; or inStmt, behind
}

const (
	inStmt = -1      // within a simple statement or a header
	behind = 1 << 20 // behind a compound statement and all its suites
)

// beforeInst brings the cursor to in's statement; where that begins anew, the names of the one before are bound.
func (m *interp) beforeInst(f *frame, in *inst) {
	n, l := f.code.names, f.locals
	if n.src == nil {
		return
	}
	j := int(n.stmt[in.num])
	if j < 0 {
		return
	}
	if l.at.stmt == j && l.at.suite != behind && !l.again(n, in) {
		return
	}
	m.flush(f)
	m.walk(f, j)
	l.left = false
	l.noteCall(n, in)
}

// again says whether in begins the statement under way once more, in a loop that scripting unrolled: it takes what the statement is about to
// bind, or makes a call that was made.
func (l *locals) again(n *names, in *inst) bool {
	if j := int(n.stmt[in.num]); in.initializes() || n.src.Stmts[j].Kind != pysource.Simple || n.src.Comprehends(j) {
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
	return !l.noteCall(n, in)
}

// noteCall notes a call; false where it was noted before.
func (l *locals) noteCall(n *names, in *inst) bool {
	switch in.node.Op {
	case "prim::CallMethod", "prim::CallFunction":
	default:
		return true
	}
	r := in.node.Src
	if r.Text != n.text {
		return true
	}
	for _, c := range l.calls {
		if c == r {
			return false
		}
	}
	l.calls = append(l.calls, r)
	return true
}

// walk brings the cursor to statement j.
func (m *interp) walk(f *frame, j int) {
	l, s := f.locals, f.code.names.src
	for range 4 * (len(s.Stmts) + 1) {
		i := l.at.stmt
		if l.at.suite >= 0 && l.at.suite != behind {
			if m.descend(f, j) {
				return
			}
			continue
		}
		if l.at.suite == inStmt && i != j && s.Within(j, i) && i >= 0 {
			l.at = pyPos{i, s.Stmts[s.ChildOf(i, j)].Suite} // in by a header that is not a node
			continue
		}
		p, suite := -1, 0
		if i >= 0 {
			p, suite = s.Stmts[i].Parent, s.Stmts[i].Suite
		}
		from := len(s.Stmts)
		if i >= 0 {
			from = s.Stmts[i].After
		}
		if a := s.Child(p, suite, j); a >= from {
			m.runSilent(f, from, a)
			l.at = pyPos{a, inStmt}
			if a == j {
				return
			}
			continue
		}
		if m.ascend(f, from, j) {
			return
		}
	}
	l.at = pyPos{j, inStmt}
}

// descend enters the suite the cursor stands before, to j or on the way to it; else it leaves the suite behind.
func (m *interp) descend(f *frame, j int) (done bool) {
	l, s := f.locals, f.code.names.src
	i, suite := l.at.stmt, l.at.suite
	if i == j {
		return true // a loop's header: it gives its names their values
	}
	from, to := s.Suite(i, suite)
	if a := s.Child(i, suite, j); a >= 0 {
		m.runSilent(f, from, a)
		l.at = pyPos{a, inStmt}
		return a == j
	}
	m.runSilent(f, from, to)
	if i < 0 {
		l.at = pyPos{j, inStmt}
		return true
	}
	l.at = pyPos{i, behind}
	return false
}

// ascend runs the rest of the suite, from on, and leaves it: behind the statement around it, or to the body of the loop around it again.
func (m *interp) ascend(f *frame, from, j int) (done bool) {
	l, s := f.locals, f.code.names.src
	p, suite := -1, 0
	if l.at.stmt >= 0 {
		p, suite = s.Stmts[l.at.stmt].Parent, s.Stmts[l.at.stmt].Suite
	}
	if p < 0 {
		l.at = pyPos{j, inStmt} // back to where no loop leads
		return true
	}
	_, to := s.Suite(p, suite)
	m.runSilent(f, from, to)
	switch {
	case p == j:
		l.at = pyPos{p, inStmt}
		return true
	case (s.Stmts[p].Kind == pysource.For || s.Stmts[p].Kind == pysource.While) && s.Child(p, 0, j) >= 0:
		l.at = pyPos{p, 0}
	default:
		l.at = pyPos{p, behind}
	}
	return false
}

// runSilent runs statements [from, to) of one suite that left no nodes. It says whether control gets to the end.
func (m *interp) runSilent(f *frame, from, to int) bool {
	s, l := f.code.names.src, f.locals
	if i := l.at.stmt; i >= 0 && l.at.suite == inStmt && s.Stmts[i].Kind >= pysource.Leave {
		l.left = true
	}
	for k := from; k < to && !l.left; k = s.Stmts[k].After {
		l.left = !m.silent(f, k)
	}
	return !l.left
}

// silent runs one statement that left no nodes.
func (m *interp) silent(f *frame, k int) bool {
	n := f.code.names
	st := &n.src.Stmts[k]
	switch st.Kind {
	case pysource.Leave, pysource.Jump:
		return false
	case pysource.With:
		from, to := n.src.Suite(k, 0)
		return m.runSilent(f, from, to)
	case pysource.If:
		return m.silentIf(f, k)
	case pysource.Simple:
		if !n.placed[k] {
			m.silentSimple(f, st)
		}
	}
	return true
}

// silentIf runs an if that was decided when the archive was made and whose chosen side left no nodes.
func (m *interp) silentIf(f *frame, k int) bool {
	n := f.code.names
	st := &n.src.Stmts[k]
	if n.placed[k] {
		return true
	}
	head := n.src.Text[st.Start:st.End]
	head = head[len(pysource.FirstWord(head)) : len(head)-1]
	cond, ok := m.pyValue(f, head)
	if !ok {
		return true
	}
	e := &pyEval{m: m, f: f}
	taken := e.truth(cond)
	if e.bad {
		return true
	}
	suite := 1
	if taken {
		suite = 0
	}
	from, to := n.src.Suite(k, suite)
	return m.runSilent(f, from, to)
}

// silentSimple runs an assignment of what can be evaluated, a del, or a list's append or clear.
func (m *interp) silentSimple(f *frame, st *pysource.Stmt) {
	n, l := f.code.names, f.locals
	for _, name := range st.Del {
		if i, ok := n.find(name); ok {
			m.unbind(l, i)
		}
	}
	if st.Del != nil || st.Augmented {
		return
	}
	if len(st.Targets) == 0 {
		m.silentCall(f, n.src.Text[st.Start:st.End])
		return
	}
	v, ok := m.pyValue(f, n.src.Text[st.Right:st.End])
	if !ok {
		return
	}
	m.Hold(v)
	for _, group := range st.Targets {
		m.assign(f, group, v)
	}
	m.Drop(v)
}

// assign binds one group of targets.
func (m *interp) assign(f *frame, group pysource.Targets, v any) {
	n, l := f.code.names, f.locals
	if !group.Tuple {
		if name := group.Single(); name != "" {
			m.bindLocal(l, n.numberOf(name), v)
		}
		return
	}
	if lenOf(v) != len(group.Names) || group.Deep {
		return
	}
	items := append([]any(nil), m.itemsOf(v, len(group.Names))...)
	for i, name := range group.Names {
		if name != "" {
			m.bindLocal(l, n.numberOf(name), items[i])
		}
	}
}

// enterBranch stands the cursor at the start of the side of an if that is taken.
func (m *interp) enterBranch(f *frame, in *inst, taken bool) {
	if h := f.code.names.header[in.num]; h >= 0 {
		m.flush(f)
		f.locals.left = false
		f.locals.at = pyPos{int(h), 1}
		if taken {
			f.locals.at.suite = 0
		}
	}
}

// leaveBranch runs what is left of the side taken.
func (m *interp) leaveBranch(f *frame, in *inst) {
	if h := int(f.code.names.header[in.num]); h >= 0 {
		m.flush(f)
		m.leave(f, h)
	}
}

// leave brings the cursor behind compound statement h, where it is in it.
func (m *interp) leave(f *frame, h int) {
	l, s := f.locals, f.code.names.src
	for l.at.stmt > h && s.Within(l.at.stmt, h) {
		i := l.at.stmt
		if l.at.suite >= 0 && l.at.suite != behind {
			from, to := s.Suite(i, l.at.suite)
			m.runSilent(f, from, to)
			l.at.suite = behind
			continue
		}
		p := s.Stmts[i].Parent
		_, to := s.Suite(p, s.Stmts[i].Suite)
		m.runSilent(f, s.Stmts[i].After, to)
		l.at = pyPos{p, behind}
	}
	if l.at.stmt != h {
		return
	}
	if l.at.suite >= 0 && l.at.suite != behind {
		from, to := s.Suite(h, l.at.suite)
		m.runSilent(f, from, to)
	}
	l.at.suite = behind
}

// enterRound stands the cursor before the body of a loop.
func (m *interp) enterRound(f *frame, in *inst) {
	if h := f.code.names.header[in.num]; h >= 0 {
		m.flush(f)
		f.locals.left = false
		f.locals.at = pyPos{int(h), 0}
	}
}

// leaveRound runs what is left of the body; leaveLoop is behind the loop.
func (m *interp) leaveRound(f *frame, in *inst) { m.leaveBranch(f, in) }

func (m *interp) leaveLoop(f *frame, in *inst) {
	if h := f.code.names.header[in.num]; h >= 0 {
		m.flush(f)
		f.locals.left = false
		f.locals.at = pyPos{int(h), behind}
	}
}

// silentCall runs `name.append(value)` and `name.clear()` of a list that nothing in the archive reads later.
func (m *interp) silentCall(f *frame, text string) {
	name := pysource.FirstWord(text)
	i, ok := f.code.names.find(name)
	if !ok || !f.locals.set[i] {
		return
	}
	l, ok := f.locals.held[i].(*ops.List)
	if !ok {
		return
	}
	call, ok := strings.CutPrefix(text[len(name):], ".append(")
	switch {
	case ok:
		if v, ok := m.pyValue(f, strings.TrimSuffix(call, ")")); ok {
			m.Hold(v)
			l.Items = append(l.Items, v)
			m.Touch(l)
		}
	case text[len(name):] == ".clear()":
		items := l.Items
		l.Items = nil
		m.Touch(l)
		m.DropItems(items)
	}
}
