package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/internal/cli"
)

// TestPrune: files with names of recordings are listed or removed, folder by folder in the order of
// their files; other names and folders stay.
func TestPrune(t *testing.T) {
	badFolder(t)
	cases, err := os.ReadFile("good.yaml")
	require.NoError(t, err)
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	const first, last = "a-0123456789abcdef.rec", "b-0123456789abcdef.rank12.rec"
	kept := []string{"x.rec", "a-0123456789abcde.rec", "a-0123456789abcdef.rank.rec", "a-0123456789abcdef.ranks.json.old"}
	for _, folder := range []string{"z", "y"} {
		write(folder+"/memspec.yaml", string(cases))
		write(folder+"/.memspec/"+first, "12345")
		write(folder+"/.memspec/"+last, "1234567")
		write(folder+"/.memspec/a-0123456789abcdef.ranks.json/"+first, "12345")
		for _, name := range kept {
			write(folder+"/.memspec/"+name, "123")
		}
	}
	files := []string{"z/memspec.yaml", "y/memspec.yaml", "z/memspec.yaml"}
	listed := func(verb, folder string) string {
		return verb + " " + folder + "/.memspec/" + first + " (5 B)\n" + verb + " " + folder + "/.memspec/" + last +
			" (7 B)\n" + folder + "/.memspec: 0 files in use, 0 B; 2 of no case, 12 B\n"
	}
	code, stdout, stderr := runInput(append([]string{"prune"}, files...)...)
	assert.Equal(t, cli.ExitOK, code, stderr)
	assert.Equal(t, listed("unused", "z")+listed("unused", "y"), stdout)
	assert.FileExists(t, "z/.memspec/"+first)

	code, stdout, stderr = runInput(append([]string{"prune", "--remove"}, files...)...)
	assert.Equal(t, cli.ExitOK, code, stderr)
	assert.Equal(t, listed("removed", "z")+listed("removed", "y"), stdout)
	assert.NoFileExists(t, "z/.memspec/"+first)
	assert.NoFileExists(t, "y/.memspec/"+last)
	for _, name := range kept {
		assert.FileExists(t, "z/.memspec/"+name)
	}
	assert.FileExists(t, "z/.memspec/a-0123456789abcdef.ranks.json/"+first, "a folder is no recording")
}

// TestPruneRefuses: what cannot be read is an error; a folder that is not there is empty.
func TestPruneRefuses(t *testing.T) {
	badFolder(t)
	code, stdout, stderr := runInput("prune", "bad.yaml")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Empty(t, stdout)
	oneClearLine(t, stderr, "bad.yaml:")
	code, stdout, _ = runInput("prune", "good.yaml")
	assert.Equal(t, cli.ExitOK, code)
	assert.Equal(t, ".memspec: 0 files in use, 0 B; 0 of no case, 0 B\n", stdout)
	require.NoError(t, os.WriteFile(".memspec", nil, 0o666))
	code, stdout, stderr = runInput("prune", "good.yaml")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Empty(t, stdout)
	oneClearLine(t, stderr, ".memspec: ")
}
