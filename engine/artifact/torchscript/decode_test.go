package torchscript

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

var root = filepath.Join("..", "..", "..")

// archives lists the archives of the corpus, which lies beside the repository.
func archives(tb testing.TB) []string {
	tb.Helper()
	dir := filepath.Join(root, "..", "shared", "corpus", "torchscript")
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(tb, err)
	if len(paths) == 0 {
		tb.Skipf("no corpus at %s", dir)
	}
	return paths
}

// open opens an archive as a decoder sees it.
func open(tb testing.TB, path string) fs.FS {
	tb.Helper()
	f, err := os.Open(path)
	require.NoError(tb, err)
	tb.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	require.NoError(tb, err)
	z, err := ptzip.Open(f, info.Size())
	require.NoError(tb, err, path)
	return z
}

// refused are the corpus files that are no archive this package reads, each with the reason.
var refused = map[string]string{
	"LaurentMazare__tch-rs__foo-2be389b1.pt":    "PyTorch 1.1 or older",
	"LaurentMazare__tch-rs__foo-ac2e027a.pt":    "PyTorch 1.1 or older",
	"LaurentMazare__tch-rs__foo2-4a867980.pt":   "PyTorch 1.1 or older",
	"LaurentMazare__tch-rs__foo3-f9563d0b.pt":   "PyTorch 1.1 or older",
	"openmm__openmm-torch__central-b190c8f4.pt": "PyTorch 1.1 or older",
}

// Every archive of the corpus decodes, every function of it lowers, and the program is what package
// program promises; or it is refused for the reason that stands here.
func TestCorpus(t *testing.T) {
	n, functions, nodes := 0, 0, 0
	for _, path := range archives(t) {
		name := filepath.Base(path)
		f := open(t, path)
		if !Sniff(f) {
			assert.Equal(t, ".zip", filepath.Ext(name), "%s is not recognised", name)
			continue
		}
		p, err := Decode(f)
		if why, ok := refused[name]; ok {
			assert.ErrorContains(t, err, why, name)
			continue
		}
		if !assert.NoError(t, err, name) {
			continue
		}
		assert.NoError(t, program.Check(p), name)
		n++
		for _, fn := range allFunctions(p) {
			g, err := fn.Graph()
			if assert.NoError(t, err, name) {
				functions++
				nodes += countNodes(g.Body)
			}
		}
	}
	t.Logf("%d archives, %d functions, %d nodes", n, functions, nodes)
}

func allFunctions(p *program.Program) (fs []*program.Func) {
	for _, c := range p.Classes {
		fs = append(fs, c.Methods...)
	}
	return append(fs, p.Funcs...)
}

func countNodes(b *program.Block) int {
	n := len(b.Nodes)
	for _, node := range b.Nodes {
		for _, inner := range node.Blocks {
			n += countNodes(inner)
		}
	}
	return n
}

// What an archive says of Python, by how it was made.
func TestRecords(t *testing.T) {
	for _, c := range []struct {
		path string
		want program.Records
		why  string
	}{
		{filepath.Join("testdata", "language.pt"), program.RecordsSource, ""},
		{filepath.Join("testdata", "frozen.pt"), program.RecordsNothing, "torch.jit.freeze of a script"},
		{filepath.Join(root, "testdata", "artifacts", "torchvision", "resnet50.script.pt"), program.RecordsSource, ""},
		{filepath.Join(root, "testdata", "artifacts", "torchvision", "resnet50.trace.pt"), program.RecordsStacks,
			"its records are stacks"},
		{filepath.Join(root, "testdata", "artifacts", "small", "views.trace.pt"), program.RecordsStacks,
			"constants only, but nobody froze it"},
	} {
		p, err := Decode(open(t, c.path))
		require.NoError(t, err)
		assert.Equal(t, c.want, p.Records, "%s: %s", c.path, c.why)
		for _, class := range p.Classes {
			for _, m := range class.Methods {
				want := class.Kind == program.ModuleClass &&
					(p.Records == program.RecordsStacks || strings.HasSuffix(m.Name, ".forward"))
				assert.Equal(t, want, m.Module, "%s: %s: forward is what calling a module runs; of a traced one its other calls "+
					"are methods too", c.path, m.Name)
			}
		}
	}
}

// The same archive gives the same text, whichever order functions are lowered in.
func TestDeterminism(t *testing.T) {
	path := filepath.Join("testdata", "language.pt")
	var texts [2]bytes.Buffer
	for i := range texts {
		p, err := Decode(open(t, path))
		require.NoError(t, err)
		if i == 1 {
			fs := allFunctions(p)
			for k := len(fs) - 1; k >= 0; k-- {
				_, err := fs[k].Graph()
				require.NoError(t, err)
			}
		}
		require.NoError(t, program.Write(&texts[i], p))
	}
	assert.Equal(t, texts[0].String(), texts[1].String())
}

// What data.pkl holds, as literals: lists and tuples, a device, a complex number, a member of an
// enumeration, one tensor in two places.
func TestObjects(t *testing.T) {
	p, err := Decode(open(t, filepath.Join("testdata", "language.pt")))
	require.NoError(t, err)
	attr := func(o *program.Object, name string) any {
		i, ok := o.Class.AttrIndex(name)
		require.True(t, ok, name)
		return o.Attrs[i]
	}
	r := p.Root
	assert.Equal(t, []any{int64(1), int64(2), int64(3)}, attr(r, "pl").(*program.ListLit).Items)
	assert.Equal(t, []any{int64(1), "x", 2.5, nil}, attr(r, "tt").(*program.TupleLit).Items)
	assert.Equal(t, program.Device("cpu"), attr(r, "dev"))
	assert.Equal(t, complex(1, 2), attr(r, "cplx"))
	assert.Equal(t, int64(7), attr(r, "k"), "a constant of the class")
	var modules []string
	for _, m := range p.Modules {
		modules = append(modules, m.FQN)
	}
	assert.Equal(t, []string{"", "mod", "lin", "seq", "seq.0", "seq.1", "ml", "ml.0", "ml.1"}, modules, "depth first")
	e, ok := attr(r, "e").(program.EnumLit)
	require.True(t, ok)
	assert.Equal(t, "B", e.Name)
	assert.Equal(t, int64(-2), e.Value)
	assert.Same(t, attr(r, "shared"), attr(attr(r, "lin").(*program.Object), "weight"), "one tensor, two names")
	buf := attr(r, "buf").(*program.State)
	assert.Equal(t, []int64{0, 1, 2, 3, 4}, buf.Data.Ints)
	w := attr(r, "w16").(*program.State)
	assert.Equal(t, "bfloat16", w.Meta.DType.String())
	assert.Equal(t, []int64{1, 3}, w.Meta.Strides, "transposed")
	assert.True(t, w.Meta.RequiresGrad)
	assert.Nil(t, w.Data, "parameters carry no values")
}
