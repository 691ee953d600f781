package artifact

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

// model writes an archive with one weight of more than ptzip.MaxSmall bytes and one of fewer: the
// linear layer of torch.jit.script(nn.Linear(40, 40)), its data.pkl written out.
func model(t *testing.T, path string) {
	t.Helper()
	tensor := func(key string, dims string, numel string) string {
		return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00" + key +
			"X\x03\x00\x00\x00cpu" + numel + "tQK\x00" + dims + "\x89ccollections\nOrderedDict\n)RtR"
	}
	pickle := "\x80\x02c__torch__\nM\n)\x81}(" +
		"X\x06\x00\x00\x00weight" + tensor("0", "K\x28K\x28\x86K\x28K\x01\x86", "M\x40\x06") +
		"X\x04\x00\x00\x00bias" + tensor("1", "K\x28\x85K\x01\x85", "K\x28") + "ub."
	f, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(f)
	for _, r := range []struct{ name, data string }{
		{"net/data.pkl", pickle},
		{"net/data/0", string(make([]byte, 6400))},
		{"net/data/1", string(make([]byte, 160))},
		{"net/code/__torch__.py", "class M(Module):\n  __parameters__ = [\"weight\", \"bias\", ]\n  __buffers__ = []\n  " +
			"weight : Tensor\n  bias : Tensor\n" +
			"  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    weight = self.weight\n    bias = self.bias\n    return torch.linear(x, weight, bias)\n"},
		{"net/constants.pkl", "\x80\x02)."},
		{"net/version", "3\n"},
	} {
		to, err := w.CreateHeader(&zip.FileHeader{Name: r.name, Method: zip.Store})
		require.NoError(t, err)
		_, err = to.Write([]byte(r.data))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
}

func text(t *testing.T, path string) string {
	t.Helper()
	a, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, program.Check(a.Program))
	var b bytes.Buffer
	require.NoError(t, program.Write(&b, a.Program))
	return b.String()
}

func TestStrip(t *testing.T) {
	dir := t.TempDir()
	in, out, again := filepath.Join(dir, "in.pt"), filepath.Join(dir, "out.pt"), filepath.Join(dir, "again.pt")
	model(t, in)
	require.NoError(t, Strip(in, out))
	require.NoError(t, Strip(out, again))

	z, err := zip.OpenReader(out)
	require.NoError(t, err)
	defer z.Close()
	var names []string
	for _, r := range z.File {
		names = append(names, r.Name)
		assert.True(t, r.Modified.IsZero() || r.ModifiedDate == 0, "%s has a time", r.Name)
	}
	assert.Equal(t, []string{"net/data.pkl", "net/data/0", "net/data/1", "net/code/__torch__.py", "net/constants.pkl",
		"net/version",
		"net/.memspec/stripped.json"}, names)
	sizes, err := z.Open("net/.memspec/stripped.json")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = b.ReadFrom(sizes)
	require.NoError(t, err)
	assert.Equal(t, `{"schema":1,"records":{"data/0":6400}}`, b.String())
	assert.Zero(t, z.File[1].UncompressedSize64, "the weight is gone")
	assert.EqualValues(t, 160, z.File[2].UncompressedSize64, "a small record stays")

	first, err := os.ReadFile(out)
	require.NoError(t, err)
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, first, second, "a copy of a copy is the same file")
	assert.Equal(t, text(t, in), text(t, out), "the program is the same")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 3, "nothing else is left behind")
}

