package workspace

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestClassesOfConvolutions has each part of the formula by itself, which a count of answers hardly
// shows. Copies of input, weight and result are x, w and o; one partial sum is s.
func TestClassesOfConvolutions(t *testing.T) {
	const f16, f32, f64 = tensor.Float16, tensor.Float32, tensor.Float64
	const plain, last = tensor.Contiguous, tensor.ChannelsLast
	const a100, h100, t4, rtx5090 = "a100-sxm-80gb", "h100-sxm-80gb", "t4", "rtx-5090"
	for _, tt := range []struct {
		why       string
		direction string
		device    string
		dtype     tensor.DType
		format    tensor.MemoryFormat
		line      string
		want      string
	}{
		{"half is laid out channels last", "forward", a100, f16, plain, "2x64x28x28 32x64x3x3 1 1 1 1", "x w o 16"},
		{"a weight of one element lies so already", "forward", a100, f16, plain, "2x64x28x28 32x64x1x1 1 0 1 1", "x o 16"},
		{"and so does an image of one pixel", "forward", a100, f16, plain, "2x64x1x1 32x64x1x1 1 0 1 1", ""},
		{"and a result of one pixel", "forward", a100, f16, plain, "2x64x8x8 32x64x8x8 1 0 1 1", "x w 16 s"},
		{"channels are filled up to eights", "forward", a100, f16, plain, "2x60x28x28 30x60x3x3 1 1 1 1",
			"x*64/60 w*64/60*32/30 o*32/30 16"},
		{"even where the layout is right", "dgrad", a100, f16, last, "2x60x28x28 30x60x3x3 1 1 1 1",
			"x*64/60 w*64/60*32/30 o*32/30 16"},
		{"but forward", "forward", a100, f16, last, "2x60x28x28 30x60x3x3 1 1 1 1", ""},
		{"few products do not pay", "forward", a100, f16, plain, "2x3x28x28 32x3x3x3 1 1 1 1", ""},
		{"32 do", "forward", a100, f16, plain, "2x8x28x28 32x8x2x2 1 1 1 1", "x w o 16"},
		{"half channels last", "forward", a100, f16, last, "2x64x28x28 32x64x3x3 1 1 1 1", ""},
		{"half channels last", "wgrad", a100, f16, last, "2x64x14x14 32x64x3x3 1 1 1 1", ""},
		{"half", "dgrad", t4, f16, plain, "2x64x28x28 32x64x3x3 1 1 1 1", "x w o 16"},
		{"half", "wgrad", h100, f16, plain, "2x64x14x14 32x64x3x3 1 1 1 1", "x w o 16"},
		{"a gradient with little work", "wgrad", a100, f16, plain, "2x16x14x14 32x16x3x3 1 1 1 1", ""},
		{"the sum is split from 2000 products on", "forward", a100, f16, last, "2x256x14x14 64x256x3x3 1 1 1 1", "s"},
		{"not below", "forward", a100, f16, last, "2x128x14x14 64x128x3x3 1 1 1 1", ""},
		{"on 7.5 from 800 on", "forward", t4, f16, last, "2x128x14x14 64x128x3x3 1 1 1 1", "s"},
		{"not on 9.0", "forward", h100, f16, last, "2x256x14x14 64x256x3x3 1 1 1 1", ""},
		{"not where there are enough tiles", "forward", a100, f16, last, "32x256x14x14 128x256x3x3 1 1 1 1", ""},
		{"a gradient's sum over pixels", "wgrad", a100, f16, last, "8x64x28x28 64x64x1x1 1 0 1 1", "40*s"},
		{"over few", "wgrad", a100, f16, last, "1x64x28x28 64x64x1x1 1 0 1 1", ""},
		{"with more tiles fewer splits", "wgrad", a100, f16, last, "8x256x28x28 256x256x1x1 1 0 1 1", "10*s"},
		{"the splits are rounded up", "wgrad", a100, f16, last, "8x64x28x28 64x64x3x3 1 1 1 1", "8*s"},
		{"with more tiles than half the multiprocessors none", "wgrad", a100, f16, last, "8x512x28x28 512x512x3x3 1 1 1 1",
			""},
		{"a multiprocessor has one split", "wgrad", a100, f16, last, "64x64x56x56 64x64x1x1 1 0 1 1", "108*s"},

		{"TF32 rounds its operands", "forward", a100, f32, last, "2x64x28x28 32x64x3x3 1 1 1 1", "x w 16"},
		{"and lays a small result out", "forward", a100, f32, plain, "2x64x28x28 32x64x3x3 1 1 1 1", "x w o 16"},
		{"but no large one", "forward", a100, f32, plain, "4x64x56x56 64x64x3x3 1 1 1 1", "x w 16"},
		{"on 12.0, too", "forward", rtx5090, f32, last, "2x64x28x28 32x64x3x3 1 1 1 1", "x w 16"},
		{"few products", "forward", a100, f32, plain, "2x64x28x28 32x64x1x1 1 0 1 1", ""},
		{"few products", "forward", a100, f32, last, "2x64x28x28 32x64x1x1 1 0 1 1", ""},
		{"128 are enough", "forward", a100, f32, last, "2x128x28x28 32x128x1x1 1 0 1 1", "x w 16"},
		{"split from 800 products on", "forward", a100, f32, last, "2x128x14x14 64x128x3x3 1 1 1 1", "x w 16 s"},
		{"up to as many tiles as multiprocessors", "forward", a100, f32, last, "80x128x14x14 64x128x3x3 1 1 1 1", "x w 16"},
		{"the gradient and the weight are rounded", "dgrad", a100, f32, last, "2x64x28x28 32x64x3x3 1 1 1 1", "o w 16"},
		{"and the result transposed", "dgrad", a100, f32, plain, "2x64x28x28 32x64x3x3 1 1 1 1", "o w x 16"},
		{"a rounded weight of one element is a copy", "dgrad", a100, f32, plain, "2x128x28x28 128x128x1x1 1 0 1 1",
			"o w x 16"},
		{"little work", "dgrad", a100, f32, plain, "2x16x28x28 32x16x1x1 1 0 1 1", ""},
		{"little work", "dgrad", a100, f32, last, "2x16x28x28 32x16x1x1 1 0 1 1", "o w 16"},
		{"an image's gradient", "dgrad", a100, f32, plain, "2x3x112x112 64x3x3x3 1 1 1 1", ""},
		{"an image's gradient", "dgrad", a100, f32, last, "2x3x112x112 64x3x3x3 1 1 1 1", "x w o 16"},
		{"an image's gradient", "dgrad", h100, f32, last, "2x3x112x112 64x3x3x3 1 1 1 1", "x w o 16"},
		{"split from 2000 products on", "dgrad", a100, f32, last, "2x64x14x14 256x64x3x3 1 1 1 1", "o w 16 s"},
		{"not below", "dgrad", a100, f32, last, "2x64x14x14 128x64x3x3 1 1 1 1", "o w 16"},
		{"both are rounded", "wgrad", a100, f32, last, "2x64x12x12 64x64x3x3 1 1 1 1", "x o 16"},
		{"and the weight transposed", "wgrad", a100, f32, plain, "2x64x12x12 64x64x3x3 1 1 1 1", "x w o 16"},
		{"split from 400 pixels on", "wgrad", a100, f32, last, "2x64x28x28 64x64x3x3 1 1 1 1", "x o 16 8*s"},
		{"little work", "wgrad", a100, f32, last, "2x16x28x28 64x16x1x1 1 0 1 1", ""},
		{"on 9.0 nothing is rounded", "forward", h100, f32, last, "2x64x28x28 32x64x3x3 1 1 1 1", ""},
		{"only laid out", "forward", h100, f32, plain, "2x64x28x28 32x64x3x3 1 1 1 1", "x w o 16"},
		{"a weight of one element is not", "dgrad", h100, f32, plain, "2x128x28x28 128x128x1x1 1 0 1 1", "x o 16"},
		{"nothing to lay out", "dgrad", h100, f32, last, "2x128x28x28 128x128x1x1 1 0 1 1", ""},
		{"channels are not filled up", "forward", h100, f32, plain, "2x60x28x28 30x60x3x3 1 1 1 1", "x w o 16"},
		{"on 9.0 fewer splits", "wgrad", h100, f32, last, "2x64x28x28 64x64x3x3 1 1 1 1", "2*s"},

		{"depthwise", "forward", a100, f16, last, "2x64x28x28 64x1x3x3 1 1 1 64", ""},
		{"depthwise", "wgrad", a100, f32, last, "2x64x28x28 64x1x3x3 1 1 1 64", ""},
		{"a result is large from 100 million multiplications on", "forward", a100, f32, plain,
			"1x1000x10x100 100x1000x1x1 1 0 1 1", "x w 16 s"},
		{"not below", "forward", a100, f32, plain, "1x1000x27x37 100x1000x1x1 1 0 1 1", "x w o 16 s"},
		{"depthwise in two groups", "dgrad", a100, f16, last, "2x2x28x28 4x1x3x3 1 1 1 2", ""},
		{"one channel, not grouped", "dgrad", a100, f16, plain, "2x8x28x28 8x8x3x3 1 1 1 1", "x w o 16"},
		{"groups of two channels", "forward", a100, f16, plain, "2x64x28x28 64x2x9x9 1 4 1 32", "x w*8/2 o 16"},
		{"double", "forward", a100, f64, plain, "2x64x28x28 32x64x3x3 1 1 1 1", ""},

		{"an index table: six bytes a pixel", "forward", t4, f32, plain, "2x64x28x28 32x64x1x1 1 0 1 1", "4736"},
		{"or four bytes a product", "forward", t4, f32, plain, "2x512x4x4 32x512x1x1 1 0 1 1", "2048"},
		{"few products", "forward", t4, f32, plain, "2x8x28x28 32x8x1x1 1 0 1 1", ""},
		{"one pixel", "forward", t4, f32, plain, "2x512x1x1 32x512x1x1 1 0 1 1", ""},
		{"a table for the gradient", "dgrad", t4, f32, plain, "2x64x28x28 32x64x1x1 1 0 1 1", "4736 17*128"},
		{"not in steps", "dgrad", t4, f32, plain, "2x64x28x28 32x64x1x1 2 0 1 1", ""},
		{"nor for few pixels", "dgrad", t4, f32, plain, "1x64x13x13 32x64x1x1 1 0 1 1", ""},
		{"nor for windows", "dgrad", t4, f32, plain, "2x64x28x28 32x64x5x5 1 2 1 1", ""},
		{"channels last on copies", "dgrad", t4, f32, last, "2x64x28x28 32x64x5x5 1 2 1 1", "x w o 16"},
		{"a weight of one element is none", "dgrad", t4, f32, last, "2x64x28x28 32x64x1x1 2 0 1 1", "x o 16"},
		{"but for a product of matrices", "dgrad", t4, f32, last, "2x64x28x28 32x64x1x1 1 0 1 1", "4736 17*128"},
		{"and few pixels", "dgrad", t4, f32, last, "2x64x14x14 32x64x1x1 1 0 1 1", "x o 16"},
		{"counters of a weight's gradient", "wgrad", t4, f32, last, "2x64x28x28 32x64x5x5 1 2 1 1", "32*64*25/128"},
		{"Winograd's filters", "forward", t4, f32, plain, "2x24x28x28 32x24x3x3 1 1 1 1", "100*32*24 4*32"},
		{"of contiguous copies", "forward", t4, f32, last, "2x24x28x28 32x24x3x3 1 1 1 1", "100*32*24 4*32 x w o 16"},
		{"a number for each channel of what is made", "dgrad", t4, f32, plain, "4x64x28x28 32x64x3x3 1 1 1 1",
			"100*32*64 4*64"},
	} {
		v := rowConv(t, tt.line, tt.dtype, tt.format)
		out := rowOut(v)
		g, given := v.towards(tt.direction, out)
		p := on(t, tt.device, "2.15")
		n := convBytes{int64(g.Input.NBytes()), int64(g.Weight.NBytes()), tensor.Numel(given) * tt.dtype.ItemSize()}
		c := g.asProduct(given)
		sizes := map[string]int64{
			"x": int64(v.Input.NBytes()), "w": int64(v.Weight.NBytes()), "o": tensor.Numel(out) * tt.dtype.ItemSize(),
			"s": 4 * upTo(c.m, 64) * c.n,
		}
		assert.Equal(t, total(t, tt.want, sizes), g.byRule(p, n, given), "%s: %s on %s, %s", tt.direction, tt.why, tt.device,
			tt.line)
	}
}

