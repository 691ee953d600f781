package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// TestSaid: what a file is refused for, with its place, and that what lies just inside is taken.
func TestSaid(t *testing.T) {
	const model = "version: 1\nmodels:\n  a: {device: t4, budget: {reserved: 1}, "
	program := func(keys string) string { return model + "program: train.py, " + keys + "}\n" }
	words := func(word string, n int) string { return strings.Repeat(word+", ", n) }
	variables := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "V%d: x, ", i)
		}
		return b.String()
	}
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d, ", i)
		}
		return b.String()
	}
	many := func(a, b int) string {
		return "version: 1\nmodels:\n  a: {artifact: a.pt, device: [t4, l4], budget: {reserved: 1}, dims: {A: [" +
			numbers(a) + "], B: [" + numbers(b) + "]}}\n"
	}
	dict := func(depth int) string {
		return model + `artifact: a.pt, inputs: ["` + strings.Repeat("{a: ", depth) + "1" + strings.Repeat("}", depth) + `"]}` +
			"\n"
	}
	for _, tt := range []struct{ why, text, want string }{
		{"a byte that is no UTF-8", "version: 1\nmodels:\n  é: \xe9\n",
			"m.yaml:3:6: not YAML: got the byte 0xe9, which is no UTF-8"},
		{"a control character, and such a byte behind it", "version: \x01\xe9\n",
			"m.yaml:1:1: not YAML: control characters are not allowed"},
		{"a device twice", "version: 1\nmodels:\n  a: {artifact: a.pt, device: [t4, l4, t4], budget: {reserved: 1}}\n",
			"m.yaml:3:40: got the device t4 twice, want it once"},
		{"a thousand words", program("args: [" + words("x", 1000) + "]"), ""},
		{"a word more", program("args: [" + words("x", 1001) + "]"), "m.yaml:3:67: got 1001 words, want at most 1000"},
		{"the longest path", program("depends: {ignore: [" + strings.Repeat("x", 1000) + "]}"), ""},
		{"a longer path", program("depends: {ignore: [" + strings.Repeat("x", 1001) + "]}"), "m.yaml:3:80: got \"" +
			strings.Repeat("x", 60) + "…\", want a path relative to this file, such as data/**, or a variable, such as $WIDTH"},
		{"a thousand paths", program("depends: {ignore: [" + words("x", 1000) + "]}"), ""},
		{"a path more", program("depends: {ignore: [" + words("x", 1001) + "]}"),
			"m.yaml:3:3080: got more than 1000 paths, want fewer"},
		{"dicts in a text", dict(32), ""},
		{"a dict deeper", dict(33), "m.yaml:3:200: got values nested deeper than 32"},
		{"a thousand variables", program("env: {" + variables(1000) + "}"), ""},
		{"a variable more", program("env: {" + variables(1001) + "}"), "m.yaml:3:66: got 1001 variables, want at most 1000"},
		{"no rank at all", program("ranks: {world_size: 2, run: []}"),
			"m.yaml:3:89: got 0 of them, want 1 to 1000: numbers of ranks, first, last, stages or all"},
		{"a thousand ranks", program("ranks: {world_size: 2, run: [" + words("0", 1000) + "]}"), ""},
		{"a rank more", program("ranks: {world_size: 2, run: [" + words("0", 1001) + "]}"),
			"m.yaml:3:89: got 1001 of them, want 1 to 1000: numbers of ranks, first, last, stages or all"},
		{"a word that no command can have", program(`args: [a, "b\0"]`),
			"m.yaml:3:71: got \"b\\x00\", want a text without a zero byte"},
		{"devices make them too many", many(100, 51), "m.yaml:3:3: got more than 10000 cases, want fewer"},
		{"dims make them too many", many(10_001, 1), "m.yaml:3:3: got more than 10000 cases, want fewer"},
		{"a second document with an error", "version: 1\nmodels: {}\n---\na: [\n",
			"m.yaml:2:9: got no model under models:, want at least one\n" +
				"m.yaml:4:1: not YAML: did not find expected node content"},
		{"keys of defaults: alone that exclude each other", "version: 1\ndefaults: {mode: training, clip: 1, " +
			"optimizer: SGD, " +
			"optimizer_in_backward: true}\nmodels:\n  a: {source: 'a.py:b', device: t4, budget: {reserved: 1}}\n",
			"m.yaml:4:3: got optimizer_in_backward: beside clip:, want one of them"},
		{"an engine without a limit", "version: 1\nmodels:\n  a: {serve: [vllm, serve, m], device: t4}\n",
			"m.yaml:3:3: got no budget for a, want budget: with one of loaded, activation or at_least: with one of " +
				"kv_tokens, concurrency"},
		{"UTF-16 is YAML, and this is none", "\xff\xfe[\x00", "m.yaml:1:1: not YAML: did not find expected node content"},
	} {
		cases, err := spec.Parse("m.yaml", []byte(tt.text))
		if tt.want == "" {
			require.NoError(t, err, tt.why)
			assert.Len(t, cases, 1, tt.why)
			continue
		}
		assert.EqualError(t, err, tt.want, tt.why)
	}
}

// TestCasesOfPrograms: a program decides its mode and its gradients by itself, and a case states
// what its file has for it and not what is a default.
func TestCasesOfPrograms(t *testing.T) {
	const text = "version: 1\ndefaults: {device: t4}\nmodels:\n  p: {program: train.py, budget: {reserved: 1}}\n" +
		"  s: {source: 'zoo.py:net', inputs: {x: 'float32[1]'}, mode: training, optimizer: SGD, budget: {reserved: 1}}\n"
	cases, err := spec.Parse("m.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, cases, 2)
	p, s := &cases[0], &cases[1]
	assert.Equal(t, "program ", fmt.Sprint(p.Mode, " ", p.Grad))
	assert.Equal(t, spec.ByProgram, p.Mode)
	assert.Equal(t, spec.Training, s.Mode)
	for key, want := range map[string][2]bool{"mode": {false, true}, "torch": {false, false}} {
		assert.Equal(t, want, [2]bool{p.States(key), s.States(key)}, key)
	}
	assert.True(t, (&spec.Case{}).States("torch"), "a case that was written in Go states all")
	assert.False(t, (&spec.Case{}).FromFile())
	_, err = (&spec.Case{Name: "byhand"}).WithLines("dims: {B: 4}")
	assert.EqualError(t, err, "byhand: got lines for a case that was written in Go, want one of a memspec.yaml")
	assert.True(t, p.FromFile())
}
