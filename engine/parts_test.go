package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSearch: the largest value that fits, of those that are told to; what does not fit for a while is found by trying one after the other.
func TestSearch(t *testing.T) {
	for _, tt := range []struct {
		why     string
		fits    func(v int64) bool
		most    int64
		largest int64
		next    bool
		scanned bool
	}{
		{"all", func(int64) bool { return true }, 16, 16, false, false},
		{"all, up to no power of two", func(int64) bool { return true }, 11, 11, false, false},
		{"one value alone", func(int64) bool { return true }, 1, 1, false, false},
		{"none", func(int64) bool { return false }, 16, 0, true, false},
		{"one", func(v int64) bool { return v == 1 }, 16, 1, true, false},
		{"up to the last but one", func(v int64) bool { return v < 16 }, 16, 15, true, false},
		{"up to seven", func(v int64) bool { return v <= 7 }, 16, 7, true, false},
	} {
		s := searched(tt.fits, tt.most)
		got, err := s.largest(tt.most)
		require.NoError(t, err, tt.why)
		assert.Equal(t, []any{tt.largest, tt.next, tt.scanned}, []any{got.Largest, got.Next != nil, got.Scanned}, tt.why)
		if got.Next != nil {
			assert.Equal(t, tt.largest+1, got.Next.Value, tt.why)
		}
	}
}

// searched is a search whose values were all run.
func searched(fits func(v int64) bool, most int64) *search {
	s := &search{ctx: context.Background(), tried: map[int64]*Limit{}}
	for v := int64(1); v <= most; v++ {
		if s.tried[v] = nil; !fits(v) {
			s.tried[v] = &Limit{Value: v}
		}
	}
	return s
}

// TestContradicts: a value above the answer that fits, or one below that does not, beside it, further off, or among all that were tried.
func TestContradicts(t *testing.T) {
	const most, answer = 64, 32
	for odd := int64(1); odd <= most; odd++ {
		s := searched(func(v int64) bool { return (v <= answer) != (v == odd) }, most)
		assert.Equal(t, odd != answer, s.contradicts(answer, most), "%d is otherwise", odd)
	}
	s := searched(func(v int64) bool { return v <= answer }, most)
	assert.False(t, s.contradicts(answer, most))
	assert.False(t, s.contradicts(answer, answer), "nothing above the bound is tried")
	few := searched(func(v int64) bool { return v == 1 }, 9)
	assert.False(t, few.contradicts(1, 9), "of 1 there is nothing below, and an eighth of it is no step")
}

// TestJudgeEndsASearch: the error of a value ends a search, and says at which.
func TestJudgeEndsASearch(t *testing.T) {
	var ms Models
	for _, most := range []int64{-1, 0, EndValue + 1} {
		_, err := ms.Largest(context.Background(), nil, most)
		assert.EqualError(t, err, fmt.Sprintf("got a search up to %d, want one up to a number from 1 to 1099511627776", most))
	}
	no := fmt.Errorf("no such case")
	at := func(v int64) (spec.Case, error) {
		if v >= 2 {
			return spec.Case{}, no
		}
		return on(t, "../testdata/artifacts/small/module_list.script.pt", "float32[1,32]"), nil
	}
	_, err := ms.Largest(context.Background(), at, 8)
	assert.ErrorIs(t, err, no)
	_, err = ms.Sweep(context.Background(), at, []int64{1, 2})
	assert.ErrorIs(t, err, no)
	gone := func(int64) (spec.Case, error) { return on(t, "gone.pt"), nil }
	_, err = ms.Largest(context.Background(), gone, 8)
	assert.EqualError(t, err, "at 1: gone.pt: no such file or directory")
	_, err = ms.Sweep(context.Background(), gone, []int64{3, 4})
	assert.EqualError(t, err, "at 3: gone.pt: no such file or directory")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = ms.Largest(ctx, at, 8)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = ms.Sweep(ctx, at, []int64{1})
	assert.ErrorIs(t, err, context.Canceled)
	done := 0
	rs, err := ms.Sweep(context.Background(), at, []int64{1, 1})
	require.NoError(t, err)
	assert.Len(t, rs, 2)
	ms.JudgeAll(context.Background(), []spec.Case{on(t, "gone.pt")}, func() { done++ }, func(*Result) {})
	assert.Equal(t, 1, done)
}

// on is a case without budgets on no device.
func on(t *testing.T, path string, inputs ...string) spec.Case {
	t.Helper()
	d, err := device.Lookup("none")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	c := spec.Case{Name: "m", Artifact: path, Platform: p}
	for _, text := range inputs {
		in, err := spec.ParseInput(text)
		require.NoError(t, err)
		c.Inputs = append(c.Inputs, in)
	}
	return c
}

