package spec_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

func assuming(t *testing.T, assume string) ([]spec.Case, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memspec.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\nmodels:\n  it: {source: zoo.py:make, device: t4, dims: {N: 3}, budget: {allocated: 1MiB}, assume: "+assume+"}\n"), 0o600))
	return spec.Load(file)
}

// What a line or a function reads may be a number, a boolean or a word; a function of another language has sizes alone.
func TestAssumedValues(t *testing.T) {
	cases, err := assuming(t, `{zoo.py:12: N*2, zoo.py:route: balanced, zoo.py:Net.forward: true, "zoo.py:20": false, routing: balanced}`)
	require.NoError(t, err)
	var got []spec.AssumeJSON
	got = append(got, cases[0].JSON().Assume...)
	assert.Equal(t, []spec.AssumeJSON{{Place: "zoo.py:12", Size: 6}, {Place: "zoo.py:route", Values: "balanced"}, {Place: "zoo.py:Net.forward", Size: 1}, {Place: "zoo.py:20"},
		{Place: "routing", Values: "balanced"}}, got)
	other, err := assuming(t, `{zoo.py:12: N*2, zoo.py:route: most, zoo.py:Net.forward: true, "zoo.py:20": false, routing: balanced}`)
	require.NoError(t, err)
	assert.NotEqual(t, cases[0].Captured(), other[0].Captured(), "another recording")
}

func TestAssumedValuesThatAreRefused(t *testing.T) {
	for assume, want := range map[string]string{
		`{routing: skewed}`:        "got routing: skewed, want balanced",
		`{routing: 3}`:             "got routing: 3, want balanced",
		`{zoo.cpp:12: balanced}`:   `got dim "balanced" without a value`,
		`{zoo.py:route: sideways}`: `got dim "sideways" without a value`,
	} {
		_, err := assuming(t, assume)
		assert.ErrorContains(t, err, want, assume)
	}
}
