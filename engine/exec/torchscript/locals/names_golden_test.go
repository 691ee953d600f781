package locals

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// TestNames prints what is read of every function of the small scripted archives: by node the
// statement that it is part of, with a sharp where it is an If or Loop that the statement is, and
// the names of its results; then the statements that left no node.
func TestNames(t *testing.T) {
	const file = "testdata/names.txt"
	archives, err := filepath.Glob("../../../../testdata/artifacts/small/*.script.pt")
	require.NoError(t, err)
	require.Greater(t, len(archives), 50)
	slices.Sort(archives)
	seen := map[string]bool{}
	var out strings.Builder
	for _, path := range archives {
		a, err := artifact.Open(path)
		require.NoError(t, err)
		var r Reader
		each := func(f *program.Func) {
			g, err := f.Graph()
			require.NoError(t, err)
			if g.Source == nil || g.Library {
				return
			}
			text := show(&r, g)
			if !seen[text] {
				seen[text] = true
				fmt.Fprintf(&out, "## %s %s\n%s\n", strings.TrimSuffix(filepath.Base(path), ".script.pt"), f.Method, text)
			}
		}
		for _, c := range a.Program.Classes {
			for _, m := range c.Methods {
				each(m)
			}
		}
		for _, f := range a.Program.Funcs {
			each(f)
		}
	}
	golden.File(t, file, out.String())
}

func show(r *Reader, g *program.Graph) string {
	var nodes []*program.Node
	var gather func(b *program.Block)
	gather = func(b *program.Block) {
		for _, n := range b.Nodes {
			nodes = append(nodes, n)
			for _, sub := range n.Blocks {
				gather(sub)
			}
		}
	}
	gather(g.Body)
	n := r.Read(g, len(nodes))
	var out strings.Builder
	for i, node := range nodes {
		where := "-"
		if s := n.stmt[i]; s >= 0 {
			where = statement(n, int(s))
		}
		if h := n.header[i]; h >= 0 {
			where = "#" + statement(n, int(h))
		}
		var names []string
		for _, v := range node.Outs {
			names = append(names, strings.Join(n.Bound(v.ID), " "))
		}
		if local, ok := n.together[i]; ok {
			names = append(names, "together "+n.locals[local])
		}
		if n.HostNumber(i) {
			names = append(names, "host")
		}
		fmt.Fprintf(&out, "%s | %s | %s\n", node.Op, where, strings.Join(names, ", "))
	}
	for i := 0; n.src != nil && i < len(n.src.Stmts); i++ {
		if !n.placed[i] {
			fmt.Fprintf(&out, "silent: %s\n", statement(n, i))
		}
	}
	fmt.Fprintf(&out, "locals: %s\n", strings.Join(n.locals, " "))
	return out.String()
}

// statement is the text of one, on a line, at most so long.
func statement(n *Names, i int) string {
	st := &n.src.Stmts[i]
	s := strings.Join(strings.Fields(n.src.Text[st.Start:st.End]), " ")
	return s[:min(len(s), 60)]
}
