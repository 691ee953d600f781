package pysource

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
)

// Read reads a function's text: its decorators and its def, then its statements.
func Read(text string) *Source {
	s := &Source{Text: text}
	r := &reader{src: s}
	for _, l := range logicalLines(text) {
		r.line(l)
	}
	r.close(-1)
	s.number()
	return s
}

// reader builds the tree of statements from lines.
type reader struct {
	src  *Source
	open []suite // compound statements around the line
	def  bool    // the def itself was seen
}

// suite is an open suite of a compound statement.
type suite struct{ indent, stmt, number int }

// close ends the compound statements that are indented by at least indent.
func (r *reader) close(indent int) {
	for n := len(r.open); n > 0 && r.open[n-1].indent >= indent; n = len(r.open) {
		r.src.Stmts[r.open[n-1].stmt].After = len(r.src.Stmts)
		r.open = r.open[:n-1]
	}
}

// around is where a statement on the current line belongs.
func (r *reader) around() (parent, suite int) {
	if n := len(r.open); n > 0 {
		return r.open[n-1].stmt, r.open[n-1].number
	}
	return -1, 0
}

func (r *reader) line(l logical) {
	text := r.src.Text
	body := text[l.start:l.end]
	word := python.FirstWord(body)
	if !r.def { // decorators, then the def: its suite is the function's top
		if body[0] == '@' {
			r.src.Decorators = append(r.src.Decorators, strings.TrimSpace(body[1:]))
		}
		if word == "def" {
			r.def = true
			if i := headerEnd(body); i >= 0 && i < len(body) {
				r.simple(l.start+i, l.end)
			}
		}
		return
	}
	clause := false // of a compound statement that is open at this indentation
	switch word {
	case "else", "elif", "except", "finally", "case":
		r.close(l.indent + 1)
		if n := len(r.open); n > 0 && r.open[n-1].indent == l.indent {
			r.open[n-1].number++
			clause = true
		}
	}
	if !clause {
		r.close(l.indent)
	}
	colon := -1
	if compound(word) {
		colon = headerEnd(body)
	}
	if colon < 0 {
		r.simple(l.start, l.end)
		return
	}
	if !clause || word == "elif" {
		r.header(body[:colon], l, word)
	}
	if colon < len(body) {
		r.simple(l.start+colon, l.end)
	}
}

func compound(word string) bool {
	switch word {
	case "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class", "match", "case":
		return true
	}
	return false
}

// headerEnd is the place behind the colon of a compound statement and the blanks after it, -1 where
// s is none.
func headerEnd(s string) int {
	i := topLevel(s, ':')
	if i < 0 {
		return -1
	}
	for i++; i < len(s) && (s[i] == ' ' || s[i] == '\t'); i++ {
	}
	return i
}

// header opens a compound statement.
func (r *reader) header(head string, l logical, word string) {
	st := Stmt{Start: l.start, End: l.start + len(strings.TrimRight(head, " \t"))}
	st.Parent, st.Suite = r.around()
	switch word {
	case "if", "elif":
		st.Kind = If
	case "while":
		st.Kind = While
	case "for":
		st.Kind = For
		if i := topLevelWord(head, "in"); i >= len("for") {
			st.Targets = []Targets{targets(head[len("for"):i], 0)}
			st.Right = l.start + i + len("in")
		}
	case "with":
		st.Kind = With
		if i := topLevelWord(head, "as"); i > 0 {
			st.Targets = []Targets{targets(strings.TrimRight(head[i+len("as"):], ": \t"), 0)}
			st.Right = l.start + len("with")
		}
	default:
		st.Kind = Other
	}
	r.src.Stmts = append(r.src.Stmts, st)
	r.open = append(r.open, suite{l.indent, len(r.src.Stmts) - 1, 0})
}

