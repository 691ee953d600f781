package nn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestHiddenStates: what cuDNN's layers refuse of hidden states.
func TestHiddenStates(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
	f := func(sizes ...int64) any { return b.Tensor(aten.Dense(tensor.Float32, sizes...), nil) }
	list := func(ts ...any) any { return ops.NewList(schema.Tensor, ts...) }
	for _, tt := range []struct {
		op, want string
		hx       any
	}{
		{"aten::lstm", "aten::lstm: got 1 hidden states, want 2", list(f(1, 3, 6))},
		{"aten::lstm", "aten::lstm: got 3 hidden states, want 2", list(f(1, 3, 6), f(1, 3, 6), f(1, 3, 6))},
		{"aten::lstm", "aten::lstm: got hidden state [3 6], want 3 dimensions", list(f(3, 6), f(1, 3, 6))},
		{"aten::gru", "aten::gru: got hidden state [3 6], want 3 dimensions", f(3, 6)},
	} {
		_, _, err := b.Run(tt.op, []any{f(5, 3, 4), tt.hx, list(f(24, 4), f(24, 6), f(24), f(24)), true, int64(1), 0.0, false,
			false, false}, nil)
		assert.EqualError(t, err, tt.want)
	}
}

// On a device recurrent layers are one call of cuDNN; on fake tensors, as on the host, they go step
// by step.
func TestRecurrentLayers(t *testing.T) {
	f := tensor.Float32
	tensors := func(ms ...any) *ops.List { return &ops.List{Items: ms} }
	births := func(name string, train bool) (out []string) {
		on := func(sizes ...int64) any { return aten.Dense(f, sizes...) }
		events, _ := aten.Call{Op: "aten::lstm", Args: []any{on(5, 2, 4), tensors(on(1, 2, 6), on(1, 2, 6)),
			tensors(on(24, 4), on(24, 6), on(24), on(24)), true, int64(1), 0.0,
			train, false, false}}.Run(t, builtin.Table(), aten.On(t, name, "2.15"))
		for e := range strings.FieldsSeq(events) {
			if size, birth := strings.CutPrefix(e, "+"); birth {
				out = append(out, size)
			}
		}
		return out
	}
	assert.Equal(t, []string{"240", "48", "48", "1152", "8395520"}, births("a10g", false),
		"output, last states, the weights in one buffer, for they do not lie in one storage, and the workspace")
	assert.Equal(t, []string{"240", "48", "48", "1152", "8395520", "1472"}, births("a10g", true), "training's reserve too")
	assert.Len(t, births("none", false), 28, "five steps of two products and three results, and three stacked results")
}

// States are of as many layers as there are parameters for, or the call is refused.
func TestStatesOfEachLayer(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) any { return h.Of(tensor.Float32, sizes...) }
	for _, c := range []struct {
		op   string
		gate int64
		hx   any
		err  string
	}{
		{"aten::gru", 3, f(1, 2, 6), ""},
		{"aten::gru", 3, f(2, 2, 6), "got 2 hidden states, want 1"},
		{"aten::lstm", 4, ops.NewList(schema.Tensor, f(1, 2, 6), f(1, 2, 6)), ""},
		{"aten::lstm", 4, ops.NewList(schema.Tensor, f(2, 2, 6), f(2, 2, 6)), "got 2 hidden states, want 1"},
		{"aten::lstm", 4, ops.NewList(schema.Tensor, f(2, 2, 6), f(1, 2, 6)), "got 2 hidden states, want 1"},
		{"aten::lstm", 4, ops.NewList(schema.Tensor, f(1, 2, 6), f(2, 2, 6)), "got 1 hidden states, want 1"},
		{"aten::lstm", 4, ops.NewList(schema.Tensor, f(1, 2, 6)), "got 1 hidden states, want 2"},
	} {
		weights := ops.NewList(schema.Tensor, f(6*c.gate, 4), f(6*c.gate, 6), f(6*c.gate), f(6*c.gate))
		_, _, err := h.Bench.Run(c.op, []any{f(5, 2, 4), c.hx, weights, true, int64(1), 0.0, false, false, false}, nil)
		if c.err == "" {
			assert.NoError(t, err, c.op)
			continue
		}
		assert.ErrorContains(t, err, c.err, c.op)
	}
}

// TestBatchFirst: cuDNN computes with time first, so that a result with the batch first is seen
// through other strides, as torch 2.15 gives it on a pretend A10G.
func TestBatchFirst(t *testing.T) {
	for _, tt := range []struct {
		why            string
		layers         int64
		twoWays, first bool
		proj           int64
		strides        []int64
	}{
		{"the batch first", 1, false, true, 0, []int64{6, 18, 1}},
		{"time first", 1, false, false, 0, []int64{30, 6, 1}},
		{"both ways", 2, true, true, 0, []int64{12, 36, 1}},
		{"a projection", 1, false, true, 2, []int64{2, 6, 1}},
	} {
		b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
		f := func(sizes ...int64) any { return b.Tensor(aten.Dense(tensor.Float32, sizes...), nil) }
		dirs, out, batch := int64(1), int64(6), int64(5)
		if tt.twoWays {
			dirs = 2
		}
		if tt.proj > 0 {
			out = tt.proj
		}
		if tt.first {
			batch = 3
		}
		var weights []any
		for layer := range tt.layers {
			for range dirs {
				width := int64(4)
				if layer > 0 {
					width = out * dirs
				}
				weights = append(weights, f(24, width), f(24, out), f(24), f(24))
				if tt.proj > 0 {
					weights = append(weights, f(out, 6))
				}
			}
		}
		states := ops.NewList(schema.Tensor, f(tt.layers*dirs, batch, out), f(tt.layers*dirs, batch, 6))
		got, _, err := b.Run("aten::lstm", []any{f(3, 5, 4), states, ops.NewList(schema.Tensor, weights...), true, tt.layers,
			0.0, false, tt.twoWays, tt.first}, nil)
		require.NoError(t, err, tt.why)
		y := got.(*ops.Tuple).Items[0].(*tensor.Tensor)
		assert.Equal(t, []int64{3, 5, out * dirs}, y.Sizes, tt.why)
		assert.Equal(t, tt.strides, y.Strides, tt.why)
	}
}
