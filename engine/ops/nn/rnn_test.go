package nn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

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
