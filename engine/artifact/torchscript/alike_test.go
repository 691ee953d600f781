package torchscript

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// TestAlikeFunctionsAreWhatTheyWouldBe: a function that got the graph of one like it is, to every
// place in the user's text, what it is when nothing was lowered before it.
func TestAlikeFunctionsAreWhatTheyWouldBe(t *testing.T) {
	for path, want := range map[string]int{
		filepath.Join(root, "testdata", "artifacts", "torchvision", "resnet50.script.pt"): 40,
		filepath.Join("testdata", "language.pt"):                                          0,
	} {
		archive := open(t, path)
		p, err := Decode(archive)
		require.NoError(t, err)
		alone := func(i int) *program.Func {
			q, err := Decode(archive)
			require.NoError(t, err)
			return allFunctions(q)[i]
		}
		seen, shared := map[*program.Graph]bool{}, 0
		for i, fn := range allFunctions(p) {
			g, err := fn.Graph()
			require.NoError(t, err)
			if !seen[g] {
				seen[g] = true
				continue
			}
			shared++
			assert.Equal(t, wholly(t, alone(i)), wholly(t, fn), "%s: %s", path, fn.Name)
		}
		assert.GreaterOrEqual(t, shared, want, path)
	}
}

// wholly is a function with all that its nodes say of where they come from.
func wholly(t *testing.T, fn *program.Func) string {
	var b bytes.Buffer
	require.NoError(t, program.WriteFunc(&b, fn))
	g, err := fn.Graph()
	require.NoError(t, err)
	fmt.Fprintf(&b, "library %v\n", g.Library)
	if g.Source != nil {
		fmt.Fprintf(&b, "source %+v\n", *g.Source)
	}
	var walk func(*program.Block)
	walk = func(block *program.Block) {
		for _, n := range block.Nodes {
			fmt.Fprintf(&b, "%s line %d stmt %d flags %d span %d-%d", n.Op, n.Where.Line, n.Where.Stmt, n.Flags, n.Where.Start,
				n.Where.End)
			if n.Where.Text != nil {
				fmt.Fprintf(&b, " of %+v", *n.Where.Text)
			}
			for _, v := range n.Outs {
				fmt.Fprintf(&b, " %d %s %v", v.ID, v.Name, v.Type)
			}
			fmt.Fprintln(&b)
			for _, sub := range n.Blocks {
				walk(sub)
			}
		}
	}
	walk(g.Body)
	return b.String()
}