// simple adds the simple statements of a line, apart at semicolons.
func (r *reader) simple(start, end int) {
	text := r.src.Text
	for start < end {
		stop := topLevel(text[start:end], ';')
		if stop < 0 {
			stop = end
		} else {
			stop += start
		}
		st := simpleStmt(text[start:stop], start, stop)
		st.Parent, st.Suite = r.around()
		st.After = len(r.src.Stmts) + 1
		r.src.Stmts = append(r.src.Stmts, st)
		for start = stop + 1; start < end && text[start] == ' '; start++ {
		}
	}
}

// simpleStmt reads an assignment, an augmented one, a del, or a jump.
func simpleStmt(s string, start, end int) Stmt {
	st := Stmt{Start: start, End: end}
	switch python.FirstWord(s) {
	case "del":
		st.Del = targets(s[len("del"):], 0).Names
		return st
	case "return", "raise":
		st.Kind = Leave
		return st
	case "break", "continue":
		st.Kind = Jump
		return st
	case "assert", "pass", "import", "from", "global", "nonlocal":
		return st
	}
	rest, base := s, 0
	for {
		eq := topAssign(rest)
		if eq < 0 {
			break
		}
		left := rest[:eq]
		if n := len(left); n > 0 && strings.IndexByte("+-*/%@&|^", left[n-1]) >= 0 || strings.HasSuffix(left, "<<") ||
			strings.HasSuffix(left, ">>") {
			st.Augmented = true
			left = strings.TrimRight(left, "+-*/%@&|^<>")
		} else if c := topLevel(left, ':'); c >= 0 {
			left = left[:c] // an annotation
		}
		st.Targets = append(st.Targets, targets(left, 0))
		base += eq + 1
		rest = rest[eq+1:]
	}
	st.Right = start + base
	return st
}

// maxNesting bounds brackets within brackets, here and in expressions; deeper ones bind nothing.
const maxNesting = 50

// targets reads the targets of an assignment, or what a del names.
func targets(s string, depth int) Targets {
	t := Targets{}
	for s = strings.TrimSpace(s); wrapped(s); s = strings.TrimSpace(s) {
		if depth++; depth > maxNesting {
			return Targets{Names: []string{""}}
		}
		s, t.Tuple = s[1:len(s)-1], t.Tuple || s[0] == '['
	}
	parts := splitTop(s)
	t.Tuple = t.Tuple || len(parts) > 1
	for _, part := range parts {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case python.IsName(part):
			t.Names = append(t.Names, part)
		case part[0] == '*' && python.IsName(part[1:]):
			t.Names, t.Deep = append(t.Names, part[1:]), true
		case wrapped(part):
			t.Names, t.Deep = append(t.Names, targets(part, depth).Names...), true
		default:
			t.Names = append(t.Names, "")
		}
	}
	return t
}

// wrapped says whether one pair of brackets is around the whole of s.
func wrapped(s string) bool {
	return len(s) > 1 && (s[0] == '(' || s[0] == '[') && python.Closing(s, 0) == len(s)-1
}

// number orders the names as the compiler numbers locals, which is the order in which a frame
// releases them: by first appearance, a right side before its targets.
func (s *Source) number() {
	assigned := map[string]bool{} // a name, and whether it is among the locals by now
	for i := range s.Stmts {
		for _, group := range s.Stmts[i].Targets {
			for _, n := range group.Names {
				if n != "" {
					assigned[n] = false
				}
			}
		}
	}
	s.Locals = make([]string, 0, len(assigned))
	add := func(names []string) {
		for _, n := range names {
			if listed, ok := assigned[n]; ok && !listed {
				assigned[n] = true
				s.Locals = append(s.Locals, n)
			}
		}
	}
	var names []string // of one text after another
	addIn := func(text string) {
		names = appendNames(names[:0], text)
		add(names)
	}
	for i := range s.Stmts {
		st := &s.Stmts[i]
		if st.Right > st.Start {
			addIn(s.Text[st.Right:st.End])
			if st.Kind == Simple {
				addIn(s.Text[st.Start:st.Right])
			}
			for _, group := range st.Targets {
				add(group.Names)
			}
			continue
		}
		addIn(s.Text[st.Start:st.End])
	}
}