// total is the sum of terms like x, 16 or x*64/60.
func total(t *testing.T, terms string, sizes map[string]int64) (sum int64) {
	t.Helper()
	for _, term := range strings.Fields(terms) {
		value := int64(1)
		for _, factor := range strings.Split(term, "*") {
			number, divisor, divided := strings.Cut(factor, "/")
			n, named := sizes[number]
			if !named {
				var err error
				n, err = strconv.ParseInt(number, 10, 64)
				require.NoError(t, err)
			}
			value *= n
			if divided {
				d, err := strconv.ParseInt(divisor, 10, 64)
				require.NoError(t, err)
				value /= d
			}
		}
		sum += value
	}
	return sum
}

// TestWinograd: which convolutions of 3 by 3 transform their filters, each condition broken once.
func TestWinograd(t *testing.T) {
	const takes = 100*32*24 + 4*32
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
		{"of few channels", func(v *Convolution, _ *platform.Platform) {
			v.Weight = dense(tensor.Float32, tensor.Contiguous, 32, 15, 3, 3)
		}, 0},
		{"in steps of 2", func(v *Convolution, _ *platform.Platform) { v.Stride = []int64{2, 1} }, 0},
		{"dilated", func(v *Convolution, _ *platform.Platform) { v.Dilation = []int64{1, 2} }, 0},
		{"transposed, with little work", func(v *Convolution, _ *platform.Platform) { v.Transposed = true }, 0},
		{"of a weight's gradient", func(v *Convolution, _ *platform.Platform) { v.Grad = v.Input }, 0},
		{"in groups", func(v *Convolution, _ *platform.Platform) { v.Groups = 2 }, 0},
		{"of double", func(v *Convolution, _ *platform.Platform) {
			v.Input = dense(tensor.Float64, tensor.Contiguous, 2, 24, 8, 9)
		}, 0},
		{"on 8.9 with TF32", func(_ *Convolution, p *platform.Platform) { *p = *on(t, "rtx-4090", "2.15") }, 0},
		{"on 8.9 without", func(_ *Convolution, p *platform.Platform) {
			*p = *on(t, "rtx-4090", "2.15")
			p.TF32CuDNN = false
		}, takes},
		{"on 9.0 without", func(_ *Convolution, p *platform.Platform) {
			*p = *on(t, "h100-sxm-80gb", "2.15")
			p.TF32CuDNN = false
		}, 0},
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
		v := aConv(dense(tensor.Float32, tensor.Contiguous, 2, 24, 8, 9), dense(tensor.Float32, tensor.Contiguous, 32, 24, 3,
			3))
		p := on(t, "t4", "2.15")
		tt.change(v, p)
		assert.Equal(t, tt.want, v.winograd(p, v.asProduct([]int64{2, 32, 8, 9})), tt.why)
	}
}

