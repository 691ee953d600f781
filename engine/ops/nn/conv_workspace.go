package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/scratch"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// What a convolution takes beside its result: copies in the layout the library wants, its workspace, column buffers
// (native/Convolution.cpp _select_conv_backend, native/cudnn/ConvShared.cpp, Conv_v8.cpp).

// convBackend is at::native::ConvBackend as far as memory goes.
type convBackend uint8

const (
	convEmpty     convBackend = iota
	convDepthwise             // PyTorch's own kernels, no workspace
	convCuDNN
	convColumns // im2col or vol2col of one sample
)

// backend is the kernel that a convolution with a result of these sizes goes to.
func (v *Conv) backend(p *platform.Platform, out []int64) convBackend {
	switch {
	case v.X.Numel() == 0:
		return convEmpty
	case v.isDepthwise() && (v.X.Numel() > math.MaxInt32 || v.Weight.Numel() > math.MaxInt32): // PyTorch's own kernels count in 32 bits
		if !v.CuDNNOff && p.DepthwiseBeyondInt32(v.format() != tensor.Contiguous) {
			return convCuDNN
		}
		return convDepthwise
	case v.isDepthwise():
		if (v.format() != tensor.Contiguous || v.cudnnDepthwise()) && v.cudnn(p, out) {
			return convCuDNN
		}
		return convDepthwise
	case v.cudnn(p, out):
		return convCuDNN
	}
	return convColumns
}

func (v *Conv) isDepthwise() bool {
	n := v.X.Sizes[1]
	return !v.Transposed && (len(v.X.Sizes) == 4 || len(v.X.Sizes) == 5) && n == v.Groups && n > 1 && v.Weight.Sizes[0]%n == 0
}

// cudnnDepthwise is check_cudnn_depthwise_workload_with_filter: half only, square filters of 1, 3 or 5.
func (v *Conv) cudnnDepthwise() bool {
	if v.X.DType != tensor.Float16 || len(v.X.Sizes) != 4 || v.Dilation[0] != 1 || v.Dilation[1] != 1 || v.Stride[0] != v.Stride[1] && v.X.Sizes[2] != 1 {
		return false
	}
	batch, ch, width, filter := v.X.Sizes[0], v.X.Sizes[1], v.X.Sizes[3], v.Weight.Sizes[3]
	if ch < 32 {
		return false
	}
	if v.X.Sizes[2] == 1 && v.Stride[0] == 1 {
		return true
	}
	if v.Weight.Sizes[2] != filter || filter != 1 && filter != 3 && filter != 5 || width < 7 || v.Stride[0] > 2 {
		return false
	}
	switch {
	case batch == 1:
		return filter > 1 || width <= 28
	case filter == 1:
		return batch <= 16 && ch >= 128 && width <= 7
	}
	return ch >= 512 || ch >= 256 && width >= 28
}

// cudnn is ConvParams::use_cudnn.
func (v *Conv) cudnn(p *platform.Platform, out []int64) bool {
	if v.CuDNNOff {
		return false
	}
	switch v.X.DType {
	case tensor.Float32, tensor.Float64, tensor.Float16:
	case tensor.BFloat16:
		if !p.Device.ComputeCapability.AtLeast(8, 0) || p.CuDNNv7 {
			return false
		}
	default:
		return false
	}
	if len(v.X.Sizes) == 5 && v.X.DType.ItemSize() == 2 && !p.Conv3dHalf() {
		return false
	}
	for i, o := range v.OutputPadding {
		if v.Transposed && (o >= v.Stride[i] || o >= v.Dilation[i] && v.Stride[i] == 1) {
			return false
		}
	}
	if max(v.X.Numel(), ops.Numel(out))/max(v.X.Sizes[0], 1) > math.MaxInt32 && !p.ConvBeyondInt32() {
		return false
	}
	return true
}

