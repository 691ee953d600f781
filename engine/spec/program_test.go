package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// The command that runs a program sets and unsets its variables, what is unset first, as env has
// it.
func TestRunWords(t *testing.T) {
	p := &spec.Program{File: "train.py", Args: []string{"--fast"},
		Env: []spec.Variable{{Name: "A", Value: "1"}, {Name: "B", Unset: true}, {Name: "C"}, {Name: "D", Unset: true}}}
	assert.Equal(t, "env -u B -u D A=1 C= python -m memshim run --on t4 -- train.py --fast",
		strings.Join(p.RunWords("--on", "t4"), " "))
	assert.Equal(t, []string{"train.py", "--fast"}, p.Command())
	assert.Equal(t, []string{"-m", "train", "--fast"}, (&spec.Program{Module: "train", Args: p.Args}).Command())
	p.Env, p.Serve = nil, true
	assert.Equal(t, "python -m memshim serve -- train.py --fast", strings.Join(p.RunWords(), " "))
}

// A program's environment is the caller's with what its case sets and removes.
func TestEnviron(t *testing.T) {
	p := &spec.Program{Env: []spec.Variable{{Name: "A", Value: "1"}, {Name: "B", Unset: true}, {Name: "C"}}}
	given := []string{"A=0", "AB=0", "B=0", "D=0", "A=7"}
	assert.Equal(t, []string{"AB=0", "D=0", "A=1", "C="}, p.Environ(given))
	assert.Equal(t, []string{"A=0", "AB=0", "B=0", "D=0", "A=7"}, given, "the caller's stays as it is")
	assert.Equal(t, []string{"A=1", "C="}, p.Environ([]string{}))
	assert.Nil(t, p.Environ(nil), "where it is not known")
	assert.Equal(t, given, (*spec.Program)(nil).Environ(given))
}

// Lists of a case's JSON are never null.
func TestListsOfJSON(t *testing.T) {
	data,
		err := json.Marshal((&spec.Case{Program: &spec.Program{File: "train.py", Ranks: &spec.Ranks{WorldSize: 2}}}).JSON())
	require.NoError(t, err)
	assert.NotContains(t, string(data), `"ignore":null`)
	assert.Contains(t, string(data), `"ignore":[],"also":[]`)
	assert.Contains(t, string(data), `"run":[]`)
}

// A case on another device has the name that memspec.yaml gives it, and that device.
func TestWritten(t *testing.T) {
	cases,
		err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  m: {artifact: a.pt, device: [t4, a10g], budget: "+
		"{reserved: 1}}\n"))
	require.NoError(t, err)
	require.Len(t, cases, 2)
	written := func(c spec.Case, err error) []string {
		require.NoError(t, err)
		name, elsewhere := c.Written()
		return []string{name, elsewhere}
	}
	assert.Equal(t, []string{cases[0].Name, ""}, written(cases[0], nil))
	assert.Equal(t, []string{cases[0].Name, ""}, written(cases[0].OnNamed("t4")), "where it is")
	assert.Equal(t, []string{cases[0].Name, "l4"}, written(cases[0].OnNamed("l4")))
	_, err = cases[0].OnNamed("l44")
	assert.EqualError(t, err, `got device "l44", want a known device: did you mean "l4"? (all: memspec devices)`)
	there, err := cases[0].OnNamed("l4")
	require.NoError(t, err)
	assert.Equal(t, []string{cases[0].Name, "v100-16gb"}, written(there.OnNamed("v100-16gb")), "from another")
}

// A case of a program is named by what it adds to the model's arguments and world.
func TestProgramCaseNames(t *testing.T) {
	const model = "version: 1\nmodels:\n  p:\n    program: train.py\n    args: [--fast]\n" +
		"    ranks: {world_size: 16}\n    device: t4\n    budget: {reserved: 1GiB}\n    cases:\n      - "
	for _, c := range []struct{ reason, of, name string }{
		{"the model's own stands for all", "{budget: {reserved: 2GiB}}", "p"},
		{"arguments", "{args: [--batch, 2]}", "p[--batch 2]"},
		{"the world, in the order of the reference", "{ranks: {run: [0, last], " +
			"nproc_per_node: 4, world_size: 8}, args: [-v]}",
			"p[world_size=8,nproc_per_node=4,run=0+last,-v]"},
		{"a dim is named once", `{args: [--batch, "{N}"], dims: {N: 8}}`, "p[N=8]"},
		{"a character that ends a name", `{args: ["a]b"]}`, "p"},
		{"an escape for a terminal", `{args: ["\e[1m"]}`, "p"},
		{"name: stands for all of it", "{name: large, args: [--batch, 2], ranks: {world_size: 8}}", "large"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			cases, err := spec.Parse("m.yaml", []byte(model+c.of+"\n"))
			require.NoError(t, err)
			assert.Equal(t, c.name, cases[0].Name)
		})
	}
}

// What a model is may come from a merged mapping.
func TestAModelMergesWhatItIs(t *testing.T) {
	for _, what := range []string{"artifact: a.pt", "source: zoo.py:m", "program: train.py", "module: train",
		"serve: [vllm, serve, m]"} {
		cases, err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: &a\n    "+what+"\n    device: t4\n"+
			"    budget: {}\n  b:\n    <<: *a\n"))
		require.NoError(t, err, what)
		assert.Len(t, cases, 2, what)
	}
}
