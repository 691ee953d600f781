package torchscript

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// unreadable is an archive of which one record is listed and cannot be read, as a damaged one of a
// zip.
type unreadable struct {
	fstest.MapFS
	name string
}

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return u.MapFS.Open(name)
}

func (u unreadable) ReadFile(name string) ([]byte, error) {
	if name == u.name {
		_, err := u.Open(name)
		return nil, err
	}
	return u.MapFS.ReadFile(name)
}

// TestDamagedRecords: an archive of which any one record cannot be read is refused by that record's
// name.
func TestDamagedRecords(t *testing.T) {
	files := archive("class M(Module):\n  __parameters__ = []\n  __buffers__ = [\"b\", ]\n  __forward_hooks__ = []\n" +
		"  b : Tensor\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return torch.neg(x)\n")
	const aTensor = "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nLongStorage\nX\x01\x00\x00\x000" +
		"X\x03\x00\x00\x00cpuK\x02tQK\x00(K\x02t(K\x01t\x89tR"
	files["data.pkl"].Data = []byte("\x80\x02c__torch__\nM\n)\x81}(X\x01\x00\x00\x00b" + aTensor + "ub.")
	files["data/0"] = &fstest.MapFile{Data: append(make([]byte, 15), 1)}
	files["code/__torch__.py.debug_pkl"] = &fstest.MapFile{Data: []byte("\x80\x02).")}
	p, err := Decode(files)
	require.NoError(t, err)
	require.Equal(t, []*program.State{{Name: "b", Class: tensor.Buffer, NBytes: 16, Record: "data/0",
		Data: &tensor.Data{Ints: []int64{0, 1 << 56}}, Meta: tensor.Meta{DType: tensor.Int64, Sizes: []int64{2},
			Strides: []int64{1}, Device: "cpu"}}}, p.States)
	for name := range files {
		_, err := Decode(unreadable{files, name})
		assert.ErrorContains(t, err, "read "+name+": invalid argument")
	}
	files[ptzip.StrippedRecord] = &fstest.MapFile{Data: []byte("{}")}
	_, err = Decode(unreadable{files, ptzip.StrippedRecord})
	assert.ErrorContains(t, err, ptzip.StrippedRecord)
}

// aSource is a record of places with one place of a text, or with one that names no text.
func aSource(text, file string) string {
	return "\x80\x02" + pTuple(pTuple(pInt(0), pTuple(pTuple(text, pText(file), pInt(7)), pInt(1), pInt(2)))) + "."
}

// TestBrokenSources: a source that is wrong is reported where the archive is opened, if it is the
// first of the code, and else where a function of another file is read.
func TestBrokenSources(t *testing.T) {
	files := archive("class M(Module):\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return " +
		"torch.neg(x)\n  def other(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return torch.relu(x)\n")
	const debug = "code/__torch__.py.debug_pkl"
	files[debug] = &fstest.MapFile{Data: []byte(aSource("N", "a.py"))}
	_, err := Decode(files)
	assert.EqualError(t, err, debug+": got a record that is no tuple")

	// a stack first, so that the second source is not needed when the archive is opened
	stack := pTuple(pText("a.py(7): f\n"), pText("a.py"), pInt(7))
	files[debug].Data = []byte("\x80\x02" + pTuple(pTuple(pInt(0), pTuple(stack, pInt(1), pInt(2))),
		pTuple(pInt(127), pTuple(pTuple("N", pText("a.py"), pInt(7)), pInt(1), pInt(2)))) + ".")
	files["code/__torch__/b.py"] = &fstest.MapFile{Data: []byte("def f(x: Tensor) -> Tensor:\n  return x\n")}
	p, err := Decode(files)
	require.NoError(t, err)
	require.Equal(t, program.RecordsStacks, p.Records)
	_, err = p.Funcs[0].Graph()
	assert.EqualError(t, err, debug+": got a record that is no tuple")
}

// TestForkedFunctionsComeFromSources: a forked function has the text of its operations, and is a
// library's where that text is.
func TestForkedFunctionsComeFromSources(t *testing.T) {
	for file, library := range map[string]bool{"/u/net.py": false, "/x/site-packages/torch/nn/functional.py": true} {
		files := archive("class M(Module):\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" +
			"    def g():\n      return torch.relu(x)\n    _0 = fork(g)\n    return torch.wait(_0)\n")
		files["code/__torch__.py.debug_pkl"] = &fstest.MapFile{Data: []byte(aSource(pText("def g():\n"), file))}
		p, err := Decode(files)
		require.NoError(t, err)
		g, err := p.Entry.Graph()
		require.NoError(t, err)
		forked, err := g.Body.Nodes[0].Callee.Graph()
		require.NoError(t, err)
		assert.Equal(t, &program.SourceText{File: file, FirstLine: 7, Text: "def g():\n"}, forked.Source)
		assert.Equal(t, library, forked.Library, file)
	}
}

// TestUnnamedTensors: a tensor that nothing holds is named by its record.
func TestUnnamedTensors(t *testing.T) {
	p, err := Decode(archive("class M(Module):\n  pass\n"))
	require.NoError(t, err)
	d := aDecoder(t, "")
	d.prog.States = []*program.State{{Record: "constants/3"}, {Name: "scale", Record: "constants/4"}}
	d.nameTree(p.Root)
	assert.Equal(t, "constants/3", d.prog.States[0].Name)
	assert.Equal(t, "scale", d.prog.States[1].Name)
}

// TestRecordsWithStrangeNames: a function of a file that no module could have is no value of an
// expression that reads the same.
func TestRecordsWithStrangeNames(t *testing.T) {
	files := archive("class M(Module):\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    y = (x).f\n" +
		"    return y\n")
	files["code/(x).py"] = &fstest.MapFile{Data: []byte("def f(x: Tensor) -> Tensor:\n  return x\n")}
	p, err := Decode(files)
	require.NoError(t, err)
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	var b strings.Builder
	for _, n := range g.Body.Nodes {
		b.WriteString(n.Op + "." + n.Text + " ")
	}
	assert.Equal(t, "prim::GetAttr.f prim::Return. ", b.String())
}
