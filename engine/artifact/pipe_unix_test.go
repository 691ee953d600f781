//go:build unix

package artifact

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is no plain file is never opened: a pipe would wait for its other end.
func TestUnrecognizedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("this file system has no pipes: %v", err)
	}
	_, err := Open(pipe)
	assert.EqualError(t, err, pipe+": got something that is no plain file, "+wanted)
	name, line, err := What(pipe)
	assert.NoError(t, err)
	assert.Equal(t, []string{"", "something that is no plain file"}, []string{name, line})
}
