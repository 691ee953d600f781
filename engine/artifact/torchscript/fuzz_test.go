package torchscript

import (
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// FuzzDecode: no records make the decoder panic, hang or exhaust memory, and what it accepts is a
// sound program or fails in a function with an error.
func FuzzDecode(f *testing.F) {
	sources, err := filepath.Glob(filepath.Join("testdata", "lower", "*.txtar"))
	require.NoError(f, err)
	for _, path := range sources {
		a, err := txtar.ParseFile(path)
		require.NoError(f, err)
		f.Add(string(a.Files[0].Data), []byte(emptyRoot), []byte("\x80\x02)."), []byte(nil))
	}
	lang := open(f, filepath.Join("testdata", "language.pt"))
	read := func(name string) []byte {
		data, err := fs.ReadFile(lang, name)
		require.NoError(f, err)
		return data
	}
	f.Add(string(read("code/__torch__.py")), read("data.pkl"), read("constants.pkl"), read("code/__torch__.py.debug_pkl"))
	f.Fuzz(func(t *testing.T, src string, data, constants, debug []byte) {
		a := archive(src)
		a["data.pkl"] = &fstest.MapFile{Data: data}
		a["constants.pkl"] = &fstest.MapFile{Data: constants}
		a["code/__torch__.py.debug_pkl"] = &fstest.MapFile{Data: debug}
		p, err := Decode(a)
		if err != nil {
			return
		}
		sound := true
		for _, fn := range allFunctions(p) {
			if _, err := fn.Graph(); err != nil {
				sound = false
			}
		}
		if sound {
			if err := program.Check(p); err != nil && !excused(err) {
				t.Fatalf("%v", err)
			}
			require.NoError(t, program.Write(io.Discard, p))
		}
	})
}

// excused are violations that the archive itself commits, not the decoder: calls that do not fit,
// and class lists that name nothing.
func excused(err error) bool {
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.Contains(line, "argument") && !strings.Contains(line, "which is no attribute") &&
			!strings.Contains(line, "a second attribute") &&
			!strings.Contains(line, "sealed too early") && !strings.Contains(line, "got no text") &&
			!strings.Contains(line, "look-up does not find") {
			return false
		}
	}
	return true
}
