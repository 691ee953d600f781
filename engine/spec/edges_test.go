package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/device"
)

// TestFileName: of a model's name that a file's keeps: letters, digits, - and _, as many as forty.
func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "azAZ09-_": "azAZ09-_", "`{@[/:": "______", "a.b c": "a_b_c", "é": "_", "a\x00": "a_",
		strings.Repeat("a", 40): strings.Repeat("a", 40), strings.Repeat("a", 41): strings.Repeat("a", 40),
		strings.Repeat("é", 41): strings.Repeat("_", 40),
	} {
		assert.Equal(t, want, fileName(name), name)
	}
	c := Case{Model: "m", Source: "zoo.py:m", Dir: "d"}
	assert.Regexp(t, `^d/\.memspec/m-[0-9a-f]{16}\.rec$`, filepath.ToSlash(c.Captured()))
	c.Model = ""
	assert.Regexp(t, `^d/\.memspec/case-[0-9a-f]{16}\.rec$`, filepath.ToSlash(c.Captured()))
	c.Artifact = "m.pt"
	assert.Empty(t, c.Captured(), "an artifact is predicted from itself")
	assert.Empty(t, (&Case{Dir: "d"}).Captured(), "without a source nothing is recorded")
}

// TestShorten: a text is reported in full up to sixty letters.
func TestShorten(t *testing.T) {
	for _, letter := range []string{"a", "é"} {
		assert.Equal(t, strings.Repeat(letter, 60), shorten(strings.Repeat(letter, 60)))
		assert.Equal(t, strings.Repeat(letter, 60)+"…", shorten(strings.Repeat(letter, 61)))
	}
}

// TestScalars: what a word of an input is a number; others are none.
func TestScalars(t *testing.T) {
	for word, want := range map[string]Value{
		"1": Int(1), "-1": Int(-1), "+1": Int(1), "1.5": Float(1.5), ".5": Float(.5), "1.": Float(1), "1e3": Float(1e3),
		"1E3": Float(1e3), "-1e-3": Float(-1e-3), "true": Bool(true), "False": Bool(false), "~": None{}, "None": None{},
		"9223372036854775807": Int(math.MaxInt64), "9223372036854775808": nil, "1e999": nil, "0x1.8p1": nil, "0X1.8P1": nil,
		"0x1e3": nil, "1_0.5": nil, "e3": nil, "E3": nil, "inf": nil, ".inf": nil, "nan": nil, "10": Int(10), "0b1": nil,
	} {
		got, ok := scalar(word)
		assert.Equal(t, want, got, word)
		assert.Equal(t, want != nil, ok, word)
	}
	for f, want := range map[Float]string{1: "1.0", 1.5: "1.5", 1e21: "1e+21", -2: "-2.0", 1e-7: "1e-07"} {
		assert.Equal(t, want, f.String())
	}
}

// TestVisits: so many values are read, aliases counted, and one more is an error that is said once.
func TestVisits(t *testing.T) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: 1, Column: 1}
	r := newReader("f", []byte("x"))
	r.visits = maxNodeVisits - 1
	assert.Same(t, n, r.deref(n))
	assert.Empty(t, r.errs)
	assert.Nil(t, r.deref(n))
	assert.Nil(t, r.deref(n))
	require.Len(t, r.errs, 1)
	assert.EqualError(t, r.errs[0], fmt.Sprintf("f:1:1: got more than %d values, aliases counted, want fewer",
		maxNodeVisits))
	r = newReader("f", []byte("x"))
	at := n
	for range 9 {
		at = &yaml.Node{Kind: yaml.AliasNode, Alias: at}
	}
	assert.Same(t, n, r.deref(at), "nine aliases of one another")
	assert.Nil(t, r.deref(&yaml.Node{Kind: yaml.AliasNode, Alias: at}))
}

