package coverage

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
)

// TestMissingInOrder: operators without a rule are reported as they are met, methods of one name in
// the order of their classes; what is known of is where each is met first, and how often.
func TestMissingInOrder(t *testing.T) {
	of := func(class *program.Class, method string, ops ...string) *program.Func {
		g := &program.Graph{Body: &program.Block{}}
		for i, op := range ops {
			n := &program.Node{Operation: &program.Operation{Op: op, Where: program.Where{Line: int32(i + 1)}}}
			if name, ok := strings.CutPrefix(op, "call "); ok {
				n.Op, n.Text, n.Args = "prim::CallMethod", name, []program.Arg{{}}
			}
			g.Body.Nodes = append(g.Body.Nodes, n)
		}
		g.Body.Nodes = append(g.Body.Nodes, &program.Node{Operation: &program.Operation{Op: "prim::Return"},
			Args: []program.Arg{{}}})
		f := &program.Func{Name: class.Name + "." + method, Method: method, Class: class, Record: class.Name + ".py"}
		program.NewFunc(f, func(*program.Func) (*program.Graph, error) { return g, nil })
		class.Methods = append(class.Methods, f)
		return f
	}
	root, a, b := &program.Class{Name: "Root"}, &program.Class{Name: "A"}, &program.Class{Name: "B"}
	entry := of(root, "forward", "my::first", "call f", "my::first", "aten::relu", "prim::Print", "call f", "call forward")
	of(a, "f", "my::a", "my::first")
	of(a, "g", "my::unreached")
	of(b, "f", "my::b", "my::a")
	p := &program.Program{Entry: entry, Objects: program.Objects{Classes: []*program.Class{root, a, b}},
		Modules: []*program.Module{{FQN: "", Object: &program.Object{Class: root}},
			{FQN: "x.a", Object: &program.Object{Class: a}}, {FQN: "y.a", Object: &program.Object{Class: a}}}}
	found, err := Missing(p)
	require.NoError(t, err)
	var got []string
	for _, u := range found {
		got = append(got, fmt.Sprintf("%s ×%d %s:%d %s", u.Op, u.Count, u.First.File, u.First.Line, u.First.Module))
	}
	assert.Equal(t, []string{"my::first ×3 Root.py:1 ", "my::a ×2 A.py:1 x.a", "my::b ×1 B.py:1 "}, got)
}

// A function of no class, as an exported program's, is no module's, and what cannot be read is an
// error.
func TestMissingOfAFunction(t *testing.T) {
	f := &program.Func{Name: "forward", Record: "main.py"}
	gone := errors.New("gone")
	program.NewFunc(f, func(*program.Func) (*program.Graph, error) {
		return &program.Graph{Body: &program.Block{Nodes: []*program.Node{
			{Operation: &program.Operation{Op: "my::op", Where: program.Where{Line: 7}}},
			{Operation: &program.Operation{Op: "prim::Return"}, Args: []program.Arg{{}}}}}}, nil
	})
	p := &program.Program{Entry: f, Modules: []*program.Module{{FQN: "x", Object: &program.Object{}}}}
	found, err := Missing(p)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, report.Site{Op: "my::op", File: "main.py", Line: 7}, found[0].First)
	p.Entry = &program.Func{Name: "forward"}
	program.NewFunc(p.Entry, func(*program.Func) (*program.Graph, error) { return nil, gone })
	_, err = Missing(p)
	assert.ErrorIs(t, err, gone)
}
