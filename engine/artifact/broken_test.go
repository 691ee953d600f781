package artifact

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
)

// TestFilesThatFailToBeRead: an error of a read is reported, whatever reads it.
func TestFilesThatFailToBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	from, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, from.Close())
	f := &file{path: path, size: 4, from: from}
	err = f.look()
	assert.ErrorIs(t, err, ErrUnrecognized)
	assert.ErrorContains(t, err, "got a file that cannot be read, want ")
	for name, open := range map[string]func(*file) (*Artifact, error){"snapshot": openSnapshot,
		"recording": openRecording, "served": openServed} {
		_, err := open(f)
		assert.ErrorIs(t, err, os.ErrClosed, name)
	}
}

// TestBeginningsOfGzip: what begins as a gzip file and is none is no recording, and is known by its
// beginning.
func TestBeginningsOfGzip(t *testing.T) {
	for _, text := range []string{"\x1f\x8b", "\x1f\x8b\x08\x00", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff not deflated"} {
		path := filepath.Join(t.TempDir(), "x.rec")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		name, line, err := What(path)
		require.NoError(t, err)
		assert.Equal(t, []string{"", "a gzip file: unpack it first"}, []string{name, line}, "%q", text)
	}
}

// TestRefusalsOfOtherFormats: a kind that is not in the list is named by its name.
func TestRefusalsOfOtherFormats(t *testing.T) {
	a := &Artifact{Format: "other", Runtimes: []string{"eager"}, Modes: []string{"serve", "load"}}
	assert.EqualError(t, a.Answers("export", ""), "got runtime export, want eager: that is what was recorded in other")
	assert.EqualError(t, a.Answers("eager", "training"),
		"got mode training, want serve or load: that is what was recorded in other")
}

// noise is a text that cannot be compressed.
func noise(n int) []byte {
	source := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

type zipped struct {
	name string
	data []byte
}

func zipOf(t *testing.T, records ...zipped) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, r := range records {
		require.NoError(t, write(w, r.name, r.data, zip.Store))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func readerOf(t *testing.T, data []byte) *ptzip.Reader {
	z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	return z
}

// full is a disk with so much room.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestStripToAFullDisk: whichever record does not fit, the error is returned.
func TestStripToAFullDisk(t *testing.T) {
	saved := zipOf(t, zipped{"m/data.pkl", noise(9000)})
	z := readerOf(t, zipOf(t, zipped{"m/code/a.py", noise(9000)}, zipped{"m/data/weights/w", saved},
		zipped{"m/data/" + strings.Repeat("0", 1000), noise(5000)}, zipped{"m/code/b.py", noise(9000)},
		zipped{"m/data/weights/v", saved}, zipped{"m/data/" + strings.Repeat("1", 1000), noise(5000)}))
	var whole bytes.Buffer
	require.NoError(t, strip(z, &whole))
	for n := 0; n < whole.Len(); n += 997 {
		assert.ErrorIs(t, strip(z, &full{n}), errFull, n)
	}
	assert.ErrorIs(t, strip(z, &full{whole.Len() - 1}), errFull)
	assert.NoError(t, strip(z, &full{whole.Len()}))
}

// TestStripBrokenArchives: a record that cannot be copied is an error, one within another with its
// name.
func TestStripBrokenArchives(t *testing.T) {
	encrypted := func(data []byte, name string) []byte {
		data = bytes.Clone(data)
		data[bytes.Index(data, []byte(name))-30+6] = 1 // the flags of its local header
		return data
	}
	long := noise(5000)
	inner := zipOf(t, zipped{"m/data.pkl", []byte("N.")}, zipped{"m/data/0", long}, zipped{"m/code", nil})
	for _, tt := range []struct {
		why  string
		data []byte
		want string
	}{
		{"a record", encrypted(zipOf(t, zipped{"m/data.pkl", []byte("N.")}), "m/data.pkl"),
			"data.pkl: offset 0: got an encrypted record"},
		{"sizes", encrypted(zipOf(t, zipped{"m/" + ptzip.StrippedRecord, []byte("{}")}), "m/"+ptzip.StrippedRecord),
			ptzip.StrippedRecord + ": offset 0: got an encrypted record"},
		{"a record of an archive in it", zipOf(t, zipped{"m/data/weights/w", encrypted(inner, "m/data.pkl")}),
			"data/weights/w: data.pkl: offset 0: got an encrypted record"},
		{"weights that cannot be opened become empty", encrypted(zipOf(t, zipped{"m/data/weights/w", inner}),
			"m/data/weights/w"), ""},
	} {
		var b bytes.Buffer
		err := strip(readerOf(t, tt.data), &b)
		if tt.want == "" {
			require.NoError(t, err, tt.why)
			sizes, err := readerOf(t, b.Bytes()).ReadFile(ptzip.StrippedRecord)
			require.NoError(t, err)
			assert.Contains(t, string(sizes), `"data/weights/w":`, tt.why)
			continue
		}
		assert.EqualError(t, err, tt.want, tt.why)
	}
	err := strip(readerOf(t, zipOf(t, zipped{"m/" + ptzip.StrippedRecord, []byte("[")})), io.Discard)
	assert.Error(t, err, "sizes that are none")
}

// TestReplaceIsWholeOrNothing: what fails behind the last byte leaves no file either; what is
// written has the mode of any new file.
func TestReplaceIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	err := replace(out, func(w io.Writer) error { return w.(*os.File).Close() })
	assert.ErrorIs(t, err, os.ErrClosed)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, replace(out, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }))
	info, err := os.Stat(out)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode())
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, "text", string(data))
}