// TestBareShape: where a shape stands in braces without quotes.
func TestBareShape(t *testing.T) {
	for _, tt := range []struct {
		text      string
		line, col int
	}{
		{"inputs: {x: float32[1,3]}\n", 1, 13}, {"a: 1\n\ninputs: {x: float32[1,3]}\n", 3, 13},
		{"é: {x: float32[1,3]}", 1, 8}, {"a: 1\n", 0, 0}, {"", 0, 0},
	} {
		at, ok := bareShape([]byte(tt.text))
		assert.Equal(t, tt.line > 0, ok, tt.text)
		assert.Equal(t, Pos{Line: tt.line, Col: tt.col}, at, tt.text)
	}
}

// TestEntriesAreFound: by a search in short lists and by an index in long ones, also of what is
// added.
func TestEntriesAreFound(t *testing.T) {
	for _, begin := range []int{0, 15, 16, 17, 30} {
		var list []entry
		name := func(i int) string { return fmt.Sprint("k", i) }
		for i := range begin {
			list = append(list, entry{name: name(i)})
		}
		e := newEntries(&list)
		for n := begin; n < 40; n++ {
			for i := range n {
				require.NotNil(t, e.find(name(i)), "%d of %d", i, n)
				require.Equal(t, name(i), e.find(name(i)).name)
			}
			require.Nil(t, e.find(name(n)), "%d of %d", n, n)
			e.add(entry{name: name(n)})
			require.Equal(t, n+1 > 16, e.index != nil, "%d are searched with an index", n+1)
		}
	}
}

// TestMergedDims: a model's dims without those that a separate case has, then these, each in its
// order.
func TestMergedDims(t *testing.T) {
	decl := func(names string) (out []dimDecl) {
		for _, n := range strings.Fields(names) {
			out = append(out, dimDecl{name: strings.ToUpper(n), list: n == strings.ToLower(n)})
		}
		return out
	}
	for _, tt := range []struct{ model, own, want string }{
		{"A b C", "", "A- B+ C-"}, {"", "A b", "A+ B+"}, {"A b C", "D C", "A- B+ D+ C+"}, {"A b", "B A", "B+ A+"},
	} {
		dims, named := mergeDims(decl(tt.model), decl(tt.own))
		var got []string
		for i, d := range dims {
			got = append(got, d.name+map[bool]string{true: "+", false: "-"}[named[i]])
		}
		assert.Equal(t, tt.want, strings.Join(got, " "), "%s with %s", tt.model, tt.own)
	}
}

// TestLayersOf names where a key may stand, the widest first.
func TestLayersOf(t *testing.T) {
	for in, want := range map[layers]string{inDefaults: layerNames[inDefaults],
		inDefaults | inCase:           layerNames[inDefaults] + " or " + layerNames[inCase],
		inDefaults | inModel | inCase: layerNames[inDefaults] + " or " + layerNames[inModel] + " or " + layerNames[inCase],
		0:                             ""} {
		assert.Equal(t, want, layersOf(in))
	}
}

const twoCases = `version: 1
defaults: {device: t4, budget: {reserved: 1GiB}}
models:
  a: {artifact: a.pt, dims: {B: 2, H: 3}, inputs: ["float32[B]", "int64[H]"], workspace: own.json}
  b:
    artifact: b.pt
`

// TestBeside: what lies beside a memspec.yaml is of all its cases, except a separate workspace
// profile.
func TestBeside(t *testing.T) {
	text := strings.Replace(twoCases, ", workspace: own.json", "", 1)
	for _, tt := range []struct{ beside, workspace, baseline string }{
		{"", "", ""}, {WorkspaceFile, WorkspaceFile, ""}, {BaselineFile, "", BaselineFile},
		{BaselineFile + " " + WorkspaceFile, WorkspaceFile, BaselineFile},
	} {
		dir := t.TempDir()
		in := func(name string) string {
			if name == "" {
				return ""
			}
			return filepath.Join(dir, name)
		}
		for _, name := range strings.Fields(tt.beside) {
			require.NoError(t, os.WriteFile(in(name), nil, 0o600))
		}
		cases, err := LoadAs(in("memspec.yaml"), []byte(text))
		require.NoError(t, err)
		require.Len(t, cases, 2)
		for _, c := range cases {
			assert.Equal(t, []string{in(tt.workspace), in(tt.baseline)}, []string{c.Workspace, c.Baseline}, "with %s", tt.beside)
		}
		assert.Equal(t, []int{4, 6}, []int{cases[0].ArtifactPos.Line, cases[1].ArtifactPos.Line})
		assert.Equal(t, []int{17, 15}, []int{cases[0].ArtifactPos.Col, cases[1].ArtifactPos.Col})
	}
}

