//go:build unix

package regular_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/regular"
)

// within fails a test that waits: for the other end of a pipe, say.
func within(t *testing.T, run func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); run() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("got a call that waits")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("ten"), []byte("0123456789"), 0o600))
	require.NoError(t, os.Symlink("ten", at("link")))
	require.NoError(t, os.Symlink("/dev/zero", at("zero")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	t.Chdir(dir) // the name of a socket is short
	listener, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer listener.Close()
	for _, c := range []struct {
		name, err string
		most      int64
	}{
		{"ten", "", 10},
		{"link", "", 10},
		{"ten", "read " + at("ten") + ": got more than 9 bytes, want fewer bytes", 9},
		{"zero", "open " + at("zero") + ": got a device, want a regular file", 10},
		{"pipe", "open " + at("pipe") + ": got a named pipe, want a regular file", 10},
		{"socket", "open " + at("socket") + ": got a socket, want a regular file", 10},
		{".", "open " + dir + ": got a folder, want a regular file", 10},
		{"gone", "stat " + at("gone") + ": no such file or directory", 10},
		{"/proc/self/status", "", 1 << 20}, // it says that it has no bytes
		{"/proc/self/status", "read /proc/self/status: got more than 9 bytes, want fewer bytes", 9},
	} {
		path := c.name
		if !filepath.IsAbs(path) {
			path = at(path)
		}
		if _, err := os.Lstat(path); filepath.IsAbs(c.name) && err != nil {
			continue // no /proc on this system
		}
		within(t, func() {
			data, err := regular.Read(path, c.most)
			if c.err != "" {
				assert.EqualError(t, err, c.err)
				return
			}
			assert.NoError(t, err, c.name)
			assert.NotEmpty(t, data, c.name)
		})
	}
	_, err = regular.Read(at("pipe"), 10)
	assert.ErrorIs(t, err, regular.ErrNotRegular)
	_, err = regular.Read(at("ten"), 1)
	assert.ErrorIs(t, err, regular.ErrTooLarge)
}

func TestFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data.pkl"), []byte("0123456789"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "code"), 0o700))
	require.NoError(t, os.Symlink("../data.pkl", filepath.Join(dir, "code", "inside")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "absolute")))
	require.NoError(t, os.Symlink("../"+filepath.Base(outside)+"/secret", filepath.Join(dir, "relative")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	f, err := regular.OpenFolder(dir, 10)
	require.NoError(t, err)
	defer f.Close()
	for _, name := range []string{"data.pkl", "code/inside"} {
		data, err := fs.ReadFile(f, name)
		require.NoError(t, err, name)
		assert.Equal(t, "0123456789", string(data), name)
	}
	above := "../" + filepath.Base(outside) + "/secret"
	for name, want := range map[string]string{
		"absolute": "statat absolute: path escapes from parent", "relative": "statat relative: path escapes from parent",
		"zero": "statat zero: path escapes from parent", "pipe": "open pipe: got a named pipe, want a regular file",
		"gone": "statat gone: no such file or directory", above: "open " + above + ": invalid argument",
		"/dev/zero": "open /dev/zero: invalid argument",
	} {
		within(t, func() {
			_, err := fs.ReadFile(f, name)
			assert.EqualError(t, err, want)
		})
	}
	_, err = f.Stat("code/")
	assert.EqualError(t, err, "stat code/: invalid argument")
	info, err := f.Stat("code/inside")
	require.NoError(t, err)
	assert.Equal(t, int64(10), info.Size())
	_, err = regular.OpenFolder(filepath.Join(dir, "data.pkl"), 10)
	assert.EqualError(t, err, "open "+filepath.Join(dir, "data.pkl")+": not a directory")
	none, err := regular.OpenFolder(filepath.Join(dir, "gone"), 10)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Nil(t, none)
	entries, err := fs.ReadDir(f, ".")
	require.NoError(t, err)
	assert.Len(t, entries, 6)
	small, err := regular.OpenFolder(dir, 9)
	require.NoError(t, err)
	defer small.Close()
	_, err = small.Open("data.pkl")
	assert.EqualError(t, err, "open data.pkl: got 10 bytes, want at most 9")
}

// TestOpen: the file is read from its beginning, and its size is that of the file which was opened.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ten")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	f, size, err := regular.Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, int64(10), size)
	gone := errors.New("gone")
	_, err = regular.All(iotest.ErrReader(gone), path, 10)
	assert.Equal(t, gone, err, "of a file that cannot be read to its end")
	data, err := regular.All(f, path, 10)
	require.NoError(t, err)
	assert.Equal(t, "0123456789", string(data))
	require.NoError(t, os.Chmod(path, 0))
	if os.Getuid() != 0 { // root reads it
		_, _, err = regular.Open(path)
		assert.ErrorIs(t, err, fs.ErrPermission)
	}
}

// An error of a path is said without the system call; one that says more stays as it is.
func TestPlain(t *testing.T) {
	_, err := os.Open("none")
	assert.EqualError(t, regular.Plain(err), "none: no such file or directory")
	assert.ErrorIs(t, regular.Plain(err), fs.ErrNotExist)
	more := fmt.Errorf("profile: %w", err)
	assert.Equal(t, more, regular.Plain(more))
	assert.NoError(t, regular.Plain(nil))
}

// TestFilesOfAFolderInAll: each may be as large as the largest, and four of those may be opened.
func TestFilesOfAFolderInAll(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ten"), []byte("0123456789"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	folder, err := regular.OpenFolder(dir, 10)
	require.NoError(t, err)
	defer folder.Close()
	for range 4 {
		f, err := folder.Open("ten")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	f, err := folder.Open("folder")
	require.NoError(t, err, "a folder has no bytes")
	require.NoError(t, f.Close())
	_, err = folder.Open("ten")
	require.EqualError(t, err, "open ten: got more than 40 bytes in the folder's files, want at most that")
}

// TestFilesAreClosed: what was read is closed, and so is what a folder refuses once it is open.
func TestFilesAreClosed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(dir, "ten")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	opened := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc on this system")
		}
		for _, e := range entries {
			if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && to == path {
				n++
			}
		}
		return n
	}
	for _, most := range []int64{10, 9} {
		_, _ = regular.Read(path, most)
		require.Zero(t, opened(), most)
	}
	folder, err := regular.OpenFolder(dir, 10)
	require.NoError(t, err)
	defer folder.Close()
	var files []fs.File
	for range 4 {
		f, err := folder.Open("ten")
		require.NoError(t, err)
		files = append(files, f)
	}
	_, err = folder.Open("ten")
	require.Error(t, err)
	require.Equal(t, 4, opened())
	for _, f := range files {
		require.NoError(t, f.Close())
	}
}
