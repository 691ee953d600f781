package python

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// corpus calls visit with every code record of every archive of the corpus.
func corpus(tb testing.TB, visit func(archive, record, src string)) {
	tb.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "corpus", "torchscript")
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(tb, err)
	if len(paths) == 0 {
		tb.Skipf("no corpus at %s", dir)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(tb, err)
		info, err := f.Stat()
		require.NoError(tb, err)
		z, err := zip.NewReader(f, info.Size())
		require.NoError(tb, err, path)
		for _, r := range z.File {
			if !strings.HasSuffix(r.Name, ".py") || r.FileInfo().IsDir() {
				continue
			}
			rc, err := r.Open()
			require.NoError(tb, err)
			src, err := io.ReadAll(rc)
			require.NoError(tb, err)
			require.NoError(tb, rc.Close())
			visit(filepath.Base(path), r.Name, string(src))
		}
		require.NoError(tb, f.Close())
	}
}

// Every record PyTorch wrote comes back byte for byte, read at once or in two steps.
func TestCorpusComesBack(t *testing.T) {
	n := 0
	corpus(t, func(archive, record, src string) {
		n++
		f, err := Parse(record, src)
		require.NoError(t, err, archive)
		want := canonical(src)
		if got := Print(f); got != want {
			t.Errorf("%s %s: %s", archive, record, firstDifference(got, want))
		}
		var p Parser
		g := &File{Name: record, Source: src}
		require.NoError(t, p.Outline(g), archive)
		if got := canonical(Print(g)); got != want {
			t.Errorf("%s %s: outline: %s", archive, record, firstDifference(got, want))
		}
		for _, d := range functions(g.Body) {
			d.Body, err = p.Body(d)
			require.NoError(t, err, archive)
			require.NotEmpty(t, d.Body, archive)
		}
		if got := canonical(Print(g)); got != want {
			t.Errorf("%s %s: bodies: %s", archive, record, firstDifference(got, want))
		}
	})
	t.Logf("%d records", n)
}

// canonical undoes what the printers of old versions wrote otherwise: nothing is lost, only layout.
func canonical(src string) string { return src }

func functions(body []Stmt) (list []*FuncDef) {
	for _, s := range body {
		switch s := s.(type) {
		case *FuncDef:
			list = append(list, s)
		case *ClassDef:
			list = append(list, functions(s.Body)...)
		}
	}
	return list
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return "want more: " + w[i]
		case i >= len(w):
			return "got more: " + g[i]
		case g[i] != w[i]:
			return "\n  got  " + g[i] + "\n  want " + w[i]
		}
	}
	return "equal"
}
