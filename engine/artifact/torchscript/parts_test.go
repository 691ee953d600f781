package torchscript

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestNumbers: what a number of a source is: whole or not, as large as may be, imaginary.
func TestNumbers(t *testing.T) {
	f := &python.File{Name: "f.py"}
	for text, want := range map[string]any{
		"0": int64(0), "7": int64(7), "10": int64(10), "999999999": int64(999999999), "1000000000": int64(1000000000),
		"9223372036854775807": int64(math.MaxInt64), "0x10": int64(16), "0x1F": int64(31),
		"9223372036854775808": 9223372036854775808.0, "1.5": 1.5, "1.": 1.0, ".5": .5, "1e3": 1000.0, "1e-7": 1e-7,
		"123456789.5": 123456789.5, "1e400": math.Inf(1), "1j": complex(0, 1), "2.5J": complex(0, 2.5), "0j": complex(0, 0),
		"1e400j": complex(0, math.Inf(1)), "0.1": 0.1, "3.4028234663852886e+38": 3.4028234663852886e+38,
		"0.30000000000000004j": complex(0, 0.30000000000000004),
	} {
		got, err := number(f, &python.Number{Text: text})
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"0xg", "1.5.5", "1e", "1xj"} {
		_, err := number(f, &python.Number{Text: text})
		assert.ErrorContains(t, err, fmt.Sprintf("got %q, want a number", text), text)
	}
	for name, want := range map[string]any{"None": nil, "True": true, "False": false, "inf": math.Inf(1),
		"infj": complex(0, math.Inf(1))} {
		got, ok := namedConstant(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	_, ok := namedConstant("infinity")
	assert.False(t, ok)
}

// TestDebugTable: the record of a place is the last that begins at it or before it, wherever the
// search stood.
func TestDebugTable(t *testing.T) {
	table := &debugTable{}
	assert.Nil(t, table.at(0), "of none")
	for i := range 30 {
		table.records = append(table.records, debugRecord{offset: int32(5 + 3*i), source: int32(i)})
	}
	for _, from := range []int{0, 1, 10, 29} {
		for p := range 110 {
			table.last = from
			got := table.at(python.Pos(p))
			if p < 5 {
				require.Nil(t, got, "at %d", p)
				continue
			}
			want := min((p-5)/3, 29)
			require.Equal(t, int32(want), got.source, "at %d from %d", p, from)
			require.Equal(t, want, table.last)
		}
	}
}

// TestWalk: each tensor is met once, by the path of what holds it first; what lies too deep is
// passed over.
func TestWalk(t *testing.T) {
	tensors := make([]*program.State, 8)
	for i := range tensors {
		tensors[i] = &program.State{Record: fmt.Sprint(i)}
	}
	class := &program.Class{Name: "C", Kind: program.ModuleClass, Attrs: []program.Attr{{Name: "a"}, {Name: "b"},
		{Name: "c"}, {Name: "d"}, {Name: "e"}}}
	list := &program.ListLit{Items: []any{tensors[1], int64(3), tensors[2], nil}}
	inner := &program.Object{Class: class, Attrs: []any{tensors[3], list, int64(1), nil, nil}}
	root := &program.Object{Class: class,
		Attrs: []any{tensors[0], list, &program.DictLit{Keys: []any{"k", int64(9)}, Values: []any{tensors[4], inner}},
			&program.TupleLit{Items: []any{&program.TupleLit{Items: []any{tensors[5]}}}},
			&program.Opaque{State: &program.ListLit{Items: []any{tensors[6]}}}}, State: tensors[7]}
	var met, modules []string
	w := walker{tensor: func(s *program.State, name string) { met = append(met, s.Record+" "+name) },
		module: func(m *program.Module) {
			parent := "-"
			if m.Parent != nil {
				parent = m.Parent.FQN
			}
			modules = append(modules, m.FQN+" in "+parent)
		}}
	w.walk(root, "")
	assert.Equal(t, []string{"0 a", "1 b.0", "2 b.2", "4 c.k", "3 c.1.a", "5 d.0.0", "6 e.0", "7 "}, met)
	assert.Equal(t, []string{" in -", "c.1 in "}, modules)

	for _, deep := range []int{maxDepth, maxDepth + 1} {
		var v any = tensors[0]
		for range deep + 1 {
			v = &program.ListLit{Items: []any{v}}
		}
		met = nil
		w := walker{tensor: func(*program.State, string) { met = append(met, "met") }}
		w.walk(v, "")
		assert.Len(t, met, map[bool]int{true: 1, false: 0}[deep == maxDepth], "%d containers in each other", deep+1)
	}
	long := &walker{}
	var paths []string
	for i := range 3000 {
		paths = append(paths, long.join(strings.Repeat("a", i%70+1), fmt.Sprint(i)))
	}
	for i, p := range paths {
		require.Equal(t, strings.Repeat("a", i%70+1)+"."+fmt.Sprint(i), p)
	}
	assert.Equal(t, "b", long.join("", "b"))
	assert.Equal(t, strings.Repeat("x", 1<<16)+".b", long.join(strings.Repeat("x", 1<<16), "b"))
}

// TestReadValues: of which tensors the values are read: small ones on the host that a forward pass
// may read.
func TestReadValues(t *testing.T) {
	ints := func(n int) []byte {
		var out []byte
		for i := range n {
			out = binary.LittleEndian.AppendUint64(out, uint64(i+3))
		}
		return out
	}
	state := func(edit func(s *program.State)) *program.State {
		s := &program.State{Name: "x", Record: "data/0", Class: tensor.Constant, NBytes: 16,
			Meta: tensor.Meta{DType: tensor.Int64, Sizes: []int64{2}, Strides: []int64{1}, Device: "cpu"}}
		edit(s)
		return s
	}
	for _, tt := range []struct {
		why  string
		s    *program.State
		want bool
	}{
		{"a constant", state(func(*program.State) {}), true},
		{"on a GPU", state(func(s *program.State) { s.Meta.Device = "cuda:0" }), false},
		{"of a storage as large as may be", state(func(s *program.State) { s.NBytes = 4096 }), true},
		{"and a byte", state(func(s *program.State) { s.NBytes = 4097 }), false},
		{"as many elements as are kept", state(func(s *program.State) { s.Meta.Sizes = []int64{tensor.MaxData} }), true},
		{"and one", state(func(s *program.State) { s.Meta.Sizes = []int64{tensor.MaxData + 1} }), false},
		{"a buffer of whole numbers", state(func(s *program.State) { s.Class = tensor.Buffer }), true},
		{"of truths", state(func(s *program.State) { s.Class, s.Meta.DType = tensor.Buffer, tensor.Bool }), true},
		{"of fractions", state(func(s *program.State) { s.Class, s.Meta.DType = tensor.Buffer, tensor.Float32 }), false},
		{"of one fraction", state(func(s *program.State) {
			s.Class, s.Meta.DType, s.Meta.Sizes = tensor.Buffer, tensor.Float32, []int64{1}
		}), true},
		{"that counts steps", state(func(s *program.State) { s.Class, s.Name = tensor.Buffer, "bn.num_batches_tracked" }),
			false},
		{"a constant of that name", state(func(s *program.State) { s.Name = "bn.num_batches_tracked" }), true},
		{"a parameter", state(func(s *program.State) { s.Class = tensor.Parameter }), false},
		{"packed", state(func(s *program.State) { s.Packed, s.Class = true, tensor.Parameter }), true},
		{"packed, of truths", state(func(s *program.State) { s.Packed, s.Meta.DType = true, tensor.Bool }), false},
		{"packed, of fractions", state(func(s *program.State) { s.Packed, s.Meta.DType = true, tensor.Float32 }), false},
		{"packed, of two dimensions", state(func(s *program.State) {
			s.Packed, s.Meta.Sizes, s.Meta.Strides = true, []int64{1, 2}, []int64{2, 1}
		}), false},
		{"packed, of none", state(func(s *program.State) { s.Packed, s.Meta.Sizes, s.Meta.Strides = true, nil, nil }), false},
	} {
		last := state(func(*program.State) {})
		d := &decoder{prog: &program.Program{States: []*program.State{tt.s, last}},
			fs: fstest.MapFS{"data/0": {Data: ints(tensor.MaxData + 2)}}}
		require.NoError(t, d.readValues(), tt.why)
		assert.Equal(t, tt.want, tt.s.Data != nil, tt.why)
		require.NotNil(t, last.Data, "what follows is read")
		assert.Equal(t, []int64{3, 4}, last.Data.Ints)
	}
	gone := &decoder{prog: &program.Program{States: []*program.State{state(func(*program.State) {})}}, fs: fstest.MapFS{}}
	assert.Error(t, gone.readValues(), "a record that is not there")
	gone.prog.States[0].NBytes = 0
	assert.NoError(t, gone.readValues(), "of no bytes")
}

// TestFrozen: a frozen model has its weights in its code, and no mode.
func TestFrozen(t *testing.T) {
	of := func(edit func(p *program.Program)) bool {
		p := &program.Program{Objects: program.Objects{Root: &program.Object{Class: &program.Class{}}},
			Modules: []*program.Module{{}}, States: []*program.State{{OfCode: true}, {OfCode: true}}}
		edit(p)
		return frozen(p)
	}
	assert.True(t, of(func(*program.Program) {}))
	assert.True(t, of(func(p *program.Program) { p.States = p.States[:1] }))
	assert.False(t, of(func(p *program.Program) { p.States = nil }), "without weights nothing says so")
	assert.False(t, of(func(p *program.Program) { p.States[1].OfCode = false }))
	assert.False(t, of(func(p *program.Program) { p.Modules = append(p.Modules, &program.Module{}) }))
	assert.True(t, of(func(p *program.Program) { p.Modules = nil }))
	assert.False(t, of(func(p *program.Program) { p.Root.Class.Attrs = []program.Attr{{Name: "training"}} }))
}

// TestMetaTensors: each tensor without data has a separate storage.
func TestMetaTensors(t *testing.T) {
	u := anUnpickler(aDecoder(t, ""))
	sizes := func(n ...any) any { return pickle.Tuple(n) }
	var storages []int
	for i, grad := range []any{true, false, nil} {
		v, err := u.metaTensor([]any{int64(6), sizes(int64(2), int64(3)), sizes(int64(3), int64(1)), grad})
		require.NoError(t, err)
		s := v.(*program.State)
		storages = append(storages, s.Storage)
		assert.Equal(t, i == 0, s.Meta.RequiresGrad)
		assert.Equal(t, []any{"meta", int64(24), tensor.Float32}, []any{s.Meta.Device, s.NBytes, s.Meta.DType})
	}
	assert.Equal(t, []int{0, 1, 2}, storages)
	for _, tt := range []struct {
		args []any
		want string
	}{
		{[]any{int64(6), sizes(), sizes()}, "got 3 arguments for a meta tensor, want 4"},
		{[]any{int64(-1), sizes(), sizes(), nil}, "got -1 as a dtype"},
		{[]any{int64(256), sizes(), sizes(), nil}, "got 256 as a dtype"},
		{[]any{int64(255), sizes(), sizes(), nil}, "got 255 as a dtype"},
		{[]any{"x", sizes(), sizes(), nil}, "got x as a dtype"},
		{[]any{int64(6), "x", sizes(), nil}, "got string"},
		{[]any{int64(6), sizes(), "y", nil}, "got string"},
		{[]any{int64(6), sizes(int64(2)), sizes(), nil}, "got strides of another length than sizes"},
	} {
		_, err := u.metaTensor(tt.args)
		assert.ErrorContains(t, err, tt.want)
	}
}

// TestFunctionsInEachOther: forked functions may stand in each other as deep as may be; how many
// stand beside each other does not count.
func TestFunctionsInEachOther(t *testing.T) {
	lowered := func(body string) error {
		p, err := Decode(archive("class M(Module):\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" + body +
			"    return x\n"))
		require.NoError(t, err)
		_, err = p.Entry.Graph()
		return err
	}
	nested := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%sdef f%d():\n", strings.Repeat(" ", 4+i), i)
		}
		fmt.Fprintf(&b, "%sreturn x\n", strings.Repeat(" ", 4+n))
		for i := n - 1; i > 0; i-- {
			fmt.Fprintf(&b, "%sreturn x\n", strings.Repeat(" ", 4+i))
		}
		return b.String()
	}
	assert.NoError(t, lowered(strings.Repeat("    def f():\n      return x\n", 2*maxDepth)))
	for n := 1; ; n++ {
		if err := lowered(nested(n)); err != nil {
			assert.ErrorContains(t, err, "got more than ", "at %d", n)
			assert.GreaterOrEqual(t, n, 90)
			break
		}
	}
	assert.Equal(t, 200, maxDepth)
}

