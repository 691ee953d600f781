package torchscript

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// The graphs are those PyTorch makes of the same archive (testdata/language.graph, see
// language.py): the same nodes in the same order, results and parameters of every If and Loop, and
// lines in the user's source.
func TestGraphsArePyTorchs(t *testing.T) {
	p, err := Decode(open(t, filepath.Join("testdata", "language.pt")))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join("testdata", "language.graph"))
	require.NoError(t, err)
	want := graphs(strings.Split(strings.TrimRight(string(data), "\n"), "\n"))
	var lines []string
	for _, f := range allFunctions(p) {
		g, err := f.Graph()
		require.NoError(t, err)
		lines = append(lines, "func "+f.Name)
		lines = graphLines(g.Body, 1, lines)
	}
	got := graphs(lines)
	require.NotEmpty(t, want)
	for name, w := range want {
		if d := cmp.Diff(w, got[name]); d != "" {
			t.Errorf("%s: -pytorch +memspec\n%s", name, d)
		}
	}
}

func graphLines(b *program.Block, depth int, lines []string) []string {
	indent := strings.Repeat("  ", depth)
	for _, n := range b.Nodes {
		name, line := "", "-"
		if n.Op == "prim::GetAttr" || n.Op == "prim::SetAttr" || n.Op == "prim::CallMethod" {
			name = " " + n.Text
		}
		if pos := n.Where.Pos(); strings.HasSuffix(pos.File, "language.py") {
			line = fmt.Sprint(pos.Line)
		}
		lines = append(lines, fmt.Sprintf("%s%s %d%s %s", indent, n.Op, len(n.Outs), name, line))
		for _, inner := range n.Blocks {
			lines = append(lines, fmt.Sprintf("%s  block %d %d", indent, len(inner.Params), len(inner.Outs)))
			lines = graphLines(inner, depth+2, lines)
		}
	}
	return lines
}

// graphs takes a listing apart by function and evens out what is written differently on purpose:
// containers of constants and devices are literals here; x[i] is decided when it runs; taking apart
// is one kind; __enter__'s result is there if it is used; a call's line is looked for at its
// parenthesis; and what raises ends no function.
func graphs(lines []string) map[string][]string {
	out := map[string][]string{}
	name := ""
	for _, l := range lines {
		if fn, ok := strings.CutPrefix(l, "func "); ok {
			name = fn
			out[name] = []string{}
			continue
		}
		words := strings.Fields(l)
		switch words[0] {
		case "prim::ListConstruct", "prim::TupleConstruct", "aten::device", "prim::Return":
			continue
		case "prim::TupleIndex":
			l = strings.Replace(l, "prim::TupleIndex", "aten::__getitem__", 1)
		case "prim::ListUnpack":
			l = strings.Replace(l, "prim::ListUnpack", "prim::TupleUnpack", 1)
		case "prim::Enter":
			l = strings.Replace(l, "prim::Enter 0", "prim::Enter 1", 1)
		case "prim::Exit":
			l = strings.Replace(l, "prim::Exit 1", "prim::Exit 0", 1)
		case "prim::CallFunction":
			l = l[:len(l)-len(words[len(words)-1])]
		}
		out[name] = append(out[name], l)
	}
	for name := range out {
		out[name] = slices.Clip(out[name])
	}
	return out
}
