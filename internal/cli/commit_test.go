package cli

import (
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
	for _, args := range [][]string{{"init", "-q"}, {"add", "f"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "m"}} {
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
