package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/internal/cli"
)

// TestBadFlagsByEveryWay gives each flag of each command that takes a value one that it
// cannot take, beside arguments that are good: a usage error on one line that names the flag or the
// value, and no result.
func TestBadFlagsByEveryWay(t *testing.T) {
	badFolder(t)
	const wrong = "none/such:value"
	artifact := []string{"good.pt", "--device", "t4", "--input", "float32[B,3,32,32]"}
	good := map[string][]string{
		"estimate": append(artifact, "--dim", "B=2"), "explain": append(artifact, "--dim", "B=2"),
		"dump": append(artifact, "--dim", "B=2", "--stage", "trace"), "fit": append(artifact, "--dim", "B"),
		"sweep": append(artifact, "--dim", "B=1..2"), "init": append(artifact, "--dim", "B=2"),
		"check": {"good.yaml"}, "baseline": {"good.yaml", "-o", "base.json"}, "update": {"-n", "good.yaml"},
		"cases": {"good.yaml"}, "workspace": {"good.yaml"}, "devices": {}, "ops": {"--missing", "good.pt"},
		"strip": {"good.pt", "-o", "stripped.pt"}, "prune": {"good.yaml"}, "schema": {"spec"}, "version": {},
		"verify": {"good.yaml", "--measured", "measured"},
	}
	for name, args := range good {
		code, _, stderr := runInput(append([]string{name}, args...)...)
		require.NotEqual(t, cli.ExitUsage, code, "%s: %s", name, stderr)
	}
	takeAny := []string{"explain --name", "init --name", "workspace --workspace"} // a text, and a file to be made
	tried := 0
	for _, cmd := range newRoot().Commands() {
		args, ok := good[cmd.Name()]
		if !ok {
			continue
		}
		cmd.InheritedFlags() // has those of all commands among Flags
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" || slices.Contains(takeAny, cmd.Name()+" --"+f.Name) {
				return
			}
			tried++
			t.Run(cmd.Name()+"/"+f.Name, func(t *testing.T) {
				line := append(append([]string{cmd.Name()}, args...), "--"+f.Name+"="+wrong)
				code, stdout, stderr := runInput(line...)
				assert.Equal(t, cli.ExitUsage, code, stdout+stderr)
				assert.Empty(t, stdout)
				oneClearLine(t, stderr, "")
				assert.Regexp(t, "none/such|--"+f.Name, stderr)
			})
		})
	}
	assert.Greater(t, tried, 100)
}
