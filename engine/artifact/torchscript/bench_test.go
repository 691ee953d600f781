package torchscript

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
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
