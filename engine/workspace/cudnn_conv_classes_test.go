package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestClassesOfConvolutions holds the rule of each class of call by itself, which a count of
// answers hardly sees. Operands are distinguished by their bytes.
func TestClassesOfConvolutions(t *testing.T) {
	const in, weight, out = 1000000, 10000, 100
	const f32, f16, f64 = tensor.Float32, tensor.Float16, tensor.Float64
	const plain, last = tensor.Contiguous, tensor.ChannelsLast
	const forward, input, gradient = "forward", "input's gradient", "weight's gradient"
	for _, tt := range []struct {
		why       string
		direction string
		device    string
		torch     string
		dtype     tensor.DType
		format    tensor.MemoryFormat
		weight    []int64
		want      int64
	}{
		{"half, channels last", forward, "a100-sxm-80gb", "2.15", f16, last, []int64{32, 32, 3, 3}, 0},
		{"half of one element", forward, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 1, 1}, in + out + 16},
		{"half", forward, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 3, 3}, in + weight + out + 16},
		{"half of one row", forward, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 1, 3}, in + weight + out + 16},
		{"depthwise in half, channels last", forward, "a100-sxm-80gb", "2.15", f16, last, []int64{32, 1, 3, 3}, weight},
		{"depthwise in half", forward, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 1, 3, 3}, 0},
		{"depthwise in float", forward, "a100-sxm-80gb", "2.15", f32, last, []int64{32, 1, 3, 3}, 0},
		{"groups of two channels are not depthwise", forward, "a100-sxm-80gb", "2.15", f32, plain, []int64{32, 2, 3, 3}, in + weight + 16},
		{"TF32", forward, "a100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 3, 3}, in + weight + 16},
		{"TF32, channels last", forward, "a100-sxm-80gb", "2.15", f32, last, []int64{32, 32, 3, 3}, in + weight + 16},
		{"TF32 of one element", forward, "a100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 1, 1}, in + weight + 16},
		{"double", forward, "a100-sxm-80gb", "2.15", f64, plain, []int64{32, 32, 3, 3}, 0},
		{"TF32 on 9.0", forward, "h100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 3, 3}, in + weight + 16},
		{"TF32 on 9.0, channels last", forward, "h100-sxm-80gb", "2.15", f32, last, []int64{32, 32, 1, 1}, 0},
		{"TF32 of one element on 9.0, cuDNN 9.26", forward, "h100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 1, 1}, in + out + 16},
		{"TF32 of one element on 9.0, cuDNN 9.10", forward, "h100-sxm-80gb", "2.10", f32, plain, []int64{32, 32, 1, 1}, 0},
		{"no TF32 before 8.0: Winograd's filters", forward, "t4", "2.15", f32, plain, []int64{32, 24, 3, 3}, 100*32*24 + 4*32},
		{"no TF32 before 8.0, one element", forward, "t4", "2.15", f32, plain, []int64{32, 32, 1, 1}, 0},
		{"no TF32 before 8.0, double", forward, "t4", "2.15", f64, plain, []int64{32, 32, 3, 3}, 0},

		{"half", input, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 3, 3}, in + weight + out + 16},
		{"half, channels last", input, "a100-sxm-80gb", "2.15", f16, last, []int64{32, 32, 3, 3}, 0},
		{"half of one element", input, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 1, 1}, in + out + 16},
		{"depthwise", input, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 1, 3, 3}, 0},
		{"groups of two channels", input, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 2, 3, 3}, in + weight + out + 16},
		{"one channel, not grouped", input, "a100-sxm-80gb", "2.15", f16, plain, []int64{1, 1, 3, 3}, in + weight + out + 16},
		{"TF32", input, "a100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 3, 3}, 0},
		{"TF32, channels last", input, "a100-sxm-80gb", "2.15", f32, last, []int64{32, 32, 3, 3}, in + weight + 16},
		{"TF32 on 9.0, channels last", input, "h100-sxm-80gb", "2.15", f32, last, []int64{32, 32, 3, 3}, 0},
		{"no TF32, channels last", input, "t4", "2.15", f32, last, []int64{32, 32, 3, 3}, 0},
		{"double", input, "a100-sxm-80gb", "2.15", f64, last, []int64{32, 32, 3, 3}, 0},

		{"half", gradient, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 3, 3}, in + weight + out + 16},
		{"half, channels last", gradient, "a100-sxm-80gb", "2.15", f16, last, []int64{32, 32, 3, 3}, 0},
		{"half of one element", gradient, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 32, 1, 1}, 0},
		{"depthwise", gradient, "a100-sxm-80gb", "2.15", f16, plain, []int64{32, 1, 3, 3}, 0},
		{"one channel, not grouped", gradient, "a100-sxm-80gb", "2.15", f16, plain, []int64{1, 1, 3, 3}, in + weight + out + 16},
		{"TF32", gradient, "a100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 3, 3}, in + weight + out + 16},
		{"TF32, channels last", gradient, "a100-sxm-80gb", "2.15", f32, last, []int64{32, 32, 3, 3}, in + out + 16},
		{"TF32 on 9.0", gradient, "h100-sxm-80gb", "2.15", f32, plain, []int64{32, 32, 3, 3}, in + weight + out + 16},
		{"TF32 on 9.0, channels last", gradient, "h100-sxm-80gb", "2.15", f32, last, []int64{32, 32, 3, 3}, 0},
		{"no TF32", gradient, "t4", "2.15", f32, plain, []int64{32, 32, 3, 3}, 0},
		{"double", gradient, "a100-sxm-80gb", "2.15", f64, plain, []int64{32, 32, 3, 3}, 0},
	} {
		channels := max(tt.weight[0], tt.weight[1])
		x, w := dense(tt.dtype, tt.format, 2, channels, 8, 9), dense(tt.dtype, tt.format, tt.weight...)
		v := aConv(x, w)
		v.Groups = channels / tt.weight[1]
		if tt.weight[1] == 24 {
			v.Groups = 1
		}
		switch tt.direction {
		case input:
			v.Transposed = true
		case gradient:
			v.Grad = x
		}
		assert.Equal(t, tt.want, v.byRule(on(t, tt.device, tt.torch), convBytes{in, weight, out}), "%s: %s on %s", tt.direction, tt.why, tt.device)
	}
}

