package guess

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// TestGuesses: what is guessed for models whose weights report it, and what is said where nothing
// does.
func TestGuesses(t *testing.T) {
	small := "../../testdata/artifacts/small/"
	for _, tt := range []struct{ model, inputs, from, err string }{
		{"conv_block.script.pt", "x=float32[B,3,224,224]", "guessed from conv1.weight [16 3 3 3]", ""},
		{"module_list.script.pt", "x=float32[B,32]", "guessed from layers.0.weight [64 32]", ""},
		{"alias.script.pt", "", "", "../../testdata/artifacts/small/alias.script.pt: got no input that it runs with " +
			"(it has no weights), want --input"},
		{"addmm.script.pt", "", "", "got 3 inputs (b, x, w), want --input for each: only a single one can be guessed"},
	} {
		m, err := engine.Open(small + tt.model)
		require.NoError(t, err)
		g, err := Inputs(context.Background(), m)
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
	m, err := engine.Open("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	for text, want := range map[string]bool{
		"float32[B,32]": true, "float32[B,31]": false, "float32[1,32]": true, "float32[B*32//B,32]": true,
		"float32[4,32+(B-1)*(B-3)]": false, "float32[4,32*B]": false, "float32[4,64//B]": false,
		"float32[4,32+B]": false, "float32[C,32]": false,
	} {
		in, err := spec.ParseInput(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, runsWith(context.Background(), m, in), text)
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
		{"two", []program.Param{x, {Name: "y", Type: of(program.TensorType)}}, "", "got 2 inputs (x, y), want --input for " +
			"each: only a single one can be guessed"},
		{"nothing", nil, "", "got 0 inputs (), want --input for each: only a single one can be guessed"},
		{"an int", []program.Param{x, {Name: "n", Type: of(program.IntType)}}, "", "got the input n int, want --input: " +
			"only a single tensor can be guessed"},
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
		for _, side := range []string{"224,224", "256,256", "299,299", "384,384", "512,512", "128,128", "64,64", "32,32",
			"28,28"} {
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
		p := &program.Program{Modules: []*program.Module{{FQN: "other", Class: "torch.nn.Embedding"},
			{FQN: "m", Class: tt.class}}}
		p.States = append(p.States,
			&program.State{Name: "m.weight", Meta: tensor.Meta{DType: tensor.Float32, Sizes: tt.sizes}})
		_, candidates := candidatesOf(p)
		assert.Equal(t, tt.want, strings.Join(candidates, " "), tt.class)
	}
}

// TestCompiledInputsOfAll: every tensor that compiled code is given, its first open size as B,
// however many arguments with an example come before it.
func TestCompiledInputsOfAll(t *testing.T) {
	meta := func(sizes ...program.Size) *program.TensorMeta {
		return &program.TensorMeta{DType: tensor.Float16, Sizes: sizes}
	}
	open := func(name string) program.Size {
		s, err := expr.Parse(name)
		require.NoError(t, err)
		return s
	}
	p := &program.Program{Symbols: []program.Symbol{{Name: "s0"}, {Name: "s1"}},
		Entry: &program.Func{Params: []program.Param{
			{Name: "a", HasDef: true, Meta: meta()}, {Name: "n"}, {Name: "x", Meta: meta(open("s0"), open("3"))},
			{Name: "b", HasDef: true, Meta: meta()}, {Name: "y", Meta: meta(open("s0"))},
		}}}
	g, err := compiledInputs(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float16[B,3]", "y=float16[B]"}, spec.InputTexts(g.Inputs))
	p.Symbols = p.Symbols[:1]
	g, err = compiledInputs(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float16[B,3]", "y=float16[B]"}, spec.InputTexts(g.Inputs), "its only open size")
	p.Symbols = nil
	p.Entry.Params[2].Meta.Sizes[0] = open("4")
	p.Entry.Params[4].Meta.Sizes[0] = open("5")
	g, err = compiledInputs(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float16[4,3]", "y=float16[5]"}, spec.InputTexts(g.Inputs))
}

// TestCompiledInputsRefuses: a parameter whose name is no word is an error.
func TestCompiledInputsRefuses(t *testing.T) {
	p := &program.Program{Entry: &program.Func{Params: []program.Param{
		{Name: "a b", Meta: &program.TensorMeta{DType: tensor.Float16}},
	}}}
	_, err := compiledInputs(p)
	assert.ErrorContains(t, err, `got "a", want a value`)
}

// TestInputsBeside: inputs that were written beside an artifact come before its weights, and what
// cannot be read there is an error, as is an artifact that holds no program.
func TestInputsBeside(t *testing.T) {
	artifact := filepath.Join(t.TempDir(), "m.pt")
	data, err := os.ReadFile("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(artifact, data, 0o644))
	m, err := engine.Open(artifact)
	require.NoError(t, err)
	beside := func(text string) (*Guess, error) {
		require.NoError(t, os.WriteFile(artifact+".inputs.json", []byte(text), 0o644))
		return Inputs(context.Background(), m)
	}
	g, err := beside(`{"inputs": ["x=float32[7,32]"]}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float32[7,32]"}, spec.InputTexts(g.Inputs))
	assert.Equal(t, "the inputs that were written beside it", g.From)
	_, err = beside("[")
	assert.Error(t, err)

	m, err = engine.Open("../../testdata/snapshots/good.pickle")
	require.NoError(t, err)
	_, err = Inputs(context.Background(), m)
	assert.Error(t, err, "a recorded run")
}
