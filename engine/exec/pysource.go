package exec

import (
	"slices"
	"strings"
)

// A light reading of a user's Python function, as the debug records carry it: logical lines, their nesting, and what they assign. It
// looks at names and brackets only and runs nothing.

// pyStmt is one statement.
type pyStmt struct {
	start, end int
	parent     int // the compound statement around it, -1 at the function's top
	loop       bool
	header     bool // of a compound statement
	targets    [][]string
	names      []string // the right side, where it is a plain name or a list of plain names
	list       bool     // the right side is a list or tuple of names
	del        []string
	augmented  bool
}

// pySource is a function's statements in order.
type pySource struct {
	stmts    []pyStmt
	assigned []string // names the text assigns, in order of first appearance as targets
	order    []string // every name, in order of first appearance
}

// readPython reads a function's text.
func readPython(text string) *pySource {
	s := &pySource{}
	type open struct{ indent, stmt int }
	var stack []open
	seenDef := false
	for _, l := range logicalLines(text) {
		for len(stack) > 0 && stack[len(stack)-1].indent >= l.indent {
			stack = stack[:len(stack)-1]
		}
		parent := -1
		if len(stack) > 0 {
			parent = stack[len(stack)-1].stmt
		}
		body := text[l.start:l.end]
		if !seenDef {
			// decorators, then the def itself: its suite is the function's top
			if w := firstWord(body); w == "def" || w == "async" {
				seenDef = true
			}
			continue
		}
		if head, rest, ok := splitCompound(body); ok {
			s.stmts = append(s.stmts, headerStmt(head, l.start, l.start+len(head), parent))
			stack = append(stack, open{l.indent, len(s.stmts) - 1})
			if rest != "" {
				at := l.start + strings.Index(body, rest)
				s.simple(text, at, l.end, len(s.stmts)-1)
			}
			continue
		}
		s.simple(text, l.start, l.end, parent)
	}
	s.collect(text)
	return s
}

// simple adds the simple statements of a line, apart at semicolons.
func (s *pySource) simple(text string, start, end, parent int) {
	for start < end {
		stop := topLevel(text[start:end], ';')
		if stop < 0 {
			stop = end
		} else {
			stop += start
		}
		s.stmts = append(s.stmts, simpleStmt(text[start:stop], start, stop, parent))
		start = stop + 1
		for start < end && text[start] == ' ' {
			start++
		}
	}
}

// collect lists the names.
func (s *pySource) collect(text string) {
	for i := range s.stmts {
		st := &s.stmts[i]
		for _, group := range st.targets {
			for _, n := range group {
				if n != "" && !slices.Contains(s.assigned, n) {
					s.assigned = append(s.assigned, n)
				}
			}
		}
	}
	// compiled code numbers locals by first appearance, read or written
	for i := range s.stmts {
		st := &s.stmts[i]
		for _, n := range appearance(text[st.start:st.end], st) {
			if slices.Contains(s.assigned, n) && !slices.Contains(s.order, n) {
				s.order = append(s.order, n)
			}
		}
	}
	for _, n := range s.assigned {
		if !slices.Contains(s.order, n) {
			s.order = append(s.order, n)
		}
	}
}

// appearance is the order in which compiling a statement meets names: the right side before the targets.
func appearance(text string, st *pyStmt) []string {
	names := identifiers(text)
	if len(st.targets) == 0 || st.header {
		return names
	}
	last, rest := 0, text
	for eq := topAssign(rest); eq >= 0; eq = topAssign(rest) {
		last += eq + 1
		rest = rest[eq+1:]
	}
	return append(identifiers(text[last:]), identifiers(text[:last])...)
}

type pyLine struct{ start, end, indent int }

// logicalLines joins physical lines inside brackets and strings, and drops comments and blank lines.
func logicalLines(text string) []pyLine {
	var out []pyLine
	i := 0
	for i < len(text) {
		start := i
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
		if text[i] == '\n' || text[i] == '\r' {
			i++
			continue
		}
		if text[i] == '#' {
			i = skipComment(text, i)
			continue
		}
		start = i
		end := i
		depth := 0
		for i < len(text) {
			c := text[i]
			switch {
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
				i++
				goto done
			}
			if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				end = i + 1
			}
			i++
		}
	done:
		out = append(out, pyLine{start, end, indent})
	}
	return out
}

