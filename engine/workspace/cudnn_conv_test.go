package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

func ones(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// aConv is a convolution with padding 1 and all else 1.
func aConv(x, w *tensor.Meta) *Convolution {
	n := len(x.Sizes) - 2
	return &Convolution{Input: x, Weight: w, Stride: ones(n), Padding: ones(n), Dilation: ones(n),
		OutputPadding: make([]int64, n), Groups: x.Sizes[1] / w.Sizes[1]}
}

func TestConvKey(t *testing.T) {
	const f32, f16 = tensor.Float32, tensor.Float16
	last, plain := tensor.ChannelsLast, tensor.Contiguous
	for _, c := range []struct {
		name string
		v    *Convolution
		out  []int64
		want string
	}{
		{"forward", aConv(dense(f32, plain, 2, 3, 8, 9), dense(f32, plain, 4, 3, 3, 3)), []int64{2, 4, 8, 9},
			"conv forward float32 2,3,8,9 216,72,9,1 4,3,3,3 27,9,3,1 1,1 1,1 1,1 1 tf32"},
		{"a channels_last input takes the weight with it", aConv(dense(f16, last, 2, 3, 8, 9), dense(f16, plain, 4, 3, 3, 3)),
			[]int64{2, 4, 8, 9},
			"conv forward float16 2,3,8,9 216,1,27,3 4,3,3,3 27,1,9,3 1,1 1,1 1,1 1 tf32"},
		{"double stays contiguous", aConv(dense(tensor.Float64, last, 2, 3, 8, 9), dense(tensor.Float64, plain, 4, 3, 3, 3)),
			[]int64{2, 4, 8, 9},
			"conv forward float64 2,3,8,9 216,72,9,1 4,3,3,3 27,9,3,1 1,1 1,1 1,1 1 tf32"},
		{"transposed: the gradient of a convolution of its result", func() *Convolution {
			v := aConv(dense(f32, plain, 1, 6, 4, 4), dense(f32, plain, 6, 3, 3, 3))
			v.Transposed, v.Groups, v.Stride, v.OutputPadding = true, 1, []int64{2, 2}, []int64{1, 1}
			return v
		}(), []int64{1, 3, 8, 8}, "conv dgrad float32 1,3,8,8 192,64,8,1 6,3,3,3 27,9,3,1 1,1 2,2 1,1 1 tf32"},
		{"one dimension is two of height 1", aConv(dense(f32, plain, 2, 3, 8), dense(f32, plain, 4, 3, 3)).As2d(),
			[]int64{2, 4, 1, 8},
			"conv forward float32 2,3,1,8 24,8,8,1 4,3,1,3 9,3,3,1 0,1 1,1 1,1 1 tf32"},
		{"three dimensions", aConv(dense(f32, plain, 2, 4, 5, 6, 7), dense(f32, plain, 8, 2, 3, 3, 3)),
			[]int64{2, 8, 5, 6, 7},
			"conv forward float32 2,4,5,6,7 840,210,42,7,1 8,2,3,3,3 54,27,9,3,1 1,1,1 1,1,1 1,1,1 2 tf32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, c.v.Call(on(t, "rtx-4090", "2.10"), c.out).Key())
		})
	}
	v := aConv(dense(f32, plain, 2, 3, 8, 8), dense(f32, plain, 4, 3, 3, 3))
	p := on(t, "rtx-4090", "2.10")
	p.TF32CuDNN, p.Deterministic, p.Benchmark = false, true, true
	assert.Equal(t, "conv forward float32 2,3,8,8 192,64,8,1 4,3,3,3 27,9,3,1 1,1 1,1 1,1 1 deterministic benchmark",
		v.Call(p, []int64{2, 4, 8, 8}).Key())
}

