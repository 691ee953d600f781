package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

func assuming(t *testing.T, assume string) ([]spec.Case, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memspec.yaml")
	require.NoError(t,
		os.WriteFile(file, []byte("version: 1\nmodels:\n  it: {source: zoo.py:make, device: t4, dims: {N: 3}, budget: "+
			"{allocated: 1MiB}, assume: "+assume+"}\n"), 0o600))
	return spec.Load(file)
}

// What a line or a function reads may be a number, a boolean or a word; a function of another
// language has sizes alone.
func TestAssumedValues(t *testing.T) {
	cases,
		err := assuming(t,
		`{zoo.py:12: N*2, zoo.py:route: balanced, zoo.py:Net.forward: true, "zoo.py:20": false, routing: balanced}`)
	require.NoError(t, err)
	var got []spec.AssumeJSON
	got = append(got, cases[0].JSON().Assume...)
	assert.Equal(t, []spec.AssumeJSON{{Place: "zoo.py:12", Size: 6}, {Place: "zoo.py:route", Values: "balanced"},
		{Place: "zoo.py:Net.forward", Size: 1}, {Place: "zoo.py:20"},
		{Place: "routing", Values: "balanced"}}, got)
	other,
		err := assuming(t,
		`{zoo.py:12: N*2, zoo.py:route: most, zoo.py:Net.forward: true, "zoo.py:20": false, routing: balanced}`)
	require.NoError(t, err)
	again,
		err := assuming(t,
		`{zoo.py:12: N*2, zoo.py:route: balanced, zoo.py:Net.forward: true, "zoo.py:20": false, routing: balanced}`)
	require.NoError(t, err)
	recording := func(c *spec.Case) string { return filepath.Base(c.Captured()) }
	assert.Equal(t, recording(&cases[0]), recording(&again[0]), "the same in another folder")
	assert.NotEqual(t, recording(&cases[0]), recording(&other[0]), "another recording")
}

// Each assumption that is refused is reported.
func TestEveryAssumptionIsRead(t *testing.T) {
	_, err := assuming(t, `{routing: skewed, "zoo.py:7": [1], "zoo.py:8": N+, "zoo.py:9": N*}`)
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), 4, err)
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
