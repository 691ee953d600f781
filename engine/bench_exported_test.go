//go:build unix

package engine_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/spec"
)

// BenchmarkExported is an exported program from its file to the report. What it may cost on one
// core: a transformer of twelve layers 10 ms, a graph of a model of 70 billion parameters (80
// layers, 6,000 nodes) 150 ms. GOMAXPROCS=1 go test ./engine -run '^$' -bench Exported -benchmem
func BenchmarkExported(b *testing.B) {
	for _, name := range []string{"bert12", "llama70b"} {
		file := filepath.Join("..", "testdata", "artifacts", "exported", "models", name+".pt2")
		for _, runtime := range []spec.Runtime{"export", "eager"} {
			b.Run(name+"/"+string(runtime), func(b *testing.B) {
				a, err := artifact.Open(file)
				require.NoError(b, err)
				c := testcase.On(b, "b200", file, exampleTexts(b, a.Program)...)
				c.Runtime = runtime
				b.ReportAllocs()
				meter := newCPUMeter()
				for b.Loop() {
					_, err := engine.Estimate(context.Background(), c)
					require.NoError(b, err)
					meter.iteration()
				}
				meter.report(b)
			})
		}
	}
}