// A torch.export program loses its weights, not what describes them; a compiled package its
// binaries.
func TestStripExported(t *testing.T) {
	for _, c := range []struct {
		name, why string
		records   []string
		want      string
	}{
		{"current", "weights and sample inputs of more than 4 KiB go",
			[]string{"data/weights/weight_0", "data/weights/model_weights_config.json",
				"data/constants/model_constants_config.json", "models/model.json", "data/sample_inputs/model.pt", "archive_format"},
			`{"schema":1,"records":{"data/sample_inputs/model.pt":6400,"data/weights/weight_0":6400}}`},
		{"fake weights", "an archive without any is copied", []string{"models/model.json", "archive_format"},
			`{"schema":1,"records":{}}`},
		{"before 2.8", "whole files of torch.save go, whatever their name", []string{"serialized_exported_program.json",
			"serialized_state_dict.json", "serialized_constants.pt", "version"},
			`{"schema":1,"records":{"serialized_constants.pt":6400,"serialized_state_dict.json":6400}}`},
		{"compiled", "binaries go, the wrapper's source stays", []string{"data/aotinductor/model/a.so",
			"data/aotinductor/model/a.wrapper.cpp", "data/aotinductor/model/b.cubin", "archive_format"},
			`{"schema":1,"records":{"data/aotinductor/model/a.so":6400,"data/aotinductor/model/b.cubin":6400}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in.pt2"), filepath.Join(dir, "out.pt2")
			var b bytes.Buffer
			w := zip.NewWriter(&b)
			for _, name := range c.records {
				require.NoError(t, record(w, "m/"+name, make([]byte, 6400)))
			}
			require.NoError(t, w.Close())
			require.NoError(t, os.WriteFile(in, b.Bytes(), 0o600))
			require.NoError(t, Strip(in, out))
			z, err := zip.OpenReader(out)
			require.NoError(t, err)
			defer z.Close()
			sizes, err := fs.ReadFile(z, "m/.memspec/stripped.json")
			require.NoError(t, err)
			require.Equal(t, c.want, string(sizes), c.why)
			if c.name != "current" {
				return
			}
			config, err := fs.ReadFile(z, "m/data/weights/model_weights_config.json")
			require.NoError(t, err)
			require.Len(t, config, 6400, "what describes the weights stays")
		})
	}
}

// A weight that is missing without a word of its size is an error, not a guess.
func TestShortRecord(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pt"), filepath.Join(dir, "out.pt")
	model(t, in)
	from, err := zip.OpenReader(in)
	require.NoError(t, err)
	defer from.Close()
	f, err := os.Create(out)
	require.NoError(t, err)
	w := zip.NewWriter(f)
	for _, r := range from.File {
		if r.Name == "net/data/0" {
			_, err := w.Create(r.Name)
			require.NoError(t, err)
			continue
		}
		require.NoError(t, w.Copy(r))
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	_, err = Open(out)
	assert.ErrorContains(t, err, "data/0: got 0 bytes, want 6400")
}

func TestStripNowhere(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pt")
	model(t, in)
	out := filepath.Join(dir, "missing", "out.pt")
	assert.EqualError(t, Strip(in, out), out+": no such file or directory")
	assert.ErrorIs(t, Strip(filepath.Join(dir, "no.pt"), out), os.ErrNotExist)

	wrong := errors.New("wrong")
	assert.ErrorIs(t, replace(filepath.Join(dir, "out.pt"), func(io.Writer) error { return wrong }), wrong)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing but in.pt: a copy that failed is removed")
}

// Files of torch.save are stripped where torch.export puts them, and only those that are such
// files.
func TestStripSavedRecords(t *testing.T) {
	archived := func(names ...string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range names {
			require.NoError(t, write(w, name, []byte("x"), zip.Store))
		}
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"data/weights/w", archived("m/data.pkl"), true},
		{"data/constants/c", archived("m/data.pkl"), true},
		{"serialized_state_dict.pt", archived("m/data.pkl"), true},
		{"data/0", archived("m/data.pkl"), false},
		{"data/weights/w", archived("m/other"), false},
		{"data/weights/w", append([]byte("QK"), archived("m/data.pkl")[2:]...), false},
		{"data/weights/w", []byte("PK\x03\x04 and weights"), false},
		{"data/weights/w", []byte("P"), false},
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		require.NoError(t, write(w, "net/"+c.name, c.data, zip.Store))
		require.NoError(t, write(w, "net/version", []byte("3"), zip.Store))
		require.NoError(t, w.Close())
		z, err := ptzip.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		require.NoError(t, err)
		got, err := stripSaved(z, c.name)
		require.NoError(t, err)
		assert.Equal(t, c.want, got != nil, "%s %q", c.name, c.data)
	}
}

// A link keeps leading where it led, and what is no plain file is not replaced.
func TestStripTarget(t *testing.T) {
	dir := t.TempDir()
	in, out, link := filepath.Join(dir, "in.pt"), filepath.Join(dir, "out.pt"), filepath.Join(dir, "link.pt")
	model(t, in)
	require.NoError(t, os.WriteFile(out, nil, 0o644))
	require.NoError(t, os.Symlink(out, link))
	require.NoError(t, Strip(in, link))
	to, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, out, to)
	assert.Equal(t, text(t, in), text(t, out))
	assert.EqualError(t, Strip(in, dir), dir+": got something that is no plain file, want a file to write")
	assert.EqualError(t, Strip(in, os.DevNull), os.DevNull+": got something that is no plain file, want a file to write")
	assert.DirExists(t, dir)
}

// In place: the archive that is read is replaced when its copy is whole.
func TestStripInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.pt")
	model(t, path)
	want := text(t, path)
	require.NoError(t, Strip(path, path))
	assert.Equal(t, want, text(t, path))
}

// Archives of the corpus say the same with and without their weights. Every twelfth: all of them
// take half a minute.
func TestStripCorpus(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(corpus, "torchscript", "*"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skipf("no corpus at %s", corpus)
	}
	dir := t.TempDir()
	n, before, after := 0, int64(0), int64(0)
	for i := 0; i < len(paths); i += 12 {
		path := paths[i]
		f, err := openFile(path)
		require.NoError(t, err)
		k, _ := f.kind()
		f.close()
		if k.name != "torchscript" || filepath.Ext(path) == ".zip" {
			continue
		}
		if _, err := Open(path); err != nil {
			continue // refused: see the decoder's own test
		}
		out, again := filepath.Join(dir, "out.pt"), filepath.Join(dir, "again.pt")
		require.NoError(t, Strip(path, out), path)
		require.NoError(t, Strip(out, again), path)
		first, err := os.ReadFile(out)
		require.NoError(t, err)
		second, err := os.ReadFile(again)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(first, second), path)
		assert.Equal(t, text(t, path), text(t, out), path)
		info, err := os.Stat(path)
		require.NoError(t, err)
		n, before, after = n+1, before+info.Size(), after+int64(len(first))
	}
	t.Logf("%d archives, %d bytes stripped to %d", n, before, after)
}

// The committed artifacts decode and hold what package program promises. Those in the folder bad
// are bad on purpose.
func TestArtifacts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "artifacts", "*", "*.pt"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("no artifacts")
	}
	for _, path := range paths {
		if filepath.Base(filepath.Dir(path)) == "bad" {
			_, err := Open(path)
			if err == nil {
				continue // wrong in a function only
			}
			assert.NotContains(t, err.Error(), "internal error")
			continue
		}
		a, err := Open(path)
		if assert.NoError(t, err) {
			assert.NoError(t, program.Check(a.Program), path)
			assert.NotNil(t, a.Program.Entry, path)
		}
	}
	t.Logf("%d artifacts", len(paths))
}

// TestStripSaved: files of torch.save keep what says which tensors lie in one storage and what a
// subclass is made of. The committed archives are stripped ones: they are filled with zeros of the
// sizes that they report, and stripped again.
func TestStripSaved(t *testing.T) {
	for _, c := range []struct{ name, record string }{
		{"tied_27.pt2", "serialized_state_dict.pt"}, {"half_28.pt2", "data/weights/model.pt"},
		{"models/ao_int8.pt2", "data/weights/weight_0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stripped := filepath.Join("..", "..", "testdata", "artifacts", "exported", filepath.FromSlash(c.name))
			dir := t.TempDir()
			whole, again := filepath.Join(dir, "whole.pt2"), filepath.Join(dir, "again.pt2")
			data, err := os.ReadFile(stripped)
			require.NoError(t, err)
			full := filled(t, data)
			require.Greater(t, len(full), 2*ptzip.MaxSmall)
			require.NoError(t, os.WriteFile(whole, full, 0o600))
			require.NoError(t, Strip(whole, again))
			got, err := os.ReadFile(again)
			require.NoError(t, err)
			assert.Less(t, len(got), len(full))
			assert.Equal(t, text(t, stripped), text(t, again))
			assert.Equal(t, text(t, whole), text(t, again), "with its weights and without")
			z, err := ptzip.Open(bytes.NewReader(got), int64(len(got)))
			require.NoError(t, err)
			size, ok := z.Size(c.record)
			require.True(t, ok)
			assert.NotZero(t, size, "what %s says beside its weights stays", c.record)
		})
	}
}

// filled is an archive with zeros where strip took weights out.
func filled(t *testing.T, data []byte) []byte {
	z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var sizes ptzip.Stripped
	if seen, err := z.ReadFile(ptzip.StrippedRecord); err == nil {
		sizes, err = ptzip.ReadStripped(seen)
		require.NoError(t, err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range z.Names() {
		full := name
		if z.Root() != "" {
			full = z.Root() + "/" + name
		}
		if name == ptzip.StrippedRecord {
			continue
		}
		content := make([]byte, sizes.Records[name])
		if len(content) == 0 {
			f, err := z.Open(name)
			require.NoError(t, err)
			info, err := f.Stat()
			require.NoError(t, err)
			content = make([]byte, info.Size())
			if at, ok := f.(io.ReaderAt); ok && len(content) > 0 {
				_, err = at.ReadAt(content, 0)
				require.NoError(t, err)
			}
			if bytes.HasPrefix(content, []byte("PK\x03\x04")) {
				content = filled(t, content)
			}
		}
		require.NoError(t, write(w, full, content, zip.Store))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Many small records cost no more than their bytes: a compressor is set up once and not for each.
func TestStripManyRecords(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pt"), filepath.Join(dir, "out.pt")
	model(t, in)
	data, err := os.ReadFile(in)
	require.NoError(t, err)
	old, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range old.File {
		require.NoError(t, w.Copy(f))
	}
	const n = 2000
	for i := range n {
		require.NoError(t, record(w, fmt.Sprintf("net/extra/%d", i), []byte("text")))
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(in, b.Bytes(), 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, Strip(in, out))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(n*100<<10), "bytes, a tenth of a compressor for each record")
}

// Beyond its first 16 MiB an archive is compressed fast.
func TestDeflaterLevels(t *testing.T) {
	var d deflater
	_, err := d.to(io.Discard)
	require.NoError(t, err)
	require.Equal(t, deflateLevel, d.level)
	first := d.w
	d.written = 16 << 20
	_, err = d.to(io.Discard)
	require.NoError(t, err)
	assert.Same(t, first, d.w)
	_, err = d.Write([]byte("x"))
	require.NoError(t, err)
	_, err = d.to(io.Discard)
	require.NoError(t, err)
	assert.Equal(t, flate.BestSpeed, d.level)
}