// TestSignatures: a kind is known by all of its signature, and by no less.
func TestSignatures(t *testing.T) {
	const unknown, text = "a file of no kind that is known", "a text file"
	const safetensors = "a safetensors file, which holds weights and no program"
	const onnx, tar = "an ONNX model, which PyTorch does not run", "a tar archive: unpack it first"
	length := func(n byte) string { return string([]byte{n, 0, 0, 0, 0, 0, 0, 0}) }
	zeros := strings.Repeat("\x00", 257)
	for _, tt := range []struct{ name, data, want string }{
		{"a", length(2) + "{}", safetensors}, {"a", length(3) + "{}", unknown}, {"a", length(1) + "{}", unknown},
		{"a", length(2) + "[]", unknown}, {"a", length(2) + "{", unknown}, {"a", length(2), unknown},
		{"a", length(2) + "{} and weights", safetensors},
		{"a", zeros + "ustar", unknown}, {"a", zeros + "ustar\x00", tar}, {"a", zeros + "uster\x00", unknown},
		{"a", "\x00" + zeros + "ustar\x00", unknown},
		{"a.onnx", "\x08\x00", onnx}, {"a.ONNX", "\x08\x00", onnx}, {"a.onnx", "\x09\x00", unknown},
		{"a", "\x08\x00pytorch", onnx}, {"a", "\x08" + zeros[:56] + "pytorch", onnx},
		{"a", "\x08" + zeros[:57] + "pytorch", unknown}, {"a", "\x08\x00pytorc", unknown},
		{"a", "\x80", text}, {"a", "a\x80", text}, {"a", "a\x80\x80\x80\x80", text}, {"a", "a\x80\x80\x80\x80\x80", unknown},
		{"a", "a\x00", unknown}, {"a", "\x80\x06.NNNN", unknown},
		{"a", "  \r\n\t<HTML>", "an HTML page: what was downloaded is a web page, not the file"},
		{"a", "<!doctype HTML>", "an HTML page: what was downloaded is a web page, not the file"},
		{"a", "<!doctype xml>", text}, {"a", "\xef\xbb\xbf{}", "JSON that is no recording"}, {"a", "x{}", text},
		{"a.PY", "x = 1", "Python source: what it builds has to be exported first (python -m memshim export)"},
		{"a.pyc", "x = 1", text}, {"a", "GGUF", "a GGUF file, which holds weights and no program that can be read"},
		{"a", "GGU", text}, {"a", "# AOT ID: ['0", "a wrapper that torch.compile wrote (output_code.py)"},
		{"a", "# AOT", text}, {"a", "\x7fELF", "a compiled library, which holds no program that can be read"},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		require.NoError(t, os.WriteFile(path, []byte(tt.data), 0o600))
		name, line, err := What(path)
		require.NoError(t, err)
		assert.Equal(t, []string{"", tt.want}, []string{name, line}, "%s %q", tt.name, tt.data)
	}
}

// TestArchivesAround: what is in an archive by the ends of names, the first by name, and no folder.
func TestArchivesAround(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"b.pt a.jit", "a zip archive around a.jit: unpack it first"},
		{"a.PTH", "a zip archive around a.PTH: unpack it first"},
		{"a.ptl", "a zip archive around a.ptl: unpack it first"}, {"a.pt2", "a zip archive around a.pt2: unpack it first"},
		{"x a.ts", "a zip archive around a.ts: unpack it first"}, {"a.pt/x y", "a zip archive without data.pkl"},
		{"a.pts b", "a zip archive without data.pkl"},
	} {
		var records []zipped
		for _, name := range strings.Fields(tt.names) {
			records = append(records, zipped{name, nil})
		}
		path := filepath.Join(t.TempDir(), "a.zip")
		require.NoError(t, os.WriteFile(path, zipOf(t, records...), 0o600))
		_, line, err := What(path)
		require.NoError(t, err)
		assert.Equal(t, tt.want, line, tt.names)
	}
}
