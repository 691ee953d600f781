package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func published(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	return string(data)
}

// The first page stays one that is read, and names no command that is not there.
func TestReadme(t *testing.T) {
	text := published(t, "README.md")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 90)
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") { // a row of a table
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 107, "README.md:%d", i+1)
		}
	}
	var names []string
	for _, c := range newRoot().Commands() {
		names = append(names, c.Name())
	}
	text += published(t, "docs/guide/exported-model.md")
	found := regexp.MustCompile("(?m)(?:`|^ {4}|^\\$ |\\| ?`)memspec ([a-z]+)").FindAllStringSubmatch(text, -1)
	assert.Greater(t, len(found), 10)
	for _, m := range found {
		assert.Contains(t, names, m[1])
	}
}

// What other repositories use by name: commands and flags that are there, and files that make a
// hook run.
func TestHooksAndAction(t *testing.T) {
	var hooks []struct{ ID, Entry, Language, Files string }
	require.NoError(t, yaml.Unmarshal([]byte(published(t, ".pre-commit-hooks.yaml")), &hooks))
	require.Len(t, hooks, 1)
	assert.Equal(t, "memspec check .", hooks[0].Entry)
	files := regexp.MustCompile(hooks[0].Files)
	for name, want := range map[string]bool{"memspec.yaml": true, "a/memspec.yml": true, "memspec.baseline.json": true,
		"models/net.pt": true, "net.pt2": true, "x.rec": true,
		"models/net.py": true, "conf/model.yaml": true, "config.json": true, "uv.lock": true, "requirements-dev.txt": true,
		"memspec.go": false, "notes.txt": false, "README.md": false} {
		assert.Equal(t, want, files.MatchString(name), name)
	}

	var action struct {
		Inputs map[string]any
		Runs   struct {
			Using string
			Steps []step
		}
	}
	text := published(t, "action.yml")
	require.NoError(t, yaml.Unmarshal([]byte(text), &action))
	assert.Equal(t, "composite", action.Runs.Using)
	script := action.Runs.Steps[len(action.Runs.Steps)-1].Run
	assert.NotContains(t, script, "${{", "what a pull request names is no part of a script")
	check, _, err := newRoot().Find([]string{"check"})
	require.NoError(t, err)
	for _, flag := range regexp.MustCompile(`--([a-z]+)`).FindAllStringSubmatch(script, -1) {
		assert.NotNil(t, check.Flags().Lookup(flag[1]), flag[1])
	}
	for _, input := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, action.Inputs, input[1])
	}
	assert.True(t, slices.Contains(strings.Fields(published(t, "Containerfile")), "ENTRYPOINT"))
}
