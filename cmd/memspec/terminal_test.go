package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// At a terminal a check reports in one line more how long it took, and which budget that holds has
// the least room; colours are there. Elsewhere neither is.
func TestCheckAtATerminal(t *testing.T) {
	script, err := exec.LookPath("script") // of util-linux: a separate terminal
	if err != nil {
		t.Skip("got no script (Debian: bsdutils), which opens a terminal")
	}
	dir := badFolder(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memspec.yaml"), []byte(`version: 1
defaults: {device: t4}
models:
  m:
    artifact: good.pt
    inputs: ["float32[2,3,32,32]"]
    cases:
      - {name: a, budget: {reserved: 1GiB}}
      - {name: b, budget: {reserved: 4MiB, allocated: 1GiB}}
      - {name: c, budget: {reserved: 1MiB}}
      - {name: d, budget: {reserved: 1GiB}}
`), 0o666))
	own, err := os.Executable()
	require.NoError(t, err)
	memspec := filepath.Join(t.TempDir(), "memspec")
	require.NoError(t, os.Symlink(own, memspec))
	run := func(command string) string {
		cmd := exec.Command(script, "-qec", command, "/dev/null")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "COLUMNS=80")
		cmd.Stdin = strings.NewReader("")
		out, _ := cmd.CombinedOutput() // it ends as the command does
		return strings.ReplaceAll(string(out), "\r\n", "\n")
	}
	out := run(memspec + " check")
	assert.Regexp(t, `(?m)^4 cases: 3 pass, 1 fail\n[0-9.]+ s, least room: b, reserved 2\.0 MiB of 4\.0 MiB \(50\.0%\)$`,
		out)
	assert.Contains(t, out, "\x1b[1;32mPASS\x1b[0m a on t4")
	for _, command := range []string{" check | cat", " check -q", " check --format json", " check --format markdown"} {
		assert.NotContains(t, run(memspec+command), "least room", command)
	}
	assert.NotContains(t, run("NO_COLOR=1 "+memspec+" check"), "\x1b[")

	// a run takes a while: which case it is at is shown until the next, and then nothing is left of it
	shown := run("MEMSPEC_PYTHON=/none PATH=/none MEMSPEC_CUDAPROBE=/none " + memspec + " verify")
	for i, name := range []string{"a", "b", "c", "d"} {
		assert.Contains(t, shown, fmt.Sprintf("\r\x1b[K%d of 4: %s\r\x1b[K", i+1, name))
	}
	assert.NotContains(t, run(memspec+" verify --measured measured"), "of 4: ")
}