// TestACasesProfileComesFirst: what lies beside the file is for cases that name none.
func TestACasesProfileComesFirst(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, WorkspaceFile), nil, 0o600))
	cases, err := LoadAs(filepath.Join(dir, "memspec.yaml"), []byte(twoCases))
	require.NoError(t, err)
	require.Len(t, cases, 2)
	assert.Equal(t, []string{filepath.Join(dir, "own.json"), filepath.Join(dir, WorkspaceFile)},
		[]string{cases[0].Workspace, cases[1].Workspace})
}

// TestAgain: a case of a memspec.yaml can be made again with other values of its dims or on another
// device; one that was written in Go on another device alone.
func TestAgain(t *testing.T) {
	cases, err := Parse("memspec.yaml", []byte(strings.Replace(twoCases, ", workspace: own.json", "", 1)))
	require.NoError(t, err)
	c := cases[0]
	for _, tt := range []struct {
		dims []Dim
		want string
	}{
		{[]Dim{{Name: "B", Value: 5}}, "float32[5] int64[3]"}, {[]Dim{{Name: "H", Value: 5}, {Name: "B", Value: 6}},
			"float32[6] int64[5]"}, {nil, "float32[2] int64[3]"},
	} {
		other, err := c.With(tt.dims...)
		require.NoError(t, err)
		assert.Equal(t, tt.want, other.Inputs[0].String()+" "+other.Inputs[1].String())
	}
	_, err = c.With(Dim{Name: "Z", Value: 1}, Dim{Name: "Y", Value: 1})
	assert.EqualError(t, err, c.Name+`: got the dim "Z", want one of the case's: B, H`)
	bound := Case{Name: "bound", Dims: []Dim{{Name: "B"}}}
	_, err = bound.With(Dim{Name: "B", Value: 1})
	assert.EqualError(t, err, "bound: got a case that is bound to its inputs, want one of a memspec.yaml")
	d, err := device.Lookup("l4")
	require.NoError(t, err)
	on, err := c.On(d)
	require.NoError(t, err)
	assert.Equal(t, "l4", on.Platform.Device.Name)
	goCase := Case{Name: "go", Platform: c.Platform}
	on, err = goCase.On(d)
	require.NoError(t, err)
	assert.Equal(t, "l4", on.Platform.Device.Name)
	goCase.Platform.MemoryFraction = 2
	_, err = goCase.On(d)
	assert.Error(t, err, "what the platform refuses")
	text, err := json.Marshal(c.JSON())
	require.NoError(t, err)
	assert.Contains(t, string(text), `"inputs":["float32[2]","int64[3]"]`)
}

