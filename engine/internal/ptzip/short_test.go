package ptzip

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadsTooShort: a file that is shorter than it was when it was opened is reported with the
// place.
func TestReadsTooShort(t *testing.T) {
	data := archive(t, entry{"n/a", "aaaa", stored})
	_, err := Open(bytes.NewReader(data[:len(data)-5]), int64(len(data)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	var e *FormatError
	require.ErrorAs(t, err, &e)
}
