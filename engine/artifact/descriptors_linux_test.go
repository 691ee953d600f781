package artifact

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file or folder that cannot be opened as an artifact is closed at once; one whose program was
// read stays open until it is closed.
func TestRefusedFilesAreClosed(t *testing.T) {
	opened := func(path string) (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		for _, e := range entries {
			if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && to == path {
				n++
			}
		}
		return n
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	text, folder := filepath.Join(dir, "text.pt"), filepath.Join(dir, "folder")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o600))
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, path := range []string{text, folder} {
		_, err := Open(path)
		require.ErrorIs(t, err, ErrUnrecognized)
		require.Zero(t, opened(path), path)
	}
}
