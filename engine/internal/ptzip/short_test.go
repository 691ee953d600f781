package ptzip

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

// TestRunsEnd: neighbours are read in one go up to 1 MiB in all, and no gap between two records is
// read.
func TestRunsEnd(t *testing.T) {
	const half = longestRun / 2
	calls := func(data []byte, names ...string) []int {
		r := &watched{data: data}
		z, err := Open(r, int64(len(data)))
		require.NoError(t, err)
		var out []int
		for _, name := range names {
			before := len(r.read)
			_, err := z.ReadFile(name)
			require.NoError(t, err)
			out = append(out, len(r.read)-before)
		}
		return out
	}
	record := func(name string, payload int) (entry, int) { // with the sizes that zip.Writer puts behind it
		return entry{name, strings.Repeat("x", payload), stored}, localHeader + len(name) + payload + 16
	}
	for _, tt := range []struct {
		why   string
		third int
		want  []int
	}{
		{"a run of 1 MiB", 0, []int{longestRun, 0, 0}},
		{"a byte more", 1, []int{longestRun - 100, 0, 101}},
	} {
		a, first := record("n/a", half)
		b, second := record("n/b", longestRun-100-first-(localHeader+3+16))
		c, _ := record("n/c", 100-(localHeader+3+16)+tt.third)
		require.Equal(t, longestRun-100, first+second)
		assert.Equal(t, tt.want, calls(archive(t, a, b, c), "a", "b", "c"), tt.why)
	}

	// without the entry of the record in the middle
	data := archive(t, entry{"n/a", "a", stored}, entry{"n/g", strings.Repeat("g", 200_000), stored},
		entry{"n/b", "b", stored})
	end := len(data) - endRecord
	dir, one := int(le.Uint32(data[end+16:])), centralHeader+len("n/a")
	data = append(data[:dir+one:dir+one], data[dir+2*one:]...)
	end -= one
	for _, at := range []int{8, 10} {
		binary.LittleEndian.PutUint16(data[end+at:], 2)
	}
	binary.LittleEndian.PutUint32(data[end+12:], uint32(2*one))
	reads := calls(data, "a", "b")
	assert.Less(t, reads[0], 1+localHeader+2*max16+1)
	assert.Positive(t, reads[1], "b is no neighbour of a")
}

// TestFailedReads: an error of a read is returned, whichever call makes it.
func TestFailedReads(t *testing.T) {
	big := strings.Repeat("b", MaxSmall+1)
	data := archive(t, entry{"n/a", "aaaa", stored}, entry{"n/b", big, stored}, entry{"n/c", big, deflated})
	for what, call := range map[string]func(*Reader) error{
		"reading":          func(z *Reader) error { _, err := z.ReadFile("a"); return err },
		"opening a record": func(z *Reader) error { _, err := z.Open("a"); return err },
		"opening a large":  func(z *Reader) error { _, err := z.Open("b"); return err },
		"copying":          func(z *Reader) error { return z.CopyRaw(zip.NewWriter(io.Discard), "", "c") },
	} {
		r := &broken{ReaderAt: bytes.NewReader(data)}
		z, err := Open(r, int64(len(data)))
		require.NoError(t, err)
		r.err = errors.New("gone")
		assert.ErrorIs(t, call(z), r.err, what)
		assert.Equal(t, "b", z.Twin("b"), "reading it reports")
	}
	r := &broken{ReaderAt: bytes.NewReader(data), err: fs.ErrClosed}
	_, err := Open(r, int64(len(data)))
	assert.ErrorIs(t, err, fs.ErrClosed)
	r = &broken{ReaderAt: bytes.NewReader(data), err: fs.ErrClosed, after: 1}
	_, err = Open(r, int64(len(data)))
	assert.ErrorIs(t, err, fs.ErrClosed, "of the directory")
	data = data[:len(data)-1]
	r = &broken{ReaderAt: bytes.NewReader(data), err: fs.ErrClosed, after: 1}
	_, err = Open(r, int64(len(data)))
	assert.ErrorIs(t, err, fs.ErrClosed, "of where a comment may be")
}

// broken is a file whose reads fail from one of them on, where there is an error.
type broken struct {
	io.ReaderAt
	err   error
	after int
}

func (b *broken) ReadAt(p []byte, off int64) (int, error) {
	if b.err != nil {
		if b.after == 0 {
			return 0, b.err
		}
		b.after--
	}
	return b.ReaderAt.ReadAt(p, off)
}

