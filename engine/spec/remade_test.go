package spec_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

const remade = `version: 1
devices:
  small: {memory: 4GiB, compute_capability: 7.5, sms: 20}
  large: {memory: 64GiB, compute_capability: 8.6, sms: 80}
defaults: {device: t4, alloc_conf: "expandable_segments:True", budget: {reserved: 1GiB}}
models:
  p:
    program: train.py
    args: [--fast]
    env: {A: "1", B: null, C: "", D: null}
    ranks: {world_size: 4}
  s:
    source: zoo.py:net
    inputs: {x: "float32[B]"}
    mode: training
    optimizer: SGD
    dims: {B: 2}
    alloc_conf: ""
    flags: {cudnn_v7: true, benchmark: false}
  i: {artifact: i.pt, flags: {cudnn_v7: false, deterministic: true}, grad: no_grad, mode: inference}
`

// remadeCases are a program, a training and an inference of remade.
func remadeCases(t *testing.T) (program, training, inference spec.Case) {
	t.Helper()
	cases, err := spec.Parse("m.yaml", []byte(remade))
	require.NoError(t, err)
	require.Len(t, cases, 3)
	return cases[0], cases[1], cases[2]
}

// TestProgramOfOtherWords: further words stand behind a program's own, of a copy alone, and a rank
// is one of the same program.
func TestProgramOfOtherWords(t *testing.T) {
	p, _, _ := remadeCases(t)
	more := p.WithWords("--batch", "2")
	assert.Equal(t, []string{"train.py", "--fast", "--batch", "2"}, more.Program.Command())
	assert.Equal(t, []string{"train.py", "--fast"}, p.Program.Command(), "the case itself stays")
	other := p.WithWords("--other")
	assert.Equal(t, []string{"train.py", "--fast", "--batch", "2"}, more.Program.Command(), "and so does the first")
	assert.Equal(t, []string{"train.py", "--fast", "--other"}, other.Program.Command())
	assert.Equal(t, []string{"p", "p"}, []string{more.Name, other.Name})
	one := p.OfRank(3)
	require.NotNil(t, one.Rank)
	assert.Equal(t, 3, *one.Rank)
	assert.Nil(t, p.Rank)
	assert.Equal(t, p.Program, one.Program)
}

// TestVariablesAsJSON: null removes a variable, and an empty text is none of that.
func TestVariablesAsJSON(t *testing.T) {
	p, _, i := remadeCases(t)
	data, err := json.Marshal(p.JSON().Program.Env)
	require.NoError(t, err)
	assert.JSONEq(t, `{"A": "1", "B": null, "C": "", "D": null}`, string(data))
	assert.Nil(t, i.JSON().Program)
}

// TestStated: what defaults: say is stated, and not in the place of the case itself.
func TestStated(t *testing.T) {
	p, s, i := remadeCases(t)
	got := map[string]string{}
	for _, key := range []string{"alloc_conf", "mode", "optimizer", "flags", "flags cudnn_v7", "flags tf32",
		"grad", "clip"} {
		for _, c := range []*spec.Case{&p, &s, &i} {
			got[key] += fmt.Sprintf("%s %t %t; ", c.Name, c.States(key), c.StatesHere(key))
		}
	}
	assert.Equal(t, map[string]string{
		"alloc_conf":     "p true false; s true true; i true false; ",
		"mode":           "p false false; s true true; i true true; ",
		"optimizer":      "p false false; s true true; i false false; ",
		"flags":          "p false false; s false true; i false true; ",
		"flags cudnn_v7": "p false false; s true false; i true false; ",
		"flags tf32":     "p false false; s false false; i false false; ",
		"grad":           "p false false; s false false; i true true; ",
		"clip":           "p false false; s false false; i false false; ",
	}, got)
	assert.True(t, (&spec.Case{}).StatesHere("clip"), "a case that was written in Go states all")
	flags := func(c *spec.Case) []bool {
		p := &c.Platform
		return []bool{p.CuDNNv7, p.Benchmark, p.Deterministic, p.TF32CuDNN, p.TF32Matmul}
	}
	assert.Equal(t, []bool{true, false, false}, flags(&s)[:3])
	assert.Equal(t, []bool{false, false, true}, flags(&i)[:3])
}

