//go:build unix

package cudameasure

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A child that is out of time is ended with what it started: a named pipe that its child writes to
// has no writer any more.
func TestTheGroupEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer r.Close()
	j := job{path: script(t, `(echo up; exec sleep 30) >"$1" & wait`), args: []string{pipe}, limit: 200 * time.Millisecond}
	_, err = j.run(context.Background())
	require.ErrorIs(t, err, errTimeout)
	require.NoError(t, r.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = io.ReadAll(r)
	assert.NoError(t, err, "the child's child still runs")
}