// TestUppersOfConvolutions has the upper figure of each class: quarters of input and result
// together, of the weight, and partial sums.
func TestUppersOfConvolutions(t *testing.T) {
	const million = 1000000
	for _, tt := range []struct {
		kind   string
		device string
		dtype  tensor.DType
		format tensor.MemoryFormat
		ends   int64
		weight int64
		sums   int64
	}{
		{"forward", "t4", tensor.Float32, tensor.Contiguous, 4, 11, 0},
		{"forward", "a100-sxm-80gb", tensor.Float32, tensor.Contiguous, 6, 7, 1},
		{"forward", "rtx-4090", tensor.Float32, tensor.Contiguous, 6, 7, 1},
		{"forward", "h100-sxm-80gb", tensor.Float32, tensor.Contiguous, 4, 6, 1},
		{"forward", "b200", tensor.Float32, tensor.Contiguous, 4, 6, 1},
		{"forward", "t4", tensor.Float32, tensor.ChannelsLast, 4, 16, 0},
		{"forward", "a100-sxm-80gb", tensor.Float32, tensor.ChannelsLast, 4, 8, 1},
		{"forward", "h100-sxm-80gb", tensor.Float32, tensor.ChannelsLast, 4, 4, 1},
		{"forward", "t4", tensor.Float16, tensor.Contiguous, 4, 4, 1},
		{"forward", "a100-sxm-80gb", tensor.BFloat16, tensor.Contiguous, 3, 8, 1},
		{"forward", "h100-sxm-80gb", tensor.Float16, tensor.Contiguous, 2, 5, 1},
		{"forward", "t4", tensor.Float16, tensor.ChannelsLast, 2, 2, 1},
		{"forward", "a100-sxm-80gb", tensor.Float16, tensor.ChannelsLast, 8, 7, 0},
		{"forward", "h100-sxm-80gb", tensor.BFloat16, tensor.ChannelsLast, 2, 5, 1},
		{"input's gradient", "t4", tensor.Float32, tensor.Contiguous, 4, 11, 0},
		{"input's gradient", "a100-sxm-80gb", tensor.Float32, tensor.ChannelsLast, 4, 6, 1},
		{"input's gradient", "h100-sxm-80gb", tensor.Float16, tensor.ChannelsLast, 6, 5, 0},
		{"weight's gradient", "t4", tensor.Float32, tensor.Contiguous, 8, 8, 0},
		{"weight's gradient", "a100-sxm-80gb", tensor.Float16, tensor.Contiguous, 8, 8, 7812}, // 62500 pixels / 8
	} {
		// each half a million elements, counted as four bytes
		x, out := dense(tt.dtype, tt.format, 1, 8, 250, 250), []int64{1, 8, 250, 250}
		v := aConv(x, dense(tt.dtype, tt.format, 8, 8, 2, 2))
		one := int64(4 * 62528 * 64)
		switch tt.kind {
		case "input's gradient":
			v.Transposed = true
		case "weight's gradient":
			v.Grad = x
			one = 4 * 64 * 64
		}
		sums := tt.sums * one
		if v.Grad != nil {
			sums = min(sums, 108*4*128*128)
		}
		want := tt.ends*million + tt.weight*64*4 + sums + 64<<10
		assert.Equal(t, want, v.upperByRule(on(t, tt.device, "2.15"), convBytes{}, out), "%s, %s, %s, format %d", tt.kind,
			tt.device, tt.dtype, tt.format)
	}
	v := aConv(dense(tensor.Float64, tensor.Contiguous, 1, 8, 250, 250), dense(tensor.Float64, tensor.Contiguous, 8, 8, 1,
		1))
	assert.Equal(t, int64(2*(4*million+11*64)+64<<10), v.upperByRule(on(t, "t4", "2.15"), convBytes{},
		[]int64{1, 8, 250, 250}), "doubles are eight bytes")

	for _, tt := range []struct {
		sizes    []int64
		channels int
		want     int64
	}{
		{[]int64{3, 7, 5}, 1, 3 * 8 * 5}, {[]int64{3, 8, 5}, 1, 3 * 8 * 5}, {[]int64{3, 9, 5}, 1, 3 * 16 * 5},
		{[]int64{3, 9, 5}, 2, 8 * 16 * 5}, {[]int64{17, 1, 5}, 2, 24 * 8 * 5},
	} {
		assert.Equal(t, tt.want, inEights(tt.sizes, tt.channels), "%v", tt)
	}

	const huge = 1 << 50
	p, out := on(t, "t4", "2.15"), []int64{1, 8, 1, 1}
	small := aConv(dense(tensor.Float32, tensor.Contiguous, 1, 8, 1, 1), dense(tensor.Float32, tensor.Contiguous, 8, 8, 1,
		1))
	rule := small.upperByRule(p, convBytes{}, out)
	assert.Equal(t, rule, small.upperByRule(p, convBytes{huge, huge, huge}, out))
	for _, n := range []convBytes{{huge + 1, 0, 0}, {7, huge + 1, 0}, {7, 0, huge + 1}} {
		assert.Equal(t, n.in, small.upperByRule(p, n, out), "no card holds it")
	}
}

