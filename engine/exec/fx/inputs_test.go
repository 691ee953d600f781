package fx_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestInputsThatDoNotFit: a program takes what it was exported with, structure by structure; each
// thing that is otherwise is said by its input's name.
func TestInputsThatDoNotFit(t *testing.T) {
	for _, path := range exported(t) {
		p := open(t, path)
		good := example(t, p)
		try := func(inputs []exec.Input) error {
			_, err := exec.Run(context.Background(), fx.New(p), builtin.Table(),
				exec.Options{Inputs: inputs, Platform: on(t, "t4"), DType: tensor.Undefined})
			return err
		}
		name := filepath.Base(path)
		for i, in := range good {
			other := slices.Clone(good)
			switch v := in.Value.(type) {
			case tensor.Meta:
				other[i].Value = "text"
				assert.ErrorContains(t, try(other), "got str, want", name)
				v.Sizes, v.Strides = append([]int64{1}, v.Sizes...), append([]int64{1}, v.Strides...)
				other[i].Value = v
				assert.ErrorContains(t, try(other), "dimensions, want", name)
			case []exec.Input:
				other[i].Value = append(slices.Clone(v), exec.Input{Value: int64(1)})
				assert.ErrorContains(t, try(other), "values, want the", name)
				if len(v) > 0 {
					other[i].Value = v[1:]
					assert.ErrorContains(t, try(other), "values, want the", name)
				}
			}
			if _, one := in.Value.(tensor.Meta); one && len(good) > 1 {
				assert.Error(t, try(slices.Delete(slices.Clone(good), i, i+1)), name)
			}
		}
		if filepath.Base(filepath.Dir(path)) != "models" {
			require.NotEmpty(t, good, name)
		}
	}
}

// TestRuns: the operators of graphs that are run; of others the results are those that were
// recorded.
func TestRuns(t *testing.T) {
	for op, want := range map[string]bool{"cond": true, "while_loop": true, "map_impl": true, "scan": true,
		"hints_wrapper": true, "wrap_with_set_grad_enabled": true, "other": false, "": false} {
		assert.Equal(t, want, fx.Runs(program.HigherOrder+op), op)
	}
	assert.False(t, fx.Runs("cond"))
	assert.False(t, fx.Runs("aten::cond"))
}
