package locals

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// While a function runs, a cursor goes through its text with it: from the statement of one node to
// that of the next by Python's flow of control. On its way it runs the statements that left nothing
// in the archive: aliases, lists of names, del.

// position is where the cursor stands in the text.
type position struct {
	stmt  int // -1 is the function
	suite int // before the first statement of that suite of stmt; or inStmt, behind
}

const (
	inStmt = -1      // within a simple statement or a header
	behind = 1 << 20 // behind a compound statement and all its suites
)

// Before brings the cursor to the statement of a node that is about to run; where that begins anew,
// the names of the one before are bound.
func (s *Scope) Before(num int, n *program.Node) {
	if s.src == nil {
		return
	}
	j := int(s.stmt[num])
	if j < 0 || s.at.stmt == j && s.at.suite != behind && !s.again(j, n) {
		return
	}
	s.flush()
	s.walk(j)
	s.left = false
	s.noteCall(n)
}

// again says whether a node of statement j begins it once more, in a loop that scripting unrolled:
// it takes what the statement is about to bind, or makes a call that was made.
func (s *Scope) again(j int, n *program.Node) bool {
	if initializes(n) || s.src.Stmts[j].Kind != pysource.Simple || s.src.Comprehends(j) {
		return false
	}
	for i := range n.Args {
		v := n.Args[i].Value
		if v == nil {
			continue
		}
		for _, p := range s.pending {
			if p.id == v.ID {
				return true
			}
		}
	}
	return !s.noteCall(n)
}

// noteCall notes a call; false where it was noted before.
func (s *Scope) noteCall(n *program.Node) bool {
	if n.Op != "prim::CallMethod" && n.Op != "prim::CallFunction" || n.Where.Text != s.text {
		return true
	}
	if slices.Contains(s.calls, n.Where.SourceRange) {
		return false
	}
	s.calls = append(s.calls, n.Where.SourceRange)
	return true
}

// walk brings the cursor to statement j.
func (s *Scope) walk(j int) {
	t := s.src
	for range 4 * (len(t.Stmts) + 1) {
		i := s.at.stmt
		if s.at.suite >= 0 && s.at.suite != behind {
			if s.descend(j) {
				return
			}
			continue
		}
		if s.at.suite == inStmt && i != j && t.Within(j, i) && i >= 0 {
			s.at = position{i, t.Stmts[t.ChildOf(i, j)].Suite} // in by a header that is not a node
			continue
		}
		p, suite := -1, 0
		if i >= 0 {
			p, suite = t.Stmts[i].Parent, t.Stmts[i].Suite
		}
		from := len(t.Stmts)
		if i >= 0 {
			from = t.Stmts[i].After
		}
		if a := t.Child(p, suite, j); a >= from {
			s.runSilent(from, a)
			s.at = position{a, inStmt}
			if a == j {
				return
			}
			continue
		}
		if s.ascend(from, j) {
			return
		}
	}
	s.at = position{j, inStmt}
}

// descend enters the suite the cursor stands before, to j or on the way to it; else it leaves the
// suite behind.
func (s *Scope) descend(j int) (done bool) {
	t := s.src
	i, suite := s.at.stmt, s.at.suite
	if i == j {
		return true // a loop's header: it gives its names their values
	}
	from, to := t.Suite(i, suite)
	if a := t.Child(i, suite, j); a >= 0 {
		s.runSilent(from, a)
		s.at = position{a, inStmt}
		return a == j
	}
	s.runSilent(from, to) // not that of the function, which every statement is in
	s.at = position{i, behind}
	return false
}

// ascend runs the rest of the suite, from on, and leaves it: behind the statement around it, or to
// the body of the loop around it again.
func (s *Scope) ascend(from, j int) (done bool) {
	t := s.src
	p, suite := -1, 0
	if s.at.stmt >= 0 {
		p, suite = t.Stmts[s.at.stmt].Parent, t.Stmts[s.at.stmt].Suite
	}
	if p < 0 {
		s.at = position{j, inStmt} // back to where no loop leads
		return true
	}
	_, to := t.Suite(p, suite)
	s.runSilent(from, to)
	loop := s.endOfLoop(p)
	switch {
	case p == j:
		s.at = position{p, inStmt}
		return true
	case loop && t.Child(p, 0, j) >= 0:
		s.at = position{p, 0}
	default:
		s.at = position{p, behind}
	}
	return false
}

// endOfLoop says whether statement p, the end of whose suite is reached, is a loop: a break or
// continue leads no farther.
func (s *Scope) endOfLoop(p int) bool {
	k := s.src.Stmts[p].Kind
	if k != pysource.For && k != pysource.While {
		return false
	}
	s.left = false
	return true
}

// runSilent runs statements [from, to) of one suite that left no nodes. It says whether control
// gets to the end.
func (s *Scope) runSilent(from, to int) bool {
	t := s.src
	if i := s.at.stmt; i >= 0 && s.at.suite == inStmt && t.Stmts[i].Kind >= pysource.Leave {
		s.left = true
	}
	for k := from; k < to && !s.left; k = t.Stmts[k].After {
		s.left = !s.silent(k)
	}
	return !s.left
}