func skipComment(text string, i int) int {
	for i < len(text) && text[i] != '\n' {
		i++
	}
	return i
}

// skipString is the place after the string that starts at i.
func skipString(text string, i int) int {
	q := text[i]
	if strings.HasPrefix(text[i:], strings.Repeat(string(q), 3)) {
		end := strings.Index(text[i+3:], strings.Repeat(string(q), 3))
		if end < 0 {
			return len(text)
		}
		return i + 3 + end + 3
	}
	for i++; i < len(text) && text[i] != q && text[i] != '\n'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// topLevel is the place of the first c outside of brackets and strings, -1 where there is none.
func topLevel(text string, c byte) int {
	depth := 0
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '\'' || b == '"':
			i = skipString(text, i)
			continue
		case b == '#':
			i = skipComment(text, i)
			continue
		case b == c && depth == 0:
			return i
		case b == '(' || b == '[' || b == '{':
			depth++
		case b == ')' || b == ']' || b == '}':
			depth--
		}
		i++
	}
	return -1
}

func identByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func firstWord(s string) string {
	i := 0
	for i < len(s) && identByte(s[i]) {
		i++
	}
	return s[:i]
}

// splitCompound cuts a compound statement into its header and what follows the colon on the same line.
func splitCompound(s string) (head, rest string, ok bool) {
	switch firstWord(s) {
	case "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class", "async":
	default:
		return "", "", false
	}
	i := topLevel(s, ':')
	if i < 0 {
		return "", "", false
	}
	return s[:i+1], strings.TrimSpace(s[i+1:]), true
}

func headerStmt(head string, start, end, parent int) pyStmt {
	st := pyStmt{start: start, end: end, parent: parent, header: true}
	switch firstWord(head) {
	case "for":
		st.loop = true
		if i := strings.Index(head, " in "); i > 0 {
			st.targets = [][]string{targetNames(head[3:i])}
		}
	case "while":
		st.loop = true
	case "with":
		if i := strings.LastIndex(head, " as "); i > 0 {
			st.targets = [][]string{targetNames(strings.TrimSuffix(head[i+4:], ":"))}
		}
	}
	return st
}

// simpleStmt reads an assignment, an augmented one, or a del.
func simpleStmt(s string, start, end, parent int) pyStmt {
	st := pyStmt{start: start, end: end, parent: parent}
	if firstWord(s) == "del" {
		st.del = targetNames(s[3:])
		return st
	}
	rest, base := s, 0
	for {
		eq := topAssign(rest)
		if eq < 0 {
			break
		}
		left := rest[:eq]
		if n := len(left); n > 0 && strings.IndexByte("+-*/%@&|^", left[n-1]) >= 0 {
			st.augmented = true
			left = strings.TrimRight(left, "+-*/%@&|^<>")
		} else if c := topLevel(left, ':'); c >= 0 {
			left = left[:c]
		}
		st.targets = append(st.targets, targetNames(left))
		base += eq + 1
		rest = rest[eq+1:]
	}
	if len(st.targets) > 0 && !st.augmented {
		st.names, st.list = plainNames(rest)
	}
	return st
}

// topAssign is the place of the first top-level `=` that is an assignment's.
func topAssign(s string) int {
	from := 0
	for {
		i := topLevel(s[from:], '=')
		if i < 0 {
			return -1
		}
		i += from
		if i+1 < len(s) && s[i+1] == '=' {
			from = i + 2
			continue
		}
		if i > 0 && strings.IndexByte("!<>:=", s[i-1]) >= 0 {
			from = i + 1
			continue
		}
		return i
	}
}

