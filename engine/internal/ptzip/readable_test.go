package ptzip

import (
	"bytes"
	"encoding/binary"
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

// TestZip64Fields: a zip64 field holds those of the sizes and the offset that the entry itself has no room for, in this order, behind whatever other
// fields there are.
func TestZip64Fields(t *testing.T) {
	numbers := func(vs ...uint64) (b []byte) {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	field := func(id uint16, data []byte) []byte {
		return append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, id), uint16(len(data))), data...)
	}
	for _, tt := range []struct {
		why                  string
		size, packed, offset int64
		extra                []byte
		want                 []int64
		err                  string
	}{
		{"all three", max32, max32, max32, field(zip64Extra, numbers(1, 2, 3)), []int64{1, 2, 3}, ""},
		{"the offset alone", 5, 6, max32, field(zip64Extra, numbers(1)), []int64{5, 6, 1}, ""},
		{"the packed size alone", 5, max32, 7, field(zip64Extra, numbers(1)), []int64{5, 1, 7}, ""},
		{"the first and the last", max32, 6, max32, field(zip64Extra, numbers(1, 2)), []int64{1, 6, 2}, ""},
		{"none, though the field is there", 5, 6, 7, field(zip64Extra, numbers(1, 2, 3)), []int64{5, 6, 7}, ""},
		{"more than is asked for", max32, 6, 7, field(zip64Extra, numbers(1, 2, 3)), []int64{1, 6, 7}, ""},
		{"behind another field", max32, 6, 7, append(field(1234, []byte("abc")), field(zip64Extra, numbers(1))...), []int64{1, 6, 7}, ""},
		{"behind an empty one", max32, 6, 7, append(field(1234, nil), field(zip64Extra, numbers(1))...), []int64{1, 6, 7}, ""},
		{"the first of two", max32, 6, 7, append(field(zip64Extra, numbers(1)), field(zip64Extra, numbers(2))...), []int64{1, 6, 7}, ""},
		{"no field", max32, 6, 7, nil, []int64{max32, 6, 7}, ""},
		{"rubbish", max32, 6, 7, []byte("ZZZZZZ"), []int64{max32, 6, 7}, ""},
		{"too few bytes to be a field", max32, 6, 7, field(zip64Extra, nil)[:3], []int64{max32, 6, 7}, ""},
		{"an empty field", max32, 6, 7, field(zip64Extra, nil), nil, `record "a": got a zip64 field of 0 bytes, want 8 for each size`},
		{"too short for the second", max32, max32, 7, field(zip64Extra, numbers(1, 2)[:15]), nil, `record "a": got a zip64 field of 15 bytes, want 8 for each size`},
	} {
		rec := record{name: "a", size: tt.size, packed: tt.packed, offset: tt.offset}
		err := rec.zip64(tt.extra)
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		assert.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, []int64{rec.size, rec.packed, rec.offset}, tt.why)
	}
}
