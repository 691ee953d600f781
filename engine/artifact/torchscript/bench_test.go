package torchscript

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

func benchFile(b *testing.B, path string, bodies bool) {
	f, err := os.Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	info, err := f.Stat()
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		z, err := ptzip.Open(f, info.Size())
		require.NoError(b, err)
		p, err := Decode(z)
		require.NoError(b, err)
		if bodies {
			for _, c := range p.Classes {
				for _, m := range c.Methods {
					if _, err := m.Graph(); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	}
}

func BenchmarkResNet50(b *testing.B) {
	for _, kind := range []string{"script", "trace"} {
		path := filepath.Join(root, "testdata", "artifacts", "torchvision", "resnet50."+kind+".pt")
		b.Run(kind+"/outline", func(b *testing.B) { benchFile(b, path, false) })
		b.Run(kind+"/bodies", func(b *testing.B) { benchFile(b, path, true) })
	}
}

// What checking a program costs beside decoding it: its tables, and every function (of which a run
// lowers those that it calls).
func BenchmarkCheck(b *testing.B) {
	p, err := Decode(open(b, filepath.Join(root, "testdata", "artifacts", "torchvision", "resnet50.script.pt")))
	require.NoError(b, err)
	b.Run("tables", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, program.CheckTables(p))
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, program.Check(p))
		}
	})
}