func convolutionScratch(c *ops.Call) []ops.Scratch {
	v, err := conved(c)
	if err != nil || !ops.OnCUDA(v.X) {
		return nil
	}
	out, err := v.OutSizes(c)
	if err != nil {
		return nil
	}
	v.CuDNNOff = c.Schema.ArgIndex("cudnn_enabled") >= 0 && !c.Bool("cudnn_enabled")
	var before []ops.Scratch
	if len(v.X.Sizes) == 3 {
		before = v.copies(tensor.Contiguous, "native/Convolution.cpp _convolution")
		v, out = v.viewed2d(), []int64{out[0], out[1], 1, out[2]}
	}
	p := convPlatform(c)
	b := v.backend(p, out)
	named := strings.HasPrefix(c.Schema.Name, "aten::cudnn_")
	if named && b == convDepthwise {
		b = convCuDNN
	}
	switch b {
	case convDepthwise:
		return append(before, v.copies(tensor.Contiguous, "native/cuda/DepthwiseConv2d.cu")...)
	case convCuDNN:
		fused := strings.HasSuffix(c.Schema.Name, "_relu")
		copies := v.copies(v.format(), "native/cudnn/ConvShared.cpp")
		if named && v.Transposed { // both after the result, the weight's first: aten::convolution copies the input before it calls this
			slices.Reverse(copies)
			for i := range copies {
				copies[i].Before = false
			}
		}
		return append(append(before, copies...), v.workspace(p, out, fused)...)
	case convColumns:
		return append(before, v.columns(out)...)
	}
	return before
}

// convPlatform is the platform with the flags that the call itself gives: traced code has those of the day it was traced.
func convPlatform(c *ops.Call) *platform.Platform {
	p := *c.Platform()
	for _, f := range []struct {
		name string
		to   *bool
	}{{"benchmark", &p.Benchmark}, {"deterministic", &p.Deterministic}, {"allow_tf32", &p.TF32CuDNN}} {
		if c.Schema.ArgIndex(f.name) >= 0 {
			*f.to = c.Bool(f.name)
		}
	}
	return &p
}

// viewed2d is a one-dimensional convolution as PyTorch runs it: of height 1, on contiguous operands (view1d_as_2d, view4d).
func (v *Conv) viewed2d() *Conv {
	flat := func(t *tensor.Tensor) *tensor.Tensor {
		u := *t
		u.Sizes = []int64{t.Sizes[0], t.Sizes[1], 1, t.Sizes[2]}
		u.Strides = tensor.FormatStrides(u.Sizes, tensor.Contiguous)
		return &u
	}
	return &Conv{
		X: flat(v.X), Weight: flat(v.Weight), Transposed: v.Transposed, Groups: v.Groups, CuDNNOff: v.CuDNNOff,
		Stride: []int64{1, v.Stride[0]}, Padding: []int64{0, v.Padding[0]}, Dilation: []int64{1, v.Dilation[0]}, OutputPadding: []int64{0, v.OutputPadding[0]},
	}
}

// copies are the operands in the layout of the kernel: the input's before the result exists, the weight's after.
func (v *Conv) copies(f tensor.MemoryFormat, source string) []ops.Scratch {
	var out []ops.Scratch
	if !v.X.IsFormat(f) {
		out = append(out, ops.Scratch{Bytes: v.X.NBytes(), Before: true, Source: source})
	}
	if !v.Weight.IsFormat(f) {
		out = append(out, ops.Scratch{Bytes: v.Weight.NBytes(), Source: source})
	}
	return out
}

// workspace is what cuDNN asks for: its own answer where the scratch profile has it, else a rule by the class of call. A profile answers for the v8
// interface, for operands that lie as the allocator's blocks do, and not for a fused call (with bias and activation), which is another question.
func (v *Conv) workspace(p *platform.Platform, out []int64, fused bool) []ops.Scratch {
	in, w, o := int64(v.X.NBytes()), int64(v.Weight.NBytes()), ops.Numel(out)*v.X.DType.ItemSize()
	s := ops.Scratch{
		Bytes: units.Bytes(v.byRule(p, in, w, o)), Upper: units.Bytes(v.upperByRule(p, in, w, o)), Note: note.ScratchEstimate,
		Source: "a cuDNN convolution's workspace is by rule, no scratch profile has it",
	}
	by, key := p.Answerer(), v.key(p, out)
	var a scratch.Answer
	ok := false
	switch {
	case p.CuDNNv7:
		s.Source = "a cuDNN convolution's workspace is by rule: the v7 interface tells its choice only to a device"
	case fused:
		s.Source = "the workspace of a fused cuDNN convolution is by rule: it is not asked for"
	case v.misaligned():
		s.Source = "the workspace of a cuDNN convolution on a view that is aligned to less than 16 bytes is by rule: it is not asked for"
	default:
		s.Asked = &ops.Asked{Call: key}
		if a, ok = p.Scratch.Lookup(by, key); ok {
			s = ops.Scratch{Bytes: a.Bytes, Source: fmt.Sprintf("%s, engine %d", answererText(by), a.Engine), Asked: &ops.Asked{Call: key, By: by, Engine: a.Engine}}
		} else if !p.AnswersDeviceless() {
			var other scratch.Answerer
			if a, other, ok = p.Scratch.StandIn(by, key); ok {
				s = ops.Scratch{
					Bytes: a.Bytes, Upper: max(s.Upper, a.Bytes), Note: note.ScratchStandIn, Asked: &ops.Asked{Call: key, By: other, Engine: a.Engine},
					Source: fmt.Sprintf("%s stands in for %s, which answers nobody without a device", answererText(other), by.Version),
				}
			}
		}
	}
	if !p.Benchmark {
		return []ops.Scratch{s}
	}
	if ok {
		return benchmark(s, key, max(a.Most, a.Bytes), s.Upper)
	}
	return benchmark(s, key, units.Bytes((in+w+o)*3/2+16), units.Bytes((in+w+o)*4+16))
}

