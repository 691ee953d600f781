package pickle

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benign accepts every global and call and keeps them as plain values: what a decoder's machine
// costs without its client.
func benign() Options {
	type global struct{ module, name string }
	pair := func(a any, b []any) (any, error) {
		if len(b) == 1 {
			return b[0], nil
		}
		return Tuple(b), nil
	}
	return Options{
		Globals:        func(module, name string) (any, bool) { return &global{module, name}, true },
		Reduce:         pair,
		NewObj:         func(cls any, _ []any) (any, error) { return &Dict{}, nil },
		Build:          func(obj, state any) (any, error) { return state, nil },
		PersistentLoad: func(id any) (any, error) { return id, nil },
	}
}

// BenchmarkSnapshots decodes every memory snapshot of the corpus.
func BenchmarkSnapshots(b *testing.B) {
	paths, _ := filepath.Glob("../../../../shared/corpus/snapshots/*.p*kl*")
	if len(paths) == 0 {
		b.Skip("no corpus")
	}
	var data [][]byte
	var n int64
	for _, p := range paths {
		d, err := os.ReadFile(p)
		require.NoError(b, err)
		data, n = append(data, d), n+int64(len(d))
	}
	b.SetBytes(n)
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range data {
			_, err := Decode(d, Options{})
			require.NoError(b, err)
		}
	}
}

// BenchmarkArchive decodes all pickles of the archive named by PICKLE_ARCHIVE.
func BenchmarkArchive(b *testing.B) {
	path := os.Getenv("PICKLE_ARCHIVE")
	if path == "" {
		b.Skip("PICKLE_ARCHIVE names no archive")
	}
	z, err := zip.OpenReader(path)
	require.NoError(b, err)
	defer z.Close()
	var data [][]byte
	var n int64
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, "pkl") {
			continue
		}
		r, err := f.Open()
		require.NoError(b, err)
		d, err := io.ReadAll(r)
		require.NoError(b, err)
		data, n = append(data, d), n+int64(len(d))
	}
	o := benign()
	b.SetBytes(n)
	b.ReportAllocs()
	for b.Loop() {
		dec := NewDecoder(o)
		for _, d := range data {
			_, err := dec.Decode(d)
			require.NoError(b, err)
		}
	}
}
