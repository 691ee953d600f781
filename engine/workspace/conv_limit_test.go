package workspace

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// cuDNN takes a sample of INT_MAX elements, and none of one more where it counts in 32 bits
// (native/Convolution.cpp).
func TestConvAtInt32(t *testing.T) {
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	p.CuDNNv7 = true
	require.False(t, p.ConvBeyondInt32())
	for width, want := range map[int64]ConvBackend{math.MaxInt32: ConvCuDNN, math.MaxInt32 + 1: ConvColumns} {
		x := dense(tensor.Float32, tensor.Contiguous, 1, 1, 1, width)
		v := &Convolution{Input: x, Weight: dense(tensor.Float32, tensor.Contiguous, 1, 1, 1, 1), Stride: []int64{1, 1},
			Padding:  []int64{0, 0},
			Dilation: []int64{1, 1}, OutputPadding: []int64{0, 0}, Groups: 1}
		assert.Equal(t, want, v.Backend(&p, x.Sizes), "width %d", width)
	}
}

// PyTorch's own depthwise kernels take an input and a weight of INT_MAX elements, and cuDNN takes
// one more of either.
func TestDepthwiseConvAtInt32(t *testing.T) {
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	require.True(t, p.DepthwiseBeyondInt32(false))
	for _, c := range []struct {
		name                       string
		channels, width, perFilter int64
		want                       ConvBackend
	}{
		{"an input and a weight of INT_MAX", math.MaxInt32, 1, 1, ConvDepthwise},
		{"an input of one more", 1 << 16, 1 << 15, 1, ConvCuDNN},
		{"a weight of one more", 1 << 16, 1, 1 << 15, ConvCuDNN},
	} {
		x := dense(tensor.Float32, tensor.Contiguous, 1, c.channels, 1, c.width)
		v := &Convolution{Input: x, Weight: dense(tensor.Float32, tensor.Contiguous, c.channels, 1, 1, c.perFilter),
			Stride:  []int64{1, 1},
			Padding: []int64{0, 0}, Dilation: []int64{1, 1}, OutputPadding: []int64{0, 0}, Groups: c.channels}
		assert.Equal(t, c.want, v.Backend(&p, x.Sizes), c.name)
	}
}
