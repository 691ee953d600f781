package spec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

func lengthsOf(own string) ([]spec.Case, error) {
	return spec.Parse("memspec.yaml", []byte("version: 1\ndefaults: {device: t4, budget: {reserved: 1MiB*T}}\nmodels:\n "+
		" m:\n"+
		"    mode: training\n    inputs: {x: 'float32[B,T]'}\n    dims: {B: 8}\n"+own))
}

// TestLengths: each iteration has its inputs; a dim that lengths: alone names is the largest of
// them.
func TestLengths(t *testing.T) {
	cases, err := lengthsOf("    source: m.py:net\n    optimizer: SGD\n    varies: [T]\n    lengths: {T: [12, 14, 10, " +
		"13]}\n    cases: [{}, {lengths: {T: [1, 2]}, dims: {T: 3}, name: b}]\n")
	require.NoError(t, err)
	j := cases[0].JSON()
	assert.Equal(t, [][]string{{"x=float32[8,12]"}, {"x=float32[8,14]"}, {"x=float32[8,10]"}, {"x=float32[8,13]"}},
		j.IterationInputs)
	assert.Equal(t, map[string][]int64{"T": {12, 14, 10, 13}}, j.Lengths)
	assert.Equal(t, []string{"x=float32[8,14]"}, j.Inputs)
	assert.Equal(t, int64(14<<20), int64(j.Budgets[0].Limit))
	assert.Equal(t, 4, j.Training.Iterations)
	assert.Equal(t, "m", j.Name)
	assert.Equal(t, []string{"T"}, cases[0].Varies)
	second := cases[1].JSON()
	assert.Equal(t, [][]string{{"x=float32[8,1]"}, {"x=float32[8,2]"}}, second.IterationInputs)
	assert.Equal(t, map[string]int64{"B": 8, "T": 3}, second.Dims, "dims: says what budgets are of")
	assert.NotEqual(t, j.Recording, second.Recording)
	smaller, err := cases[0].With(spec.Dim{Name: "B", Value: 4})
	require.NoError(t, err)
	assert.Equal(t, "float32[4,12]", smaller.IterationInputs[0][0].Value.String())
	_, err = cases[0].With(spec.Dim{Name: "T", Value: 4})
	assert.ErrorContains(t, err, "m: got another value of T, which has lengths:, want a dim without")
}

func TestLengthsThatNoCaseCanHave(t *testing.T) {
	const source = "    source: m.py:net\n    optimizer: SGD\n"
	for own, want := range map[string]string{
		source + "    lengths: {T: [1]}\n": "got 1 sizes, want one for each of 2 to 999 " +
			"iterations",
		source + "    lengths: {T: 128}\n": "want a size for each iteration, such as " +
			"[128, 120, 128]",
		source + "    lengths: {T: [1, -2]}\n": "got -2, want 0 or more",
		source + "    lengths: {T: [1, 2], B: [1, 2, 3]}\n": "got 3 sizes of B, want 2, as T has: one " +
			"for each iteration",
		source + "    lengths: {T: [1, 2], B: [1, 2, 3], S: [1, 2]}\n": "got 3 sizes of B, want 2, as T has: one " +
			"for each iteration",
		source + "    lengths: {T: [1, 2], S: [1, 2]}\n    iterations: 3\n": "got sizes of S, which no input of the case " +
			"names",
		source + "    lengths: {T: [1, 2], S: [1, 2]}\n": "got sizes of S, which no input of the case " +
			"names",
		source + "    lengths: {T: [1, 2]}\n    iterations: 3\n": "got 2 sizes of T beside iterations: 3, " +
			"want as many",
		"    artifact: m.pt\n    mode: inference\n    lengths: {T: [1, 2]}\n": "got lengths: beside artifact:, want a " +
			"source: alone, which is run",
	} {
		_, err := lengthsOf(own)
		assert.ErrorContains(t, err, want, own)
		assert.LessOrEqual(t, strings.Count(err.Error(), "sizes of "), 1, "the first is enough: %s", own)
	}
	_,
		err := spec.Parse("memspec.yaml",
		[]byte("version: 1\nmodels:\n  m: {source: 'm.py:net', mode: training, optimizer: SGD, device: t4, budget: {}, "+
			"lengths: {T: [1, 2]}}\n"))
	assert.ErrorContains(t, err, "got lengths: without inputs:, want inputs that name T")
}

// A run has so many iterations at most.
func TestTheMostLengths(t *testing.T) {
	of := func(n int) ([]spec.Case, error) {
		return lengthsOf("    source: m.py:net\n    optimizer: SGD\n    lengths: {T: [" + strings.Repeat("1, ", n) + "]}\n")
	}
	cases, err := of(999)
	require.NoError(t, err)
	assert.Len(t, cases[0].IterationInputs, 999)
	_, err = of(1000)
	assert.ErrorContains(t, err, "memspec.yaml:10:18: got 1000 sizes, want one for each of 2 to 999 iterations")
}

// As many iterations: as lengths may be written.
func TestLengthsBesideIterations(t *testing.T) {
	cases, err := lengthsOf("    source: m.py:net\n    optimizer: SGD\n    lengths: {T: [1, 2]}\n    iterations: 2\n")
	require.NoError(t, err)
	assert.Equal(t, 2, cases[0].Training.Iterations)
}