// silent runs one statement that left no nodes.
func (s *Scope) silent(k int) bool {
	st := &s.src.Stmts[k]
	switch st.Kind {
	case pysource.Leave, pysource.Jump:
		return false
	case pysource.With:
		from, to := s.src.Suite(k, 0)
		return s.runSilent(from, to)
	case pysource.If:
		return s.silentIf(k)
	case pysource.Simple:
		if !s.placed[k] {
			s.silentSimple(st)
		}
	}
	return true
}

// silentIf runs an if that was decided when the archive was made and whose chosen side left no
// nodes.
func (s *Scope) silentIf(k int) bool {
	st := &s.src.Stmts[k]
	if s.placed[k] {
		return true
	}
	head := s.src.Text[st.Start:st.End]
	head = head[len(python.FirstWord(head)) : len(head)-1]
	cond, ok := s.value(head)
	if !ok {
		return true
	}
	s.run.Hold(cond)
	e := &evaluation{scope: s}
	taken := e.truth(cond)
	s.run.Drop(cond)
	if e.bad {
		return true
	}
	suite := 1
	if taken {
		suite = 0
	}
	from, to := s.src.Suite(k, suite)
	return s.runSilent(from, to)
}

// silentSimple runs an assignment of what can be evaluated, a del, or a list's append or clear.
func (s *Scope) silentSimple(st *pysource.Stmt) {
	for _, name := range st.Del {
		if i, ok := s.find(name); ok {
			s.unbind(i)
		}
	}
	if st.Del != nil || st.Augmented {
		return
	}
	if len(st.Targets) == 0 {
		s.silentCall(s.src.Text[st.Start:st.End])
		return
	}
	v, ok := s.value(s.src.Text[st.Right:st.End])
	if !ok {
		return
	}
	s.run.Hold(v)
	for _, group := range st.Targets {
		s.assign(group, v)
	}
	s.run.Drop(v)
}

// assign binds one group of targets.
func (s *Scope) assign(group pysource.Targets, v any) {
	if !group.Tuple {
		if name := group.Single(); name != "" {
			s.bindLocal(s.numberOf(name), v)
		}
		return
	}
	if lenOf(v) != len(group.Names) || group.Deep {
		return
	}
	items := append([]any(nil), ops.Members(v)...)
	for i, name := range group.Names {
		if name != "" {
			s.bindLocal(s.numberOf(name), items[i])
		}
	}
}

// EnterBranch stands the cursor at the start of the side of an if that is taken.
func (s *Scope) EnterBranch(node int, taken bool) {
	if h := s.header[node]; h >= 0 {
		s.flush()
		s.at = position{int(h), 1}
		if taken {
			s.at.suite = 0
		}
	}
}

// LeaveBranch runs what is left of the side taken, or of the body of a loop.
func (s *Scope) LeaveBranch(node int) {
	if h := int(s.header[node]); h >= 0 {
		s.flush()
		s.leave(h)
	}
}

// leave brings the cursor behind compound statement h, where it is in it.
func (s *Scope) leave(h int) {
	t := s.src
	for s.at.stmt > h && t.Within(s.at.stmt, h) {
		i := s.at.stmt
		if s.at.suite >= 0 && s.at.suite != behind {
			from, to := t.Suite(i, s.at.suite)
			s.runSilent(from, to)
			s.at.suite = behind
			continue
		}
		p := t.Stmts[i].Parent
		_, to := t.Suite(p, t.Stmts[i].Suite)
		s.runSilent(t.Stmts[i].After, to)
		s.endOfLoop(p)
		s.at = position{p, behind}
	}
	if s.at.stmt != h {
		return
	}
	if s.at.suite != behind {
		from, to := t.Suite(h, s.at.suite)
		s.runSilent(from, to)
	}
	s.at.suite = behind
}

// EnterRound stands the cursor before the body of a loop.
func (s *Scope) EnterRound(node int) {
	if h := s.header[node]; h >= 0 {
		s.flush()
		s.left = false
		s.at = position{int(h), 0}
	}
}

// LeaveLoop stands the cursor behind a loop.
func (s *Scope) LeaveLoop(node int) {
	if h := s.header[node]; h >= 0 {
		s.flush()
		s.left = false
		s.at = position{int(h), behind}
	}
}

// silentCall runs `name.append(value)` and `name.clear()` of a list that nothing in the archive
// reads later.
func (s *Scope) silentCall(text string) {
	name := python.FirstWord(text)
	i, ok := s.find(name)
	if !ok || !s.set[i] {
		return
	}
	l, ok := s.held[i].(*ops.List)
	if !ok {
		return
	}
	call, ok := strings.CutPrefix(text[len(name):], ".append(")
	switch {
	case ok:
		if v, ok := s.value(strings.TrimSuffix(call, ")")); ok {
			s.run.Hold(v)
			l.Items = append(l.Items, v)
			s.run.Touch(l)
		}
	case text[len(name):] == ".clear()":
		items := l.Items
		l.Items = nil
		s.run.Touch(l)
		s.run.DropItems(items)
	}
}
