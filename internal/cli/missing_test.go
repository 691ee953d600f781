package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// TestMissingIsWritten: what a command lacks is written by recording, with why each counts as
// missing, and nothing where nothing is.
func TestMissingIsWritten(t *testing.T) {
	cases, err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: {source: 'z.py:n', device: t4, budget: {}}\n"+
		"  b: {source: 'z.py:n', device: l4, budget: {}}\n  c: {source: 'z.py:o', device: t4, budget: {}}\n"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "missing.json")
	cmd := &cobra.Command{Use: "fit"}
	q := NewQuery(cmd)
	require.NoError(t, cmd.ParseFlags([]string{"--missing", file}))
	models, err := q.Models()
	require.NoError(t, err)
	require.NoError(t, q.Unanswered(), "nothing is missing")
	assert.NoFileExists(t, file)
	models.Unrecorded(&cases[2], "zoo.py has changed")
	models.Bracket("B=1 fits")
	models.Unrecorded(&cases[1], suite.CutShort)
	models.Unrecorded(&cases[0], "")
	assert.Equal(t, ExitUnsure, ExitCodeOf(q.Unanswered()))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var written struct {
		Cases []struct {
			Name, Recording, Stale, Bracket string
			Whole                           bool
		}
	}
	require.NoError(t, json.Unmarshal(data, &written))
	require.Len(t, written.Cases, 3)
	said := map[string][]any{}
	for i, c := range written.Cases {
		said[c.Name] = []any{c.Stale, c.Bracket, c.Whole}
		if i > 0 {
			assert.Less(t, written.Cases[i-1].Recording, c.Recording, "in the order of their names")
		}
	}
	assert.Equal(t, map[string][]any{"a": {"", "B=1 fits", false}, "b": {suite.CutShort, "B=1 fits", true},
		"c": {"zoo.py has changed", "", false}}, said)
	q.Missing = filepath.Join(file, "below")
	assert.ErrorContains(t, q.Unanswered(), "not a directory")
	q.Missing = ""
	assert.NoError(t, q.Unanswered(), "nobody asked")
	quiet, err := q.Models()
	require.NoError(t, err)
	assert.Nil(t, quiet.Unrecorded)
	q.answers = filepath.Join(filepath.Dir(file), "none.json")
	_, err = q.Models()
	assert.EqualError(t, err, "--answers: "+q.answers+": no such file or directory")
}

