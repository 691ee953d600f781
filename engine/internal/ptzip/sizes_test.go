package ptzip_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
)

// broken is a file system that cannot be read.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Open(string) (fs.File, error) { return nil, errBroken }

// sized is a file system that knows the sizes of its files, and has none to open.
type sized struct{ fstest.MapFS }

func (sized) Size(string) (int64, bool) { return 7, true }

// TestSizesOf: an archive that was not stripped has its own sizes; one that cannot be read has
// none.
func TestSizesOf(t *testing.T) {
	s, err := ptzip.SizesOf(fstest.MapFS{"data/0": {Data: []byte("1234")}})
	require.NoError(t, err)
	n, ok := s.Of("data/0")
	assert.True(t, ok)
	assert.Equal(t, int64(4), n)
	_, ok = s.Of("data/1")
	assert.False(t, ok)
	s,
		err = ptzip.SizesOf(fstest.MapFS{"data/0": {Data: []byte("1234")},
		ptzip.StrippedRecord: {Data: []byte(`{"schema":1,"records":{"data/0":9}}`)}})
	require.NoError(t, err)
	n, ok = s.Of("data/0")
	assert.True(t, ok)
	assert.Equal(t, int64(9), n, "what strip emptied")
	s, err = ptzip.SizesOf(sized{})
	require.NoError(t, err)
	n, ok = s.Of("data/0")
	assert.True(t, ok)
	assert.Equal(t, int64(7), n, "of a file system that knows, without a look")
	_, err = ptzip.SizesOf(broken{})
	assert.ErrorIs(t, err, errBroken)
}
