package torchscript

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Pickles are written by hand: an int of a byte, a text, a tuple, a list.
func pInt(n int) string { return "K" + string(rune(n)) }
func pText(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}
func pTuple(a ...string) string { return "(" + strings.Join(a, "") + "t" }

func aDebugDecoder() *decoder {
	return &decoder{frames: map[string]*program.Frame{}, texts: map[sourceKey]*origin{}}
}

// readWhole reads a file's records with all their sources.
func readWhole(d *decoder, f *sourceFile, data string) error {
	if err := d.debugRecords(&f.debug, data); err != nil {
		return err
	}
	d.debugged = f
	return d.makeSources()
}

// TestDebugRecords: the forms of records that releases of PyTorch write, and what is wrong with
// each part.
func TestDebugRecords(t *testing.T) {
	source := func(text, file string, line int) string { return pTuple(text, file, pInt(line)) }
	old := func(offset int, src string, from, to int) string {
		return pTuple(pInt(offset), pTuple(src, pInt(from), pInt(to)))
	}
	tagged := func(offset int, src string, from, to int) string {
		return pTuple(pInt(offset), pInt(9), pTuple(src, pInt(from), pInt(to)))
	}
	def := source(pText("def f(x):\n  return x\n"), pText("/u/net.py"), 7)
	withTable := func(table []string, records ...string) string {
		return pTuple(pText("FORMAT_WITH_STRING_TABLE"), pTuple(table...), pTuple(records...))
	}
	strs := []string{pText("/u/net.py"), pText("def f(x):\n"), pText("  return x\n"), pText("/u/net.py(7): f\n"),
		pText("/u/main.py(3): <module>\n"), pText("<unknown>\n"), pInt(3)}
	ids := func(n ...int) string {
		out := make([]string, len(n))
		for i := range n {
			out[i] = pInt(n[i])
		}
		return pTuple(out...)
	}
	for _, tt := range []struct{ why, data, want, err string }{
		{"a text of its own", pTuple(old(0, def, 10, 12), tagged(5, def, 1, 2)), "0 10-12 text net.py:7 21; 5 1-2 text " +
			"net.py:7 21", ""},
		{"no source", pTuple(old(0, source(pText(""), "N", 0), 0, 0)), "0 0-0", ""},
		{"no records", pTuple(), "", ""},
		{"a text of pieces", withTable(strs, tagged(0, source(ids(1, 2), pInt(0), 7), 3, 4)), "0 3-4 text net.py:7 21", ""},
		{"a stack", withTable(strs, tagged(0, source(ids(3, 4), pInt(0), 7), 3, 4), tagged(1, source(ids(3, 4), pInt(0), 7),
			3, 4)),
			"0 3-4 stack /u/net.py:7 f, /u/main.py:3 <module>; 1 3-4 stack /u/net.py:7 f, /u/main.py:3 <module>", ""},
		{"a stack with a line that names no frame", withTable(strs, tagged(0, source(ids(3, 5, 4), pInt(0), 7), 3, 4)),
			"0 3-4 stack /u/net.py:7 f, /u/main.py:3 <module>", ""},
		{"a stack in one text", pTuple(old(0, source(pText("/u/net.py(7): f\nno frame\n/u/main.py(3): g\n"),
			pText("/u/net.py"), 7), 3, 4)), "0 3-4 stack /u/net.py:7 f, /u/main.py:3 g", ""},
		{"no pieces", withTable(strs, tagged(0, source(ids(), pInt(0), 7), 3, 4)), "0 3-4", ""},
		{"offsets out of order", pTuple(old(5, def, 0, 0), old(4, def, 0, 0)), "", "got offset 4 after 5, want them in " +
			"order"},
		{"equal offsets", pTuple(old(5, def, 0, 0), old(5, def, 0, 1)), "5 0-0 text net.py:7 21; 5 0-1 text net.py:7 21", ""},
		{"not a tuple", pInt(3), "", "got a record that is no tuple"},
		{"not a pickle", "x", "", "got opcode 0x78"},
		{"a table that is none", pTuple(pText("FORMAT_WITH_STRING_TABLE"), pInt(3), pTuple()), "",
			"got a record that is no tuple"},
		{"records that are none", pTuple(pText("FORMAT_WITH_STRING_TABLE"), pTuple(), pInt(3)), "",
			"got a record that is no tuple"},
		{"another format", pTuple(pText("FORMAT_WITH_SOMETHING"), pTuple(), pTuple()), "",
			"got a record without an offset and a range"},
		{"a record of one part", pTuple(pTuple(pInt(1))), "", "got a record without an offset and a range"},
		{"an offset that is a text", pTuple(pTuple(pText("a"), pTuple(def, pInt(1), pInt(2)))), "",
			"got a record without an offset and a range"},
		{"a range that is a number", pTuple(pTuple(pInt(1), pInt(2))), "", "got a range without source, start and end"},
		{"a range of two", pTuple(pTuple(pInt(1), pTuple(def, pInt(2)))), "", "got a range without source, start and end"},
		{"a start that is a text", pTuple(pTuple(pInt(1), pTuple(def, pText("a"), pInt(2)))), "",
			"got a range without source, start and end"},
		{"an end that is a text", pTuple(pTuple(pInt(1), pTuple(def, pInt(2), pText("a")))), "",
			"got a range without source, start and end"},
		{"a source that is a text", pTuple(pTuple(pInt(1), pTuple(pText("a"), pInt(2), pInt(2)))), "",
			"got a range without source, start and end"},
		{"a source of two", pTuple(old(0, pTuple(pText("a"), pText("b")), 0, 0)), "", "got a source without text, file and " +
			"line"},
		{"a line that is a text", pTuple(old(0, pTuple(pText("a"), pText("b"), pText("c")), 0, 0)), "",
			"got a source without text, file and line"},
		{"a file that is a tuple", pTuple(old(0, source(pText("a"), pTuple(), 0), 0, 0)), "",
			"got a source whose text or file is no string"},
		{"a text that is none", pTuple(old(0, source("N", pText("b"), 0), 0, 0)), "", "got a record that is no tuple"},
		{"a string behind the table", withTable(strs, tagged(0, source(ids(1, 7), pInt(0), 7), 3, 4)), "",
			"got string 7 of a table of 7"},
		{"a file behind the table", withTable(strs, tagged(0, source(ids(1), pInt(8), 7), 3, 4)), "",
			"got string 8 of a table of 7"},
		{"a number in the table", withTable(strs, tagged(0, source(ids(6), pInt(0), 7), 3, 4)), "",
			"got a source whose text or file is no string"},
		{"a stack that goes on with a number", withTable(strs, tagged(0, source(ids(3, 6), pInt(0), 7), 3, 4)), "",
			"got a source whose text or file is no string"},
		{"a stack of strings", withTable(strs, tagged(0, source(pTuple(strs[3], strs[4]), pInt(0), 7), 3, 4)), "",
			"got a stack of strings, want entries of the table"},
	} {
		d := aDebugDecoder()
		f := &sourceFile{}
		err := readWhole(d, f, tt.data+".")
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		var got []string
		for _, r := range f.debug.records {
			from := f.debug.sources[r.source].from
			text := fmt.Sprintf("%d %d-%d", r.offset, r.start, r.end)
			switch {
			case from == nil:
			case from.text != nil:
				text += fmt.Sprintf(" text %s:%d %d", strings.TrimPrefix(from.text.File, "/u/"), from.text.FirstLine,
					len(from.text.Text))
			default:
				var frames []string
				for _, f := range from.stack.Frames {
					frames = append(frames, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Function))
				}
				text += " stack " + strings.Join(frames, ", ")
			}
			got = append(got, text)
		}
		assert.Equal(t, tt.want, strings.Join(got, "; "), tt.why)
	}

	long := pText(strings.Repeat("a", maxText/4))
	many := withTable([]string{pText("f"), long}, tagged(0, source(ids(1, 1, 1, 1), pInt(0), 7), 3, 4))
	d := aDebugDecoder()
	assert.NoError(t, readWhole(d, &sourceFile{}, many+"."))
	many = withTable([]string{pText("f"), long}, tagged(0, source(ids(1, 1, 1, 1, 0), pInt(0), 7), 3, 4))
	assert.ErrorContains(t, readWhole(d, &sourceFile{}, many+"."), "got a text of more than 1048576 bytes")
	stack := pText("f(7): " + strings.Repeat("a", maxText/4))
	many = withTable([]string{pText("f"), stack}, tagged(0, source(ids(1, 1, 1), pInt(0), 7), 3, 4))
	assert.NoError(t, readWhole(d, &sourceFile{}, many+"."))
	many = withTable([]string{pText("f"), stack}, tagged(0, source(ids(1, 1, 1, 1), pInt(0), 7), 3, 4))
	assert.ErrorContains(t, readWhole(d, &sourceFile{}, many+"."), "got a stack of more than 1048576 bytes")
	_, err := new(rangeMachine).run(pText(strings.Repeat("a", 70_000)) + ".")
	assert.NoError(t, err)
}

