package fx_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestStreams holds every birth and death of the small archives, each of which shows one thing of
// the format, as text that a reader can follow beside the program
// (engine/artifact/torchexport/testdata): under export, in eager execution, and in the upper
// account of it.
func TestStreams(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "*.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".pt2")
		if name == "numbers" { // 500 calls, each compared with PyTorch in engine's TestExportedAgainstPretended
			continue
		}
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, o := range []struct {
				how     string
				options exec.Options
				more    int64 // than the example's, of each open size
			}{
				{"export", exec.Options{Liveness: exec.LastUse}, 0},
				{"eager", exec.Options{Liveness: exec.PythonFrame}, 0},
				{"eager at most", exec.Options{Liveness: exec.PythonFrame, HoldLocals: true}, 0},
				{"export at least", exec.Options{Liveness: exec.LastUse, Lower: true}, 0},
				{"export of other sizes", exec.Options{Liveness: exec.LastUse}, 1},
			} {
				p := open(t, path)
				o.options.Inputs, o.options.Platform, o.options.DType = larger(t, p, o.more), on(t, "t4"), tensor.Undefined
				r, err := exec.Run(context.Background(), fx.New(p), builtin.Table(), o.options)
				b.WriteString("## " + o.how + "\n")
				if err != nil {
					b.WriteString("error: " + err.Error() + "\n")
					continue
				}
				require.NoError(t, r.Trace.Validate())
				b.WriteString(r.Trace.String())
			}
			golden.File(t, filepath.Join("testdata", "streams", name+".txt"), b.String())
		})
	}
}
