package ptzip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestZip64 reads an archive whose sizes and offsets stand in zip64 fields only.
func TestZip64(t *testing.T) {
	u16 := func(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }
	u32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	u64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	padding := join(u16(0x4246), u16(3), []byte("ZZZ")) // "FB": how PyTorch aligns records
	local := join([]byte("PK\x03\x04"), make([]byte, 22), u16(3), u16(uint16(len(padding))), []byte("n/a"), padding,
		[]byte("payload"))
	zip64 := join(padding, u16(zip64Extra), u16(24), u64(7), u64(7), u64(0))
	central := join([]byte("PK\x01\x02"), make([]byte, 16), u32(max32), u32(max32), u16(3), u16(uint16(len(zip64))),
		make([]byte, 10), u32(max32), []byte("n/a"), zip64)
	end64 := join([]byte("PK\x06\x06"), u64(44), make([]byte, 12), u64(1), u64(1), u64(uint64(len(central))),
		u64(uint64(len(local))))
	loc := join([]byte("PK\x06\x07"), u32(0), u64(uint64(len(local)+len(central))), u32(1))
	end := join([]byte("PK\x05\x06"), u16(0), u16(0), u16(max16), u16(max16), u32(max32), u32(max32), u16(0))
	data := join(local, central, end64, loc, end)

	z, err := OpenBytes(data)
	require.NoError(t, err)
	got, err := z.ReadFile("a")
	require.NoError(t, err)
	assert.Equal(t, "payload", string(got))

	for _, at := range []uint64{1<<63 + 5, uint64(len(local) + len(central) + 1)} {
		// below 0; where the record would reach into its locator
		binary.LittleEndian.PutUint64(data[len(local)+len(central)+len(end64)+8:], at)
		_, err = OpenBytes(data)
		require.ErrorContains(t, err, "zip64 end record: got offset")
	}

	at := len(local) + len(central) + len(end64)
	binary.LittleEndian.PutUint64(data[at+8:], uint64(len(local)+len(central)))
	for after, what := range []string{"the end", "the locator", "the end record of zip64", "the directory"} {
		r := &broken{ReaderAt: bytes.NewReader(data), err: fs.ErrClosed, after: after}
		_, err = Open(r, int64(len(data)))
		require.ErrorIs(t, err, fs.ErrClosed, what)
		require.Zero(t, r.after, what)
	}
	for place, want := range map[int]string{
		len(local) + len(central): fmt.Sprintf("offset %d: got signature 0x06064bff, want a zip64 end record",
			len(local)+len(central)),
		at: "central directory: got 4294967295 bytes", // no locator: what the end record says holds
		len(local) + centralHeader + len("n/a") + len(padding) + 2: fmt.Sprintf(
			"offset %d: offset 0: record \"n/a\": got a zip64 field of 23 bytes, want 8 for each size", len(local)),
	} {
		one := bytes.Clone(data)
		one[place] = 0xff
		if one[place+1] == 0 { // a length
			one[place] = 23
		}
		_, err = OpenBytes(one)
		require.ErrorContains(t, err, want)
	}
	for _, place := range []int{40, 48} { // the directory's length and its offset
		one := bytes.Clone(data)
		binary.LittleEndian.PutUint64(one[len(local)+len(central)+place:], 1<<63)
		_, err = OpenBytes(one)
		require.ErrorContains(t, err, "central directory: got ")
	}
	_, err = OpenBytes(join([]byte("PK\x05\x06"), u16(0), u16(0), u16(max16), u16(max16), u32(0), u32(0), u16(0)))
	require.EqualError(t, err, "offset 0: got 65535 records in a central directory of 0 bytes", "no room for a locator")

	z, err = OpenBytes(join([]byte("PK\x06\x06"), u64(44), make([]byte, 44), []byte("PK\x06\x07"), u32(0), u64(0), u32(1),
		end))
	require.NoError(t, err, "an empty archive's end record is the first thing in it")
	assert.Empty(t, z.Names())
}

// TestZip64Fields: a zip64 field holds those of the sizes and the offset that the entry itself has
// no room for, in this order, behind whatever other fields there are.
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
		{"behind another field", max32, 6, 7, append(field(1234, []byte("abc")), field(zip64Extra, numbers(1))...),
			[]int64{1, 6, 7}, ""},
		{"behind an empty one", max32, 6, 7, append(field(1234, nil), field(zip64Extra, numbers(1))...), []int64{1, 6, 7},
			""},
		{"the first of two", max32, 6, 7, append(field(zip64Extra, numbers(1)), field(zip64Extra, numbers(2))...),
			[]int64{1, 6, 7}, ""},
		{"no field", max32, 6, 7, nil, []int64{max32, 6, 7}, ""},
		{"rubbish", max32, 6, 7, []byte("ZZZZZZ"), []int64{max32, 6, 7}, ""},
		{"too few bytes to be a field", max32, 6, 7, field(zip64Extra, nil)[:3], []int64{max32, 6, 7}, ""},
		{"an empty field", max32, 6, 7, field(zip64Extra, nil), nil,
			`record "a": got a zip64 field of 0 bytes, want 8 for each size`},
		{"too short for the second", max32, max32, 7, field(zip64Extra, numbers(1, 2)[:15]), nil,
			`record "a": got a zip64 field of 15 bytes, want 8 for each size`},
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