// TestValuesOfFunctionsInEachOther: a forked function numbers its values without gaps, with those
// that it uses from around it.
func TestValuesOfFunctionsInEachOther(t *testing.T) {
	p, err := Decode(archive(`class M(Module):
  def forward(self: __torch__.M,
    x: Tensor,
    y: Tensor) -> Tensor:
    def f():
      z = torch.add(x, y)
      return torch.relu(z)
    w = fork(f)
    return x
`))
	require.NoError(t, err)
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	assert.Equal(t, 4, g.NumValues, "self, x, y and the future")
	var forked *program.Func
	for _, n := range g.Body.Nodes {
		if n.Op == "prim::fork" {
			forked = n.Callee
		}
	}
	require.NotNil(t, forked)
	g, err = forked.Graph()
	require.NoError(t, err)
	assert.Len(t, g.Params, 2, "x and y")
	assert.Equal(t, 4, g.NumValues, "x, y, their sum and what is returned")
}

// TestRecordsOfArchives: which records are code, what an archive of another form is called, and
// which attribute's fault is reported.
func TestRecordsOfArchives(t *testing.T) {
	for name, want := range map[string]bool{"code/__torch__.py": true, "code/a/b.py": true, "code/a.py.debug_pkl": false,
		"other/a.py": false, "a.py": false, "code/a": false, "code/.py": true} {
		assert.Equal(t, want, isCode(name), name)
	}
	good := archive("class M(Module):\n  pass\n")
	good["model.json"] = &fstest.MapFile{Data: []byte("{}")}
	good["other/not_code.py"] = &fstest.MapFile{Data: []byte("import os\nos.system('x')\n")}
	_, err := Decode(good)
	require.NoError(t, err, "what lies beside is passed over")
	delete(good, "data.pkl")
	_, err = Decode(good)
	assert.ErrorIs(t, err, ErrLegacy)
	delete(good, "model.json")
	_, err = Decode(good)
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrLegacy)

	p, err := Decode(archive("class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : int\n  b : int\n"))
	require.NoError(t, err)
	u := anUnpickler(aDecoder(t, ""))
	_, err = u.build(&program.Object{Class: p.Root.Class},
		&pickle.Dict{Keys: []any{"y", "z"}, Values: []any{int64(1), int64(2)}})
	assert.EqualError(t, err, "got attribute y of __torch__.M, which its class does not declare")
	o := &program.Object{Class: p.Root.Class}
	_, err = u.build(o, &pickle.Dict{Keys: []any{"a", "b", "a"}, Values: []any{int64(1), int64(2), int64(3)}})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(3), int64(2)}, o.Attrs, "the last of a key counts, as in Python")
	_, err = u.build(&program.Object{Class: p.Root.Class}, &pickle.Dict{Keys: []any{int64(1)}, Values: []any{int64(1)}})
	assert.EqualError(t, err, "got attribute 1 of __torch__.M, which its class does not declare")
}