// TestConvBackend is which convolutions reach cuDNN at all (native/Convolution.cpp
// _select_conv_backend, use_cudnn_depthwise).
func TestConvBackend(t *testing.T) {
	const f32, f16, bf16 = tensor.Float32, tensor.Float16, tensor.BFloat16
	last, plain := tensor.ChannelsLast, tensor.Contiguous
	conv := func(d tensor.DType, f tensor.MemoryFormat, x, w []int64) *Convolution {
		return aConv(dense(d, f, x...), dense(d, plain, w...))
	}
	big := conv(f32, plain, []int64{2, 1, 50000, 50000}, []int64{1, 1, 3, 3})
	wide := conv(f32, plain, []int64{1, 1, 50000, 5000}, []int64{16, 1, 3, 3})
	deep := func(f tensor.MemoryFormat) *Convolution {
		return conv(f32, f, []int64{64, 64, 1024, 1024}, []int64{64, 1, 3, 3})
	}
	off := conv(f32, plain, []int64{1, 3, 8, 8}, []int64{4, 3, 3, 3})
	off.CuDNNOff = true
	for _, c := range []struct {
		why        string
		v          *Convolution
		dev, torch string
		want       ConvBackend
	}{
		{"ordinary", conv(f32, plain, []int64{1, 3, 8, 8}, []int64{4, 3, 3, 3}), "t4", "2.10", ConvCuDNN},
		{"an empty batch", conv(f32, plain, []int64{0, 3, 8, 8}, []int64{4, 3, 3, 3}), "t4", "2.10", ConvEmpty},
		{"cudnn.enabled = False when it was traced", off, "t4", "2.10", ConvColumns},
		{"native depthwise", conv(f32, plain, []int64{1, 64, 8, 8}, []int64{64, 1, 3, 3}), "rtx-4090", "2.10", ConvDepthwise},
		{"native depthwise with more outputs", conv(bf16, plain, []int64{1, 64, 8, 8}, []int64{128, 1, 3, 3}), "rtx-4090",
			"2.10", ConvDepthwise},
		{"depthwise channels_last", conv(f32, last, []int64{1, 64, 8, 8}, []int64{64, 1, 3, 3}), "rtx-4090", "2.10",
			ConvCuDNN},
		{"depthwise in half, a workload of cuDNN's", conv(f16, plain, []int64{1, 64, 14, 14}, []int64{64, 1, 3, 3}),
			"rtx-4090", "2.10", ConvCuDNN},
		{"depthwise in half, too few channels", conv(f16, plain, []int64{1, 16, 14, 14}, []int64{16, 1, 3, 3}), "rtx-4090",
			"2.10", ConvDepthwise},
		{"grouped is not depthwise", conv(f32, plain, []int64{1, 64, 8, 8}, []int64{64, 2, 3, 3}), "rtx-4090", "2.10",
			ConvCuDNN},
		{"depthwise of one dimension, seen as two", conv(f32, plain, []int64{1, 64, 8}, []int64{64, 1, 3}).As2d(), "rtx-4090",
			"2.10", ConvDepthwise},
		{"bfloat16 before 8.0", conv(bf16, plain, []int64{1, 3, 8, 8}, []int64{4, 3, 3, 3}), "t4", "2.10", ConvColumns},
		{"more than INT_MAX elements a sample, cuDNN before 9.3", big, "a100-sxm-80gb", "2.6", ConvColumns},
		{"more than INT_MAX elements a sample", big, "a100-sxm-80gb", "2.10", ConvCuDNN},
		{"a result of more than INT_MAX elements a sample, cuDNN before 9.3", wide, "a100-sxm-80gb", "2.4", ConvColumns},
		{"a result of more than INT_MAX elements a sample", wide, "a100-sxm-80gb", "2.10", ConvCuDNN},
		{"depthwise beyond 32 bits", deep(plain), "a100-sxm-80gb", "2.15", ConvCuDNN},
		{"depthwise beyond 32 bits, before that was so", deep(plain), "a100-sxm-80gb", "2.6", ConvDepthwise},
		{"depthwise beyond 32 bits, channels_last", deep(last), "a100-sxm-80gb", "2.15", ConvCuDNN},
		{"depthwise beyond 32 bits, channels_last, a cuDNN that breaks on it", deep(last), "a100-sxm-80gb", "2.10",
			ConvDepthwise},
		{"3-d half in 2.9.0", conv(f16, plain, []int64{1, 3, 8, 8, 8}, []int64{4, 3, 3, 3, 3}), "a100-sxm-80gb", "2.9",
			ConvColumns},
		{"3-d half later", conv(f16, plain, []int64{1, 3, 8, 8, 8}, []int64{4, 3, 3, 3, 3}), "a100-sxm-80gb", "2.10",
			ConvCuDNN},
	} {
		t.Run(c.why, func(t *testing.T) {
			assert.Equal(t, c.want, c.v.Backend(on(t, c.dev, c.torch), rowOut(c.v)))
		})
	}
}