// TestInMode: a case in another mode has what its file says of that mode, and the rest of it
// stays.
func TestInMode(t *testing.T) {
	_, s, i := remadeCases(t)
	same, err := s.InMode(spec.Training)
	require.NoError(t, err)
	assert.Equal(t, s, same)
	other, err := s.InMode(spec.Inference)
	assert.EqualError(t, err, "m.yaml:16:5: got optimizer: in a case of mode: inference, want mode: training")
	assert.Equal(t, spec.Inference, other.Mode)
	trained, err := i.InMode(spec.Training)
	assert.ErrorContains(t, err, "m.yaml:20:70: got grad: in a case of mode: training, want mode: inference")
	assert.Equal(t, spec.Training, trained.Mode)
	byHand, err := (&spec.Case{Mode: spec.Inference}).InMode(spec.Training)
	require.NoError(t, err)
	assert.Equal(t, spec.Case{Mode: spec.Training}, byHand)
	assert.Equal(t, spec.Training, s.Mode, "the case itself stays")
}

// TestOwnDevicesComeFirst: a case moves to a device of its file by name, or to a row where the
// file has none of that name.
func TestOwnDevicesComeFirst(t *testing.T) {
	_, s, _ := remadeCases(t)
	for name, memory := range map[string]string{"small": "4.00 GiB", "large": "64.00 GiB", "l4": "21.95 GiB"} {
		on, err := s.OnNamed(name)
		require.NoError(t, err, name)
		assert.Equal(t, []string{name, memory}, []string{on.Platform.Device.Name, on.Platform.Device.Memory.String()})
	}
	_, err := (&spec.Case{}).OnNamed("small")
	assert.ErrorContains(t, err, `got device "small", want a known device`)
}

// TestErrorsInOrder: of several errors in one value all are reported, in the order of the file.
func TestErrorsInOrder(t *testing.T) {
	const model = "version: 1\nmodels:\n  a:\n    artifact: a.pt\n    device: t4\n    budget: {reserved: 1}\n    "
	for key, want := range map[string][]string{
		"flags: {tf3: true, bench: true, benchmark: 1}": {
			`7:13: got the flag "tf3", want one of tf32, benchmark, deterministic, cudnn_v7: did you mean "tf32"?`,
			`7:24: got the flag "bench", want one of tf32, benchmark, deterministic, cudnn_v7`,
			`7:48: got "1", want true or false`,
		},
		"allow: [a, shape-bond, {}, b]": {
			`7:13: got "a", want a note's ID: `, `7:16: got "shape-bond", want a note's ID: did you mean "shape-bound"?`,
			`7:28: got a mapping, want a note's ID`, `7:32: got "b", want a note's ID: `,
		},
		"attention: []":              {"7:16: got no backend, want "},
		"attention: [math, maths]":   {`7:23: got "maths", want `},
		"attention: [math, {a: 1}]":  {"7:23: got a mapping, want "},
		"dims: {B: [1, x, 2], 1: 2}": {`7:19: got "x", want a whole number`, `7:26: got "1", want the name of a dim: `},
	} {
		_, err := spec.Parse("m.yaml", []byte(model+key+"\n"))
		require.Error(t, err, key)
		got := strings.Split(err.Error(), "\n")
		require.Len(t, got, len(want), "%s: %s", key, err)
		for i := range want {
			assert.Contains(t, got[i], "m.yaml:"+want[i], key)
		}
	}
	for device, want := range map[string]string{
		"[]":        "m.yaml:3:15: got an empty list of devices, want names",
		"[t5]":      `m.yaml:3:16: got device "t5", want a known device: did you mean "t4"?`,
		"[t5, t6]":  "m.yaml:3:20: got device",
		"[[], t4]":  "m.yaml:3:16: got a list, want the name of a device",
		"[t4, own]": `m.yaml:3:20: got device "own", want a known device`,
	} {
		_, err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: {device: "+device+
			", artifact: a.pt, budget: {reserved: 1}}\n"))
		assert.ErrorContains(t, err, want, device)
	}
	_, err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: {artifact: a.pt, inputs: {x: float32[1,3]}}\n"))
	assert.ErrorContains(t, err, `m.yaml:3:35: not YAML: did not find expected ',' or '}': a shape within { } stands `+
		`in quotes, as in {x: "float32[1,3,224,224]"}`)
}

