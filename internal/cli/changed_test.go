package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// TestTouched: each file that a case depends on counts where it has changed, or where git would not
// know; of others none does.
func TestTouched(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(root, name) }
	files := []string{"m.pt", "m.pt.inputs.json", "w.json", "b.json", "zoo.py"}
	followed := map[string]bool{}
	for _, name := range files {
		require.NoError(t, os.WriteFile(in(name), nil, 0o600))
		followed[name] = true
	}
	c := &Commit{root: root}
	k := func() spec.Case {
		return spec.Case{Dir: root, Artifact: in("m.pt"), Workspace: in("w.json"), Baseline: in("b.json")}
	}
	touched := func(k spec.Case, names ...string) bool {
		changed := map[string]bool{}
		for _, name := range names {
			changed[name] = true
		}
		return c.touched(&k, changed, followed)
	}
	assert.False(t, touched(k()))
	assert.False(t, touched(k(), "other.pt", "zoo.py"), "a source of none of it")
	for _, name := range files[:4] {
		assert.True(t, touched(k(), name), name)
		delete(followed, name)
		assert.True(t, touched(k()), "%s: git ignores it", name)
		followed[name] = true
	}
	model := k()
	model.Artifact += "#net" // of a package with several
	assert.False(t, touched(model))
	assert.True(t, touched(model, "m.pt"))

	sourced := k()
	sourced.Source = "zoo.py:Net"
	assert.False(t, touched(sourced))
	for _, name := range []string{"zoo.py", "below/other.py"} {
		assert.True(t, touched(sourced, name), "any Python file may be a part of it")
	}
	assert.False(t, touched(sourced, "notes.md"))
	program := spec.Case{Dir: root, Program: &spec.Program{}}
	assert.True(t, touched(program, "other.py"))
	assert.False(t, touched(program))
	assert.False(t, touched(spec.Case{Dir: root}, ".inputs.json"), "of no artifact")

	absent, far := k(), k()
	absent.Workspace = in("absent.json")
	assert.False(t, touched(absent), "it is not there, and was not")
	assert.True(t, touched(absent, "absent.json"), "it was removed")
	far.Baseline = filepath.Join(outside, "b.json")
	assert.True(t, touched(far), "outside the repository nobody knows")
}
