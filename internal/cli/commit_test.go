package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
