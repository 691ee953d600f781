package ptzip

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// entry is a record of a test archive.
type entry struct {
	name, data string
	method     uint16
}

func archive(t testing.TB, entries ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		require.NoError(t, err)
		_, err = io.WriteString(f, e.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

var long = strings.Repeat("a line of code\n", 1000)

func TestOpen(t *testing.T) {
	data := archive(t, entry{"net/data/0", "weights", stored}, entry{"net/code/a.py", long, deflated},
		entry{"net/code/b.py", "b", stored},
		entry{"net/extra/", "", stored}, entry{"net/version", "3\n", stored})
	z, err := OpenBytes(data)
	require.NoError(t, err)
	assert.Equal(t, "net", z.Root())
	assert.Equal(t, []string{"data/0", "code/a.py", "code/b.py", "version"}, z.Names())
	n, ok := z.Size("code/a.py")
	assert.True(t, ok)
	assert.EqualValues(t, len(long), n)
	_, ok = z.Size("net/code/a.py")
	assert.False(t, ok, "names are below the root")
	for name, want := range map[string]string{"code/a.py": long, "code/b.py": "b", "version": "3\n", "data/0": "weights"} {
		got, err := z.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	_, err = z.ReadFile("code/c.py")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = z.ReadFile("../version")
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.NoError(t, fstest.TestFS(z, z.Names()...))
}

// A record's twin is the first asked for that holds the same, whatever the checksums say: PyTorch
// can be set to write none.
func TestTwin(t *testing.T) {
	data := archive(t, entry{"net/a", long, deflated}, entry{"net/b", long, deflated}, entry{"net/c", "one", stored},
		entry{"net/d", "two", stored},
		entry{"net/e", "two", stored}, entry{"net/f", "two", deflated})
	z, err := OpenBytes(data)
	require.NoError(t, err)
	for i := range z.records {
		z.records[i].crc = 0
	}
	for _, tt := range []struct{ why, name, twin string }{
		{"the first", "b", "b"},
		{"the same bytes", "a", "b"},
		{"another content of the same length", "c", "c"},
		{"another content of the same length", "d", "d"},
		{"the first of its key differs: no twin is looked for further", "e", "e"},
		{"packed another way", "f", "f"},
		{"no such record", "g", "g"},
	} {
		assert.Equal(t, tt.twin, z.Twin(tt.name), "%s: %s", tt.name, tt.why)
	}
}

// ReadInto uses the room it is given where that is enough, whatever lies in it.
func TestReadInto(t *testing.T) {
	z, err := OpenBytes(archive(t, entry{"net/a", long, deflated}, entry{"net/b", "b", stored},
		entry{"net/c", long + long, deflated}))
	require.NoError(t, err)
	buf := bytes.Repeat([]byte{'x'}, len(long))
	for _, tt := range []struct {
		name, want string
		same       bool
	}{{"a", long, true}, {"b", "b", true}, {"c", long + long, false}} {
		got, err := z.ReadInto(buf, tt.name)
		require.NoError(t, err)
		assert.Equal(t, tt.want, string(got))
		assert.Equal(t, tt.same, &got[0] == &buf[0], tt.name)
	}
}

func TestRoot(t *testing.T) {
	for _, tt := range []struct{ why, root, names string }{
		{"one top folder", "a", "a/x a/y"},
		{"torch.export up to 2.7 has none", "", "version data/x"},
		{"several folders", "", "a/x b/x"},
		{"one record at the top", "", "x"},
		{"one at the top behind a folder", "", "a/x y"},
		{"one at the top before a folder", "", "y a/x"},
		{"a folder within a folder", "a", "a/b/x a/b/y"},
		{"empty archive", "", ""},
	} {
		var entries []entry
		for _, n := range strings.Fields(tt.names) {
			entries = append(entries, entry{n, "", stored})
		}
		z, err := OpenBytes(archive(t, entries...))
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.root, z.Root(), tt.why)
		assert.Len(t, z.Names(), len(entries))
	}
}

func TestComment(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	_, err := w.Create("x")
	require.NoError(t, err)
	require.NoError(t, w.SetComment("PK\x05\x06 is not the end, nor is PK"+strings.Repeat(" ", 30_000)))
	require.NoError(t, w.Close())
	z, err := OpenBytes(b.Bytes())
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, z.Names())
}

// TestWeights: what is big and holds weights is only read at a place that was asked for.
func TestWeights(t *testing.T) {
	weights := strings.Repeat("w", MaxSmall+1)
	inner := archive(t, entry{"m/version", "6", stored}, entry{"m/pad", long, stored})
	data := archive(t, entry{"n/code/a.py", "a", stored}, entry{"n/data/0", weights, stored},
		entry{"n/data/1", weights[1:], stored},
		entry{"n/data/weights/m.pt", string(inner), stored}, entry{"n/constants/0", weights, deflated},
		entry{"n/data/weights/config.json", long, stored})
	r := &watched{data: data}
	z, err := Open(r, int64(len(data)))
	require.NoError(t, err)

	for name, want := range map[string]string{
		"data/0":      "data/0: weight bytes: got 4097, want at most 4096",
		"constants/0": "constants/0: weight bytes: got 4097, want at most 4096",
	} {
		_, err = z.ReadFile(name)
		var l *LimitError
		require.ErrorAs(t, err, &l)
		require.EqualError(t, fmt.Errorf("%s: %w", name, l), want)
		_, err = fs.ReadFile(fs.FS(onlyOpen{z}), name)
		require.ErrorAs(t, err, &l, "nor through Open")
	}
	small, err := z.ReadFile("data/1")
	require.NoError(t, err)
	assert.Len(t, small, MaxSmall)
	config, err := z.ReadFile("data/weights/config.json")
	require.NoError(t, err)
	assert.Equal(t, long, string(config))
	info, err := fs.Stat(z, "data/0")
	require.NoError(t, err)
	assert.EqualValues(t, MaxSmall+1, info.Size())
	assert.NotContains(t, string(r.read), weights, "no weight was read")

	f, err := z.Open("data/weights/m.pt")
	require.NoError(t, err)
	info, err = f.Stat()
	require.NoError(t, err)
	nested, err := Open(f.(io.ReaderAt), info.Size())
	require.NoError(t, err)
	version, err := nested.ReadFile("version")
	require.NoError(t, err)
	assert.Equal(t, "6", string(version))
}

// onlyOpen hides everything but Open.
type onlyOpen struct{ fs fs.FS }

func (o onlyOpen) Open(name string) (fs.File, error) { return o.fs.Open(name) }

// watched keeps what was read and counts the calls.
type watched struct {
	data, read []byte
	calls      int
}

func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(w.data).ReadAt(p, off)
	w.read = append(w.read, p[:n]...)
	w.calls++
	return n, err
}