// targetNames are the plain names among comma-separated targets; "" stands for an attribute or a subscript.
func targetNames(s string) []string {
	s = strings.TrimSpace(s)
	for len(s) > 1 && (s[0] == '(' && s[len(s)-1] == ')' || s[0] == '[' && s[len(s)-1] == ']') {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	var out []string
	for _, part := range splitTop(s) {
		part = strings.TrimPrefix(strings.TrimSpace(part), "*")
		switch {
		case part == "":
		case strings.HasPrefix(part, "("):
			out = append(out, targetNames(part)...)
		case isName(part):
			out = append(out, part)
		default:
			out = append(out, "")
		}
	}
	return out
}

// splitTop splits at top-level commas.
func splitTop(s string) []string {
	var out []string
	for {
		i := topLevel(s, ',')
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i+1:]
	}
}

func isName(s string) bool {
	return s != "" && firstWord(s) == s && (s[0] < '0' || s[0] > '9')
}

// plainNames reads a right side that is a name, or a list or tuple of names.
func plainNames(s string) (names []string, list bool) {
	s = strings.TrimSpace(s)
	if c := strings.IndexByte(s, '#'); c >= 0 {
		s = strings.TrimSpace(s[:c])
	}
	if isName(s) {
		if s == "None" || s == "True" || s == "False" {
			return nil, false
		}
		return []string{s}, false
	}
	if len(s) > 1 && (s[0] == '[' && s[len(s)-1] == ']' || s[0] == '(' && s[len(s)-1] == ')') {
		s = s[1 : len(s)-1]
		list = true
	}
	parts := splitTop(s)
	if len(parts) > 1 {
		list = true
	}
	if !list {
		return nil, false
	}
	for _, p := range parts {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		if !isName(p) {
			return nil, false
		}
		names = append(names, p)
	}
	return names, len(names) > 0
}

// identifiers lists the names in s in order, attributes and keyword names left out.
func identifiers(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			i = skipString(s, i)
		case c == '#':
			i = skipComment(s, i)
		case identByte(c):
			j := i
			for j < len(s) && identByte(s[j]) {
				j++
			}
			k := j
			for k < len(s) && s[k] == ' ' {
				k++
			}
			keyword := k+1 < len(s) && s[k] == '=' && s[k+1] != '=' && k == j
			if (i == 0 || s[i-1] != '.') && (c < '0' || c > '9') && !keyword {
				out = append(out, s[i:j])
			} else if keyword && topLevel(s[:i], ',') < 0 && !insideCall(s[:i]) {
				out = append(out, s[i:j])
			}
			i = j
		default:
			i++
		}
	}
	return out
}

// insideCall says whether an open bracket precedes.
func insideCall(s string) bool {
	return strings.Count(s, "(")+strings.Count(s, "[") > strings.Count(s, ")")+strings.Count(s, "]")
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

// encloses says whether compound statement c (-1: the function) is around statement i.
func (s *pySource) encloses(c, i int) bool {
	if c < 0 {
		return true
	}
	for i >= 0 {
		if i == c {
			return true
		}
		i = s.stmts[i].parent
	}
	return false
}

// loopAround is the innermost loop that encloses both statements, -1 where there is none.
func (s *pySource) loopAround(i, j int) int {
	for p := s.stmts[i].parent; p >= 0; p = s.stmts[p].parent {
		if s.stmts[p].loop && s.encloses(p, j) {
			return p
		}
	}
	return -1
}

// between lists the statements that run after i and before j without leaving a trace in the archive: aliases, lists of names and dels whose
// blocks are around i or j. Where j comes before i, the loop around both went round.
func (s *pySource) between(i, j int) []int {
	var out []int
	add := func(from, to int) {
		for k := from; k < to; k++ {
			st := &s.stmts[k]
			if st.names == nil && st.del == nil {
				continue
			}
			if s.encloses(st.parent, max(i, 0)) && i >= 0 || s.encloses(st.parent, j) {
				out = append(out, k)
			}
		}
	}
	if i < 0 {
		add(0, j)
		return out
	}
	if j > i {
		add(i+1, j)
		return out
	}
	loop := s.loopAround(i, j)
	if loop < 0 {
		return nil
	}
	end := loop + 1
	for end < len(s.stmts) && s.encloses(loop, end) {
		end++
	}
	add(i+1, end)
	add(loop+1, j)
	return out
}