// misaligned says that an operand which is not copied starts at less than 16 bytes' alignment: other plans then come first. From 16 to 256
// bytes alignment changes nothing.
func (v *Conv) misaligned() bool {
	f := v.format()
	for _, t := range v.operands() {
		if t.IsFormat(f) && t.StorageOffset*t.DType.ItemSize()%16 != 0 {
			return true
		}
	}
	return false
}

func answererText(by scratch.Answerer) string {
	return "cuDNN " + by.Version + " for " + by.Class
}

// benchmark is a call with torch.backends.cudnn.benchmark: all plans are timed once, with the largest workspace of them; then the cache is
// emptied and the fastest is run, which only a device can tell (Conv_v8.cpp generate_and_filter_plans, get_plans_from_find). Nobody having
// answered, the largest is by rule: over 72 convolutions of torchvision models it is 1.5 times input, weight and output (the median of most
// classes of call), and up to 4 times in nine of ten.
func benchmark(s ops.Scratch, key *scratch.Call, most, upper units.Bytes) []ops.Scratch {
	trial := s
	trial.Trial = "cudnn " + key.Key()
	trial.Bytes, trial.Upper = most, max(upper, most)
	run := ops.Scratch{
		Bytes: s.Bytes, Upper: trial.Upper, Note: note.ScratchBenchmark, Asked: s.Asked,
		Source: "with cudnn.benchmark the fastest plan runs, which only a device can tell; taken for it: " + s.Source,
	}
	return []ops.Scratch{trial, run}
}

// key is the call as cuDNN sees it. A transposed convolution is the gradient of one whose input its result takes the place of.
func (v *Conv) key(p *platform.Platform, out []int64) *scratch.Call {
	f := v.format()
	k := &scratch.Call{
		Op: "conv", Direction: "forward", DType: v.X.DType.String(), Groups: v.Groups, Deterministic: p.Deterministic,
		AllowTF32: p.TF32CuDNN, Benchmark: p.Benchmark,
		Input: v.X.Sizes, Weight: v.Weight.Sizes, Padding: v.Padding, Stride: v.Stride, Dilation: v.Dilation,
	}
	switch {
	case v.Grad != nil:
		k.Direction = "wgrad"
	case v.Transposed:
		k.Direction, k.Input = "dgrad", out
	}
	k.InputStrides, k.WeightStrides = tensor.FormatStrides(k.Input, f), tensor.FormatStrides(k.Weight, f)
	return k
}

// columns is what a convolution as a product of matrices takes: contiguous operands and their patches.
func (v *Conv) columns(out []int64) []ops.Scratch {
	return append(v.copies(tensor.Contiguous, "native/cuda/ConvolutionMM2d.cu"), v.buffer(out)...)
}

// buffer is one sample's patches, for each group.
func (v *Conv) buffer(out []int64) []ops.Scratch {
	if ops.Numel(v.Weight.Sizes[2:]) == 1 && ops.Numel(v.Stride) == 1 && !v.Transposed {
		return nil
	}
	places := ops.Numel(out[2:])
	channels := v.X.Sizes[1] / v.Groups
	if v.Transposed {
		places, channels = ops.Numel(v.X.Sizes[2:]), v.Weight.Sizes[1]
	}
	bytes := channels * ops.Numel(v.Weight.Sizes[2:]) * places * v.X.DType.ItemSize()
	return []ops.Scratch{{Bytes: units.Bytes(bytes), Source: "native/cuda/ConvolutionMM2d.cu"}}
}

func columnScratch(c *ops.Call) []ops.Scratch {
	v, err := conved(c)
	if err != nil || !ops.OnCUDA(v.X) {
		return nil
	}
	out, err := v.OutSizes(c)
	if err != nil {
		return nil
	}
	return v.columns(out)
}