// TestWriteValue: what is written of a value distinguishes it from every other of its type.
func TestWriteValue(t *testing.T) {
	type pair struct {
		A, B any
		M    map[string]int
		L    [][]int
		At   Pos
	}
	by := map[string]int{}
	for i, v := range []pair{
		{}, {A: 1}, {B: 1}, {A: "1"}, {A: true}, {A: 1.5}, {A: uint8(1)}, {A: []any{1, 2}}, {A: []any{1}, B: 2},
		{A: []any{}, B: []any{1, 2}}, {M: map[string]int{"a": 1, "b": 2}}, {M: map[string]int{"a": 2, "b": 1}},
		{M: map[string]int{"a": 1, "c": 2}}, {L: [][]int{{1}, {2}}}, {L: [][]int{{1, 2}}}, {L: [][]int{{}, {1, 2}}},
		{L: [][]int{{1, 2}, {}}}, {L: [][]int{{2, 1}}}, {A: "a,b"}, {A: []string{"a", "b"}}, {A: []string{"a,b"}},
	} {
		var b strings.Builder
		writeValue(&b, reflect.ValueOf(v))
		was, there := by[b.String()]
		assert.False(t, there, "%d is written like %d: %s", i, was, b.String())
		by[b.String()] = i
		v.At = Pos{File: "elsewhere", Line: 3}
		var moved strings.Builder
		writeValue(&moved, reflect.ValueOf(v))
		assert.Equal(t, b.String(), moved.String(), "where something stands is passed over")
	}
	var b strings.Builder
	writeValue(&b, reflect.ValueOf(map[string]int{"b": 2, "a": 1, "c": 3}))
	assert.Equal(t, `3{"a",1,"b",2,"c",3,`, b.String(), "in one order")
	assert.PanicsWithValue(t, "a case holds a chan int, which cannot be compared", func() {
		writeValue(&b, reflect.ValueOf(make(chan int)))
	})
}

// TestErrorsOfInputs: the first of several words that are wrong, and what stands between words.
func TestErrorsOfInputs(t *testing.T) {
	for text, want := range map[string]string{
		"  [ 1 , 2 ]": "[1, 2]", "float32[ 1 , 2 ]": "float32[1,2]", "{ a : 1 }": "{a: 1}", "( 1 , )": "(1,)",
		" float32[]": "float32[]", "[ float32[ 2 ] ]": "[float32[2]]",
	} {
		v, err := ParseValue(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, v.String(), text)
	}
	for text, want := range map[string]string{"float32[2,3]": "[3 1]", "float32[1,2,2,1] channels_last": "[4 1 2 2]"} {
		v, err := ParseValue(text)
		require.NoError(t, err)
		strides, err := v.(Tensor).Strides()
		require.NoError(t, err)
		assert.Equal(t, want, fmt.Sprint(strides), text)
	}
	unbound, err := ParseValue("float32[B]")
	require.NoError(t, err)
	_, err = unbound.(Tensor).Strides()
	assert.EqualError(t, err, `got dim "B" without a value`)
	_, err = ParseValue(strings.Repeat(" ", 65536) + "1")
	assert.EqualError(t, err, "got an input of 65537 bytes, want at most 65536")
	_, err = ParseValue(strings.Repeat(" ", 65535) + "1")
	assert.NoError(t, err)
}

// TestWhereItIsSaid: a file that is too large is reported at its beginning, a separate device has
// the line of its name.
func TestWhereItIsSaid(t *testing.T) {
	_, err := Parse("memspec.yaml", []byte("version: 1\n#"+strings.Repeat("x", 1<<20)))
	assert.EqualError(t, err, "memspec.yaml:1:1: got a file of 1048588 bytes, want at most 1048576")
	_, err = Parse("memspec.yaml", []byte("# nothing\n"))
	assert.EqualError(t, err, "memspec.yaml:1:1: got an empty file, want version: 1 and models:")
	for text, want := range map[string]string{ // of a text on a separate line the place within it, else where it begins
		"1GiB + 1GB": "6:26", "'1GiB + 1GB'": "6:27", "\"1GiB + 1GB\"": "6:27", "1GiB +": "6:24", "'é'": "6:19",
		"'é 1'":                 "6:19",
		"|\n        1GiB + 1GB": "6:18", ">\n        1GiB + 1GB": "6:18",
	} {
		_,
			err := Parse("memspec.yaml", []byte("version: 1\nmodels:\n  a:\n    artifact: a.pt\n    budget:\n      reserved:  "+
			text+"\n    device: rtx-3090\n"))
		assert.ErrorContains(t, err, "memspec.yaml:"+want+": got ", "%q", text)
	}
	cases,
		err := Parse("memspec.yaml", []byte("version: 1\ndevices:\n  big: {memory: 1GiB, compute_capability: 8.6, sms: 2}\n"+
		"models:\n  a: {artifact: a.pt, device: big, budget: {reserved: 1GiB}}\n"))
	require.NoError(t, err)
	d := cases[0].Platform.Device
	assert.Equal(t, []any{"big", "memspec.yaml:3:3", 2}, []any{d.Name, d.Source, d.SMs})
}

