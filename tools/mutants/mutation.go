package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// A mutation is one change of one file.
type mutation struct {
	pkg      *source
	file     int           // of the package's files
	path     string        // of the file, from the root of the repository
	function string        // Type.Method, function or variable
	decl     *ast.FuncDecl // the function it is in, nil for a variable's value
	operator string
	line     int
	start    int // bytes [start, end) of the file are replaced
	end      int
	text     string // by this
	was, now string // the expression or statement before and after, on one line
	number   int    // in a test binary that holds many
	nth      int    // of those that read the same in the function, from 1
}

// id names a mutation by what it changes, so that it stays the same when lines move: it is how
// equivalent.txt names it.
func (m *mutation) id() string {
	id := fmt.Sprintf("%s %s: %s => %s", m.path, m.function, m.was, m.now)
	if m.nth > 1 {
		id += fmt.Sprintf(" #%d", m.nth)
	}
	return id
}

// site is id without what becomes of it: several mutations may be made of one expression, and one
// of them is drawn.
func (m *mutation) site() string {
	return fmt.Sprintf("%s %s: %s #%d", m.path, m.function, m.was, m.nth)
}

// mutated is the file with the change in it.
func (m *mutation) mutated() []byte {
	text := m.pkg.files[m.file].text
	out := make([]byte, 0, len(text)+len(m.text))
	out = append(out, text[:m.start]...)
	out = append(out, m.text...)
	return append(out, text[m.end:]...)
}

// diff is the lines that change, before and after.
func (m *mutation) diff() string {
	text := m.pkg.files[m.file].text
	from := strings.LastIndexByte(string(text[:m.start]), '\n') + 1
	to := len(text)
	if i := strings.IndexByte(string(text[m.end:]), '\n'); i >= 0 {
		to = m.end + i
	}
	var b strings.Builder
	for _, side := range []struct{ mark, lines string }{
		{"-", string(text[from:to])},
		{"+", string(text[from:m.start]) + m.text + string(text[m.end:to])},
	} {
		for line := range strings.Lines(side.lines + "\n") {
			if strings.TrimSpace(line) != "" {
				b.WriteString("\t" + side.mark + line)
			}
		}
	}
	return b.String()
}

// around is how much of a long expression is shown on either side of a change.
const around = 50

// oneLine is text around [start, end), white space folded; what is far from the change is left out.
func oneLine(before, changed, after string) string {
	before, changed, after = fold(before), fold(changed), fold(after)
	if r := []rune(before); len(r) > around {
		before = "…" + string(r[len(r)-around:])
	}
	if r := []rune(after); len(r) > around {
		after = string(r[:around]) + "…"
	}
	if r := []rune(changed); len(r) > 3*around {
		changed = string(r[:2*around]) + "…" + string(r[len(r)-around:])
	}
	return strings.TrimSpace(before + changed + after)
}

// fold makes every stretch of white space one blank.
func fold(s string) string {
	f := strings.Join(strings.Fields(s), " ")
	if f == "" {
		return f
	}
	if strings.TrimLeft(s, " \t\n") != s {
		f = " " + f
	}
	if strings.TrimRight(s, " \t\n") != s {
		f += " "
	}
	return f
}