// TestNeighboursAreReadTogether: a file of hundreds of code records costs a few calls.
func TestNeighboursAreReadTogether(t *testing.T) {
	entries := []entry{{"n/data/0", strings.Repeat("w", 100_000), stored}}
	for i := range 300 {
		entries = append(entries, entry{fmt.Sprintf("n/code/%d.py", i), strings.Repeat("x", i), deflated})
	}
	entries = append(entries, entry{"n/data/1", strings.Repeat("w", 100_000), stored}, entry{"n/version", "3", stored})
	data := archive(t, entries...)
	r := &watched{data: data}
	z, err := Open(r, int64(len(data)))
	require.NoError(t, err)
	for i := range 300 {
		got, err := z.ReadFile(fmt.Sprintf("code/%d.py", i))
		require.NoError(t, err)
		require.Len(t, got, i)
	}
	_, err = z.ReadFile("version")
	require.NoError(t, err)
	assert.Equal(t, 4, r.calls, "the end, the directory, the code, the version")
	assert.Less(t, len(r.read), len(data)-200_000)
}

func TestHostile(t *testing.T) {
	good := archive(t, entry{"n/a", "aaaa", stored}, entry{"n/b", long, deflated})
	end := len(good) - endRecord
	dir := int(binary.LittleEndian.Uint32(good[end+16:]))
	second := dir + centralHeader + len("n/a")
	room := good[second+42] - byte(localHeader+len("n/a")) // for the first record's bytes, up to the second record
	patch := func(at int, bytes ...byte) []byte {
		out := append([]byte(nil), good...)
		copy(out[at:], bytes)
		return out
	}
	// whose end record speaks of two records, for which there is room
	two := archive(t, entry{"n/" + strings.Repeat("a", 60), "", stored})
	two[len(two)-endRecord+8], two[len(two)-endRecord+10] = 2, 2
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "not a zip archive"},
		{"text", []byte(long), "not a zip archive"},
		{"cut off", good[:len(good)-5], "not a zip archive"},
		{"first half cut off", good[len(good)/2:], "want an end by offset"},
		{"name leaves the root", archive(t, entry{"n/../../etc/passwd", "", stored}),
			`got the name "n/../../etc/passwd", want a relative path`},
		{"absolute name", archive(t, entry{"/a", "", stored}), `got the name "/a", want a relative path`},
		{"empty name", archive(t, entry{"", "", stored}), `got 1 records in a central directory of 46 bytes`},
		{"one name twice", archive(t, entry{"n/a", "", stored}, entry{"n/a", "", stored}),
			`got two records "n/a", want one of a name`},
		{"more records than there is room", patch(end+10, 0xfe, 0xff), "got 65534 records in a central directory of"},
		{"as many as zip64 has, without it", patch(end+10, 0xff, 0xff),
			fmt.Sprintf("got 65535 records in a central directory of %d bytes", end-dir)},
		{"directory outside", patch(end+16, 0xff, 0xff, 0xff, 0x7f), "central directory: got"},
		{"directory of another kind", patch(dir, 'X'), "want a central directory entry"},
		{"more records than entries", two, "got 0 bytes left, want a central directory entry"},
		{"an entry without its field", patch(dir+20, 0xff, 0xff, 0xff, 0xff), "got 4294967295 bytes stored of 4"},
		{"several disks", patch(end+4, 1), "got disk 1 of several, want one file"},
		{"record inside the next", patch(second+42, 8, 0, 0, 0), "got space up to offset"},
		{"two records at one place", patch(second+42, 0, 0, 0, 0), "got space up to offset"},
		{"record behind the directory", patch(second+42, 0xff, 0xff, 0xff, 0x7f), "want them before offset"},
		{"packed size past the end", patch(second+20, 0xff, 0xff, 0xff, 0x0f), "got space up to offset"},
		{"a byte of the next record's header", patch(dir+20, room+1, 0, 0, 0, room+1), "got space up to offset"},
		{"stored but packed", patch(dir+24, 9), "got 4 bytes stored of 9"},
		{"bad local header", patch(0, 'X'), "offset 0: got signature 0x04034b58, want a local header"},
		{"local name past the end", patch(26, 0xff, 0xff), "bytes left, want 4"},
		{"encrypted", patch(6, 1), "got an encrypted record"},
		{"unknown method", patch(second+10, 12), "got compression method 12, want stored or deflated"},
		{"longer than it says", patch(second+24, 10, 0, 0, 0), "deflated data: got more than 10 bytes"},
		{"shorter than it says", patch(second+24, 0xff, 0xff, 0, 0), "deflated data: got 15000 bytes, want 65535"},
		{"broken deflate", patch(int(binary.LittleEndian.Uint32(good[second+42:]))+localHeader+3, 0xff, 0xff),
			"deflated data:"},
		{"bomb", archive(t, entry{"n/code/a.py", strings.Repeat("\x00", 8<<20), deflated}), "ratio: got 10"},
		{"packed in a byte", patch(second+20, 1, 0, 0, 0, 1, 0, 0x10, 0), "ratio: got 1048577, want at most"},
		{"packed in no byte", patch(second+20, 0, 0, 0, 0, 1, 0, 0x10, 0), "ratio: got 1048577, want at most"},
		{"a MiB may be packed in a byte", patch(second+20, 1, 0, 0, 0, 0, 0, 0x10, 0), "deflated data:"},
		{"zip64 without its field", patch(second+24, 0xff, 0xff, 0xff, 0xff), "record bytes: got 4294967295, want at most " +
			"268435456"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			z, err := OpenBytes(tt.data)
			for i := 0; err == nil && i < len(z.Names()); i++ {
				_, err = z.ReadFile(z.Names()[i])
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := OpenBytes(nil)
	require.ErrorIs(t, err, ErrNotZip)
}

func TestLimits(t *testing.T) {
	data := archive(t, entry{"n/a", "aaaa", stored}, entry{"n/b", long, deflated})
	for _, tt := range []struct {
		limits Limits
		want   string
	}{
		{Limits{Records: 1}, "records: got 2, want at most 1"},
		{Limits{NameBytes: 2}, "name bytes: got 3, want at most 2"},
		{Limits{RecordBytes: 10_000}, "b: record bytes: got 15000, want at most 10000"},
		{Limits{TotalBytes: 15_003}, "b: total bytes: got 15004, want at most 15003"},
		{Limits{TotalBytes: 15_004}, ""},
	} {
		z, err := OpenLimits(bytes.NewReader(data), int64(len(data)), tt.limits)
		for i := 0; err == nil && i < len(z.Names()); i++ {
			_, err = z.ReadFile(z.Names()[i])
		}
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.want)
		var l *LimitError
		require.ErrorAs(t, err, &l)
	}
}

