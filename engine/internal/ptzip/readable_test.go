package ptzip

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errFull = errors.New("no space left")

// full takes so many bytes and no more.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestWriteReadable: every byte of an archive is written but those of weights that are never read, with what stands around them.
func TestWriteReadable(t *testing.T) {
	small, big := strings.Repeat("s", MaxSmall), strings.Repeat("w", MaxSmall+1)
	first := archive(t, entry{"n/data/0", big, stored}, entry{"n/code/a.py", big, stored})
	middle := archive(t, entry{"n/code/a.py", "code", stored}, entry{"n/data/0", big, stored}, entry{"n/data/1", small, stored}, entry{"n/constants/0", big, stored}, entry{"n/version", "3", stored})
	for _, tt := range []struct {
		why  string
		data []byte
		cut  []string // the records that are not written
	}{
		{"no weights", archive(t, entry{"n/code/a.py", big, stored}, entry{"n/code/b.py", "b", stored}), nil},
		{"small ones are read", archive(t, entry{"n/data/0", small, stored}, entry{"n/code/b.py", "b", stored}), nil},
		{"at the beginning", first, []string{"n/data/0"}},
		{"at the end", archive(t, entry{"n/code/a.py", "code", stored}, entry{"n/data/0", big, stored}), []string{"n/data/0"}},
		{"among others", middle, []string{"n/data/0", "n/constants/0"}},
		{"nothing", archive(t), nil},
	} {
		z, err := OpenBytes(tt.data)
		require.NoError(t, err, tt.why)
		left := tt.data
		for _, name := range tt.cut {
			from := bytes.Index(left, []byte(name)) - localHeader
			length := bytes.Index(left[from+1:], []byte("PK\x03\x04")) + 1 // to the next record
			if length == 0 {
				length = bytes.Index(left[from+1:], []byte("PK\x01\x02")) + 1 // or to the directory
			}
			left = append(append([]byte(nil), left[:from]...), left[from+length:]...)
		}
		var got bytes.Buffer
		require.NoError(t, z.WriteReadable(&got), tt.why)
		assert.True(t, bytes.Equal(left, got.Bytes()), "%s: got %d bytes, want %d of %d", tt.why, got.Len(), len(left), len(tt.data))
		for _, room := range []int{0, len(left) / 2, len(left) - 1} {
			assert.ErrorIs(t, z.WriteReadable(&full{room}), errFull, "%s: room for %d", tt.why, room)
		}
	}
}
