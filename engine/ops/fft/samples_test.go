package fft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/fft"
	"github.com/memspec/memspec/engine/tensor"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), fft.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), fft.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), fft.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), fft.Rules) }

// TestPoints: a transform has at least one point, also where the last length is that of its complex
// half (native/SpectralOps.cpp); lengths behind one another.
func TestPoints(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, tt := range []struct {
		op    string
		sizes []int64
		s     any
		got   string
		want  string // of an error
	}{
		{"aten::fft_irfftn", []int64{3, 4}, ops.IntList(3, 1), "float32[3, 1] [1, 1]", ""},
		{"aten::fft_irfftn", []int64{3, 4}, ops.IntList(3, 0), "", "aten::fft_irfftn: got [3 4] for 0 points, want at " +
			"least 1"},
		{"aten::fft_irfftn", []int64{3, 2}, nil, "float32[3, 2] [2, 1]", ""},
		{"aten::fft_irfftn", []int64{3, 1}, nil, "", "aten::fft_irfftn: got [3 1] for 0 points, want at least 1"},
		{"aten::fft_hfftn", []int64{3, 4}, ops.IntList(3, 1), "float32[3, 1] [1, 1]", ""},
		{"aten::fft_hfftn", []int64{3, 4}, ops.IntList(3, 0), "", "aten::fft_hfftn: got [3 4] for 0 points, want at least 1"},
	} {
		got, _, err := h.Bench.Run(tt.op, []any{h.Of(tensor.Complex64, tt.sizes...), tt.s}, nil)
		if tt.want != "" {
			assert.EqualError(t, err, tt.want)
			continue
		}
		require.NoError(t, err, "%s of %v", tt.op, tt.sizes)
		assert.Equal(t, tt.got, aten.Describe(got), "%s of %v", tt.op, tt.sizes)
	}
}

// TestDimsTwice: a dimension is transformed once, and each has a length.
func TestDimsTwice(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, tt := range []struct {
		s, dims any
		want    string
	}{
		{nil, ops.IntList(0, 0), "aten::fft_fftn: got dimension 0 twice"},
		{ops.IntList(3, 5), ops.IntList(1, -1), "aten::fft_fftn: got dimension 1 twice"},
		{ops.IntList(0), ops.IntList(1), "aten::fft_fftn: got a length of 0 in dimension 1 of sizes [3 4], want at least 1"},
		{ops.IntList(-2), ops.IntList(1), "aten::fft_fftn: got a length of -2 in dimension 1 " +
			"of sizes [3 4], want at least 1"},
		{ops.IntList(5, 0), ops.IntList(0, 1), "aten::fft_fftn: got a length of 0 in " +
			"dimension 1 of sizes [3 4], want at least 1"},
	} {
		_, _, err := h.Bench.Run("aten::fft_fftn", []any{h.Of(tensor.Complex64, 3, 4), tt.s, tt.dims}, nil)
		assert.EqualError(t, err, tt.want)
	}
	assert.Equal(t, "complex64[3, 5] [5, 1]",
		aten.Describe(h.Run("aten::fft_fftn", h.Of(tensor.Complex64, 3, 4), ops.IntList(-1, 5), ops.IntList(0, 1))))
}

// TestSignalInColumns: frames of signals that lie in columns begin hop rows apart, so the frames
// are outermost in what is transformed, and in the result: the strides are those that torch.stft
// has on fake CUDA tensors.
func TestSignalInColumns(t *testing.T) {
	for _, windowed := range []bool{false, true} {
		b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
		x := aten.Dense(tensor.Float32, 40, 3)
		x.Sizes, x.Strides = []int64{3, 40}, []int64{1, 3}
		var window any
		if windowed {
			window = b.Tensor(aten.Dense(tensor.Float32, 8), nil)
		}
		got, _, err := b.Run("aten::stft", []any{b.Tensor(x, nil), int64(8), int64(2), int64(8), window, false, "reflect",
			false, true, true}, nil)
		require.NoError(t, err)
		assert.Equal(t, []int64{3, 5, 17}, got.(*tensor.Tensor).Sizes)
		assert.Equal(t, []int64{5, 1, 15}, got.(*tensor.Tensor).Strides, "windowed: %t", windowed)
	}
}

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), fft.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), fft.Rules) }
