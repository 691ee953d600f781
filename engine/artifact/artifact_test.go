package artifact

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/torchscript"
	"github.com/memspec/memspec/engine/recording"
)

var corpus = filepath.Join("..", "..", "..", "shared", "corpus")

func corpusFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(corpus, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no corpus at %s", corpus)
	}
	return path
}

const wanted = "want a TorchScript archive (torch.jit.save), a torch.export program, an AOTInductor package " +
	"(torch._inductor.aoti_compile_and_package), a recording of an engine's start (memshim serve), a recording (memshim " +
	"measure) or a memory snapshot (torch.cuda.memory._dump_snapshot)"

func TestUnrecognizedFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.pt"), nil, 0o600)) // no reason to unpack it
	_, err := Open(dir)
	assert.EqualError(t, err, dir+": got a folder without data.pkl, "+wanted)
}

// Every kind of file that is no artifact has its own line, whatever its name.
func TestUnrecognized(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	zipped := func(name string, records ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, r := range records {
			to, err := w.CreateHeader(&zip.FileHeader{Name: r, Method: zip.Store})
			require.NoError(t, err)
			_, err = to.Write([]byte("x"))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		return write(name, b.String())
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("a long text that is no recording"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	rest := strings.Repeat("x", 4000)
	for _, c := range []struct{ path, want string }{
		{write("empty.pt", ""), "an empty file"},
		{write("text.pt", strings.Repeat("hello ", 200)), "a text file"},
		// a letter lies across the end of what is looked at
		{write("letters.pt", strings.Repeat("\u00e4", 255)+"a\u00e4"), "a text file"},
		{write("bytes.pt", "\x00\x01\x02"+rest), "a file of no kind that is known"},
		{write("cut.pt", "PK\x03\x04"+rest), "a truncated zip archive: it has no directory at its end"},
		{write("old.pt", legacyMagic+rest), "a checkpoint of torch.save (in the format before 1.6), which holds weights " +
			"and no program"},
		{write("state.pkl", "\x80\x02}q\x00."), "a pickle that is no memory snapshot (got no segments)"},
		{write("broken.pickle", "\x80\x04\x95"+rest), "a pickle that is no memory snapshot ("},
		{write("model.so", "\x7fELF"+rest), "a compiled library, which holds no program that can be read"},
		{write("model.onnx", "\x08\x07\x12\x07pytorch\x1a"+rest), "an ONNX model, which PyTorch does not run"},
		{write("other.onnx", "\x08\x08\x3a\x10"+rest), "an ONNX model, which PyTorch does not run"},
		{write("model.safetensors", "\x10\x00\x00\x00\x00\x00\x00\x00{\"a\": {}}       "),
			"a safetensors file, which holds weights and no program"},
		{write("pointer.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 97\n"),
			"a Git LFS pointer: the file itself has not been fetched (git lfs pull)"},
		{write("model.gguf", "GGUF\x03\x00"+rest), "a GGUF file, which holds weights and no program that can be read"},
		{write("model.h5", "\x89HDF\r\n\x1a\n"+rest), "an HDF5 file (Keras writes its weights so), which holds weights and " +
			"no program"},
		{write("model.pt.gz", packed.String()), "a gzip file: unpack it first"},
		{write("model.tar", strings.Repeat("\x00", 257)+"ustar\x0000"+rest), "a tar archive: unpack it first"},
		{write("page.pt", "\n<!DOCTYPE html>\n<html>"+rest), "an HTML page: what was downloaded is a web page, not the file"},
		{write("page2.pt", "<html><head>"+rest), "an HTML page: what was downloaded is a web page, not the file"},
		{write("report.json", `{"schema": 1, "artifact": "a.pt"}`), "JSON that is no recording"},
		{write("x.ranks.json", `{"ranks": []}`), "JSON that is no recording"},
		{write("y.ranks.json", `"world_size"`), "a text file"},
		{write("world.json", `{"world_size": 2}`), "JSON that is no recording"},
		{write("start.json", `"schema" "engine" "case"`), "a text file"},
		{write("other.json", `{"schema": 1, "engines": 1}`), "JSON that is no recording"},
		{write("letter.pt", "\x80"), "a text file"}, // cut off, for all one knows
		{write("output_code.py", "\n# AOT ID: ['0_inference']\nimport torch\n"), "a wrapper that torch.compile wrote " +
			"(output_code.py)"},
		{write("net.py", "import torch\n"), "Python source: what it builds has to be " +
			"exported first (python -m memshim export)"},
		{zipped("other.zip", "a/readme.txt"), "a zip archive without data.pkl"},
		{zipped("outer.zip", "model.pt"), "a zip archive around model.pt: unpack it first"},
		{filepath.Join("testdata", "checkpoint.pt"), "a checkpoint of torch.save, which holds weights and no program"},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			_, err := Open(c.path)
			require.Error(t, err)
			assert.True(t, errors.Is(err, ErrUnrecognized))
			if strings.Contains(c.want, "weights and no program") || strings.Contains(c.want, "ONNX") {
				assert.EqualError(t, err, c.path+": got "+c.want+", want "+buildAndRecord, "the way to a figure, and no list of "+
					"formats")
			} else if strings.Contains(c.want, "torch.compile") {
				assert.EqualError(t, err, c.path+": got "+c.want+", want a recording of the compiled model's run "+
					"(python -m memshim capture FILE.py:NAME --input INPUT --on DEVICE -o model.rec)")
			} else if strings.HasSuffix(c.want, "(") {
				assert.ErrorContains(t, err, c.path+": got "+c.want)
			} else {
				assert.EqualError(t, err, c.path+": got "+c.want+", "+wanted)
			}
			assert.NotContains(t, err.Error(), "\n")
			_, what, err := What(c.path)
			require.NoError(t, err)
			seen[what] = true
			assert.ErrorIs(t, Strip(c.path, filepath.Join(dir, "out.pt")), ErrUnrecognized)
			assert.NoFileExists(t, filepath.Join(dir, "out.pt"))
		})
	}
	for i := range kinds {
		if k := &kinds[i]; k.open == nil && k.say == nil && k.line != "a folder without data.pkl" {
			assert.True(t, seen[k.line], "no file here is %s", k.line)
		}
	}
}

// The list of a case's ranks is named with the recordings beside it.
func TestListOfRanks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net-0123.ranks.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"world_size": 16, "ranks": [{"rank": 2}]}`), 0o644))
	for _, c := range []struct{ beside, want string }{
		{"net-0123.rank.rec", "without a recording beside it"},
		{"net-0123.rank2.rec", "net-0123.rank2.rec"},
		{"net-0123.rank15.rec", "net-0123.rank2.rec to net-0123.rank15.rec"},
		{"net-0456.rank16.rec", "net-0123.rank2.rec to net-0123.rank15.rec"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), c.beside), nil, 0o644))
		_, err := Open(path)
		assert.EqualError(t, err, path+": got the list of a case's ranks, "+c.want+", want the recording of one rank")
	}
}

// A recording and a memory snapshot are artifacts that hold a run.
func TestRecorded(t *testing.T) {
	snapshots, records := filepath.Join("..", "..", "testdata", "snapshots"), filepath.Join("..", "recording", "testdata",
		"records")
	a, err := Open(filepath.Join(snapshots, "good.pickle"))
	require.NoError(t, err)
	assert.Equal(t, "snapshot", a.Format)
	assert.Nil(t, a.Program)
	assert.Nil(t, a.Recorded.Header, "a snapshot does not say what was run")
	assert.Equal(t, 6, a.Recorded.Moves())
	assert.NoError(t, a.Answers("eager", "training"), "it does not say how it was run, and contradicts nobody")

	a, err = Open(filepath.Join(records, "small.json"))
	require.NoError(t, err)
	assert.Equal(t, "recording", a.Format)
	assert.Equal(t, "torch 2.15.0+cu130, on by hand, not measured", a.Producer)
	assert.Equal(t, "small[B=2]", a.Recorded.Header.Case)
	assert.NoError(t, a.Recorded.Trace.Validate())
	assert.NoError(t, a.Answers("", ""))
	assert.NoError(t, a.Answers("eager", "inference"))
	err = a.Answers("torchscript", "")
	assert.EqualError(t, err, "got runtime torchscript, want eager: that is what was recorded in a recording (memshim "+
		"measure)")
	assert.ErrorAs(t, err, new(*Refusal))

	var rec bytes.Buffer // the compressed form, under any name
	r, err := recording.Read(filepath.Join(records, "small.json"))
	require.NoError(t, err)
	require.NoError(t, r.Encode(&rec))
	path := filepath.Join(t.TempDir(), "small")
	require.NoError(t, os.WriteFile(path, rec.Bytes(), 0o600))
	b, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, a.Recorded.Trace.String(), b.Recorded.Trace.String())

	_, err = Open(filepath.Join(snapshots, "nothing.pickle"))
	assert.ErrorContains(t, err, "nothing.pickle: got a memory snapshot in which nothing was recorded, want one taken "+
		"after torch.cuda.memory._record_memory_history()")
	_, err = Open(filepath.Join(snapshots, "foreign.pickle"))
	assert.ErrorContains(t, err, "got a pickle that is no memory snapshot (")

	// pickle.dumps({"segments": [], "device_traces": [[e], [], [e]]}, 2), with an allocation e
	two := filepath.Join(t.TempDir(), "two.pickle")
	require.NoError(t,
		os.WriteFile(two,
			[]byte("\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00device_traces](]}(X\x06\x00\x00\x00actionq"+
				"\x00X\x05\x00\x00\x00allocq\x01X\x04\x00\x00\x00addrq\x02M\x00\x02X\x04\x00\x00\x00sizeq\x03M"+
				"\x00\x02X\x06\x00\x00\x00streamq\x04K\x00ua]]}(h\x00h\x01h\x02M\x00\x02h\x03M\x00\x02h\x04K\x00u"+
				"aeu."), 0o600))
	_, err = Open(two)
	assert.ErrorContains(t, err, "two.pickle: got a memory snapshot with events of the devices 0, 2, want those of one "+
		"device")
}

func TestAnswers(t *testing.T) {
	a, err := Open(filepath.Join("..", "..", "testdata", "artifacts", "small", "alias.script.pt"))
	require.NoError(t, err)
	assert.NoError(t, a.Answers("", ""))
	assert.NoError(t, a.Answers("eager", "inference"))
	assert.EqualError(t, a.Answers("export", ""), "got runtime export, want eager or torchscript: that is what can be "+
		"predicted of a TorchScript archive (torch.jit.save)")
	assert.EqualError(t, a.Answers("", "training"), "got mode training, want inference: that is what can be predicted "+
		"of a TorchScript archive (torch.jit.save)")
}

func TestUnrecognizedCorpus(t *testing.T) {
	for file, want := range map[string]string{
		"pt2/pytorch__executorch__preprocess-25dc7217.pt2": "got a package that was compiled for cpu, " +
			"want one compiled for cuda",
		"safetensors/snakers4__silero-vad__silero_vad_16k.safetensors": "a safetensors file, which holds weights",
		"torchscript/opensearch-project__ml-commons__mcorr-b0c38ca1.zip": "a zip archive around nmf_mcorr.pt: unpack " +
			"it first",
		"torchscript/LaurentMazare__tch-rs__foo-2be389b1.pt":                 "PyTorch 1.1 or older",
		"torchscript/opensearch-project__ml-commons__traced_small_model.zip": "a zip archive around",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			path := corpusFile(t, file)
			_, err := Open(path)
			assert.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, filepath.Base(file)+": ")
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestMissing(t *testing.T) {
	_, err := Open("nowhere.pt")
	assert.EqualError(t, err, "nowhere.pt: no such file or directory")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestLegacyIsTyped(t *testing.T) {
	_, err := Open(corpusFile(t, "torchscript/LaurentMazare__tch-rs__foo-2be389b1.pt"))
	assert.ErrorIs(t, err, torchscript.ErrLegacy)
}

// TestModelOfSeveral: FILE.pt2#MODEL is a model of a package, unless a file has that name.
func TestModelOfSeveral(t *testing.T) {
	dir := t.TempDir()
	of := func(file string) []byte {
		z, err := zip.OpenReader("../../testdata/compiled/" + file)
		require.NoError(t, err)
		defer z.Close()
		for _, r := range z.File {
			if strings.HasSuffix(r.Name, ".wrapper.cpp") {
				from, err := r.Open()
				require.NoError(t, err)
				text, err := io.ReadAll(from)
				require.NoError(t, err)
				return text
			}
		}
		t.Fatalf("%s has no wrapper", file)
		return nil
	}
	path := filepath.Join(dir, "net.pt2")
	out, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(out)
	for name, file := range map[string]string{"model": "mlp.t4.pt2", "large": "encoder.t4.pt2"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "net/data/aotinductor/" + name + "/a.wrapper.cpp", Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(of(file))
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(z.Close(), out.Close()))
	weights := func(path string) int {
		a, err := Open(path)
		require.NoError(t, err, path)
		return len(a.Program.States)
	}
	alone, large := weights("../../testdata/compiled/mlp.t4.pt2"), weights("../../testdata/compiled/encoder.t4.pt2")
	require.NotEqual(t, alone, large)
	assert.Equal(t, alone, weights(path), "the one named model")
	assert.Equal(t, alone, weights(path+"#model"))
	assert.Equal(t, large, weights(path+"#large"))
	_, err = Open(path + "#small")
	require.EqualError(t, err, path+"#small: got no model small in the package, want one of large, model")
	_, err = Open(path + "#")
	require.ErrorIs(t, err, fs.ErrNotExist, "no name")
	_, err = Open(filepath.Join(dir, "gone.pt2#large"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Open("../../testdata/artifacts/small/addmm.script.pt#large")
	require.EqualError(t, err, "../../testdata/artifacts/small/addmm.script.pt#large: got the model large of a "+
		"TorchScript archive (torch.jit.save), want one of an AOTInductor package "+
		"(torch._inductor.aoti_compile_and_package): no other file has several")
	data, err := os.ReadFile("../../testdata/compiled/mlp.t4.pt2")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+"#large", data, 0o600))
	assert.Equal(t, alone, weights(path+"#large"), "a file that is named so")
	for path, want := range map[string][]string{
		"a#b/net.pt2": {"a#b/net.pt2", ""}, `a#b\net.pt2`: {`a#b\net.pt2`, ""}, // a folder's name
		"a#b": {"a", "b"}, "#b": {"#b", ""}, "a#": {"a#", ""}, "a#b#c": {"a#b", "c"}, "": {"", ""},
	} {
		file, model := Split(path)
		assert.Equal(t, want, []string{file, model}, path)
	}
}