// TestGuesses: what is guessed for models whose weights tell it, and what is said where nothing does.
func TestGuesses(t *testing.T) {
	small := "../testdata/artifacts/small/"
	for _, tt := range []struct{ model, inputs, from, err string }{
		{"conv_block.script.pt", "x=float32[B,3,224,224]", "guessed from conv1.weight [16 3 3 3]", ""},
		{"module_list.script.pt", "x=float32[B,32]", "guessed from layers.0.weight [64 32]", ""},
		{"addmm.script.pt", "", "", "got 3 inputs (b, x, w), want --input for each: only a single one can be guessed"},
	} {
		m, err := Open(small + tt.model)
		require.NoError(t, err)
		g, err := m.GuessInputs(context.Background())
		if tt.err != "" {
			assert.EqualError(t, err, tt.err, tt.model)
			continue
		}
		require.NoError(t, err, tt.model)
		require.Len(t, g.Inputs, 1, tt.model)
		assert.Equal(t, []string{tt.inputs, tt.from}, []string{g.Inputs[0].String(), g.From}, tt.model)
	}
}

// TestRunsWith: a guess has to run at a batch of one and at a batch of two.
func TestRunsWith(t *testing.T) {
	m, err := Open("../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	for text, want := range map[string]bool{
		"float32[B,32]": true, "float32[B,31]": false, "float32[1,32]": true, "float32[B*32//B,32]": true, "float32[4,32*B]": false, "float32[4,64//B]": false, "float32[4,32+B]": false, "float32[C,32]": false,
	} {
		in, err := spec.ParseInput(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, m.runsWith(context.Background(), in), text)
	}
}