// TestMostPartialSums: how many partial sums an upper figure has, by products, tiles and
// multiprocessors.
func TestMostPartialSums(t *testing.T) {
	const one = 4 * 64 * 64
	p := on(t, "a100-sxm-80gb", "2.15") // 108 multiprocessors
	const wave = 108 * 64 << 10
	assert.EqualValues(t, 24*one, mostSums(p, 24, product{64, 64, 24 * 32}, 2))
	assert.EqualValues(t, 23*one, mostSums(p, 24, product{64, 64, 24*32 - 1}, 2), "32 products each")
	assert.EqualValues(t, 0, mostSums(p, 24, product{64, 64, 31}, 2))
	large := product{108 * 128 * 8, 128, 1024} // eight waves
	assert.EqualValues(t, 16*wave, mostSums(p, 2, large, 2))
	assert.EqualValues(t, 18*wave, mostSums(p, 3, large, 2), "no more than 18 waves")
	assert.EqualValues(t, 24*wave, mostSums(p, 3, large, 3), "32 in three dimensions")
	assert.EqualValues(t, 32*wave, mostSums(p, 5, large, 3))
	large.m *= 3
	assert.EqualValues(t, 24*wave, mostSums(p, 3, large, 2), "but one sum")
	p.Device.SMs = 0
	assert.EqualValues(t, 3*24*wave, mostSums(p, 3, large, 2), "as many as are not known")
	assert.EqualValues(t, int64(hugeOperand), product{1 << 50, 1 << 50, 1}.sums(48), "a number")

	gradient := func(d tensor.DType, device string, sms int, groups int64, c product) int64 {
		p := on(t, device, "2.15")
		p.Device.SMs = sms
		v := aConv(dense(d, tensor.Contiguous, 1, 8, 8, 8), dense(d, tensor.Contiguous, 8, 8, 3, 3))
		v.Groups = groups
		return v.mostSumsOfWeight(p, c)
	}
	const f32, f16 = tensor.Float32, tensor.Float16
	const a100, t4, tileBytes = "a100-sxm-80gb", "t4", 64 << 10
	small, long := product{64, 64, 80}, product{64, 64, 1 << 30}
	assert.EqualValues(t, 10*one, gradient(f32, a100, 108, 1, small), "of eight pixels")
	assert.EqualValues(t, 40*one, gradient(f32, a100, 108, 2, small), "in groups of two")
	assert.EqualValues(t, 10*108*tileBytes, gradient(f32, a100, 108, 1, long), "ten waves")
	assert.EqualValues(t, 25*108*tileBytes, gradient(f32, a100, 108, 2, long), "more in groups")
	assert.EqualValues(t, 108*tileBytes, gradient(f16, a100, 108, 1, long), "in half precision one")
	assert.EqualValues(t, 4*40*tileBytes, gradient(f16, t4, 40, 1, long), "before 8.0 four")
	assert.EqualValues(t, 0, gradient(f32, t4, 40, 1, long), "none without TF32")
	assert.EqualValues(t, 10*one, gradient(f32, a100, 0, 1, small), "as many multiprocessors as are not known")
}
