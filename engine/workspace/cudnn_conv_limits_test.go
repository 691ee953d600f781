package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/tensor"
)

// limitConv is a convolution of 64 channels in a direction.
func limitConv(direction string, d tensor.DType, f tensor.MemoryFormat) *Convolution {
	v := &Convolution{Input: dense(d, f, 2, 64, 8, 8), Weight: dense(d, f, 64, 64, 3, 3), Stride: []int64{1, 1},
		Padding: []int64{1, 1}, Dilation: []int64{1, 1}, OutputPadding: []int64{0, 0}, Groups: 1}
	towards, _ := v.towards(direction, []int64{2, 64, 8, 8})
	return towards
}

// TestLimitOfTensorCores: from where on a convolution runs on tensor cores, with the last product
// that does not and the first that does.
func TestLimitOfTensorCores(t *testing.T) {
	const f16, f32 = tensor.Float16, tensor.Float32
	const plain, last = tensor.Contiguous, tensor.ChannelsLast
	for _, tt := range []struct {
		direction   string
		dtype       tensor.DType
		format      tensor.MemoryFormat
		stays, runs product
	}{
		{"wgrad", f16, plain, product{100, 100, 299}, product{100, 100, 300}},
		{"wgrad", f32, last, product{100, 100, 299}, product{100, 100, 300}},
		{"dgrad", f32, plain, product{100, 100, 299}, product{100, 100, 300}},
		{"dgrad", f32, plain, product{1e5, 7, 100}, product{1e5, 8, 100}},
		{"forward", f16, plain, product{1e5, 100, 31}, product{1, 1, 32}},
		{"forward", f32, plain, product{1e5, 100, 127}, product{1, 1, 128}},
		{"forward", f32, last, product{1e5, 100, 127}, product{1, 1, 128}},
	} {
		v := limitConv(tt.direction, tt.dtype, tt.format)
		assert.True(t, v.staysOnPlainCores(tt.stays), "%s %s %v", tt.direction, tt.dtype, tt.stays)
		assert.False(t, v.staysOnPlainCores(tt.runs), "%s %s %v", tt.direction, tt.dtype, tt.runs)
	}
	for _, v := range []*Convolution{limitConv("forward", f16, last), limitConv("dgrad", f16, plain),
		limitConv("dgrad", f16, last), limitConv("dgrad", f32, last)} {
		assert.False(t, v.staysOnPlainCores(product{1, 1, 1}))
	}
}

// TestLimitsOfSplits: from how many products on and up to how many tiles of the result a sum is
// split, and in how many parts. An A100 has 108 multiprocessors, an H100 132, a T4 40.
func TestLimitsOfSplits(t *testing.T) {
	const f16, f32 = tensor.Float16, tensor.Float32
	const plain, last = tensor.Contiguous, tensor.ChannelsLast
	const a100, h100, t4 = "a100-sxm-80gb", "h100-sxm-80gb", "t4"
	for _, tt := range []struct {
		direction, device string
		dtype             tensor.DType
		format            tensor.MemoryFormat
		k, tiles          int64
		want              int64 // parts
	}{
		{"forward", a100, f16, plain, 1999, 1, 0}, {"forward", a100, f16, plain, 2000, 1, 1},
		{"forward", a100, f16, plain, 2000, 27, 1}, {"forward", a100, f16, plain, 2000, 28, 0},
		{"forward", a100, f32, plain, 799, 1, 0}, {"forward", a100, f32, plain, 800, 108, 1},
		{"forward", a100, f32, plain, 800, 109, 0}, {"forward", t4, f16, plain, 799, 1, 0},
		{"forward", t4, f16, plain, 800, 40, 1}, {"forward", t4, f16, plain, 800, 41, 0},
		{"dgrad", a100, f32, plain, 1999, 1, 0}, {"dgrad", a100, f32, plain, 2000, 27, 1},
		{"dgrad", a100, f32, plain, 2000, 28, 0}, {"forward", h100, f16, plain, 1e6, 1, 0},
		{"wgrad", a100, f16, plain, 999, 1, 0}, {"wgrad", a100, f16, plain, 1000, 1, 16},
		{"wgrad", a100, f16, plain, 1000, 54, 1}, {"wgrad", a100, f16, plain, 1000, 55, 0},
		{"wgrad", a100, f16, plain, 46656, 1, 108}, {"wgrad", a100, f16, plain, 1e6, 1, 108},
		{"wgrad", a100, f32, plain, 399, 1, 0}, {"wgrad", a100, f32, plain, 400, 1, 20},
		{"wgrad", a100, f32, last, 400, 1, 20}, {"wgrad", h100, f32, plain, 400, 1, 20},
		{"wgrad", h100, f32, last, 400, 1, 5}, {"wgrad", h100, f32, last, 400, 66, 1},
		{"wgrad", h100, f32, last, 400, 67, 0},
	} {
		v := limitConv(tt.direction, tt.dtype, tt.format)
		got := v.partialSums(on(t, tt.device, "2.12"), product{128 * tt.tiles, 128, tt.k})
		assert.Equal(t, tt.want*4*128*128*tt.tiles, got, "%+v", tt)
	}
	rest := limitConv("forward", f16, plain).partialSums(on(t, a100, "2.12"), product{129, 129, 2000})
	assert.Equal(t, int64(4*192*129), rest, "rows are rounded up to 64")
}

// TestLimitsOfWinograd: from how many products on Winograd's filters are made, and for a gradient
// from how much work on.
func TestLimitsOfWinograd(t *testing.T) {
	p := on(t, "a100-sxm-80gb", "2.12")
	p.TF32CuDNN = false
	forward, gradient := limitConv("forward", tensor.Float32, tensor.Contiguous),
		limitConv("dgrad", tensor.Float32, tensor.Contiguous)
	const filters = 100 * 64 * 64
	assert.Zero(t, forward.winograd(p, product{1e6, 10, 143}))
	assert.Equal(t, int64(filters+4*10), forward.winograd(p, product{1, 10, 144}))
	assert.Zero(t, gradient.winograd(p, product{1000, 100, 299}))
	assert.Equal(t, int64(filters+4*100), gradient.winograd(p, product{1000, 100, 300}))
}