// TestLongNames: no message repeats a name of 64 KiB.
func TestLongNames(t *testing.T) {
	for _, n := range []int{1025, 65535} {
		_, err := OpenBytes(archive(t, entry{"n/" + strings.Repeat("a", n-2), "", stored}))
		require.EqualError(t, err, fmt.Sprintf("name bytes: got %d, want at most 1024", n))
	}
	_, err := OpenBytes(archive(t, entry{"n/" + strings.Repeat("a", 1022), "", stored}))
	require.NoError(t, err)
}

func TestCopyRaw(t *testing.T) {
	data := archive(t, entry{"old/data/0", strings.Repeat("w", 10_000), stored}, entry{"old/code/a.py", long, deflated})
	z, err := OpenBytes(data)
	require.NoError(t, err)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range z.Names() {
		require.NoError(t, z.CopyRaw(w, "new", name))
	}
	require.ErrorIs(t, z.CopyRaw(w, "new", "missing"), fs.ErrNotExist)
	require.NoError(t, w.Close())
	std, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	for i, want := range []entry{{"new/data/0", strings.Repeat("w", 10_000), stored}, {"new/code/a.py", long, deflated}} {
		f := std.File[i]
		assert.Equal(t, want.name, f.Name)
		assert.Equal(t, want.method, f.Method)
		r, err := f.Open()
		require.NoError(t, err)
		got, err := io.ReadAll(r) // checks the CRC too
		require.NoError(t, err)
		assert.Equal(t, want.data, string(got))
	}
}

