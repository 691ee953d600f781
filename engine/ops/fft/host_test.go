package fft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestFramesBack: what torch.istft of torch 2.15 gives on the host: the frames that overlap,
// without half a window at each end where they are centred, cut or padded to a length. Where
// onesided is not given, as many frequencies as the window has are all of them.
func TestFramesBack(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	of := func(sizes ...int64) any { return h.Of(tensor.Complex64, sizes...) }
	window := func(n int64) any { return h.Of(tensor.Float32, n) }
	const n, hop = int64(16), int64(4)
	for _, tt := range []struct {
		why  string
		x    any
		args []any // hop, width, window, center, normalized, onesided, length, return_complex
		want string
		err  string
	}{
		{"a quarter of the window apart", of(9, 13), nil, "float32[48] [1]", ""},
		{"without a window", of(2, 9, 13), []any{hop, nil, nil, true}, "float32[2, 48] [48, 1]", ""},
		{"frames that begin at their edge", of(2, 9, 13), []any{hop, nil, window(16), false}, "float32[2, 64] [64, 1]", ""},
		{"a length below", of(2, 9, 13), []any{hop, nil, window(16), true, false, nil, int64(40)},
			"float32[2, 40] [40, 1]", ""},
		{"a length beyond", of(2, 9, 13), []any{hop, nil, nil, true, false, nil, int64(90)}, "float32[2, 90] [90, 1]", ""},
		{"a length beyond, of one signal", of(9, 13), []any{hop, nil, nil, true, false, true, int64(90)}, "float32[90] [1]",
			""},
		{"a short window", of(9, 13), []any{hop, int64(12), window(12), true, false, true}, "float32[48] [1]", ""},
		{"all frequencies", of(2, 16, 13), []any{hop, nil, window(16), true, false, false}, "float32[2, 48] [48, 1]", ""},
		{"all frequencies, by their number", of(2, 16, 13), []any{hop, nil, window(16)}, "float32[2, 48] [48, 1]", ""},
		{"a complex signal", of(2, 16, 13), []any{hop, nil, nil, true, false, false, nil, true}, "complex64[2, 48] [48, 1]",
			""},
		{"all frequencies where half are said", of(2, 16, 13), []any{hop, nil, nil, true, false, true}, "",
			"got [2 16 13], n_fft 16, hop 4 and a window of 16, want 9 frequencies of frames that meet"},
		{"half the frequencies where all are said", of(2, 9, 13), []any{hop, nil, nil, true, false, false}, "",
			"got [2 9 13], n_fft 16, hop 4 and a window of 16, want 16 frequencies of frames that meet"},
		{"no frames", of(9, 0), []any{hop}, "",
			"got [9 0], n_fft 16, hop 4 and a window of 16, want 9 frequencies of frames that meet"},
		{"frames further apart than the window", of(9, 13), []any{int64(13), int64(12), window(12)}, "",
			"got [9 13], n_fft 16, hop 13 and a window of 12, want 9 frequencies of frames that meet"},
		{"a window above n_fft", of(9, 13), []any{hop, int64(17), window(17)}, "",
			"got [9 13], n_fft 16, hop 4 and a window of 17, want 9 frequencies of frames that meet"},
		{"real frames", h.Of(tensor.Float32, 9, 13), nil, "", "got float32, want a complex dtype"},
		{"a vector", of(9), nil, "", "got [9] and hop 4, want [batch, frequencies, frames]"},
		{"no step", of(9, 13), []any{int64(0)}, "", "got [9 13] and hop 0, want [batch, frequencies, frames]"},
	} {
		got, err := h.Try("aten::istft", append([]any{tt.x, n}, tt.args...), nil)
		if tt.err != "" {
			assert.EqualError(t, err, "aten::istft: "+tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
	h.Changed("testdata/changed_frames_back.txt")
}

// TestFrames: what torch.stft of torch 2.15 gives on the host, frequencies before frames: half of
// them of a real signal unless all are asked for, all of a complex one, and pairs of numbers where
// no complex result is.
func TestFrames(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	signal, numbers := h.Of(tensor.Float32, 2, 64), h.Of(tensor.Complex64, 2, 64)
	const n, hop = int64(16), int64(4)
	for _, tt := range []struct {
		why  string
		x    any
		args []any // n_fft, hop, width, window, normalized, onesided, return_complex
		want string
		err  string
	}{
		{"a quarter of the window apart", signal, []any{n, nil, nil, nil, false, nil, true},
			"complex64[2, 9, 13] [117, 1, 9]", ""},
		{"steps that leave a rest", signal, []any{n, int64(5), nil, nil, false, nil, true},
			"complex64[2, 9, 10] [90, 1, 9]", ""},
		{"one frame", signal, []any{int64(64), hop, nil, nil, false, nil, true}, "complex64[2, 33, 1] [33, 1, 33]", ""},
		{"a short window", signal, []any{n, hop, int64(12), h.Of(tensor.Float32, 12), false, nil, true},
			"complex64[2, 9, 13] [117, 1, 9]", ""},
		{"a short window of ones", signal, []any{n, hop, int64(12), nil, false, nil, true},
			"complex64[2, 9, 13] [117, 1, 9]", ""},
		{"a complex signal", numbers, []any{n, nil, nil, nil, false, nil, true}, "complex64[2, 16, 13] [208, 1, 16]", ""},
		{"pairs of numbers", signal, []any{n, nil, nil, nil, false, false, false}, "float32[2, 16, 13, 2] [416, 2, 32, 1]",
			""},
		{"pairs of numbers of one signal", h.Of(tensor.Float32, 64), []any{n, nil, nil, nil, false, nil, false},
			"float32[9, 13, 2] [2, 18, 1]", ""},
		{"a signal shorter than a frame", signal, []any{int64(65), hop, nil, nil, false, nil, true}, "",
			"got [2 64], n_fft 65, hop 4 and window of 65, want a signal of at least n_fft"},
		{"no step", signal, []any{n, int64(0), nil, nil, false, nil, true}, "",
			"got [2 64], n_fft 16, hop 0 and window of 16, want a signal of at least n_fft"},
		{"no frequencies", signal, []any{int64(0), hop, nil, nil, false, nil, true}, "",
			"got [2 64], n_fft 0, hop 4 and window of 0, want a signal of at least n_fft"},
		{"a window above n_fft", signal, []any{n, hop, int64(17), nil, false, nil, true}, "",
			"got [2 64], n_fft 16, hop 4 and window of 17, want a signal of at least n_fft"},
		{"no window", signal, []any{n, hop, int64(0), nil, false, nil, true}, "",
			"got [2 64], n_fft 16, hop 4 and window of 0, want a signal of at least n_fft"},
		{"channels", h.Of(tensor.Float32, 2, 3, 64), []any{n, hop, nil, nil, false, nil, true}, "",
			"got [2 3 64], n_fft 16, hop 4 and window of 16, want a signal of at least n_fft"},
	} {
		got, err := h.Try("aten::stft", append([]any{tt.x}, tt.args...), nil)
		if tt.err != "" {
			assert.EqualError(t, err, "aten::stft: "+tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
	h.Changed("testdata/changed_frames.txt")
}
