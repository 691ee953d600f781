package fx_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/torchexport"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// runMutant runs whatever the decoder accepts, at its example sizes; errors are as good as results.
func runMutant(t testing.TB, model []byte) {
	p, err := torchexport.Decode(fstest.MapFS{"models/model.json": {Data: model}})
	if err != nil {
		return
	}
	var inputs []exec.Input
	if !examples(p, &inputs) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
		_, _ = exec.Run(ctx, fx.New(p), builtin.Table(), exec.Options{Inputs: inputs, Liveness: l, Platform: on(t, "t4"),
			DType: tensor.Undefined, MaxSteps: 20_000})
	}
}

// examples is example for a program that may be anything.
func examples(p *program.Program, out *[]exec.Input) bool {
	values := map[string]int64{}
	for _, s := range p.Symbols {
		values[s.Name] = min(s.Example, 64)
	}
	f := p.Entry
	leaves := make([]any, len(f.Params))
	for i := range f.Params {
		switch q := &f.Params[i]; {
		case q.Meta != nil:
			m, err := q.Meta.Bind(values)
			if err != nil {
				return false
			}
			m.Device = exec.Accelerator
			leaves[i] = m
		case q.Size != nil:
			n, err := q.Size.Eval(values)
			if err != nil {
				return false
			}
			leaves[i] = n
		}
	}
	if f.Inputs == nil {
		for _, v := range leaves {
			*out = append(*out, exec.Input{Value: v})
		}
		return true
	}
	for _, in := range f.Inputs {
		var v any
		v, leaves = structured(in.Tree, leaves)
		*out = append(*out, exec.Input{Name: in.Name, Value: v})
	}
	return true
}

// FuzzRun: no program that the decoder accepts makes the driver panic or hang.
func FuzzRun(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "*.pt2"))
	require.NoError(f, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
		require.NoError(f, err)
		model, err := fs.ReadFile(z, "models/model.json")
		if strings.HasSuffix(path, "_27.pt2") { // an older layout of the same
			continue
		}
		require.NoError(f, err)
		f.Add(model)
	}
	f.Fuzz(func(t *testing.T, model []byte) { runMutant(t, model) })
}
