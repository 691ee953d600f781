package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
)

// TestYAMLText: what YAML reads as a number, a truth value, a date or a list is quoted.
func TestYAMLText(t *testing.T) {
	for _, plain := range []string{"model.pt", "models/a_b-1.pt2", "m1e3", "nulls"} {
		assert.Equal(t, plain, yamlText(plain))
	}
	for _, s := range []string{"", "1e3", "8bit.pt", "0x10", "2026-11-28", "-m.pt", ".inf", "null", "True", "NO", "y",
		"a: b", "a#b", "[a]", "*a"} {
		assert.Equal(t, `"`+s+`"`, yamlText(s))
	}
}

// TestArtifactsBeneath: what can be read is found, by path and at most so many; folders that are
// hidden, or that package managers and tests fill, are left out.
func TestArtifactsBeneath(t *testing.T) {
	data, err := os.ReadFile("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, name := range []string{"b.pt", "a/M.PT", "a/m.pth", "a/m.ts", "a/m.torchscript", "a/m.bin", "a/m.pt2", "c.pt/d.pt",
		".git/m.pt", "node_modules/m.pt", "a/testdata/m.pt", ".hidden.pt", "text.pt", "empty.pt"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		text := map[string][]byte{"text.pt": []byte("none"), "empty.pt": {}}
		if _, other := text[name]; !other {
			text[name] = data
		}
		require.NoError(t, os.WriteFile(name, text[name], 0o666))
	}
	found := []string{".hidden.pt", "a/M.PT", "a/m.pt2", "a/m.pth", "a/m.torchscript", "a/m.ts", "b.pt", "c.pt/d.pt"}
	assert.Equal(t, found, artifactsBeneath("."))
	assert.Equal(t, []string{"a/testdata/m.pt"}, artifactsBeneath("a/testdata"), "it was asked for")
	assert.Empty(t, artifactsBeneath("none"))
	for i := range maxFound + 1 {
		require.NoError(t, os.WriteFile(fmt.Sprintf("n%02d.pt", i), data, 0o666))
	}
	assert.Len(t, artifactsBeneath("."), maxFound)
}

// TestWhatBudgetsRestOn: those whose upper figures are above the likely ones are counted, with the
// first command that makes any of them exact.
func TestWhatBudgetsRestOn(t *testing.T) {
	of := func(allocated, reserved units.Bytes, settle ...string) *suite.Result {
		r := &report.Report{Upper: &report.Upper{Allocated: allocated, Reserved: reserved},
			Peak: report.Peak{Allocated: 10, Reserved: 20}}
		for _, s := range settle {
			r.Notes = append(r.Notes, report.Note{Settle: s})
		}
		return &suite.Result{Report: r}
	}
	assert.True(t, restsOnUpper(of(11, 20).Report))
	assert.True(t, restsOnUpper(of(10, 21).Report))
	assert.False(t, restsOnUpper(of(10, 20).Report))
	assert.False(t, restsOnUpper(&report.Report{}))
	file := &initFile{models: []initModel{{results: []*suite.Result{of(10, 20, "none"), of(11, 20), of(11, 20, "", "a", "b")}},
		{results: []*suite.Result{of(12, 20, "c")}}}}
	command, n := file.settle()
	assert.Equal(t, "a", command)
	assert.Equal(t, 3, n)
}