// TestLargeRecordsBroken: a record that is read at a place is checked where it is opened, as one
// that is read whole is.
func TestLargeRecordsBroken(t *testing.T) {
	for at, tt := range map[int]struct {
		with byte
		want string
	}{
		0:  {'X', "open a: offset 0: got signature 0x04034b58, want a local header"},
		27: {0xff, "open a: offset 0: got -61167 bytes left, want 4097"},
		26: {3 + 17, "open a: offset 0: got 4096 bytes left, want 4097"},
	} {
		data := archive(t, entry{"n/a", strings.Repeat("a", MaxSmall+1), stored})
		data[at] = tt.with
		z, err := OpenBytes(data)
		require.NoError(t, err)
		_, err = z.Open("a")
		assert.EqualError(t, err, tt.want)
		require.ErrorContains(t, z.CopyRaw(zip.NewWriter(io.Discard), "", "a"), strings.TrimPrefix(tt.want, "open "))
	}
	data := archive(t, entry{"n/a", strings.Repeat("a", MaxSmall+1), stored})
	data[26] = 3 + 16 // as far as the next record begins
	z, err := OpenBytes(data)
	require.NoError(t, err)
	f, err := z.Open("a")
	require.NoError(t, err)
	got, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Len(t, got, MaxSmall+1, "what is no weight is also read through")
	assert.NoError(t, f.Close())
	assert.EqualError(t, z.CopyRaw(zip.NewWriter(io.Discard), strings.Repeat("r", 1<<16), "a"),
		"zip: FileHeader.Name too long", "what the other archive refuses")
}

// TestTwinsOfARun: records that fill more than a run are not compared.
func TestTwinsOfARun(t *testing.T) {
	for size, want := range map[int]string{longestRun: "a", longestRun + 1: "b"} {
		text := strings.Repeat("x", size)
		z, err := OpenBytes(archive(t, entry{"n/a", text, stored}, entry{"n/b", text, stored}))
		require.NoError(t, err)
		assert.Equal(t, "a", z.Twin("a"))
		assert.Equal(t, want, z.Twin("b"), size)
	}
}

// TestLongestDirectory: a directory of more than 1 GiB is not read.
func TestLongestDirectory(t *testing.T) {
	end := make([]byte, endRecord)
	le.PutUint32(end, endSignature)
	for length, want := range map[int64]string{
		longestDirectory + 1: "central directory bytes: got 1073741825, want at most 1073741824",
		longestDirectory:     "EOF", // none of it is there
	} {
		le.PutUint32(end[12:], uint32(length))
		_, err := Open(&ending{end, length}, length+endRecord)
		assert.ErrorContains(t, err, want)
	}
}

// ending is a file of which there is only what stands from an offset on.
type ending struct {
	end []byte
	at  int64
}

func (e *ending) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) <= e.at {
		return 0, io.EOF
	}
	clear(p)
	return copy(p[e.at-off:], e.end) + int(e.at-off), nil
}

// TestFolders: a folder is listed, and not read.
func TestFolders(t *testing.T) {
	z, err := OpenBytes(archive(t, entry{"n/b/c", "", stored}, entry{"n/a", "", stored}, entry{"n/b/d/e", "", stored}))
	require.NoError(t, err)
	f, err := z.Open("b")
	require.NoError(t, err)
	_, err = f.Read(nil)
	assert.EqualError(t, err, "read b: invalid argument")
	info, err := f.Stat()
	require.NoError(t, err)
	assert.Equal(t, []any{"b", int64(0), fs.ModeDir | 0o555, true}, []any{info.Name(), info.Size(), info.Mode(),
		info.IsDir()})
	for name, want := range map[string]string{"a": "file does not exist", "none": "file does not exist", "c": "file does not exist",
		"../b": "invalid argument", "b/": "invalid argument"} {
		_, err := z.ReadDir(name)
		assert.EqualError(t, err, "readdir "+name+": "+want)
	}
}

// TestShortEntries: an entry of the directory has 46 bytes and then its name.
func TestShortEntries(t *testing.T) {
	entry := func(size int) []byte {
		e := make([]byte, size)
		binary.LittleEndian.PutUint32(e, centralSignature)
		return e
	}
	for size, want := range map[int]string{
		45: "offset 0: got 45 bytes left, want a central directory entry",
		46: `offset 0: got the name "", want a relative path`,
	} {
		z := &Reader{}
		assert.EqualError(t, z.readDirectory(entry(size), 1), want)
	}
}