func TestConvWorkspace(t *testing.T) {
	v := aConv(dense(tensor.Float32, tensor.Contiguous, 2, 32, 8, 8), dense(tensor.Float32, tensor.Contiguous, 4, 32, 3,
		3))
	out := []int64{2, 4, 8, 8}
	const in, w, o = 2 * 32 * 64 * 4, 4 * 32 * 9 * 4, 2 * 4 * 64 * 4
	const sums = 9 * 4 * 128 * 64                                                 // of 32 products each
	const upper units.Bytes = (6*4*(2*32*64+2*8*64)+7*4*8*32*9)/4 + sums + 64<<10 // channels in eights
	answering := func(p *platform.Platform, a profile.Answer) *profile.Profile {
		s := &profile.Profile{}
		require.NoError(t, s.Add(p.Answerer(), profile.Entry{Call: *v.Call(p, out), Answer: a}))
		return s
	}

	p := on(t, "rtx-4090", "2.10")
	got := v.CuDNN(p, out, false)
	require.Len(t, got, 1)
	assert.Equal(t, units.Bytes(in+w+o+16), got[0].Bytes, "by formula")
	assert.Equal(t, upper, got[0].Upper)
	assert.Equal(t, note.WorkspaceEstimate, got[0].Note)
	assert.Equal(t, profile.Answerer{}, got[0].Asked.By)

	p.Workspace = answering(p, profile.Answer{Bytes: 777, Engine: 55})
	got = v.CuDNN(p, out, false)
	require.Len(t, got, 1)
	assert.Equal(t, Request{Bytes: 777, Source: "cuDNN 9.10.2 for sm89, engine 55",
		Asked: &Asked{Call: v.Call(p, out), By: p.Answerer(), Engine: 55}}, got[0], "exact: no upper, no note")

	got = v.CuDNN(p, out, true)
	require.Len(t, got, 1)
	assert.Equal(t, note.WorkspaceEstimate, got[0].Note, "a fused convolution is another question")
	assert.Nil(t, got[0].Asked)

	t4 := on(t, "t4", "2.10")
	t4.Workspace = answering(t4, profile.Answer{Bytes: 3, Engine: 1})
	assert.Equal(t, "sm75-small", t4.Answerer().Class)
	assert.Equal(t, units.Bytes(3), v.CuDNN(t4, out, false)[0].Bytes, "the class is more than the SM version")

	old := on(t, "rtx-4090", "2.6")
	old.Workspace = p.Workspace
	got = v.CuDNN(old, out, false)
	require.Len(t, got, 1)
	assert.Equal(t, units.Bytes(777), got[0].Bytes)
	assert.Equal(t, note.WorkspaceStandIn, got[0].Note)
	assert.Equal(t, upper, got[0].Upper)
	newer := on(t, "rtx-4090", "2.15")
	newer.Workspace = p.Workspace
	assert.Equal(t, note.WorkspaceEstimate, v.CuDNN(newer, out, false)[0].Note, "a release that can be asked has no "+
		"stand-in")
}

// What a profile cannot answer is by formula even where it has the call, and says why.
func TestConvNotAsked(t *testing.T) {
	v := aConv(dense(tensor.Float32, tensor.Contiguous, 2, 3, 8, 8), dense(tensor.Float32, tensor.Contiguous, 4, 3, 3, 3))
	out := []int64{2, 4, 8, 8}
	p := on(t, "rtx-4090", "2.10")
	p.Workspace = &profile.Profile{}
	require.NoError(t,
		p.Workspace.Add(p.Answerer(), profile.Entry{Call: *v.Call(p, out), Answer: profile.Answer{Bytes: 777, Engine: 55}}))
	require.Equal(t, units.Bytes(777), v.CuDNN(p, out, false)[0].Bytes)

	v7 := *p
	v7.CuDNNv7 = true
	got := v.CuDNN(&v7, out, false)[0]
	assert.Equal(t, note.WorkspaceEstimate, got.Note)
	assert.Contains(t, got.Source, "the v7 interface")
	v7.Benchmark = true
	require.Len(t, v.CuDNN(&v7, out, false), 2, "the v7 interface times its plans too")
	assert.NotEmpty(t, v.CuDNN(&v7, out, false)[0].Trial)

	for offset, asked := range map[int64]bool{0: true, 1: false, 2: false, 3: false, 4: true, 8: true} {
		x := *v.Input
		x.StorageOffset = offset
		view := *v
		view.Input = &x
		got := view.CuDNN(p, out, false)[0]
		assert.Equal(t, asked, got.Asked != nil, "float32 from element %d on", offset)
		assert.Equal(t, asked, got.Note == "", "float32 from element %d on", offset)
	}
	x := *v.Input
	x.StorageOffset, x.Strides = 1, []int64{400, 100, 10, 1}
	view := *v
	view.Input = &x
	assert.NotNil(t, view.CuDNN(p, out, false)[0].Asked, "a view that is copied is aligned again")
}

