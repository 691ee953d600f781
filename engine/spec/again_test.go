package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// TestOtherDims: a case at other dims is read again, and what does not come out is an error with
// its place.
func TestOtherDims(t *testing.T) {
	cases, err := spec.Parse("memspec.yaml", []byte(`version: 1
ops:
  "my::op(Tensor x) -> Tensor": {results: "x[x_0]"}
models:
  m: {artifact: m.pt, device: t4, inputs: {x: "float32[B-4,3]"}, dims: {B: 8}, budget: {reserved: 1GiB}}
`))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	require.Len(t, cases[0].Operators, 1, "the user's own")
	assert.Equal(t, "my::op(Tensor x) -> Tensor", cases[0].Operators[0].Schema)

	cases[0].Workspace, cases[0].Platform.Workspace = "answers.json", new(profile.Profile)
	more, err := cases[0].With(spec.Dim{Name: "B", Value: 10})
	require.NoError(t, err)
	assert.Equal(t, "answers.json", more.Workspace)
	assert.Same(t, cases[0].Platform.Workspace, more.Platform.Workspace, "what libraries answer was read once")
	assert.Equal(t, []spec.Dim{{Name: "B", Value: 10}}, more.Dims)
	assert.Equal(t, []spec.Dim{{Name: "B", Value: 8}}, cases[0].Dims, "the case itself stays")
	assert.Equal(t, cases[0].Operators, more.Operators)

	_, err = cases[0].With(spec.Dim{Name: "B", Value: 2})
	assert.ErrorContains(t, err, "memspec.yaml:5:", "a size below nothing")
	_, err = cases[0].With(spec.Dim{Name: "C", Value: 2})
	assert.ErrorContains(t, err, `got the dim "C", want one of the case's: B`)

	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	other, err := cases[0].On(d)
	require.NoError(t, err)
	assert.Equal(t, "a10g", other.Platform.Device.Name)
	assert.Equal(t, "t4", cases[0].Platform.Device.Name)

	plain,
		err := spec.Parse("memspec.yaml",
		[]byte("version: 1\nmodels: {m: {artifact: m.pt, device: t4, inputs: {x: \"float32[1]\"}, budget: {reserved: "+
			"1GiB}}}\n"))
	require.NoError(t, err)
	assert.Empty(t, plain[0].Operators)
}
