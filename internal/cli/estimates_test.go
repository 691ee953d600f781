package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A file that no commit of the repository can have is an error, not a case that is new.
func TestEstimatesOfAFileOutside(t *testing.T) {
	c := &Commit{root: t.TempDir(), ref: "HEAD", id: "HEAD"}
	file := filepath.Join(t.TempDir(), "memspec.yaml")
	_, err := c.Estimates(t.Context(), []string{file})
	assert.EqualError(t, err, file+": got a file outside the repository")
}
