package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

func one(t *testing.T, own string) spec.Case {
	t.Helper()
	cases,
		err := spec.Parse("memspec.yaml", []byte("version: 1\ndefaults: {device: t4, budget: {reserved: 1GiB}, iterations: "+
		"4}\nmodels:\n  m:\n"+
		"    source: m.py:net\n    mode: training\n    optimizer: {name: AdamW, lr: 0.1}\n    inputs: {x: 'float32[B,3]'}\n"+
		"    dims: {B: 8}\n"+own))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	return cases[0]
}

// TestLinesCountAsIfWritten: a case with further lines is that of a file that has them, down to the
// name of its recording.
func TestLinesCountAsIfWritten(t *testing.T) {
	for _, line := range []string{
		"accumulate: 2",
		"optimizer_in_backward: true",
		"checkpoint: [layers.*]",
		"alloc_conf: expandable_segments:True",
		"device: l4",
		"budget: {allocated: 1MiB*B}",
		"optimizer: {name: AdamW, fused: true}",
		"inputs: {x: 'float32[B,5]'}",
		"flags: {tf32: true}",
	} {
		base := one(t, "")
		got, err := base.WithLines(line)
		require.NoError(t, err, line)
		// a case of the file, with the line in it
		want := one(t, "    cases:\n      - "+line+"\n")
		g, w := got.JSON(), want.JSON()
		for i := range g.Budgets {
			g.Budgets[i].Path, g.Budgets[i].Spec, w.Budgets[i].Path, w.Budgets[i].Spec = "", "", "", ""
		}
		g.Spec, w.Spec = "", ""
		assert.Equal(t, w, g, line)
		assert.NotEqual(t, base.JSON(), got.JSON(), line)
	}
}

func TestLinesMayGiveADimAnotherValue(t *testing.T) {
	c := one(t, "")
	got, err := c.WithLines("dims: {B: 4}", "accumulate: 2")
	require.NoError(t, err)
	assert.Equal(t, []spec.Dim{{Name: "B", Value: 4}}, got.Dims)
	assert.Equal(t, "float32[4,3]", got.Inputs[0].Value.String())
	assert.Equal(t, 2, got.Training.Accumulate)
	assert.Equal(t, int64(8), c.Dims[0].Value, "the case itself stays")
}

func TestLinesThatNoCaseCanHave(t *testing.T) {
	c := one(t, "")
	for line, want := range map[string]string{
		"accumulate: 0":            "--set:1:13: got 0, want 1 or more",
		"acumulate: 2":             `--set:1:1: got the key "acumulate", want one of a case: did you mean "accumulate"?`,
		"source: a.py:b":           `--set:1:1: got the key "source" in a case, want it in a model`,
		"name: other":              "--set:1:1: got name:, want keys that change what the case does",
		"device: [t4, l4]":         "--set:1:1: got a list of devices, want one",
		"dims: {B: [1, 2]}":        "--set:1:8: got a list for the dim B, want a number",
		"at_least: {kv_tokens: 4}": "--set:1:23: got a budget on kv_tokens, want one on weights, delta, allocated,",
		"a: [":                     "--set:1:1: not YAML: did not find expected node content",
		"":                         "--set:1:1: got an empty file, want version: 1 and models:",
		"dims: {C: 1}":             `m: got the dim "C", want one of the case's: B`,
		"grad: no_grad":            "--set:1:1: got grad: in a case of mode: training, want mode: inference",
		"{accumulate: 2, clip: 1}": "",
		"{accumulate: 2, optimizer_in_backward: true}": "got optimizer_in_backward: " +
			"beside accumulate:, want one of them",
		"{clip: 1, optimizer_in_backward: true}":            "got optimizer_in_backward: beside clip:, want one of them",
		"{autocast: float16, optimizer_in_backward: true}":  "got optimizer_in_backward: beside autocast:, want one of them",
		"{autocast: bfloat16, optimizer_in_backward: true}": "",
	} {
		_, err := c.WithLines(line)
		if want == "" {
			assert.NoError(t, err, line)
		} else {
			assert.ErrorContains(t, err, want, line)
		}
	}
}
