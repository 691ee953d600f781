// Package pysource reads Python as users write it: the source text of a function, as TorchScript's
// debug records carry it.
//
// Read finds the statements of a function, how they nest and which names they bind. It looks at
// words and brackets only, never fails, and takes what it does not understand for a statement that
// binds nothing. Tokens and expressions are those of package python.
package pysource

// Kind distinguishes statements by what they do to the flow of control.
type Kind uint8

// The kinds; Leave and Jump end the suite that they stand in.
const (
	Simple Kind = iota
	If
	For
	While
	With
	Other // try, match, a function or class inside the function
	Leave // return, raise
	Jump  // break, continue
)

// Stmt is one statement; of a compound one Start and End hold its header. Places are byte offsets
// in Source.Text.
type Stmt struct {
	Kind       Kind
	Start, End int
	Parent     int       // the compound statement around it, -1 at the function's top
	Suite      int       // which of the parent's suites: 0 is its body, 1 and on are else, except, finally
	After      int       // the first statement behind it and its suites
	Targets    []Targets // one for each `=`
	Right      int       // where the right side begins
	Augmented  bool      // `x += y`
	Del        []string  // the names of a del
}

// Targets are the names that one `=` binds; "" stands for an attribute or a subscript.
type Targets struct {
	Names []string
	Tuple bool // `a, b =` or `a, =`, which takes the value apart
	Deep  bool // `a, (b, c) =` or `a, *b =`: names do not stand for members by place
}

// Single is the one name that a plain `name =` binds, "" where it is something else.
func (t *Targets) Single() string {
	if t.Tuple || len(t.Names) != 1 {
		return ""
	}
	return t.Names[0]
}

// Source is a function's statements in order.
type Source struct {
	Text       string
	Stmts      []Stmt
	Locals     []string // names it assigns, in the order in which the compiler numbers them
	Decorators []string
}

// At is the innermost statement that holds offset off, -1 where none does.
func (s *Source) At(off int) int {
	lo, hi := 0, len(s.Stmts)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.Stmts[mid].Start <= off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || off >= s.Stmts[lo-1].End {
		return -1
	}
	return lo - 1
}

// Within says whether statement i lies in compound statement c (-1: the function).
func (s *Source) Within(i, c int) bool {
	return c < 0 || i > c && i < s.Stmts[c].After
}

// Child is the statement of a suite of c that i is or lies in, -1 where i is not in that suite.
func (s *Source) Child(c, suite, i int) int {
	for i >= 0 && s.Stmts[i].Parent != c {
		i = s.Stmts[i].Parent
	}
	if i < 0 || s.Stmts[i].Suite != suite {
		return -1
	}
	return i
}

// ChildOf is the statement directly in compound statement c that i, which lies in c, is or lies in.
func (s *Source) ChildOf(c, i int) int {
	for s.Stmts[i].Parent != c {
		i = s.Stmts[i].Parent
	}
	return i
}

// Suite is the first statement of a suite of c, and the place behind its last.
func (s *Source) Suite(c, suite int) (from, to int) {
	from, to = 0, len(s.Stmts)
	if c >= 0 {
		from, to = c+1, s.Stmts[c].After
	}
	for from < to && s.Stmts[from].Suite != suite {
		from = s.Stmts[from].After
	}
	end := from
	for end < to && s.Stmts[end].Suite == suite {
		end = s.Stmts[end].After
	}
	return from, end
}

// Comprehends says whether statement i holds a comprehension: its calls are made many times.
func (s *Source) Comprehends(i int) bool {
	if i < 0 {
		return false
	}
	for _, w := range Names(s.Text[s.Stmts[i].Start:s.Stmts[i].End]) {
		if w == "for" {
			return s.Stmts[i].Kind != For
		}
	}
	return false
}
