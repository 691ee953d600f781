package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/torchscript"
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

func TestUnrecognizedFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.pt"), nil, 0o600)) // no reason to unpack it
	_, err := Open(dir)
	assert.EqualError(t, err, dir+": got a folder without data.pkl, want a TorchScript archive (torch.jit.save)")
}

// Each kind of file that holds no program gets its own line.
func TestUnrecognized(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	for _, c := range []struct{ path, want string }{
		{write("empty.pt", ""), "got an empty file"},
		{write("text.pt", strings.Repeat("hello ", 20)), "got a file that is no zip archive"},
		{write("cut.pt", "PK\x03\x04"+strings.Repeat("x", 4000)), "got a truncated zip archive: it has no directory at its end"},
		{write("old.pt", string(legacyMagic)+strings.Repeat("x", 400)), "got a checkpoint of torch.save (in the format before 1.6), which holds weights and no program"},
		{write("snapshot.pickle", "\x80\x04\x95"+strings.Repeat("x", 400)), "got a raw pickle (memory snapshots are read by memspec replay)"},
		{write("model.so", "\x7fELF"+strings.Repeat("x", 400)), "got a compiled library, which holds no program that can be read"},
		{filepath.Join("testdata", "checkpoint.pt"), "got a checkpoint of torch.save, which holds weights and no program"},
		{filepath.Join("testdata", "exported.pt2"), "got a torch.export program: torch.export programs are not read yet"},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			_, err := Open(c.path)
			require.Error(t, err)
			assert.True(t, errors.Is(err, ErrUnrecognized))
			assert.Equal(t, c.path+": "+c.want+", want a TorchScript archive (torch.jit.save)", err.Error())
			if filepath.Base(c.path) == "exported.pt2" {
				return // not read yet, but copied: TestStripExported
			}
			assert.ErrorIs(t, Strip(c.path, filepath.Join(dir, "out.pt")), ErrUnrecognized)
			assert.NoFileExists(t, filepath.Join(dir, "out.pt"))
		})
	}
}

func TestUnrecognizedCorpus(t *testing.T) {
	for file, want := range map[string]string{
		"pt2/KladovValentin__hades-pid__exported_program.pt2":                "torch.export programs are not read yet",
		"pt2/pytorch__executorch__preprocess-25dc7217.pt2":                   "an AOTInductor package",
		"safetensors/snakers4__silero-vad__silero_vad_16k.safetensors":       "a safetensors file, which holds weights",
		"torchscript/opensearch-project__ml-commons__mcorr-b0c38ca1.zip":     "a zip archive around nmf_mcorr.pt: unpack it first",
		"torchscript/LaurentMazare__tch-rs__foo-2be389b1.pt":                 "PyTorch 1.1 or older",
		"snapshots/shreyansh26__MLSys-Experiments__profile_grad.pkl":         "a raw pickle",
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