// Float32 on plain cores takes Winograd's transformed filters for 3×3, else a table of pixels.
func TestConvWinogradByRule(t *testing.T) {
	three := aConv(dense(tensor.Float32, tensor.Contiguous, 1, 64, 56, 56), dense(tensor.Float32, tensor.Contiguous, 128,
		64, 3, 3))
	out := []int64{1, 128, 56, 56}
	const want, table = 100*128*64 + 4*128, 6*56*56 + 128
	strided := *three
	strided.Stride = []int64{2, 2}
	for _, c := range []struct {
		why        string
		v          *Convolution
		dev, torch string
		tf32       bool
		want       units.Bytes
	}{
		{"7.5 has no TF32", three, "t4", "2.10", true, want},
		{"TF32 is not allowed", three, "rtx-4090", "2.10", false, want},
		{"tensor cores", three, "rtx-4090", "2.10", true, (64*56*56+128*64*9)*4 + 16},
		{"strided", &strided, "t4", "2.10", true, table},
		{"no such kernel on 9.0", three, "h100-sxm-80gb", "2.10", false, table},
		{"nor on 6.1", three, "gtx-1080-ti", "2.10", true, table},
		{"7.0", three, "v100-16gb", "2.10", true, want},
		{"7.0 no more with CUDA 13", three, "v100-16gb", "2.15", true, table},
	} {
		p := on(t, c.dev, c.torch)
		p.TF32CuDNN = c.tf32
		got := c.v.CuDNN(p, out, false)
		assert.Equal(t, c.want, got[0].Bytes, c.why)
		assert.LessOrEqual(t, got[0].Bytes, got[0].Upper, c.why)
	}
}

// With benchmark the plans are timed first, with the largest workspace of them; which is run after
// that only a device knows.
func TestConvBenchmark(t *testing.T) {
	v := aConv(dense(tensor.Float32, tensor.Contiguous, 2, 3, 8, 8), dense(tensor.Float32, tensor.Contiguous, 4, 3, 3, 3))
	out := []int64{2, 4, 8, 8}
	p := on(t, "rtx-4090", "2.10")
	p.Benchmark = true
	got := v.CuDNN(p, out, false)
	require.Len(t, got, 2)
	const sum = (2*3*64 + 4*3*9 + 2*4*64) * 4
	assert.Equal(t, [2]units.Bytes{sum*3/2 + 16, sum*4 + 16}, [2]units.Bytes{got[0].Bytes, got[0].Upper}, "by rule")
	assert.NotEmpty(t, got[0].Trial)

	p.Workspace = &profile.Profile{}
	require.NoError(t,
		p.Workspace.Add(p.Answerer(), profile.Entry{Call: *v.Call(p, out), Answer: profile.Answer{Bytes: 100, Engine: 38,
			Most: 9000}}))
	got = v.CuDNN(p, out, false)
	require.Len(t, got, 2)
	assert.Equal(t, [2]units.Bytes{9000, 100}, [2]units.Bytes{got[0].Bytes, got[1].Bytes})
	assert.Equal(t, "cudnn "+v.Call(p, out).Key(), got[0].Trial)
	assert.Empty(t, got[1].Trial)
	assert.Equal(t, units.Bytes(9000), got[1].Upper, "any of the timed plans may win")
	assert.Equal(t, note.WorkspaceBenchmark, got[1].Note)
	assert.Empty(t, got[0].Note, "the largest is known")
}
