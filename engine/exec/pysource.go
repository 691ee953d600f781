package exec

import "strings"

// A light reading of a user's Python function, as the debug records carry it: its statements, how they nest, and what they assign. It
// looks at words and brackets only; pyvalue.go evaluates the few right sides that leave nothing in an archive.

// pyKind tells statements apart by what they do to the flow of control.
type pyKind uint8

const (
	pySimple pyKind = iota
	pyIf
	pyFor
	pyWhile
	pyWith
	pyOther // try, match, a function or class inside the function
	pyLeave // return, raise
	pyBreak // break, continue
)

// pyStmt is one statement; of a compound one the text is its header.
type pyStmt struct {
	kind       pyKind
	start, end int
	parent     int         // the compound statement around it, -1 at the function's top
	suite      int         // which of the parent's suites: 0 is its body, 1 and on are else, except, finally
	after      int         // the first statement behind it and its suites
	targets    []pyTargets // for each `=`
	right      int         // where the right side begins
	augmented  bool
	del        []string
}

// pyTargets are the names that one `=` binds; "" stands for an attribute or a subscript.
type pyTargets struct {
	names []string
	tuple bool // `a, b =` or `a, =`, which takes the value apart
	deep  bool // `a, (b, c) =`: names do not stand for members by place
}

// pySource is a function's statements in order.
type pySource struct {
	text       string
	stmts      []pyStmt
	order      []string // names it assigns, as the compiler numbers them
	decorators []string
}

// readPython reads a function's text.
func readPython(text string) *pySource {
	s := &pySource{text: text}
	r := &pyReader{src: s}
	for _, l := range logicalLines(text) {
		r.line(l)
	}
	r.close(-1)
	s.number()
	return s
}

// pyReader builds the tree of statements from lines.
type pyReader struct {
	src  *pySource
	open []pySuite // compound statements around the line
	def  bool      // the def itself was seen
}

type pySuite struct{ indent, stmt, suite int }

// close ends the compound statements that are indented by at least indent.
func (r *pyReader) close(indent int) {
	for n := len(r.open); n > 0 && r.open[n-1].indent >= indent; n = len(r.open) {
		r.src.stmts[r.open[n-1].stmt].after = len(r.src.stmts)
		r.open = r.open[:n-1]
	}
}

// around is where a statement on the current line belongs.
func (r *pyReader) around() (parent, suite int) {
	if n := len(r.open); n > 0 {
		return r.open[n-1].stmt, r.open[n-1].suite
	}
	return -1, 0
}

func (r *pyReader) line(l pyLine) {
	text := r.src.text
	body := text[l.start:l.end]
	word := firstWord(body)
	if !r.def { // decorators, then the def: its suite is the function's top
		if body[0] == '@' {
			r.src.decorators = append(r.src.decorators, strings.TrimSpace(body[1:]))
		}
		if word == "def" || word == "async" {
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
			r.open[n-1].suite++
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
	case "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class", "async", "match", "case":
		return true
	}
	return false
}

// headerEnd is the place behind the colon of a compound statement and the blanks after it, -1 where s is none.
func headerEnd(s string) int {
	i := topLevel(s, ':')
	if i < 0 {
		return -1
	}
	for i++; i < len(s) && (s[i] == ' ' || s[i] == '\t'); i++ {
	}
	if i < len(s) && s[i] == '#' {
		return len(s)
	}
	return i
}

// header opens a compound statement.
func (r *pyReader) header(head string, l pyLine, word string) {
	st := pyStmt{start: l.start, end: l.start + len(strings.TrimRight(head, " \t"))}
	st.parent, st.suite = r.around()
	switch word {
	case "if", "elif":
		st.kind = pyIf
	case "while":
		st.kind = pyWhile
	case "for":
		st.kind = pyFor
		if i := topLevelWord(head, "in"); i > 0 {
			st.targets = []pyTargets{targetNames(head[len("for"):i])}
			st.right = l.start + i + len("in")
		}
	case "with":
		st.kind = pyWith
		if i := topLevelWord(head, "as"); i > 0 {
			st.targets = []pyTargets{targetNames(strings.TrimRight(head[i+len("as"):], ": \t"))}
			st.right = l.start + len("with")
		}
	default:
		st.kind = pyOther
	}
	r.src.stmts = append(r.src.stmts, st)
	r.open = append(r.open, pySuite{l.indent, len(r.src.stmts) - 1, 0})
}

// simple adds the simple statements of a line, apart at semicolons.
func (r *pyReader) simple(start, end int) {
	text := r.src.text
	for start < end {
		stop := topLevel(text[start:end], ';')
		if stop < 0 {
			stop = end
		} else {
			stop += start
		}
		st := simpleStmt(text[start:stop], start, stop)
		st.parent, st.suite = r.around()
		st.after = len(r.src.stmts) + 1
		r.src.stmts = append(r.src.stmts, st)
		for start = stop + 1; start < end && text[start] == ' '; start++ {
		}
	}
}

// simpleStmt reads an assignment, an augmented one, a del, or a jump.
func simpleStmt(s string, start, end int) pyStmt {
	st := pyStmt{start: start, end: end}
	switch firstWord(s) {
	case "del":
		st.del = targetNames(s[len("del"):]).names
		return st
	case "return", "raise":
		st.kind = pyLeave
		return st
	case "break", "continue":
		st.kind = pyBreak
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
		if n := len(left); n > 0 && strings.IndexByte("+-*/%@&|^", left[n-1]) >= 0 || strings.HasSuffix(left, "<<") || strings.HasSuffix(left, ">>") {
			st.augmented = true
			left = strings.TrimRight(left, "+-*/%@&|^<>")
		} else if c := topLevel(left, ':'); c >= 0 {
			left = left[:c] // an annotation
		}
		st.targets = append(st.targets, targetNames(left))
		base += eq + 1
		rest = rest[eq+1:]
	}
	st.right = start + base
	return st
}

// number orders the names as the compiler numbers locals, which is how a frame lets go of them: by first appearance, a right side before its
// targets.
func (s *pySource) number() {
	assigned := map[string]bool{}
	for i := range s.stmts {
		for _, group := range s.stmts[i].targets {
			for _, n := range group.names {
				if n != "" {
					assigned[n] = true
				}
			}
		}
	}
	seen := map[string]bool{}
	add := func(names []string) {
		for _, n := range names {
			if assigned[n] && !seen[n] {
				seen[n] = true
				s.order = append(s.order, n)
			}
		}
	}
	for i := range s.stmts {
		st := &s.stmts[i]
		if st.right > st.start {
			add(identifiers(s.text[st.right:st.end]))
			if st.kind == pySimple {
				add(identifiers(s.text[st.start:st.right]))
			}
			for _, group := range st.targets {
				add(group.names)
			}
			continue
		}
		add(identifiers(s.text[st.start:st.end]))
	}
}

type pyLine struct{ start, end, indent int }

// logicalLines joins physical lines inside brackets and strings, and drops comments and blank lines.
func logicalLines(text string) []pyLine {
	var out []pyLine
	i := 0
	for i < len(text) {
		indent := 0
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			if text[i] == '\t' {
				indent += 8 - indent%8
			} else {
				indent++
			}
			i++
		}
		if i >= len(text) {
			break
		}
		if text[i] == '\n' || text[i] == '\r' || text[i] == '\f' {
			i++
			continue
		}
		if text[i] == '#' {
			i = skipComment(text, i)
			continue
		}
		l := pyLine{start: i, end: i, indent: indent}
		l.end, i = logicalLine(text, i)
		if l.end > l.start {
			out = append(out, l)
		}
	}
	return out
}