// TestDimsThatNothingNames: a dim of a case that neither an input nor a budget nor an assumption
// names is refused; of names as near the first is meant.
func TestDimsThatNothingNames(t *testing.T) {
	const doc = "version: 1\nmodels:\n  a:\n    artifact: a.pt\n    device: rtx-3090\n    dims: {batch: 1, blocka: 2}\n " +
		"   inputs: {x: 'float32[batch]'}\n" +
		"    budget: {reserved: 1GiB * blocka}\n    assume: {'a.py:3': blockc, 'a.py:4': blockd}\n    cases:\n"
	for dims, want := range map[string]string{
		"batch: 2": "", "blocka: 2": "",
		"blockb: 2": `got the dim blockb, which no input, budget or assume of the case names: did you mean "blocka"?`,
		"other: 2":  "got the dim other, which no input, budget or assume of the case names",
		"blackc: 2": `got the dim blackc, which no input, budget or assume of the case names: did you mean "blockc"?`,
		"blockf: 2": `got the dim blockf, which no input, budget or assume of the case names: did you mean "blocka"?`,
		"lockx: 2":  `got the dim lockx, which no input, budget or assume of the case names`,
	} {
		_, err := Parse("memspec.yaml", []byte(doc+"      - {dims: {blockc: 1, blockd: 1, "+dims+"}}\n"))
		if want == "" {
			require.NoError(t, err, dims)
			continue
		}
		require.ErrorContains(t, err, want, dims)
	}
	_,
		err := Parse("memspec.yaml", []byte(strings.Replace(doc, " * blocka", "", 1)+"      - {dims: {blockc: 1, blockd: "+
		"1, blockf: 1}}\n"))
	require.ErrorContains(t, err, `did you mean "blockc"?`, "the first assumption's")
}

// TestMeantMetric: what other tools and people call a metric leads to it.
func TestMeantMetric(t *testing.T) {
	for names, want := range map[string]string{
		"peak memory max_memory_allocated cuda GPU": "allocated", "max_memory_reserved cached cache": "reserved",
		"VRAM nvidia-smi device process": "total", "params parameters model weight": "weights",
		"pinned pin_memory page_locked host": "host_pinned", "first compile warmup tuning": "first_call",
		"activations forward": "delta", "reservd ''": "",
	} {
		for _, name := range strings.Fields(names) {
			meant, _, _ := strings.Cut(strings.TrimPrefix(meantMetric(name), ": did you mean "), " ")
			assert.Equal(t, want, strings.TrimSuffix(meant, "?"), name)
		}
	}
}

// TestAMappingEndsWithItsVisits: wherever in a mapping the budget of visits ends, that is said.
func TestAMappingEndsWithItsVisits(t *testing.T) {
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte("{a: 1, <<: {b: 2, a: 3}, c: 4}"), &doc))
	const visits = 14 // of the mappings, their keys and values, and of keys that merged ones may not change
	for left := range visits + 1 {
		r := newReader("f", []byte("x"))
		r.visits = maxNodeVisits - left
		var names []string
		for _, e := range r.mapping(doc.Content[0], "a mapping") {
			names = append(names, e.name+e.val.Value)
		}
		assert.Equal(t, left < visits, r.full, "%d visits", left)
		if !r.full {
			assert.Equal(t, "a1 b2 c4", strings.Join(names, " "))
		}
	}
}
