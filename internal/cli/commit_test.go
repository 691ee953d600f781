package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// A file of a commit is read whole, and only where it is not too large.
func TestReadAtMost(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("12345"), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "f"}, {"-c", "user.name=n", "-c", "user.email=e", "commit",
		"-q", "-m", "m"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	c := &Commit{root: dir, ref: "HEAD", id: "HEAD"}
	data, there, err := c.readAtMost(t.Context(), "f", 5)
	require.NoError(t, err)
	assert.True(t, there)
	assert.Equal(t, "12345", string(data))
	_, _, err = c.readAtMost(t.Context(), "f", 4)
	assert.EqualError(t, err, "f at HEAD: got 5 bytes, want at most 4")
	_, there, err = c.readAtMost(t.Context(), "g", 4)
	assert.NoError(t, err)
	assert.False(t, there)
}

// A commit's cases cannot be read once the command is interrupted.
func TestCasesOfIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	c := &Commit{root: dir, ref: "HEAD", id: "HEAD"}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := c.casesOf(ctx, filepath.Join(dir, "memspec.yaml"), map[string]bool{"memspec.yaml": true})
	assert.ErrorIs(t, err, context.Canceled)
}

// A commit has the name of a branch, a tag or a commit, never that of a flag of git's.
func TestOpenCommit(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-q",
		"--allow-empty", "-m", "m"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	t.Chdir(dir)
	c, err := OpenCommit(t.Context(), "--against", "HEAD")
	require.NoError(t, err)
	assert.Len(t, c.id, 40)
	for ref, want := range map[string]string{
		"-n":      `--against: got "-n", want a branch, a tag or a commit`,
		"":        `--against: got "", want a branch, a tag or a commit`,
		"nowhere": `--against: got no commit "nowhere" in this repository`,
	} {
		_, err := OpenCommit(t.Context(), "--against", ref)
		assert.EqualError(t, err, want)
	}
}

// What a checkout's own configuration would start is taken out, and what its user configured stays.
func TestWithoutPrograms(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "global"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "global"), []byte("[filter \"lfs\"]\n\tclean = lfs\n"), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"config", "filter.a.b.smudge", "run"},
		{"config", "diff.external", "run"},
		{"config", "diff.x.textconv", "run"}, {"config", "core.askpass", "run"}, {"config", "core.editor", "run"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	got, err := withoutPrograms(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"-c", "core.askpass=", "-c", "filter.a.b.smudge=", "-c", "filter.a.b.required=false", "-c",
		"diff.external=",
		"-c", "diff.x.textconv="}, got)
	_, err = git(t.Context(), dir, "no-such-command")
	assert.ErrorContains(t, err, "git: 'no-such-command' is not a git command")
}

// A file is below the repository by the path that leads to it without links, and one outside is an
// error.
func TestBelow(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(root, "a"), filepath.Join(outside, "link")))
	c := &Commit{root: root}
	for path, want := range map[string]string{
		filepath.Join(root, "f"): "f", filepath.Join(root, "a", "f"): "a/f", filepath.Join(root, "..f"): "..f",
		filepath.Join(outside, "link", "f"): "a/f",
	} {
		got, err := c.below(path)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, path := range []string{filepath.Join(outside, "f"), filepath.Dir(root)} {
		_, err := c.below(path)
		assert.EqualError(t, err, path+": got a file outside the repository")
	}
}

// An error of a file of the commit names the file as git does, each with its place, in their order.
func TestNamed(t *testing.T) {
	c := &Commit{ref: "main"}
	assert.EqualError(t, c.named(os.ErrNotExist, "a/memspec.yaml"), "main:a/memspec.yaml: file does not exist")
	many := spec.Errors{{Pos: spec.Pos{File: "/tmp/x", Line: 2, Col: 3}, Msg: "b"},
		{Pos: spec.Pos{File: "/tmp/x", Line: 1, Col: 4}, Msg: "a"}}
	assert.Equal(t, spec.Errors{{Pos: spec.Pos{File: "main:a", Line: 2, Col: 3}, Msg: "b"},
		{Pos: spec.Pos{File: "main:a", Line: 1, Col: 4}, Msg: "a"}}, c.named(many, "a"))
	assert.Equal(t, "/tmp/x", many[0].Pos.File, "the error stays as it was")
}

// A commit's file that cannot be put anywhere is an error, and one that it does not have is none.
func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "f"), []byte("12345"), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "a/f"}, {"-c", "user.name=n", "-c", "user.email=e", "commit",
		"-q", "-m", "m"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	c := &Commit{root: dir, ref: "HEAD", id: "HEAD"}
	to := t.TempDir()
	there, err := c.copyFile(t.Context(), "a/f", to)
	require.NoError(t, err)
	assert.True(t, there)
	data, err := os.ReadFile(filepath.Join(to, "a", "f"))
	require.NoError(t, err)
	assert.Equal(t, "12345", string(data))
	there, err = c.copyFile(t.Context(), "a/g", to)
	assert.NoError(t, err)
	assert.False(t, there)
	_, err = c.copyFile(t.Context(), "a/f", filepath.Join(dir, "a", "f"))
	assert.ErrorContains(t, err, "not a directory")
	_, err = c.copyFile(t.Context(), "a", to)
	assert.ErrorContains(t, err, "a at HEAD: ", "a folder is no file")
	changed, err := c.changed(t.Context())
	require.NoError(t, err)
	assert.Empty(t, changed)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "f"), []byte("1"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), []byte("1"), 0o600))
	changed, err = c.changed(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"a/f": true, "new": true}, changed)
	followed, err := c.followed(t.Context())
	require.NoError(t, err)
	assert.True(t, followed["a/f"])
	assert.False(t, followed["new"])
	none := &Commit{root: filepath.Join(dir, "none"), ref: "HEAD", id: "HEAD"}
	_, err = none.changed(t.Context())
	assert.Error(t, err)
	_, err = none.followed(t.Context())
	assert.Error(t, err)
	c.id = "none"
	_, err = c.changed(t.Context())
	assert.ErrorContains(t, err, "none")
	t.Setenv("PATH", "")
	_, err = c.followed(t.Context())
	assert.EqualError(t, err, "got no git, want it on PATH")
}