// TestWhichFunctionsAreAlike: each thing that two functions may differ in.
func TestWhichFunctionsAreAlike(t *testing.T) {
	const method = "  def f(self: __torch__.NAME,\n    x: Tensor,\n    y: Tensor) -> Tensor:\n    return torch.relu(x)\n"
	class := func(name string, edits ...string) string {
		return "class " + name + "(Module):\n" + strings.NewReplacer(append(edits, "NAME", name)...).Replace(method)
	}
	falls := func(name string) string { return class(name, "return torch.relu(x)", "_0 = torch.relu_(x)") } // off its end
	forks := func(name string) string {
		return class(name, "    return torch.relu(x)", "    def __torch_fork_0():\n      return torch.relu(x)\n    _0 = "+
			"fork(__torch_fork_0)\n    return torch.relu(x)")
	}
	// The operation of each file's function comes from start to 12 of its text.
	const def = "def f(x):\n  return x\n"
	records := func(file, text string, at, start int) string {
		source := pTuple(pText(text), pText(file), pInt(7))
		rec := func(offset, start int) string { return pTuple(pInt(offset), pTuple(source, pInt(start), pInt(12))) }
		first := 1
		if at == 0 { // one record for the whole file
			first = start
		}
		return "\x80\x02" + pTuple(rec(0, first), rec(at, start)) + "."
	}
	a := class("A")
	body := func(src string) int { return strings.Index(src, "torch.relu") + len("a.") } // in a module of one letter
	end := func(src string) int { return len(src) + len("a.") }
	for _, tt := range []struct {
		why, b         string
		debugA, debugB string
		alike          bool
	}{
		{"but for the class nothing differs", class("B"), "", "", true},
		{"another operator", class("B", "relu", "gelu"), "", "", false},
		{"parameters in another order", class("B", "x:", "y:", "y:", "x:"), "", "", false},
		{"another parameter's type", class("B", "y: Tensor", "y: Optional[Tensor]"), "", "", false},
		{"one line further down", "\n" + class("B"), "", "", false},
		{"an attribute before it, with the line that it takes", "class B(Module):\n  a : int\n" +
			class("B")[len("class B(Module):\n"):], "", "", false},
		{"the same place", class("B"), records("/u/n.py", def, body(a), 10), records("/u/n.py", def, body(a), 10), true},
		{"the same place, behind a longer name", class("Longer"), records("/u/n.py", def, body(a), 10),
			records("/u/n.py", def, body(class("Longer")), 10), true},
		{"the record begins elsewhere", class("B"), records("/u/n.py", def, body(a), 10),
			records("/u/n.py", def, body(a)+2, 10), false},
		{"another place of the text", class("B"), records("/u/n.py", def, body(a), 10), records("/u/n.py", def, body(a), 9),
			false},
		{"another text", class("B"), records("/u/n.py", def, body(a), 10), records("/u/n.py", def+" ", body(a), 10), false},
		{"another file", class("B"), records("/u/n.py", def, body(a), 10), records("/u/m.py", def, body(a), 10), false},
		{"a class of PyTorch's own, whose lines are not the user's", class("OfTorch"), "", "", false},
		{"the place before the body", class("B"), records("/u/n.py", def, 0, 10), records("/u/n.py", def, 0, 9), false},
		{"the place of the return that is not written", falls("B"), records("/u/n.py", def, end(falls("A")), 10),
			records("/u/n.py", def, end(falls("A")), 9), false},
		{"the same place of that return", falls("B"), records("/u/n.py", def, end(falls("A")), 10),
			records("/u/n.py", def, end(falls("A")), 10), true},
		{"a function in each, which has the name of the one around", forks("B"), "", "", false},
		{"only one states a place", class("B"), records("/u/n.py", def, body(a), 10), "", false},
		{"only the other does", class("B"), "", records("/u/n.py", def, body(a), 10), false},
	} {
		name := strings.TrimPrefix(tt.b[strings.Index(tt.b, "class "):], "class ")
		name = name[:strings.IndexByte(name, '(')]
		files := archive("class M(Module):\n  def forward(self: __torch__.M) -> NoneType:\n    return None\n")
		files["code/__torch__.py.debug_pkl"] = &fstest.MapFile{Data: []byte(records("/u/m.py", def, 1, 2))}
		put := func(module, src, debug string) {
			src = strings.ReplaceAll(src, "__torch__.", "__torch__."+strings.ReplaceAll(module, "/", ".")+".")
			files["code/__torch__/"+module+".py"] = &fstest.MapFile{Data: []byte(src)}
			if debug != "" {
				files["code/__torch__/"+module+".py.debug_pkl"] = &fstest.MapFile{Data: []byte(debug)}
			}
		}
		first := a
		for _, form := range []func(string) string{falls, forks} {
			if tt.b == form("B") {
				first = form("A")
			}
		}
		put("a", first, tt.debugA)
		module := "b"
		if name == "OfTorch" {
			module = "torch/b"
		}
		put(module, tt.b, tt.debugB)
		p, err := Decode(fs.FS(files))
		require.NoError(t, err, tt.why)
		graph := map[string]*program.Graph{}
		for _, c := range p.Classes {
			if f := c.Method("f"); f != nil {
				graph[c.Name], err = f.Graph()
				require.NoError(t, err, tt.why)
			}
		}
		require.Len(t, graph, 2, tt.why)
		assert.Equal(t, tt.alike, graph["__torch__.a.A"] == graph["__torch__."+strings.ReplaceAll(module, "/", ".")+"."+name],
			tt.why)
	}
}
