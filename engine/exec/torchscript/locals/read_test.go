package locals

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// TestRead reads functions that are written by hand. A case of the golden file is a line with two
// sharps and the reason, a function, and its nodes behind dashes, one a line, in blocks by
// indentation:
//
//	a, _1 = op(x, y) @ text     made where the text first stands in the function; without @, its range is not known; with @ 2 text, the second time
//	op(x) & 3                   of printed statement 3; and ! for one in a printed return
//
// What is read of each node stands behind the second line of dashes, as in names.txt. Without a
// text (a case that begins with -) printed names alone are followed.
func TestRead(t *testing.T) {
	const file = "testdata/read.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range strings.Split(string(data), "## ")[1:] {
		parts := strings.SplitN(c, "--\n", 3)
		why, text, _ := strings.Cut(parts[0], "\n")
		b := &builder{t: t, values: map[string]*program.Value{}, g: &program.Graph{Body: &program.Block{}}}
		if text != "-\n" {
			b.g.Source = &program.SourceText{Text: text}
		}
		b.value("self")
		b.value("x")
		b.g.Params = []*program.Value{b.values["self"], b.values["x"]}
		b.lines = strings.Split(strings.TrimRight(parts[1], "\n"), "\n")
		b.block(b.g.Body, "")
		var r Reader
		fmt.Fprintf(&out, "## %s\n%s--\n%s--\n%s\n", why, text, parts[1], show(&r, b.g))
	}
	golden.File(t, file, out.String())
}

type builder struct {
	t      *testing.T
	g      *program.Graph
	values map[string]*program.Value
	lines  []string
	count  int32
}

func (b *builder) value(name string) *program.Value {
	v := &program.Value{ID: b.g.NumValues, Name: name}
	b.g.NumValues++
	b.values[name] = v
	return v
}

func (b *builder) block(to *program.Block, indent string) {
	for len(b.lines) > 0 && strings.HasPrefix(b.lines[0], indent) && !strings.HasPrefix(b.lines[0], indent+" ") {
		line := strings.TrimPrefix(b.lines[0], indent)
		b.lines = b.lines[1:]
		if outs, ok := strings.CutPrefix(line, "-> "); ok {
			to.Outs = b.args(outs)
			return
		}
		n := &program.Node{Operation: &program.Operation{Where: program.Where{Stmt: b.count}}}
		b.count++
		line, at, placed := strings.Cut(line, " @ ")
		if l, ok := strings.CutSuffix(line, " !"); ok {
			line, n.Flags = l, program.InReturn
		}
		if l, stmt, ok := strings.Cut(line, " & "); ok {
			line = l
			_, err := fmt.Sscan(stmt, &n.Where.Stmt)
			require.NoError(b.t, err)
		}
		if placed {
			n.Where.SourceRange = b.place(at)
		}
		left, right, assigned := strings.Cut(line, " = ")
		if !assigned {
			left, right = "", line
		}
		op, args, _ := strings.Cut(strings.TrimSuffix(right, ")"), "(")
		n.Op, n.Text, _ = strings.Cut(op, ".")
		n.Args = b.args(args)
		for len(b.lines) > 0 && strings.HasPrefix(b.lines[0], indent+"  ") {
			sub := &program.Block{}
			b.block(sub, indent+"  ")
			n.Blocks = append(n.Blocks, sub)
			if len(b.lines) > 0 && b.lines[0] == indent+"/" {
				b.lines = b.lines[1:]
			}
		}
		for _, o := range strings.Split(left, ", ") {
			if o != "" {
				n.Outs = append(n.Outs, b.value(o))
			}
		}
		to.Nodes = append(to.Nodes, n)
	}
}

func (b *builder) args(text string) (out []program.Arg) {
	for _, a := range strings.Split(text, ", ") {
		if v := b.values[a]; v != nil {
			out = append(out, program.Arg{Value: v})
		} else if a != "" {
			out = append(out, program.Arg{Const: a})
		}
	}
	return out
}

// place is where a text stands; "elsewhere" is another function's.
func (b *builder) place(at string) program.SourceRange {
	if at == "elsewhere" {
		return program.SourceRange{Text: &program.SourceText{Text: "def other():\n    pass\n"}, Start: 2, End: 5}
	}
	from := 0
	if rest, ok := strings.CutPrefix(at, "2 "); ok {
		at = rest
		from = strings.Index(b.g.Source.Text, at) + 1
	}
	i := strings.Index(b.g.Source.Text[from:], at)
	require.GreaterOrEqual(b.t, i, 0, at)
	return program.SourceRange{Text: b.g.Source, Start: int32(from + i), End: int32(from + i + len(at))}
}
