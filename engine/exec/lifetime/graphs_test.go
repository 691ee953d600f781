package lifetime

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// exported makes a function of one line a node: its results, its operator and arguments, those of a
// list in brackets, then the calls of modules around it, outermost first, each with the line of its
// forward and that line's text. A line that is set in is in a block of the node before.
//
//	a, b = split x     | root 3: h, c = self.block(x)   | block 7: ...
//
// Calls are distinguished by their names. A node without any | has no stack.
func exported(t *testing.T, text string) *Func {
	t.Helper()
	r := &graphReader{t: t, values: map[string]*program.Value{}, calls: map[string]*program.ModuleCall{}}
	g := &program.Graph{Params: outs(r.value("x")), Body: &program.Block{}}
	for line := range strings.Lines(text) {
		n := r.node(strings.TrimSpace(line))
		if last := len(g.Body.Nodes) - 1; strings.HasPrefix(line, "  ") {
			owner := g.Body.Nodes[last]
			if len(owner.Blocks) == 0 {
				owner.Blocks = []*program.Block{{}}
			}
			owner.Blocks[0].Nodes = append(owner.Blocks[0].Nodes, n)
			continue
		}
		g.Body.Nodes = append(g.Body.Nodes, n)
	}
	g.NumValues = len(r.values)
	return &Func{Func: &program.Func{Name: "forward"}, Graph: g}
}

type graphReader struct {
	t      *testing.T
	values map[string]*program.Value
	calls  map[string]*program.ModuleCall
}

func (r *graphReader) value(name string) *program.Value {
	if r.values[name] == nil {
		r.values[name] = &program.Value{ID: len(r.values), Name: name}
	}
	return r.values[name]
}

func (r *graphReader) node(line string) *program.Node {
	parts := strings.Split(line, "|")
	results, call, ok := strings.Cut(parts[0], "=")
	if !ok {
		results, call = "", parts[0]
	}
	words := strings.Fields(call)
	n := &program.Node{Operation: &program.Operation{Op: words[0]}}
	for i := 1; i < len(words); i++ {
		name, list := strings.CutPrefix(words[i], "[")
		if !list {
			n.Args = append(n.Args, program.Arg{Value: r.value(name)})
			continue
		}
		var items program.Arg
		for ; ; i++ {
			name, end := strings.CutSuffix(strings.TrimPrefix(words[i], "["), "]")
			items.Items = append(items.Items, program.Arg{Value: r.value(name)})
			if end {
				break
			}
		}
		n.Args = append(n.Args, items)
	}
	for name := range strings.SplitSeq(results, ",") {
		if name = strings.TrimSpace(name); name != "" {
			n.Outs = append(n.Outs, r.value(name))
		}
	}
	if len(parts) > 1 {
		n.Where.Stack = &program.Stack{}
	}
	for i, p := range parts[1:] {
		place, text, _ := strings.Cut(p, ":")
		module, number, known := strings.Cut(strings.TrimSpace(place), " ")
		if r.calls[module] == nil {
			r.calls[module] = &program.ModuleCall{Outer: n.Where.Call}
		}
		require.True(r.t, i == 0 || r.calls[module].Outer == n.Where.Call, "%s: got a call of two callers", line)
		n.Where.Call = r.calls[module]
		if known {
			at, err := strconv.Atoi(number)
			require.NoError(r.t, err, line)
			n.Where.Stack.Frames = append([]*program.Frame{{Line: at, Text: strings.TrimSpace(text)}}, n.Where.Stack.Frames...)
		}
	}
	return n
}
