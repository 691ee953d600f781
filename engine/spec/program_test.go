package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// The command that runs a program sets and unsets its variables, what is unset first, as env has it.
func TestRunWords(t *testing.T) {
	p := &spec.Program{File: "train.py", Args: []string{"--fast"},
		Env: []spec.Variable{{Name: "A", Value: "1"}, {Name: "B", Unset: true}, {Name: "C"}, {Name: "D", Unset: true}}}
	assert.Equal(t, "env -u B -u D A=1 C= python -m memshim run --on t4 -- train.py --fast", strings.Join(p.RunWords("--on", "t4"), " "))
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
	data, err := json.Marshal((&spec.Case{Program: &spec.Program{File: "train.py", Ranks: &spec.Ranks{WorldSize: 2}}}).JSON())
	require.NoError(t, err)
	assert.NotContains(t, string(data), `"ignore":null`)
	assert.Contains(t, string(data), `"ignore":[],"also":[]`)
	assert.Contains(t, string(data), `"run":[]`)
}

// A case of a program is named by what it adds to the model's arguments and world.
func TestProgramCaseNames(t *testing.T) {
	const model = "version: 1\nmodels:\n  p:\n    program: train.py\n    args: [--fast]\n" +
		"    ranks: {world_size: 16}\n    device: t4\n    budget: {reserved: 1GiB}\n    cases:\n      - "
	for _, c := range []struct{ reason, of, name string }{
		{"the model's own stands for all", "{budget: {reserved: 2GiB}}", "p"},
		{"arguments", "{args: [--batch, 2]}", "p[--batch 2]"},
		{"the world, in the order of the reference", "{ranks: {run: [0, last], nproc_per_node: 4, world_size: 8}, args: [-v]}",
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