// TestSpacesOfInputs: spaces may stand anywhere between words, and a text may hold what else would
// end it.
func TestSpacesOfInputs(t *testing.T) {
	for text, want := range map[string]string{
		"{  a : 1 ,  b : 2 , }": "{a: 1, b: 2}", "{ 'a b' : 1 }": "{'a b': 1}",
		`{"a\tb\r": 1, 'c\n': 2}`: `{'a\tb\r': 1, 'c\n': 2}`,
		"{ }":                     "{}", "[ ( 1 , 2 ) , { } ]": "[(1, 2), {}]",
	} {
		v, err := spec.ParseValue(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, v.String(), text)
	}
}

// TestAFileTooLargeIsReadNoFurther: of a file on disk one byte more than is taken is read.
func TestAFileTooLargeIsReadNoFurther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memspec.yaml")
	for extra, want := range map[int]string{
		1: "got a file of 1048577 bytes, want at most 1048576", 9: "got a file of 1048577 bytes, want at most 1048576",
		0: "got no models:",
	} {
		const head = "version: 1\n#"
		text := head + strings.Repeat("x", spec.MaxFile-len(head)+extra)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := spec.Load(path)
		assert.ErrorContains(t, err, want, extra)
	}
}

// TestHowManyCases: of all models together no more than so many, and each combination of dims is
// made once on each device, the device changing fastest.
func TestHowManyCases(t *testing.T) {
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d, ", i)
		}
		return "[" + b.String() + "]"
	}
	of := func(first, second string) string {
		const model = ": {artifact: a.pt, device: t4, budget: {reserved: 1}, dims: {A: "
		return "version: 1\nmodels:\n  a" + model + first + "}}\n  b" + model + second + "}}\n"
	}
	cases, err := spec.Parse("m.yaml", []byte(of(numbers(6000), numbers(4000))))
	require.NoError(t, err)
	assert.Len(t, cases, 10_000)
	_, err = spec.Parse("m.yaml", []byte(of(numbers(6000), numbers(4001))))
	assert.EqualError(t, err, "m.yaml:4:3: got more than 10000 cases, want fewer")
	cases, err = spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: {artifact: a.pt, device: [t4, l4, a10g], "+
		"budget: {reserved: 1}, dims: {A: [1, 2], B: 7, C: [3, 4]}}\n"))
	require.NoError(t, err)
	var got []string
	for _, c := range cases {
		got = append(got, fmt.Sprint(c.Dims[0].Value, c.Dims[1].Value, c.Dims[2].Value, c.Platform.Device.Name))
	}
	assert.Equal(t, []string{"1 7 3t4", "1 7 3l4", "1 7 3a10g", "1 7 4t4", "1 7 4l4", "1 7 4a10g", "2 7 3t4", "2 7 3l4",
		"2 7 3a10g", "2 7 4t4", "2 7 4l4", "2 7 4a10g"}, got)
}

// TestFirstOpenDim: of several dims without a value the first of an input is named.
func TestFirstOpenDim(t *testing.T) {
	for _, text := range []string{"{a: float32[B], b: float32[C]}", "[float32[B], float32[C]]", "(float32[B], float32[C])",
		"float32[B,C]", "{a: {b: float32[B]}, c: float32[C]}"} {
		in, err := spec.ParseInput("x=" + text)
		require.NoError(t, err, text)
		_, err = in.Bind(map[string]int64{})
		assert.EqualError(t, err, `got dim "B" without a value`, text)
	}
}