// TestSourcesAreMadeWhenAsked: of a traced archive those that a node asks for; all where another
// file is read while functions of this one are left.
func TestSourcesAreMadeWhenAsked(t *testing.T) {
	stack := func(line int, broken bool) string {
		first := pInt(0)
		if broken {
			first = pInt(9)
		}
		return pTuple(pTuple(first), pInt(1), pInt(line))
	}
	records := func(broken bool) string {
		rec := func(offset, line int, broken bool) string {
			return pTuple(pInt(offset), pInt(9), pTuple(stack(line, broken), pInt(1), pInt(2)))
		}
		return pTuple(pText("FORMAT_WITH_STRING_TABLE"), pTuple(pText("f(7): g\n"), pText("f")),
			pTuple(rec(0, 7, false), rec(8, 7, broken))) + "."
	}
	made := func(f *sourceFile) (n int) {
		for _, s := range f.debug.sources {
			if s.made {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		why                  string
		records              program.Records
		funcs, lowered, made int
	}{
		{"no function is left that could ask", program.RecordsStacks, 1, 1, 1},
		{"a function is left", program.RecordsStacks, 2, 1, 2},
		{"a scripted archive has few, and all are asked for", program.RecordsSource, 1, 1, 2},
	} {
		d := aDebugDecoder()
		d.prog, d.recordsKnown, d.records = &program.Program{Records: tt.records}, true, map[string]*debugTable{}
		d.fs = fstest.MapFS{"code/a.py.debug_pkl": {Data: []byte(records(false))},
			"code/b.py.debug_pkl": {Data: []byte(records(true))}}
		a, b := &sourceFile{File: python.File{Name: "code/a.py"}, funcs: tt.funcs, lowered: tt.lowered},
			&sourceFile{File: python.File{Name: "code/b.py"}}
		require.NoError(t, d.readDebug(a))
		at, err := d.where(a, 3)
		require.NoError(t, err)
		assert.Equal(t, "f:7 g", fmt.Sprintf("%s:%d %s", at.Stack.Frames[0].File, at.Stack.Frames[0].Line,
			at.Stack.Frames[0].Function))
		err = d.readDebug(b)
		assert.Equal(t, tt.made, made(a), tt.why)
		if tt.records == program.RecordsSource {
			assert.ErrorContains(t, err, "got string 9 of a table of 2", "all of b is looked at")
			continue
		}
		require.NoError(t, err, "nothing asked for b's second source")
		_, err = d.where(b, 0)
		require.NoError(t, err)
		_, err = d.where(b, 9)
		assert.EqualError(t, err, "code/b.py.debug_pkl: got string 9 of a table of 2")
		again, err := d.where(a, 0)
		require.NoError(t, err, "what is made stays")
		assert.Same(t, at.Stack, again.Stack)
		if _, err = d.where(a, 8); tt.made == 1 {
			assert.ErrorContains(t, err, "internal error", "nobody asks so, and nothing is guessed")
		} else {
			assert.NoError(t, err)
		}
	}
}

// TestValues: elements of each dtype from their bytes, as numpy shows them, by strides.
func TestValues(t *testing.T) {
	le := binary.LittleEndian
	bytes16 := func(n ...uint16) (out []byte) {
		for _, v := range n {
			out = le.AppendUint16(out, v)
		}
		return out
	}
	for _, tt := range []struct {
		dtype tensor.DType
		data  []byte
		want  any
	}{
		{tensor.Int8, []byte{0xff, 0x7f}, []int64{-1, 127}},
		{tensor.Uint8, []byte{0xff, 0x7f}, []int64{255, 127}},
		{tensor.Bool, []byte{1, 0}, []int64{1, 0}},
		{tensor.Int16, bytes16(0xffff, 0x7f01), []int64{-1, 0x7f01}},
		{tensor.Int32, bytes16(0xfffe, 0xffff, 1, 1), []int64{-2, 0x10001}},
		{tensor.Int64, bytes16(0xfffd, 0xffff, 0xffff, 0xffff, 1, 0, 1, 0), []int64{-3, 1 + 1<<32}},
		{tensor.Float16, bytes16(0x3c00, 0xc000, 0x3555, 0x0001, 0x8001, 0x03ff, 0x7bff, 0x7c00, 0xfc00, 0),
			[]float64{1, -2, 0.333251953125, 5.960464477539063e-08, -5.960464477539063e-08, 6.097555160522461e-05, 65504,
				math.Inf(1), math.Inf(-1), 0}},
		{tensor.BFloat16, bytes16(0x3f80, 0xc049, 0x7f80), []float64{1, -3.140625, math.Inf(1)}},
		{tensor.Float32, bytes16(0, 0x3fc0), []float64{1.5}},
		{tensor.Float64, bytes16(0, 0, 0, 0xbff8), []float64{-1.5}},
	} {
		n := int64(len(tt.data)) / tt.dtype.ItemSize()
		m := &tensor.Meta{DType: tt.dtype, Sizes: []int64{n}, Strides: []int64{1}}
		got := values(tt.data, m)
		require.NotNil(t, got, tt.dtype)
		switch want := tt.want.(type) {
		case []int64:
			assert.Equal(t, &tensor.Data{Ints: want}, got, tt.dtype)
		case []float64:
			assert.Equal(t, &tensor.Data{Floats: want}, got, tt.dtype)
		}
		assert.Nil(t, values(tt.data[:len(tt.data)-1], m), "%s, stripped", tt.dtype)
	}
	assert.True(t, math.IsNaN(half(0x7c01)))
	assert.True(t, math.IsNaN(half(0xfe00)))
	row := func(i int64) []byte {
		return []byte{byte(i), byte(i + 1), byte(i + 2), byte(i + 3), byte(i + 4), byte(i + 5), byte(i + 6)}
	}
	assert.Equal(t, []int64{1, 3, 5, 2, 4, 6},
		values(row(0), &tensor.Meta{DType: tensor.Uint8, Sizes: []int64{2, 3}, Strides: []int64{1, 2},
			StorageOffset: 1}).Ints, "transposed, behind one element")
	assert.Equal(t, &tensor.Data{}, values(nil, &tensor.Meta{DType: tensor.Uint8, Sizes: []int64{0}, Strides: []int64{1}}))
	for _, d := range []tensor.DType{tensor.Complex64, tensor.QInt8, tensor.Float8E4M3FN} {
		assert.Nil(t, values(make([]byte, 8), &tensor.Meta{DType: d, Sizes: []int64{1}, Strides: []int64{1}}), d)
	}
}

// TestStorages: what names a record of elements, and what is wrong with each part.
func TestStorages(t *testing.T) {
	sizes := fstest.MapFS{"data/0": &fstest.MapFile{Data: make([]byte, 24)}}
	fresh := func() *unpickler {
		u := anUnpickler(aDecoder(t, ""))
		u.folder, u.d.fs = "data/", sizes
		var err error
		u.sizes, err = ptzip.SizesOf(sizes)
		require.NoError(t, err)
		return u
	}
	id := func(parts ...any) pickle.Tuple { return parts }
	f32 := storageType(tensor.Float32)
	for _, tt := range []struct {
		id   any
		want string
	}{
		{int64(3), "got a persistent id of int64, want a tuple of 5"},
		{id("storage", f32, "1", "cpu", int64(6)), "got no record data/1, want one of 24 bytes"},
		{id("storage", f32, "0", "cpu", int64(7)), "data/0: got 24 bytes, want 28"},
		{id("storage", f32, "0", "cpu"), "got a persistent id of pickle.Tuple, want a tuple of 5"},
		{id("store", f32, "0", "cpu", int64(6)), "got a persistent id that is no storage"},
		{id("storage", "f", "0", "cpu", int64(6)), "got a persistent id that is no storage"},
		{id("storage", f32, int64(0), "cpu", int64(6)), "got a persistent id that is no storage"},
		{id("storage", f32, "0", nil, int64(6)), "got a persistent id that is no storage"},
		{id("storage", f32, "0", "cpu", "6"), "got a persistent id that is no storage"},
		{id("storage", f32, "0", "cpu", int64(-1)), "got a persistent id that is no storage"},
		{id("storage", f32, "0", "cpu", int64(math.MaxInt64/16+1)), "want less"},
	} {
		_, err := fresh().storage(tt.id)
		assert.ErrorContains(t, err, tt.want)
	}
	for device, want := range map[string]string{"cuda:1": "cuda", "cpu": "cpu", "meta": "meta"} {
		assert.Equal(t, want, deviceKind(device))
	}
	u := fresh()
	v, err := u.storage(id("storage", f32, "a", "meta", int64(6)))
	require.NoError(t, err, "what is on no device has no record")
	assert.Equal(t, &storage{number: 0, record: "data/a", dtype: f32, device: "meta", nbytes: 24}, v)
	v, err = u.storage(id("storage", storageType(untyped), "b", "meta", int64(6)))
	require.NoError(t, err)
	assert.Equal(t, &storage{number: 1, record: "data/b", dtype: untyped, device: "meta", nbytes: 6}, v)
	v, err = u.storage(id("storage", f32, "a", "cuda:1", int64(6)))
	require.NoError(t, err)
	assert.Equal(t, 0, v.(*storage).number, "a record is one storage, however often it is named")
	v, err = u.storage(id("storage", f32, "c", "cpu", int64(0)))
	require.NoError(t, err, "what is empty has none either")
	assert.Equal(t, 2, v.(*storage).number)
}

// TestFold: what stands in a class, in a default or in a list is a literal where it can be.
func TestFold(t *testing.T) {
	p, err := Decode(archive(`class P(NamedTuple):
  a : int
  b : int
class Color(Enum):
  RED = 1
class M(Module):
  i : Final[int] = 3
  j : Final[int] = -9223372036854775808
  k : Final[int] = -3
  f : Final[float] = -1.5
  g : Final[float] = annotate(float, 3)
  h : Final[Optional[float]] = annotate(Optional[float], 3)
  c : Final[complex] = 1.5+2.j
  d : Final[complex] = 1-2.j
  e : Final[complex] = -2.j
  l : Final[List[int]] = annotate(List[int], [])
  m : Final[Tuple[int, str]] = (1, "a")
  n : Final[Dict[str, int]] = {"a": 1, "b": -2}
  o : Final[Device] = torch.device("cuda", 1)
  q : Final[Device] = torch.device("cpu")
  r : Final[List[List[int]]] = [[1], [], ([2, 3])]
  s : Final[__torch__.P] = __torch__.P(1, 2)
  t : Final[__torch__.Color] = __torch__.Color.RED
  u : Final[NoneType] = None
  v : Final[float] = -inf
  w : Final[int] = 1234567890
  x : Final[int] = 0x10
  y : Final[float] = 1e400
  z : Final[str] = 'it'
`))
	require.NoError(t, err)
	got := map[string]any{}
	for _, a := range p.Root.Class.Attrs {
		got[a.Name] = a.Default
	}
	ints := func(n ...any) *program.ListLit { return &program.ListLit{Items: append([]any{}, n...)} }
	pair, color := p.Classes[2], p.Classes[0]
	require.Equal(t, []string{"__torch__.Color", "__torch__.P"}, []string{p.Classes[0].Name, p.Classes[2].Name})
	assert.Equal(t, map[string]any{
		"i": int64(3), "j": int64(math.MinInt64), "k": int64(-3), "f": -1.5, "g": 3.0, "h": 3.0, "c": complex(1.5, 2),
		"d": complex(1, -2), "e": complex(math.Copysign(0, -1), -2),
		"l": &program.ListLit{Items: []any{}, Elem: &program.Type{Kind: program.IntType}},
		"m": &program.TupleLit{Items: []any{int64(1), "a"}},
		"n": &program.DictLit{Keys: []any{"a", "b"}, Values: []any{int64(1), int64(-2)}}, "o": program.Device("cuda:1"),
		"q": program.Device("cpu"),
		"r": ints(ints(int64(1)), ints(), ints(int64(2), int64(3))),
		"s": &program.TupleLit{Class: pair, Items: []any{int64(1), int64(2)}},
		"t": program.EnumLit{Class: color, Name: "RED", Value: int64(1)}, "u": nil, "v": math.Inf(-1), "w": int64(1234567890),
		"x": int64(16), "y": math.Inf(1), "z": "it",
	}, got)
	for _, text := range []string{"torch.device()", "torch.device(3)", `torch.device("a", "b")`, `torch.device("a", 1, 2)`,
		"__torch__.P(1)", "__torch__.P(1, b=2)", "annotate(int)", "f(1)", "~3", "not True", "1 + 2", "1.j + 2.j", "1.j + 2",
		`"a" + 2.j`, `-"a"`, "x", "a.b", "[x]", "{x: 1}", "{1: x}", "(1, x)", "-x", "x + 1.j", "1 + x", "annotate(int, x)",
		"__torch__.P(1, x)", "__torch__.other.RED", "a[0]", "3 if True else 4"} {
		_, err := Decode(archive("class P(NamedTuple):\n  a : int\n  b : int\nclass M(Module):\n  a : Final[int] = " + text +
			"\n"))
		assert.ErrorContains(t, err, "want a constant", text)
	}
	for v, want := range map[any]string{
		nil: "None", int64(3): "3", "a": "a", &program.Object{Class: &program.Class{Name: "C"}}: "an object of C",
		&program.State{}: "a tensor", &program.ListLit{}: "a list", &program.TupleLit{}: "a tuple",
		&program.DictLit{}: "a dict", &program.Opaque{Class: "q.P"}: "an object of q.P",
	} {
		assert.Equal(t, want, literalName(v))
	}
}

// TestVersions: the container's version, where each release keeps it.
func TestVersions(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for _, tt := range []struct {
		edit func(a fstest.MapFS)
		want string
	}{
		{func(a fstest.MapFS) { a["version"] = file("10\n") }, ""},
		{func(a fstest.MapFS) { a["version"] = file("1") }, ""},
		{func(a fstest.MapFS) { delete(a, "version"); a[".data/version"] = file("4\n") }, ""},
		{func(a fstest.MapFS) { a["version"] = file("11\n") }, "version: got version 11, want 1 to 10"},
		{func(a fstest.MapFS) { a["version"] = file("0\n") }, "version: got version 0, want 1 to 10"},
		{func(a fstest.MapFS) { a["version"] = file("x\n") }, `version: got "x\n", want a number`},
		{func(a fstest.MapFS) { delete(a, "version"); a["version/deeper"] = file("3\n") }, "version: "},
		{func(a fstest.MapFS) { delete(a, "version") }, "got no record version and no .data/version, want one"},
		{func(a fstest.MapFS) { delete(a, "version"); a[".data/version"] = file("z") },
			`.data/version: got "z", want a number`},
		{func(a fstest.MapFS) { a["data.pkl"] = file("\x80\x02]q\x00.") }, "data.pkl: got a list, want an object"},
		{func(a fstest.MapFS) { a["data.pkl"] = file("\x80\x02K\x03.") }, "data.pkl: got 3, want an object"},
		{func(a fstest.MapFS) { a["data.pkl"] = file("\x80\x04\x8f.") },
			"data.pkl: got a value of *pickle.Set, want a literal"},
		{func(a fstest.MapFS) { a["constants.pkl"] = file("\x80\x02K\x03.") }, "constants.pkl: got 3, want a tuple"},
		{func(a fstest.MapFS) { a["constants.pkl"] = file("\x80\x02") }, "constants.pkl"},
		{func(a fstest.MapFS) { delete(a, "constants.pkl") }, ""},
		{func(a fstest.MapFS) { delete(a, "code/__torch__.py") }, "got no record code/**.py, want one"},
	} {
		a := archive("class M(Module):\n  pass\n")
		tt.edit(a)
		_, err := Decode(a)
		if tt.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, tt.want)
	}
	_, err := Decode(fstest.MapFS{})
	assert.Error(t, err)
	var e *python.Error
	_, err = Decode(archive("class M(Module):\n  a : Final[int] = x\n"))
	require.ErrorAs(t, err, &e)
	_, err = fs.Stat(archive(""), "data.pkl")
	require.NoError(t, err)
}

// TestSniff: what distinguishes TorchScript from other archives of the same container.
func TestSniff(t *testing.T) {
	for names, want := range map[string]bool{
		"": false, "data.pkl": false, "data.pkl constants.pkl": true, "data.pkl code/__torch__.py": true,
		"data.pkl code/a.py constants.pkl": true, "constants.pkl": false, "code/a.py": false, "model.json": true,
		"data.pkl data/0": false,
	} {
		f := fstest.MapFS{}
		for _, name := range strings.Fields(names) {
			f[name] = &fstest.MapFile{}
		}
		assert.Equal(t, want, Sniff(f), names)
	}
}
