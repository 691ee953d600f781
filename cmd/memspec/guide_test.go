package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands of the guide for files run one after the other, as they stand on the page.
func TestGuideExportedModel(t *testing.T) {
	page := published(t, "docs/guide/exported-model.md")
	f := newReadmeFolder(t)
	commands := consoleCommands(page)
	require.Len(t, commands, 3)
	for _, line := range commands {
		code, out := f.run(line)
		require.Zero(t, code, "%s\n%s", line, out)
	}
	_, out := f.run("memspec check")
	assert.Contains(t, out, "2 cases: 2 pass")
}

// consoleCommands are the lines after "$ " in blocks marked console.
func consoleCommands(page string) []string {
	var out []string
	for _, block := range regexp.MustCompile("(?s)\n```console\n(.*?)\n```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ "); ok {
				out = append(out, command)
			}
		}
	}
	return out
}

// Every page that a page of docs links to is there.
func TestDocsLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*/*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("../../*.md")
	require.NoError(t, err)
	flat, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	pages = append(append(pages, more...), flat...)
	require.Greater(t, len(pages), 10)
	link := regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
				assert.NoError(t, err, "%s links to %s", page, m[1])
			}
		}
	}
}