// logicalLine is the end of the line that starts at i, comments left out, and the place behind its newline.
func logicalLine(text string, i int) (end, next int) {
	end = i
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = skipString(text, i)
			end = i
			continue
		case c == '#':
			i = skipComment(text, i)
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i += 2
			continue
		case c == '\n' && depth <= 0:
			return end, i + 1
		}
		if c := text[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			end = i + 1
		}
		i++
	}
	return end, i
}

// at is the innermost statement that holds offset off, -1 where none does.
func (s *pySource) at(off int) int {
	lo, hi := 0, len(s.stmts)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.stmts[mid].start <= off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || off >= s.stmts[lo-1].end {
		return -1
	}
	return lo - 1
}

// within says whether statement i lies in compound statement c (-1: the function).
func (s *pySource) within(i, c int) bool {
	return c < 0 || i > c && i < s.stmts[c].after
}

// child is the statement of suite of c that i is or lies in, -1 where i is not in that suite.
func (s *pySource) child(c, suite, i int) int {
	for i >= 0 && s.stmts[i].parent != c {
		i = s.stmts[i].parent
	}
	if i < 0 || s.stmts[i].suite != suite {
		return -1
	}
	return i
}

// first is the first statement of a suite of c, and the place behind its last.
func (s *pySource) first(c, suite int) (from, to int) {
	from, to = 0, len(s.stmts)
	if c >= 0 {
		from, to = c+1, s.stmts[c].after
	}
	for from < to && s.stmts[from].suite != suite {
		from = s.stmts[from].after
	}
	end := from
	for end < to && s.stmts[end].suite == suite {
		end = s.stmts[end].after
	}
	return from, end
}

// targetNames reads targets, or what a del names.
func targetNames(s string) pyTargets {
	t := pyTargets{}
	for s = strings.TrimSpace(s); len(s) > 1 && (s[0] == '(' || s[0] == '[') && closing(s, 0) == len(s)-1; s = strings.TrimSpace(s) {
		s, t.tuple = s[1:len(s)-1], t.tuple || s[0] == '['
	}
	parts := splitTop(s)
	t.tuple = t.tuple || len(parts) > 1
	for _, part := range parts {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case isName(part):
			t.names = append(t.names, part)
		case part[0] == '*' && isName(part[1:]):
			t.names, t.deep = append(t.names, part[1:]), true
		case (part[0] == '(' || part[0] == '[') && closing(part, 0) == len(part)-1:
			t.names, t.deep = append(t.names, targetNames(part).names...), true
		default:
			t.names = append(t.names, "")
		}
	}
	return t
}

// single is the one name that a plain `name =` binds, "" where it is something else.
func (t *pyTargets) single() string {
	if t.tuple || len(t.names) != 1 {
		return ""
	}
	return t.names[0]
}