// TestWinograd: which convolutions of 3 by 3 transform their filters, each condition broken once.
func TestWinograd(t *testing.T) {
	const takes = 100*32*24 + 4*32
	v := func() *Convolution {
		v := aConv(dense(tensor.Float32, tensor.Contiguous, 2, 24, 8, 9), dense(tensor.Float32, tensor.Contiguous, 32, 24, 3, 3))
		return v
	}
	for _, tt := range []struct {
		why    string
		change func(v *Convolution, p *platform.Platform)
		want   int64
	}{
		{"on 7.5", func(*Convolution, *platform.Platform) {}, takes},
		{"of 3 by 4", func(v *Convolution, _ *platform.Platform) {
			v.Weight = dense(tensor.Float32, tensor.Contiguous, 32, 24, 3, 4)
		}, 0},
		{"of 4 by 3", func(v *Convolution, _ *platform.Platform) {
			v.Weight = dense(tensor.Float32, tensor.Contiguous, 32, 24, 4, 3)
		}, 0},
		{"of three dimensions", func(v *Convolution, _ *platform.Platform) {
			v.Weight = dense(tensor.Float32, tensor.Contiguous, 32, 24, 3, 3, 3)
		}, 0},
		{"in steps of 2", func(v *Convolution, _ *platform.Platform) { v.Stride = []int64{2, 1} }, 0},
		{"dilated", func(v *Convolution, _ *platform.Platform) { v.Dilation = []int64{1, 2} }, 0},
		{"transposed", func(v *Convolution, _ *platform.Platform) { v.Transposed = true }, 0},
		{"in groups", func(v *Convolution, _ *platform.Platform) { v.Groups = 2 }, 0},
		{"of double", func(v *Convolution, _ *platform.Platform) {
			v.Input = dense(tensor.Float64, tensor.Contiguous, 2, 24, 8, 9)
		}, 0},
		{"channels last", func(v *Convolution, _ *platform.Platform) {
			v.Input = dense(tensor.Float32, tensor.ChannelsLast, 2, 24, 8, 9)
		}, 0},
		{"on 8.9 with TF32", func(_ *Convolution, p *platform.Platform) { *p = *on(t, "rtx-4090", "2.15") }, 0},
		{"on 8.9 without", func(_ *Convolution, p *platform.Platform) { *p = *on(t, "rtx-4090", "2.15"); p.TF32CuDNN = false }, takes},
		{"on 9.0 without", func(_ *Convolution, p *platform.Platform) { *p = *on(t, "h100-sxm-80gb", "2.15"); p.TF32CuDNN = false }, 0},
		{"on 7.0 with cuDNN before 9.19", func(_ *Convolution, p *platform.Platform) {
			p.Device.ComputeCapability, p.CuDNN = device.Capability{Major: 7}, platform.Version{Major: 9, Minor: 18}
		}, takes},
		{"on 7.0 from cuDNN 9.19 on", func(_ *Convolution, p *platform.Platform) {
			p.Device.ComputeCapability, p.CuDNN = device.Capability{Major: 7}, platform.Version{Major: 9, Minor: 19}
		}, 0},
		{"before 7.0", func(_ *Convolution, p *platform.Platform) {
			p.Device.ComputeCapability, p.CuDNN = device.Capability{Major: 6, Minor: 1}, platform.Version{Major: 9, Minor: 10}
		}, 0},
	} {
		v, p := v(), on(t, "t4", "2.15")
		tt.change(v, p)
		assert.Equal(t, tt.want, v.winograd(p), tt.why)
	}
}

