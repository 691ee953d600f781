package torchscript

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

var root = filepath.Join("..", "..", "..")

// archives lists the archives of the corpus, which lies beside the repository.
func archives(tb testing.TB) []string {
	tb.Helper()
	dir := filepath.Join(root, "..", "shared", "corpus", "torchscript")
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(tb, err)
	if len(paths) == 0 {
		tb.Skipf("no corpus at %s", dir)
	}
	return paths
}

func open(tb testing.TB, path string) fs.FS {
	tb.Helper()
	f, err := os.Open(path)
	require.NoError(tb, err)
	tb.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	require.NoError(tb, err)
	z, err := ptzip.Open(f, info.Size())
	require.NoError(tb, err, path)
	return z
}

func functions(p *program.Program, d *decoder) []*program.Func { return nil }

func TestCorpus(t *testing.T) {
	for _, path := range archives(t) {
		name := filepath.Base(path)
		p, err := Decode(open(t, path))
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		for _, c := range p.Classes {
			for _, m := range c.Methods {
				if _, err := m.Graph(); err != nil {
					t.Logf("%s: %v", name, err)
				}
			}
		}
	}
}
