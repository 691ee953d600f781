package nn_test

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

// TestInterpolate: TorchScript's __interpolate runs the operator of the mode, on the sizes that it
// was given or on the input's by a factor.
func TestInterpolate(t *testing.T) {
	x := aten.Dense(tensor.Float32, 2, 3, 8, 10)
	ints, floats := func(n ...any) any { return ops.NewList(schema.Int, n...) }, func(n ...any) any {
		return ops.NewList(schema.Float, n...)
	}
	for _, tt := range []struct {
		mode        string
		size, scale any
		want        string
	}{
		{"nearest", ints(int64(4), int64(5)), nil, "+480"},
		{"nearest-exact", nil, floats(2.0, 1.5), "+5760"},
		{"area", ints(int64(4), int64(5)), nil, "+480"},
		{"area", nil, floats(0.5, 0.3), "+288"},
		{"bilinear", ints(int64(4), int64(5)), nil, "+480"},
		{"bicubic", nil, floats(0.5, 0.5), "+480"},
	} {
		got, _ := aten.Call{Op: "aten::__interpolate", Args: []any{x, tt.size, tt.scale, tt.mode, nil, nil, false}}.Run(t,
			builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, tt.want, got, tt.mode)
	}
	b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
	_, _, err := b.Run("aten::__interpolate", []any{b.Tensor(x, nil), ints(int64(4), int64(5)), nil, "other", nil, nil,
		false}, nil)
	assert.ErrorContains(t, err, `got mode "other"`)
}

// TestCUDAVersion: torchvision asks for CUDA's version as one number.
func TestCUDAVersion(t *testing.T) {
	for _, tt := range []struct {
		torch string
		want  int64
	}{{"2.15", 13020}, {"2.8", 12080}} {
		b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", tt.torch))
		got, _, err := b.Run("torchvision::_cuda_version", nil, nil)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got, tt.torch)
	}
}

// TestPackedSequences: a packed sequence goes step by step where tensors are fake or on the host,
// forwards and backwards, those that have ended leaving their state behind; on a device it is one
// call of cuDNN.
func TestPackedSequences(t *testing.T) {
	f := tensor.Float32
	run := func(device, host string, twoWays bool) string {
		on := func(sizes ...int64) any {
			m := aten.Dense(f, sizes...)
			if host != "" {
				m.Device = host
			}
			return m
		}
		batches := aten.Dense(tensor.Int64, 3)
		batches.Device = "cpu"
		dirs := int64(1)
		weights := []any{on(24, 4), on(24, 6), on(24), on(24)}
		if twoWays {
			dirs, weights = 2, append(weights, weights...)
		}
		args := []any{on(7, 4), batches, &ops.List{Items: []any{on(dirs, 3, 6), on(dirs, 3, 6)}}, &ops.List{Items: weights},
			true, int64(1), 0.0, false, twoWays}
		got, _ := aten.Call{Op: "aten::lstm", Args: args}.Run(t, builtin.Table(), aten.On(t, device, "2.15"))
		return got
	}
	assert.Empty(t, run("a10g", "cpu", false), "tensors of the host take nothing on the device")
	assert.Equal(t, "+168 +72 +72 +1152 +8395264 -4 -3", run("a10g", "", false), "output, last states, the weights in one "+
		"buffer and a workspace")
	// Batches of 3, 2 and 2: a step's gates (24 floats a row) of input and state, then its state,
	// cell and what the kernel keeps for a backward pass.
	assert.Equal(t, "+288 +288 +72 +72 +288 -4 -1 -0 +192 +192 +48 +48 +192 -9 -6 -5 +192 +192 +48 +48 +192 -14 -11 -10 "+
		"+168 +72 +72 +72 +72 -17 -16 -13 -12 -8 -7 -3 -2", run("none", "", false))
	assert.Equal(t, "+288 +288 +72 +72 +288 -4 -1 -0 +192 +192 +48 +48 +192 -9 -6 -5 +192 +192 +48 +48 +192 -14 -11 -10 "+
		"+168 +72 +72 +192 +192 +48 +48 +192 -22 -19 -18 +192 +192 +48 +48 +192 -27 -24 -23 +72 +72 +288 +288 +72 +72 +288 "+
		"-34 -31 -30 +168 +336 -35 -15 +144 +144 -17 -33 -16 -32 -29 -28 -26 -25 -21 -20 -13 -12 -8 -7 -3 -2",
		run("none", "", true), "and backwards, from the shorter batches to the longer")
}

// TestInterpolatedSizes: what torch.nn.functional.interpolate of torch 2.15 gives of one number for
// all dimensions or one for each, and what it refuses.
func TestInterpolatedSizes(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) any { return h.Of(tensor.Float32, sizes...) }
	image := f(2, 3, 8, 10)
	floats := func(n ...any) any { return ops.NewList(schema.Float, n...) }
	for _, tt := range []struct {
		why  string
		args []any // input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
		want string
		err  string
	}{
		{"a factor for both", []any{image, nil, 1.55}, "float32[2, 3, 12, 15] [540, 180, 15, 1]", ""},
		{"a factor that is computed anew", []any{image, nil, 1.55, "nearest", nil, true},
			"float32[2, 3, 12, 15] [540, 180, 15, 1]", ""},
		{"factors that are computed anew", []any{image, nil, floats(1.55, 0.35), "nearest", nil, true},
			"float32[2, 3, 12, 3] [108, 36, 3, 1]", ""},
		{"smoothed", []any{image, ops.IntList(4, 5), nil, "bilinear", nil, nil, true}, "float32[2, 3, 4, 5] [60, 20, 5, 1]",
			""},
		{"a size for both, smoothed", []any{image, int64(4), nil, "bicubic", nil, nil, true},
			"float32[2, 3, 4, 4] [48, 16, 4, 1]", ""},
		{"a signal", []any{f(2, 3, 8), int64(4), nil, "linear"}, "float32[2, 3, 4] [12, 4, 1]", ""},
		{"a signal by a factor", []any{f(2, 3, 8), nil, 2.0}, "float32[2, 3, 16] [48, 16, 1]", ""},
		{"a volume", []any{f(2, 3, 4, 5, 6), ops.IntList(3, 3, 3), nil, "trilinear"},
			"float32[2, 3, 3, 3, 3] [81, 27, 9, 3, 1]", ""},
		{"a volume's means", []any{f(2, 3, 4, 5, 6), nil, 0.5, "area"}, "float32[2, 3, 2, 2, 3] [36, 12, 6, 3, 1]", ""},
		{"a matrix", []any{f(3, 8), int64(4)}, "", "got 2 dimensions, want 3 to 5"},
		{"six dimensions", []any{f(1, 2, 3, 4, 5, 6), nil, 2.0}, "", "got 6 dimensions, want 3 to 5"},
		{"size and factor", []any{image, int64(4), 2.0}, "",
			"got size and scale_factor both or neither, want one of them"},
		{"neither", []any{image}, "", "got size and scale_factor both or neither, want one of them"},
	} {
		got, _, err := h.Bench.Run("aten::__interpolate", tt.args, nil)
		if tt.err != "" {
			assert.EqualError(t, err, "aten::__interpolate: "+tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
	for op, args := range map[string][]any{ // of old programs
		"aten::__upsample_bilinear": {image, int64(4)}, "aten::__upsample_nearest": {image, int64(4)},
		"aten::__upsample": {image, int64(4), nil, "bicubic"},
	} {
		assert.Equal(t, "float32[2, 3, 4, 4] [48, 16, 4, 1]", aten.Describe(h.Run(op, args...)), op)
	}
}