// TestOnlyTensor: an input is guessed where exactly one has to be given, a tensor.
func TestOnlyTensor(t *testing.T) {
	of := func(k program.TypeKind) *program.Type { return &program.Type{Kind: k} }
	x := program.Param{Name: "x", Type: of(program.TensorType)}
	for _, tt := range []struct {
		why    string
		params []program.Param
		want   string
		err    string
	}{
		{"one tensor", []program.Param{x}, "x", ""},
		{"one without a type, which is the module itself", []program.Param{{Name: "self"}, x}, "x", ""},
		{"one that has a default", []program.Param{{Name: "y", Type: of(program.TensorType), HasDef: true}, x}, "x", ""},
		{"an int that has one", []program.Param{{Name: "n", Type: of(program.IntType), HasDef: true}, x}, "x", ""},
		{"one that may be left out", []program.Param{{Name: "y", Type: of(program.OptionalType)}, x}, "x", ""},
		{"none at all", []program.Param{{Name: "y", Type: of(program.NoneType)}, x}, "x", ""},
		{"two", []program.Param{x, {Name: "y", Type: of(program.TensorType)}}, "", "got 2 inputs (x, y), want --input for each: only a single one can be guessed"},
		{"nothing", nil, "", "got 0 inputs (), want --input for each: only a single one can be guessed"},
		{"an int", []program.Param{x, {Name: "n", Type: of(program.IntType)}}, "", "got the input n int, want --input: only a single tensor can be guessed"},
	} {
		got, err := onlyTensor(&program.Program{Entry: &program.Func{Params: tt.params}})
		if tt.err != "" {
			assert.EqualError(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
	}
	_, err := onlyTensor(&program.Program{})
	assert.Error(t, err, "a program without an entry")
}

// TestCandidatesInFull: every input that is tried for each kind of weight, in order.
func TestCandidatesInFull(t *testing.T) {
	images := func(c string) string {
		var out []string
		for _, side := range []string{"224,224", "256,256", "299,299", "384,384", "512,512", "128,128", "64,64", "32,32", "28,28"} {
			out = append(out, "float32[B,"+c+","+side+"]")
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		class string
		sizes []int64
		want  string
	}{
		{"Conv3d", []int64{8, 3, 1, 1, 1}, "float32[B,3,16,112,112]"},
		{"Conv2d", []int64{8, 3, 1, 1}, images("3") + " " + images("24")},
		{"Conv1d", []int64{8, 3, 5}, "float32[B,3,16000] float32[B,3,1024] float32[B,3,128] float32[B,128,5]"},
		{"Linear", []int64{8, 3}, "float32[B,3] float32[B,128,3] int64[B,128]"},
		{"torch.nn.Embedding", []int64{8, 3}, "int64[B,128] int64[B,16] float32[B,3] float32[B,128,3] int64[B,128]"},
		{"", nil, "float32[B,3,224,224] float32[B,128]"},
	} {
		p := &program.Program{Modules: []*program.Module{{FQN: "other", Class: "torch.nn.Embedding"}, {FQN: "m", Class: tt.class}}}
		p.States = append(p.States, &program.State{Name: "m.weight", Meta: tensor.Meta{DType: tensor.Float32, Sizes: tt.sizes}})
		_, candidates := candidatesOf(p)
		assert.Equal(t, tt.want, strings.Join(candidates, " "), tt.class)
	}
}

// TestSidecarLimits: a file beside an artifact that is too large, nested too deep, or none.
func TestSidecarLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.pt")
	s, err := readSidecar(path)
	require.NoError(t, err)
	assert.Nil(t, s, "there is none")
	write := func(data string) { require.NoError(t, os.WriteFile(path+".inputs.json", []byte(data), 0o600)) }
	module := func(depth int) string {
		text, err := json.Marshal(map[string]any{"modules": []string{"a", strings.TrimSuffix(strings.Repeat("b.", depth), ".")}})
		require.NoError(t, err)
		return string(text)
	}
	pad := func(n int) string {
		return `{"inputs":["x=float32[1]"]}` + strings.Repeat(" ", n-len(`{"inputs":["x=float32[1]"]}`))
	}
	for _, tt := range []struct{ why, data, err string }{
		{"as large as may be", pad(16 << 20), ""},
		{"and a byte", pad(16<<20 + 1), "read " + path + ".inputs.json: got more than 16777216 bytes, want fewer bytes"},
		{"as deep as may be", module(1000), ""},
		{"and a module", module(1001), path + ".inputs.json: modules[1]: got a path of 1001 names, want at most 1000"},
		{"no JSON", "{", path + ".inputs.json: unexpected end of JSON input"},
		{"a list", "[]", path + ".inputs.json: json: cannot unmarshal array into Go value of type engine.sidecar"},
		{"a command without a word", `{"made":{"command":[""]}}`, ""},
	} {
		write(tt.data)
		s, err := readSidecar(path)
		if tt.err == "" {
			require.NoError(t, err, tt.why)
			assert.NotNil(t, s, tt.why)
			continue
		}
		assert.EqualError(t, err, tt.err, tt.why)
	}
	write(`{"inputs":["x=float32[1]", "x=float33[1]"]}`)
	_, err = SidecarInputs(path)
	assert.ErrorContains(t, err, path+".inputs.json: inputs[1] x=float33[1]: ")
	write(`{"inputs":["x=float32[1]", "[int64[2]]"]}`)
	in, err := SidecarInputs(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float32[1]", "[int64[2]]"}, inputTexts(in))
	require.NoError(t, os.Remove(path+".inputs.json"))
	require.NoError(t, os.Mkdir(path+".inputs.json", 0o700))
	_, err = readSidecar(path)
	assert.Error(t, err, "a folder")
}

// TestHoldsLines: some lines follow each other among others.
func TestHoldsLines(t *testing.T) {
	for _, tt := range []struct {
		all, some string
		want      bool
	}{
		{"a b c", "", true}, {"", "", true}, {"", "a", false}, {"a b c", "a", true}, {"a b c", "c", true}, {"a b c", "b c", true}, {"a b c", "a b c", true}, {"a b c", "a c", false}, {"a b c", "c d", false},
		{"a b c", "a b c d", false}, {"a a b", "a b", true}, {"a b a c", "a c", true},
	} {
		assert.Equal(t, tt.want, holdsLines(strings.Fields(tt.all), strings.Fields(tt.some)), "%q in %q", tt.some, tt.all)
	}
}

// TestProfileGone: a case whose workspace profile cannot be read is not run without it.
func TestProfileGone(t *testing.T) {
	c := on(t, "../testdata/artifacts/small/module_list.script.pt", "float32[1,32]")
	c.Workspace = filepath.Join(t.TempDir(), "gone.json")
	want := c.Workspace + ": no such file or directory"
	m, err := Open(c.Artifact)
	require.NoError(t, err)
	_, err = m.Run(context.Background(), c)
	assert.EqualError(t, err, want)
	var ms Models
	_, err = ms.Run(context.Background(), c)
	assert.EqualError(t, err, want)
	assert.EqualError(t, ms.Judge(context.Background(), c).Err, want)
}

// TestReadBaselineRefuses: what is no baseline, one of another schema, and one that is too large.
func TestReadBaselineRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b.json")
	for _, tt := range []struct{ why, data, want string }{
		{"no JSON", "{", path + ": not a baseline: unexpected end of JSON input"},
		{"another type", "[]", path + ": not a baseline: json: cannot unmarshal array into Go value of type struct { Schema *int \"json:\\\"schema\\\"\"; Cases engine.baselineCases \"json:\\\"cases\\\"\" }"},
		{"no list of cases", `{"schema":1,"cases":7}`, path + ": not a baseline: cases: got no list, want a list of cases"},
		{"no schema", "{}", path + ": got a baseline without a schema, want 1"},
		{"an older one", `{"schema":0}`, path + ": got a baseline of schema 0, want 1: memspec baseline writes it again"},
		{"a newer one", `{"schema":2}`, path + ": got a baseline of schema 2, want 1: memspec baseline writes it again"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(tt.data), 0o600))
		_, err := ReadBaseline(path)
		assert.EqualError(t, err, tt.want, tt.why)
	}
	_, err := ReadBaseline(filepath.Join(dir, "gone.json"))
	assert.EqualError(t, err, filepath.Join(dir, "gone.json")+": no such file or directory")
	_, err = ReadBaseline(dir)
	assert.EqualError(t, err, dir+": got a folder, want a regular file")
	empty := `{"schema":1}`
	_, err = readBaseline(strings.NewReader(empty), path, int64(len(empty)))
	require.NoError(t, err, "as large as may be")
	_, err = readBaseline(strings.NewReader(empty), path, int64(len(empty)-1))
	assert.EqualError(t, err, path+": got a baseline of more than 11 bytes")
	assert.Equal(t, 256<<20, maxBaseline)

	require.NoError(t, os.WriteFile(path, []byte(`{"schema":1,"cases":[{"name":"b","delta":1},{"name":"c","delta":2},{"name":"a","delta":3}]}`), 0o600))
	b, err := ReadBaseline(path)
	require.NoError(t, err)
	for name, delta := range map[string]int{"a": 3, "b": 1, "c": 2} {
		require.NotNil(t, b.Case(name), "%s, in no order: merged by hand", name)
		assert.EqualValues(t, delta, b.Case(name).Delta)
	}
	assert.Nil(t, b.Case("d"))
}

// TestCompiledInputsOfAll: every tensor that compiled code is given, its first open size as B, however many arguments with an example come before it.
func TestCompiledInputsOfAll(t *testing.T) {
	meta := func(sizes ...program.Size) *program.TensorMeta {
		return &program.TensorMeta{DType: tensor.Float16, Sizes: sizes}
	}
	open := func(name string) program.Size {
		s, err := expr.Parse(name)
		require.NoError(t, err)
		return s
	}
	p := &program.Program{Symbols: []program.Symbol{{Name: "s0"}, {Name: "s1"}}, Entry: &program.Func{Params: []program.Param{
		{Name: "a", HasDef: true, Meta: meta()}, {Name: "n"}, {Name: "x", Meta: meta(open("s0"), open("3"))}, {Name: "b", HasDef: true, Meta: meta()}, {Name: "y", Meta: meta(open("s0"))},
	}}}
	g, err := compiledInputs(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float16[B,3]", "y=float16[B]"}, inputTexts(g.Inputs))
	p.Symbols = nil
	p.Entry.Params[2].Meta.Sizes[0] = open("4")
	p.Entry.Params[4].Meta.Sizes[0] = open("5")
	g, err = compiledInputs(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float16[4,3]", "y=float16[5]"}, inputTexts(g.Inputs))
}

// TestMissingInOrder: operators without a rule are told as they are met, methods of one name in the order of their classes; what is told of is where each
// is met first, and how often.
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
		g.Body.Nodes = append(g.Body.Nodes, &program.Node{Operation: &program.Operation{Op: "prim::Return"}, Args: []program.Arg{{}}})
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
	p := &program.Program{Entry: entry, Objects: program.Objects{Classes: []*program.Class{root, a, b}}, Modules: []*program.Module{{FQN: "", Object: &program.Object{Class: root}}, {FQN: "x.a", Object: &program.Object{Class: a}}, {FQN: "y.a", Object: &program.Object{Class: a}}}}
	w := &walker{program: p, table: builtin.Table(), seen: map[*program.Func]bool{}, index: map[string]int{}}
	require.NoError(t, w.walk())
	var got []string
	for _, u := range w.missing {
		got = append(got, fmt.Sprintf("%s ×%d %s:%d %s", u.Op, u.Count, u.First.File, u.First.Line, u.First.Module))
	}
	assert.Equal(t, []string{"my::first ×3 Root.py:1 ", "my::a ×2 A.py:1 x.a", "my::b ×1 B.py:1 "}, got)
}
