package inductor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	artifact "github.com/memspec/memspec/engine/artifact/inductor"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/inductor"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestDamaged holds what a wrapper's call allocates and frees, and how that changes when one word of its code is damaged: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	matrix := func(rows, columns int64) exec.Input {
		return exec.Input{Value: tensor.Meta{DType: tensor.Float32, Sizes: []int64{rows, columns}, Strides: []int64{columns, 1}, Device: exec.Accelerator}}
	}
	o := exec.Options{Inputs: []exec.Input{{Value: int64(6)}, matrix(6, 64), matrix(64, 128)}, Platform: &on, DType: tensor.Undefined}
	run := func(text string) (string, error) {
		w, err := artifact.DecodeWrapper(text, "w.py")
		if err != nil {
			return "", golden.ErrUntold // what is refused has tests of its own
		}
		r, err := exec.Run(context.Background(), inductor.New(w.Program), builtin.Table(), o)
		if err != nil {
			return "", err
		}
		return r.Trace.String(), nil
	}
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		text := string(a.Input("wrapper.py"))
		whole, err := run(text)
		require.NoError(a.T(), err)
		a.Want("run", []byte(whole))
		a.Want("damaged", []byte(golden.Damage(a.T(), text, run)))
	})
}
