package artifact

import (
	"os"
	"path/filepath"
	"runtime"
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
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "snapshots", "good.pickle"))
	require.NoError(t, err)
	snapshot, program, broken := filepath.Join(dir, "s.pickle"), filepath.Join(dir, "m.pt"), filepath.Join(dir, "b.pt")
	require.NoError(t, os.WriteFile(snapshot, data, 0o600))
	_, err = Open(snapshot)
	require.NoError(t, err)
	require.Zero(t, opened(snapshot), "a run is read whole")
	model(t, program)
	a, err := Open(program)
	require.NoError(t, err)
	require.Equal(t, 1, opened(program), "a program is read further")
	runtime.KeepAlive(a)
	data, err = os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(broken, data[len(data)/2:], 0o600)) // its directory points before its beginning
	_, err = Open(broken)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrUnrecognized)
	require.Zero(t, opened(broken), "a zip archive that contradicts itself")
	for _, path := range []string{snapshot, program, text} {
		_, _, err = What(path)
		require.NoError(t, err)
	}
	require.Zero(t, opened(snapshot)+opened(text))
	require.LessOrEqual(t, opened(program), 1, "who asks what it is keeps nothing open")
}
