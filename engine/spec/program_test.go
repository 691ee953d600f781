package spec_test

import (
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
