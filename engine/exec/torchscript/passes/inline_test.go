package passes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// inlined inlines functions as text.
func inlined(t *testing.T, text string) (*Graph, error) {
	t.Helper()
	entry, root, k := functions(t, text)
	return Inline(entry, root, k)
}

// functions reads functions as text, the entry first: a line `def name(parameters)`, where a
// parameter may have a default behind =, and a graph. A method is written `module.name`, and its
// first parameter is the module itself.
func functions(t *testing.T, text string) (entry *program.Func, root any, k *known) {
	t.Helper()
	k = &known{modules: map[string]*module{}}
	r := &reader{t: t, k: k}
	m, sub := r.module("m"), r.module("sub")
	m.attrs["sub"], m.attrs["n"] = sub, int64(3)
	plain := r.module("plain")
	plain.class.Kind = program.PlainClass
	m.attrs["plain"] = plain
	funcs := map[string]*program.Func{}
	defs := strings.Split(text, "def ")[1:]
	for _, d := range defs { // names first: a function may call a later one
		name, _, _ := strings.Cut(d, "(")
		f := &program.Func{Name: name}
		if entry == nil {
			entry = f
		}
		funcs[name] = f
	}
	for _, d := range defs {
		head, body, _ := strings.Cut(d, "\n")
		name, params, _ := strings.Cut(strings.TrimSuffix(head, ")"), "(")
		f := funcs[name]
		graph := []string{}
		for _, p := range strings.Split(params, ", ") {
			if p == "" {
				continue
			}
			param, def, has := strings.Cut(p, "=")
			f.Params = append(f.Params, program.Param{Name: strings.Split(param, ":")[0], HasDef: has})
			if has {
				f.Params[len(f.Params)-1].Default = r.constant(def)
			}
			graph = append(graph, param)
		}
		if class, method, ok := strings.Cut(name, "."); ok {
			f.Method, f.Class = method, r.module(class).class
			f.Class.Methods = append(f.Class.Methods, f)
		}
		if len(graph) == 0 {
			graph = []string{"-"}
		}
		program.NewFunc(f, func(*program.Func) (*program.Graph, error) {
			if strings.HasPrefix(body, "fails") {
				return nil, errors.New("a body that cannot be read")
			}
			read := &reader{t: t, k: k, g: &program.Graph{Body: &program.Block{}}, values: map[string]*program.Value{},
				funcs: funcs}
			return read.read(strings.Join(graph, ", ") + "\n" + body).g, nil
		})
	}
	if entry.Class != nil {
		root = m
	}
	return entry, root, k
}

func TestInline(t *testing.T) {
	const file = "testdata/inline.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range strings.Split(string(data), "## ")[1:] {
		why, text, _ := strings.Cut(c, "\n")
		before, want, _ := strings.Cut(text, "=>\n")
		g, err := inlined(t, before)
		got := fmt.Sprintln(err)
		if g != nil {
			got = g.String() + from(g)
		}
		fmt.Fprintf(&out, "## %s\n%s=>\n%s\n", why, before, got)
		if !golden.Updating() {
			require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(got), "%s: %s", file, why)
		}
	}
	if golden.Updating() {
		golden.Write(t, file, []byte(out.String()))
	}
}

// from writes which calls the nodes of the graph itself came from.
func from(g *Graph) string {
	var b strings.Builder
	for _, n := range g.Body.Nodes {
		var calls []string
		for c := g.Call(n); c != nil; c = c.Parent {
			s := c.Func.Name
			if m, ok := c.Module.(*module); ok {
				s += " of " + m.name
			}
			if c.Node != nil {
				s += fmt.Sprintf(" at %d", c.Node.Where.Line)
			}
			calls = append(calls, s)
		}
		fmt.Fprintf(&b, "%s: %s\n", n.Op, strings.Join(calls, ", in "))
	}
	return b.String()
}

// TestInlineBounds holds that a program which calls itself ever deeper, or grows beyond all bounds,
// ends.
func TestInlineBounds(t *testing.T) {
	var deep strings.Builder
	deep.WriteString("def f0(x: Tensor)\ny = prim::CallFunction[f1](x)\nprim::Return(y)\n")
	for i := 1; i < maxDepth+3; i++ {
		fmt.Fprintf(&deep, "def f%d(x: Tensor)\ny = prim::CallFunction[f%d](x)\nprim::Return(y)\n", i, i+1)
	}
	fmt.Fprintf(&deep, "def f%d(x: Tensor)\nprim::Return(x)\n", maxDepth+3)
	g, err := inlined(t, deep.String())
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("x\ny = prim::CallFunction[f%d](x)\nprim::Return(y)\n", maxDepth+1), g.String(),
		"the call beyond the last one stays")

	var long strings.Builder
	long.WriteString("def main(x: Tensor)\n")
	for i := range maxDepth + 3 {
		fmt.Fprintf(&long, "y%d = prim::CallFunction[f](x)\n", i)
	}
	long.WriteString("prim::Return(x)\ndef f(x: Tensor)\ny = aten::relu(x)\nprim::Return(y)\n")
	g, err = inlined(t, long.String())
	require.NoError(t, err)
	require.NotContains(t, g.String(), "prim::CallFunction", "calls one after another are not deep")

	const three = "def main(x: Tensor)\ny = prim::CallFunction[f](x)\nz = aten::relu(y)\nprim::Return(z)\ndef f(x: " +
		"Tensor)\ny = aten::relu(x)\nprim::Return(y)\n"
	for most, want := range map[int]string{0: "got more than 0 nodes after inlining, want fewer", 1: "got more than 1 nodes after inlining, want fewer", 2: "", maxNodes: ""} {
		// the return is not counted
		entry, root, k := functions(t, three)
		_, err := (&inliner{eval: k, most: most, possible: map[*program.Func]bool{}}).inline(entry, root)
		if want == "" {
			assert.NoError(t, err)
			continue
		}
		var limit *exec.LimitError
		require.ErrorAs(t, err, &limit)
		assert.Equal(t, want, err.Error())
	}
}

// TestInlineTypes holds that a parameter has the type that its function declares, where the graph
// records none.
func TestInlineTypes(t *testing.T) {
	entry, root, k := functions(t, "def main(x, y: int)\nz = aten::add(x, y)\nprim::Return(z)\n")
	entry.Params[0].Type, entry.Params[1].Type = &program.Type{Kind: program.TensorType},
		&program.Type{Kind: program.BoolType}
	g, err := Inline(entry, root, k)
	require.NoError(t, err)
	assert.Equal(t, "Tensor", g.Params[0].Type.String())
	assert.Equal(t, "int", g.Params[1].Type.String())
}