// TestUppersOfConvolutions holds the figures that no answer exceeded, in quarters of input and
// result together and of the weight. Each was fitted to the answers that its comment counts, most
// of which are not in the repository: who changes one has asked again.
func TestUppersOfConvolutions(t *testing.T) {
	const million = 1000000
	for _, tt := range []struct {
		kind   string
		device string
		dtype  tensor.DType
		format tensor.MemoryFormat
		ends   int64
		weight int64
	}{
		{"forward", "t4", tensor.Float32, tensor.Contiguous, 4, 12},
		{"forward", "a100-sxm-80gb", tensor.Float32, tensor.Contiguous, 6, 28},
		{"forward", "rtx-4090", tensor.Float32, tensor.Contiguous, 6, 28},
		{"forward", "h100-sxm-80gb", tensor.Float32, tensor.Contiguous, 7, 10},
		{"forward", "b200", tensor.Float32, tensor.Contiguous, 7, 10},
		{"forward", "t4", tensor.Float32, tensor.ChannelsLast, 4, 18},
		{"forward", "a100-sxm-80gb", tensor.Float32, tensor.ChannelsLast, 4, 12},
		{"forward", "h100-sxm-80gb", tensor.Float32, tensor.ChannelsLast, 4, 4},
		{"forward", "t4", tensor.Float16, tensor.Contiguous, 8, 33},
		{"forward", "a100-sxm-80gb", tensor.BFloat16, tensor.Contiguous, 4, 8},
		{"forward", "h100-sxm-80gb", tensor.Float16, tensor.Contiguous, 6, 4},
		{"forward", "t4", tensor.Float16, tensor.ChannelsLast, 2, 13},
		{"forward", "a100-sxm-80gb", tensor.Float16, tensor.ChannelsLast, 7, 8},
		{"forward", "h100-sxm-80gb", tensor.BFloat16, tensor.ChannelsLast, 2, 2},
		{"input's gradient", "t4", tensor.Float32, tensor.Contiguous, 6, 10},
		{"input's gradient", "h100-sxm-80gb", tensor.Float16, tensor.ChannelsLast, 4, 4},
		{"weight's gradient", "a100-sxm-80gb", tensor.Float16, tensor.Contiguous, 13, 4},
	} {
		x, out := dense(tt.dtype, tt.format, 1, 8, 250, 250), []int64{1, 8, 250, 250} // each half a million elements, counted as four bytes
		v := aConv(x, dense(tt.dtype, tt.format, 8, 8, 1, 1))
		switch tt.kind {
		case "input's gradient":
			v.Transposed = true
		case "weight's gradient":
			v.Grad = x
		}
		assert.Equal(t, tt.ends*million+tt.weight*64+64<<10, v.upperByRule(on(t, tt.device, "2.15"), convBytes{}, out), "%s, %s, %s, format %d", tt.kind, tt.device, tt.dtype, tt.format)
	}

	p := on(t, "t4", "2.15")
	gradient := func(d tensor.DType, sms int, weight ...int64) int64 {
		p.Device.SMs = sms
		v := aConv(dense(d, tensor.Contiguous, 1, 8, 1, 1), dense(d, tensor.Contiguous, weight...))
		v.Grad = v.Input
		return v.upperByRule(p, convBytes{}, []int64{1, 8, 1, 1}) - (13*64+4*4*inEights(weight, 2))/4 - 64<<10
	}
	assert.Equal(t, int64(64*4*64), gradient(tensor.Float32, 40, 8, 8, 1, 1), "64 copies of a small weight")
	assert.Equal(t, int64(10*40*64<<10), gradient(tensor.Float32, 40, 512, 512, 3, 3), "of a large one no more than tiles that all multiprocessors work on in ten waves")
	assert.Equal(t, int64(10*64<<10), gradient(tensor.Float32, 1, 512, 512, 3, 3), "one multiprocessor")
	assert.Equal(t, int64(64*4*512*512*9), gradient(tensor.Float32, 0, 512, 512, 3, 3), "as many as are not known")
	v := aConv(dense(tensor.Float64, tensor.Contiguous, 1, 8, 250, 250), dense(tensor.Float64, tensor.Contiguous, 8, 8, 1, 1))
	assert.Equal(t, int64(2*(4*million+12*64)+64<<10), v.upperByRule(on(t, "t4", "2.15"), convBytes{}, []int64{1, 8, 250, 250}), "doubles are eight bytes")

	for _, tt := range []struct {
		sizes    []int64
		channels int
		want     int64
	}{
		{[]int64{3, 7, 5}, 1, 3 * 8 * 5}, {[]int64{3, 8, 5}, 1, 3 * 8 * 5}, {[]int64{3, 9, 5}, 1, 3 * 16 * 5}, {[]int64{3, 9, 5}, 2, 8 * 16 * 5}, {[]int64{17, 1, 5}, 2, 24 * 8 * 5},
	} {
		assert.Equal(t, tt.want, inEights(tt.sizes, tt.channels), "%v", tt)
	}

	const huge = 1 << 50
	out := []int64{1, 8, 1, 1}
	small := aConv(dense(tensor.Float32, tensor.Contiguous, 1, 8, 1, 1), dense(tensor.Float32, tensor.Contiguous, 8, 8, 1, 1))
	rule := small.upperByRule(p, convBytes{}, out)
	assert.Equal(t, rule, small.upperByRule(p, convBytes{huge, huge, huge}, out))
	for _, n := range []convBytes{{huge + 1, 0, 0}, {7, huge + 1, 0}, {7, 0, huge + 1}} {
		assert.Equal(t, n.in, small.upperByRule(p, n, out), "no card holds it")
	}
}
