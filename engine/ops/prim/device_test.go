package prim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestDeviceNames: what names a device, and what none does.
func TestDeviceNames(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "none", "2.15"))
	for _, tt := range []struct {
		why   string
		args  []any
		want  ops.Device // "" of none
		index any
	}{
		{"by its kind", []any{"cuda"}, "cuda", nil},
		{"with an index", []any{"cuda:1"}, "cuda:1", int64(1)},
		{"its index apart", []any{"cuda", int64(2)}, "cuda:2", int64(2)},
		{"the host, whose index does not count", []any{"cpu:0"}, "cpu:0", nil},
		{"no name", []any{""}, "", nil},
		{"an index alone", []any{":1"}, "", nil},
		{"a number", []any{"1"}, "", nil},
		{"a letter in upper case", []any{"Cuda"}, "", nil},
		{"a sign in it", []any{"cu-da"}, "", nil},
	} {
		got, _, err := b.Run("aten::device", tt.args, nil)
		if tt.want == "" {
			assert.ErrorContains(t, err, "want cpu, cuda, cuda:0 or the like", tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
		index, _, err := b.Run("prim::index", []any{got}, nil)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.index, index, tt.why)
	}
}

// TestTruth: what counts as true, of numbers and of tensors of one element; of what is not known it
// is not known.
func TestTruth(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	unknown := ops.NewUnbacked("x", schema.Int)
	for _, tt := range []struct {
		v    any
		want any
	}{
		{int64(0), false}, {int64(-1), true}, {0.0, false}, {0.5, true}, {unknown, nil},
		{ops.NewUnbacked("x", schema.Float), nil}, {h.Of(tensor.Float32, 1), nil},
	} {
		got, _, err := h.Bench.Run("aten::Bool", []any{tt.v}, nil)
		require.NoError(t, err)
		if tt.want != nil {
			assert.Equal(t, tt.want, got, "%v", tt.v)
			continue
		}
		assert.False(t, ops.IsKnown(got), "%v: got %v", tt.v, got)
	}
	_, _, err := h.Bench.Run("aten::Bool", []any{h.Of(tensor.Float32, 2)}, nil)
	assert.EqualError(t, err, "aten::Bool: got a tensor of 2 elements, want one")
}
