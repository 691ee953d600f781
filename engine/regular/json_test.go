package regular

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckJSON(t *testing.T) {
	dense := "[{}" + strings.Repeat(",{}", anyObjects-1) + "]"
	assert.NoError(t, CheckJSON([]byte(dense), 1<<20))
	assert.EqualError(t, CheckJSON([]byte("[{},"+dense[1:]), 1<<20), "got 131073 objects in 393220 bytes, want at most "+
		"131072")
	assert.NoError(t, CheckJSON([]byte("[{},"+dense[1:]), 64), "text allows more")

	assert.EqualError(t, CheckJSON([]byte("[0"+strings.Repeat(",0", 2<<20)+"]"), 64),
		"got 2097152 values in 4194307 bytes, want at most 1310720")
	assert.NoError(t, CheckJSON([]byte("[1234567890123456"+strings.Repeat(",1234567890123456", 2<<20)+"]"), 64))
}

// TestRefused: what a path leads to is named by its mode.
func TestRefused(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		0o644: "", fs.ModeSetuid | 0o755: "",
		fs.ModeDir | 0o755: "a folder", fs.ModeNamedPipe: "a named pipe", fs.ModeSocket: "a socket",
		fs.ModeDevice: "a device", fs.ModeDevice | fs.ModeCharDevice: "a device", fs.ModeIrregular: "something else",
		fs.ModeSymlink: "something else",
	} {
		info, err := fs.Lstat(fstest.MapFS{"x": {Mode: mode}}, "x")
		require.NoError(t, err)
		if err = refused("p", info); want == "" {
			assert.NoError(t, err, mode)
		} else {
			assert.EqualError(t, err, "open p: got "+want+", want a regular file")
		}
	}
}