// TestRecordingOfACommit: which file of a commit is another than the one that a recording was made
// from. What git does not know is taken from the working tree, and what git ignores may be gone.
func TestRecordingOfACommit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a/zoo.py", "one\n")
	write("shared.py", "two\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit",
		"-q", "-m", "m"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	write("a/zoo.py", "changed since\n")
	write("a/data.bin", "here alone\n")
	sum := func(text string) string {
		s := sha256.Sum256([]byte(text))
		return hex.EncodeToString(s[:])
	}
	file := func(path, text string) recording.File { return recording.File{Path: path, SHA256: sum(text)} }
	c := &Commit{root: dir, ref: "HEAD", id: "HEAD"}
	for _, tt := range []struct {
		why  string
		made *recording.Made
		want string
	}{
		{"nothing is recorded", nil, "it does not say what it was made from"},
		{"made from nothing", &recording.Made{}, ""},
		{"the commit's own", &recording.Made{Files: []recording.File{file("zoo.py", "one\n"), file("../shared.py", "two\n")}},
			""},
		{"of the working tree", &recording.Made{Files: []recording.File{file("zoo.py", "changed since\n")}},
			"a/zoo.py differs"},
		{"the second differs", &recording.Made{Files: []recording.File{file("zoo.py", "one\n"), file("../shared.py", "2")}},
			"shared.py differs"},
		{"outside the repository", &recording.Made{Files: []recording.File{file("../../x.py", "3"), file("../..", "3"),
			file("zoo.py", "4")}}, "a/zoo.py differs"},
		{"what git does not know", &recording.Made{Files: []recording.File{file("data.bin", "here alone\n")}}, ""},
		{"it has changed", &recording.Made{Files: []recording.File{file("data.bin", "then\n")}}, "a/data.bin differs"},
		{"gone", &recording.Made{Files: []recording.File{file("gone.py", "5")}}, "a/gone.py is not in it"},
		{"gone and ignored", &recording.Made{Read: []recording.Data{{Path: "gone.bin", Ignored: true},
			{Path: "zoo.py", SHA256: sum("6")}}}, "a/zoo.py differs"},
	} {
		got, err := c.stale(t.Context(), tt.made, "a")
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestPathsOfTheRepository: paths are those of the repository that the working folder lies in,
// else of that folder, and only files exist.
func TestPathsOfTheRepository(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	below := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(filepath.Join(below, "c"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(below, "m.py"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a", ".git"), []byte("gitdir: elsewhere\n"), 0o600))
	for dir, want := range map[string][]string{
		"a": {"a", "."}, "a/b": {"a", "b"}, "a/b/c": {"a", "b/c"},
	} {
		t.Chdir(filepath.Join(root, filepath.FromSlash(dir)))
		for range 2 { // the second time as it was found
			p := RepositoryPaths()
			assert.Equal(t, []string{filepath.ToSlash(filepath.Join(root, want[0])), want[1]}, []string{p.Root, p.Dir})
			assert.True(t, p.Exists("b/m.py"))
			assert.False(t, p.Exists("b"), "a folder is no file")
			assert.False(t, p.Exists("b/n.py"))
		}
	}
	t.Chdir(root)
	p := RepositoryPaths()
	assert.Equal(t, []string{filepath.ToSlash(root), "."}, []string{p.Root, p.Dir}, "no repository")
}

// TestWritesThatFailAreKept: the first error of a stream stays, whatever is written to it later.
func TestWritesThatFailAreKept(t *testing.T) {
	for _, text := range []string{"a", "a\x1b", "x ##[error]"} {
		out := &failing{}
		p := Printable{w: out, raw: out, Failed: new(error), actions: true}
		n, err := p.Write([]byte(text))
		assert.Equal(t, 0, n)
		require.EqualError(t, err, "write 1")
		_, err = p.Write([]byte(text))
		require.EqualError(t, err, "write 2")
		assert.EqualError(t, *p.Failed, "write 1", text)
	}
	n, err := (&colours{w: &failing{}}).Write([]byte("PASS a\n"))
	assert.Equal(t, []any{0, "write 1"}, []any{n, err.Error()})
	n, err = withoutCommands{&failing{}}.Write([]byte("##[a"))
	assert.Equal(t, []any{0, "write 1"}, []any{n, err.Error()})
	var b strings.Builder
	n, err = withoutCommands{&b}.Write([]byte("##[a ##[b"))
	require.NoError(t, err)
	assert.Equal(t, []any{9, "##\u200b[a ##\u200b[b"}, []any{n, b.String()})
}

// failing is a writer that numbers the writes that it refuses.
type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, fmt.Errorf("write %d", f.writes)
}

// TestCompletedCases: the names of a file's cases complete --case, and nothing does where the file
// cannot be read.
func TestCompletedCases(t *testing.T) {
	cmd := &cobra.Command{Use: "check"}
	CaseFlag(cmd)
	DeviceFlag(cmd)
	complete, ok := cmd.GetFlagCompletionFunc("case")
	require.True(t, ok)
	for _, tt := range []struct {
		file string
		want []string
	}{
		{specFile(t, "a", "b"), []string{"a", "b"}}, {"none.yaml", nil}, {"z*", nil},
	} {
		names, directive := complete(cmd, []string{tt.file}, "")
		assert.Equal(t, tt.want, names, tt.file)
		assert.Equal(t, cobra.ShellCompDirectiveNoFileComp, directive)
	}
	complete, ok = cmd.GetFlagCompletionFunc("device")
	require.True(t, ok)
	names, directive := complete(cmd, nil, "")
	assert.Contains(t, names, "t4")
	assert.Equal(t, cobra.ShellCompDirectiveNoFileComp, directive)
	cases, err := spec.Load(specFile(t, "alpha", "beta"))
	require.NoError(t, err)
	assert.EqualError(t, noCase("f", "alpa", cases), `f: got no case "alpa", did you mean "alpha"?`)
}

// TestRecordingsOfASearch: which recording a search lacks, by the device and the dims that are not
// the case's, and what records it.
func TestRecordingsOfASearch(t *testing.T) {
	cases, err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: {source: 'z.py:n', device: t4, budget: {}, "+
		"inputs: {x: 'float32[B,H]'}, dims: {B: 1, H: 2}}\n"))
	require.NoError(t, err)
	s := &Subject{Base: cases[0], Recorder: "record it"}
	lacks := func(c spec.Case, err error) error {
		require.NoError(t, err)
		return s.Unsearchable(&origin.Uncaptured{Case: &c, Path: "p.rec"})
	}
	for want, err := range map[string]error{
		" on l4":         lacks(cases[0].OnNamed("l4")),
		" at H=3":        lacks(cases[0].With(spec.Dim{Name: "H", Value: 3})),
		" at B=4 at H=3": lacks(cases[0].With(spec.Dim{Name: "H", Value: 3}, spec.Dim{Name: "B", Value: 4})),
	} {
		assert.EqualError(t, err, "got no recording of a"+want+" (p.rec): record it makes those that it needs")
		assert.Equal(t, ExitUnsure, ExitCodeOf(err))
	}
	own := &origin.Uncaptured{Case: &cases[0], Path: "p.rec"}
	assert.Same(t, own, s.Unsearchable(own).(*origin.Uncaptured), "the case's own recording is no search's")
	assert.NoError(t, s.Unsearchable(nil))
	assert.ErrorIs(t, s.Unsearchable(os.ErrClosed), os.ErrClosed)
}
