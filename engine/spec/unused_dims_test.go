package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// A dim of a model that none of its cases names is an error at its line, with what was meant where
// that is near.
func TestADimThatNothingUses(t *testing.T) {
	const head = "version: 1\ndefaults: {device: t4}\nmodels:\n  m:\n    artifact: m.pt\n    inputs: " +
		"[\"float32[B,Size]\"]\n"
	for text, want := range map[string]string{
		"    dims: {B: 1, Size: 2}\n    budget: {allocated: 1MiB}\n":         "",
		"    dims: {B: 1, Size: 2, N: 3}\n    budget: {allocated: 1MiB*N}\n": "",
		"    dims: {B: 1, Size: 2, N: 3}\n    budget: {allocated: 1MiB}\n": "memspec.yaml:7:27: got the dim " +
			"N, which no input, budget or assume of the model's cases names",
		"    dims: {B: 1, Size: 2, Sise: 3}\n    cases: [{budget: {allocated: 1MiB}}]\n": `memspec.yaml:7:27: got the dim Sise, which no input, budget or assume of the model's cases names: did you mean "Size"?`,
		"    dims: {B: 1, Size: 2, N: 3}\n    cases: [{budget: {allocated: 1MiB}}, {name: other, budget: {allocated: " +
			"1MiB*N}}]\n": "",
	} {
		_, err := spec.Parse("memspec.yaml", []byte(head+text))
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		assert.EqualError(t, err, want, text)
	}
}

// The keys that may name a dim are those of the kind of model.
func TestADimThatNoWordOfAProgramNames(t *testing.T) {
	for model, want := range map[string]string{
		"program: train.py": "word of args:, text of env:, budget or assume",
		"serve: [vllm]":     "word of serve: or args:, text of env:, budget or at_least",
	} {
		_,
			err := spec.Parse("memspec.yaml", []byte("version: 1\nmodels:\n  m:\n    "+model+"\n    device: t4\n    dims: {N: "+
			"1}\n    budget: {}\n"))
		assert.ErrorContains(t, err, "memspec.yaml:6:12: got the dim N, which no "+want+" of the model's cases names", model)
	}
}