// TestCorpus compares every readable record of real archives with archive/zip.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("../../../../shared/corpus/*/*.pt*")
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the corpus is not here")
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	if testing.Short() {
		paths = paths[:20]
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		z, err := OpenBytes(data)
		require.NoError(t, err, p)
		std, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		require.Len(t, z.Names(), len(std.File), p)
		for i, f := range std.File {
			name := strings.TrimPrefix(f.Name, z.Root()+"/")
			require.Equal(t, name, z.Names()[i])
			got, err := z.ReadFile(name)
			if IsWeight(name) && f.UncompressedSize64 > MaxSmall {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err, "%s: %s", p, name)
			r, err := f.Open()
			require.NoError(t, err)
			want, err := io.ReadAll(r)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%s: %s", p, name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(archive(f, entry{"n/a", "aaaa", stored}, entry{"n/b", long[:100], deflated}))
	f.Add(archive(f, entry{"version", "3", stored}, entry{"data/0", strings.Repeat("w", 5000), stored}))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := OpenLimits(bytes.NewReader(data), int64(len(data)), Limits{RecordBytes: 1 << 16, TotalBytes: 1 << 20})
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			got, err := z.ReadFile(name)
			if n, ok := z.Size(name); err == nil && (!ok || int64(len(got)) != n) {
				t.Fatalf("%s: got %d bytes, want %d", name, len(got), n)
			}
			if f, err := z.Open(name); err == nil {
				_, _ = io.Copy(io.Discard, io.LimitReader(f, 1<<16))
			}
		}
		_, _ = fs.Glob(z, "*/*")
	})
}

// BenchmarkArchive opens the archive named by PTZIP_ARCHIVE and reads every record but the weights.
func BenchmarkArchive(b *testing.B) {
	path := os.Getenv("PTZIP_ARCHIVE")
	if path == "" {
		b.Skip("PTZIP_ARCHIVE names no archive")
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(path)
		require.NoError(b, err)
		info, err := f.Stat()
		require.NoError(b, err)
		z, err := Open(f, info.Size())
		require.NoError(b, err)
		for _, name := range z.Names() {
			if IsWeight(name) {
				continue
			}
			_, err := z.ReadFile(name)
			require.NoError(b, err)
		}
		f.Close()
	}
}

// Which records hold weights or compiled code, which nobody needs for a prediction.
func TestIsWeight(t *testing.T) {
	for name, want := range map[string]bool{
		"data/0": true, "data/weights/weight_0": true, "constants/3": true, "tensors/1": true, "data": false,
		"code/a.py": false, "data.pkl": false, "data/weights/config.json": false, "constants/c.json": false,
		"data/aotinductor/model/w.cpp": false, "data/aotinductor/model/w.so": true, "data/other/w.cpp": true,
		"serialized_state_dict.pt": true, "serialized_constants.pt": true, "serialized_example_inputs.pt": true,
		"serialized_exported_program.json": false, "serialized_state_dict": true, "version": false, "a/data/0": false,
	} {
		assert.Equal(t, want, IsWeight(name), name)
	}
}

// TestLongestComment: a comment is as long as its length can say; what lies further before the end
// of a file is not looked for.
func TestLongestComment(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	_, err := w.Create("x")
	require.NoError(t, err)
	require.NoError(t, w.SetComment(strings.Repeat(" ", 1<<16-1)))
	require.NoError(t, w.Close())
	z, err := OpenBytes(b.Bytes())
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, z.Names())
	assert.Equal(t, 1<<16-1, maxComment)
	_, err = OpenBytes(append(b.Bytes(), ' '))
	assert.ErrorIs(t, err, ErrNotZip)
}

// TestFileInfo: what a record says of itself as a file: it is read, and nothing else.
func TestFileInfo(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("x")
	require.NoError(t, err)
	_, err = f.Write([]byte("abc"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	z, err := OpenBytes(b.Bytes())
	require.NoError(t, err)
	file, err := z.Open("x")
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	assert.Equal(t, []any{"x", int64(3), fs.FileMode(0o444), false, nil, true},
		[]any{info.Name(), info.Size(), info.Mode(), info.IsDir(), info.Sys(), info.ModTime().IsZero()})
}
