package stacks_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/lifetime/stacks"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// TestSmall prints the live ranges of every function of the small traced archives, as their stacks
// record them and at the upper bound, and by which of its nodes a function releases what a call
// left. TestRecordings holds what a run makes of them to what eager PyTorch allocates and frees.
func TestSmall(t *testing.T) {
	const file = "testdata/small.txt"
	archives, err := filepath.Glob("../../../../testdata/artifacts/small/*.trace.pt")
	require.NoError(t, err)
	require.Greater(t, len(archives), 40)
	var out bytes.Buffer
	for _, path := range archives {
		a, err := artifact.Open(path)
		require.NoError(t, err)
		p := stacks.New(a.Program)
		fmt.Fprintf(&out, "## %s\n", strings.TrimSuffix(filepath.Base(path), ".trace.pt"))
		for _, o := range modules(a.Program.Root, nil) {
			f := o.Class.Method("forward")
			if f == nil {
				continue
			}
			g, err := f.Graph()
			require.NoError(t, err)
			ranges, err := p.Ranges(f, o)
			require.NoError(t, err)
			held, err := p.Most(f, o)
			require.NoError(t, err)
			nodes, _ := lifetime.Numbering(g)
			fmt.Fprintf(&out, "# module %q\n", o.FQN)
			write(&out, nodes, ranges, nil)
			out.WriteString("at most\n")
			write(&out, nodes, held.Ranges, ranges)
			for i, until := range held.Until {
				if until != stacks.Stays {
					fmt.Fprintf(&out, "%d is bound anew behind %d\n", i, until)
				}
			}
		}
	}
	golden.File(t, file, out.String())
}

// modules are a module and those within it, each class of functions once.
func modules(o *program.Object, seen []*program.Class) (out []*program.Object) {
	if o == nil || o.Class == nil || slices.Contains(seen, o.Class) {
		return nil
	}
	seen, out = append(seen, o.Class), []*program.Object{o}
	for _, a := range o.Attrs {
		if child, ok := a.(*program.Object); ok {
			for _, m := range modules(child, seen) {
				seen, out = append(seen, m.Class), append(out, m)
			}
		}
	}
	return out
}

// write writes ranges, a line each: the value and the node that makes it, the node behind which it
// goes, and why; those that stand in known are left out.
func write(out *bytes.Buffer, nodes []*program.Node, ranges, known []lifetime.Range) {
	for i := range ranges {
		r := &ranges[i]
		if slices.Contains(known, *r) {
			continue
		}
		fmt.Fprintf(out, "%s %d %s: ", r.Value.Name, r.From, strings.TrimPrefix(nodes[r.From].Op, "aten::"))
		if r.To >= 0 {
			fmt.Fprintf(out, "%d %s", r.To, strings.TrimPrefix(nodes[r.To].Op, "aten::"))
		}
		fmt.Fprintf(out, ", %d %d %s", r.End, r.Arg, r.Why)
		if r.Local != "" {
			out.WriteString(": " + r.Local)
		}
		out.WriteString("\n")
	}
}
