package workspace

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// Convolution is a convolution, or a gradient of one, with its parameters given for each spatial
// dimension.
type Convolution struct {
	Input, Weight *tensor.Meta
	// of a weight's gradient: the result's gradient, and Weight is what is made
	Grad                                     *tensor.Meta
	Stride, Padding, Dilation, OutputPadding []int64
	Transposed                               bool
	Groups                                   int64
	Bias                                     bool
	CuDNNOff                                 bool // torch.backends.cudnn.enabled = False
}

// ConvBackend is at::native::ConvBackend as far as memory goes.
type ConvBackend uint8

// The backends (native/Convolution.cpp _select_conv_backend).
const (
	ConvEmpty     ConvBackend = iota
	ConvDepthwise             // PyTorch's own kernels, no workspace
	ConvCuDNN
	ConvColumns // im2col or vol2col of one sample
)

// ConvOperator is which of PyTorch's operators runs a convolution: those named after cuDNN run
// nothing else.
type ConvOperator uint8

// The operators.
const (
	AnyConv   ConvOperator = iota // aten::convolution
	CuDNNConv                     // aten::cudnn_convolution, aten::cudnn_convolution_transpose
	FusedConv                     // aten::cudnn_convolution_relu, aten::cudnn_convolution_add_relu
)

// Requests is what a convolution with a result of sizes out takes: copies of operands in the layout
// that the kernel wants, the library's workspace, columns (native/Convolution.cpp,
// native/cudnn/ConvShared.cpp, Conv_v8.cpp).
func (v *Convolution) Requests(p *platform.Platform, out []int64, by ConvOperator) []Request {
	if !OnDevice(v.Input) {
		return nil
	}
	var before []Request
	if len(v.Input.Sizes) == 3 {
		before = v.copies(tensor.Contiguous, "native/Convolution.cpp _convolution")
		v, out = v.As2d(), []int64{out[0], out[1], 1, out[2]}
	}
	b := v.Backend(p, out)
	if by != AnyConv && b == ConvDepthwise {
		b = ConvCuDNN
	}
	switch b {
	case ConvDepthwise:
		return append(before, v.copies(tensor.Contiguous, "native/cuda/DepthwiseConv2d.cu")...)
	case ConvCuDNN:
		copies := v.copies(v.Format(), "native/cudnn/ConvShared.cpp")
		// both after the result, the weight's first: aten::convolution copies the input before it
		// calls this
		if by != AnyConv && v.Transposed {
			slices.Reverse(copies)
			for i := range copies {
				copies[i].Before = false
			}
		}
		return slices.Concat(before, copies, v.CuDNN(p, out, by == FusedConv))
	case ConvColumns:
		return append(before, v.Columns(p, out)...)
	}
	return before
}

// Format is cudnn_conv_suggest_memory_format: channels last where input or weight suggest it,
// except double.
func (v *Convolution) Format() tensor.MemoryFormat {
	if v.Input.DType == tensor.Float64 {
		return tensor.Contiguous
	}
	for _, m := range v.operands() {
		if f := m.SuggestFormat(); f != tensor.Contiguous {
			return f
		}
	}
	return tensor.Contiguous
}

// operands are what a convolution, or a gradient of one, is made of.
func (v *Convolution) operands() [2]*tensor.Meta {
	if v.Grad != nil {
		return [2]*tensor.Meta{v.Input, v.Grad}
	}
	return [2]*tensor.Meta{v.Input, v.Weight}
}

// Backend is the kernel that a convolution with a result of sizes out goes to.
func (v *Convolution) Backend(p *platform.Platform, out []int64) ConvBackend {
	switch {
	case v.Input.Numel() == 0:
		return ConvEmpty
	// PyTorch's own kernels count in 32 bits
	case v.isDepthwise() && (v.Input.Numel() > math.MaxInt32 || v.Weight.Numel() > math.MaxInt32):
		if !v.CuDNNOff && p.DepthwiseBeyondInt32(v.Format() != tensor.Contiguous) {
			return ConvCuDNN
		}
		return ConvDepthwise
	// whatever the device
	case v.isDepthwise() && v.Format() != tensor.Contiguous && v.Input.DType == tensor.BFloat16 && !v.CuDNNOff:
		return ConvCuDNN
	case v.isDepthwise():
		if (v.Format() != tensor.Contiguous || v.depthwiseOfCuDNN()) && v.usesCuDNN(p, out) {
			return ConvCuDNN
		}
		return ConvDepthwise
	case v.usesCuDNN(p, out):
		return ConvCuDNN
	}
	return ConvColumns
}

// isDepthwise is ConvParams::is_depthwise.
func (v *Convolution) isDepthwise() bool {
	n := v.Input.Sizes[1]
	return !v.Transposed && (len(v.Input.Sizes) == 4 || len(v.Input.Sizes) == 5) && n == v.Groups && n > 1 &&
		v.Weight.Sizes[0]%n == 0
}

// depthwiseOfCuDNN is check_cudnn_depthwise_workload_with_filter: half only, square filters of 1, 3
// or 5; all that step by 1, and of those that step by 2 what was found faster.
func (v *Convolution) depthwiseOfCuDNN() bool {
	if v.Input.DType != tensor.Float16 || len(v.Input.Sizes) != 4 || v.Dilation[0] != 1 || v.Dilation[1] != 1 ||
		v.Stride[0] != v.Stride[1] && v.Input.Sizes[2] != 1 {
		return false
	}
	batch, ch, width, filter := v.Input.Sizes[0], v.Input.Sizes[1], v.Input.Sizes[3], v.Weight.Sizes[3]
	switch {
	case ch < 32:
		return false
	case v.Input.Sizes[2] == 1 && v.Stride[1] == 1:
		return true
	case v.Weight.Sizes[2] != filter || filter != 1 && filter != 3 && filter != 5 || width < 7 || v.Stride[1] > 2:
		return false
	case v.Stride[1] == 1:
		return true
	case batch == 1:
		return filter > 1 || width <= 28
	case filter == 1:
		return batch <= 16 && ch >= 128 && width <= 7
	}
	return ch >= 512 || ch >= 256 && width >= 28
}

// usesCuDNN is ConvParams::use_cudnn.
func (v *Convolution) usesCuDNN(p *platform.Platform, out []int64) bool {
	if v.CuDNNOff {
		return false
	}
	switch v.Input.DType {
	case tensor.Float32, tensor.Float64, tensor.Float16:
	case tensor.BFloat16:
		if !p.Device.ComputeCapability.AtLeast(8, 0) || p.CuDNNv7 {
			return false
		}
	default:
		return false
	}
	if len(v.Input.Sizes) == 5 && v.Input.DType.ItemSize() == 2 && !p.Conv3dHalf() {
		return false
	}
	for i, o := range v.OutputPadding {
		if v.Transposed && (o >= v.Stride[i] || o >= v.Dilation[i] && v.Stride[i] == 1) {
			return false
		}
	}
	largest := max(v.Input.Numel(), tensor.Numel(out))
	return largest/max(v.Input.Sizes[0], 1) <= math.MaxInt32 || p.ConvBeyondInt32()
}

// As2d is a one-dimensional convolution as PyTorch runs it: of height 1, on contiguous operands
// (view1d_as_2d, view4d).
func (v *Convolution) As2d() *Convolution {
	flat := func(m *tensor.Meta) *tensor.Meta {
		u := *m
		u.Sizes = []int64{m.Sizes[0], m.Sizes[1], 1, m.Sizes[2]}
		u.Strides = tensor.FormatStrides(u.Sizes, tensor.Contiguous)
		return &u
	}
	u := *v
	u.Input, u.Weight = flat(v.Input), flat(v.Weight)
	u.Stride, u.Padding, u.Dilation, u.OutputPadding = []int64{1, v.Stride[0]}, []int64{0, v.Padding[0]}, []int64{1,
		v.Dilation[0]}, []int64{0, v.OutputPadding[0]}
	return &u
}

// copies are the operands in the layout of the kernel: the input's before the result exists, the
// weight's after.
func (v *Convolution) copies(f tensor.MemoryFormat, source string) (out []Request) {
	if !v.Input.IsFormat(f) {
		out = Before(CopyOf(v.Input, source))
	}
	if !v.Weight.IsFormat(f) {
		out = append(out, CopyOf(v.Weight, source))
	}
	return out
}

// NativeGradients is what kernels of PyTorch's own take for the gradients of input and weight, grad
// being the result's: contiguous operands, and patches where the convolution is a product of
// matrices. A depthwise convolution of two dimensions runs once for each gradient; weight says that
// the run is the weight's.
func (v *Convolution) NativeGradients(p *platform.Platform, grad *tensor.Meta, weight bool) []Request {
	if !OnDevice(v.Input) || v.Input.Numel() == 0 {
		return nil
	}
	const own2d, own3d, slow = "native/cuda/DepthwiseConv2d.cu", "native/cuda/DepthwiseConv3d.cu",
		"native/cuda/ConvolutionMM2d.cu"
	switch depthwise := v.Backend(p, grad.Sizes) == ConvDepthwise; {
	case depthwise && len(v.Input.Sizes) == 5:
		return Contiguous(own3d, grad, v.Input, v.Weight)
	case depthwise && weight:
		return Before(Contiguous(own2d, v.Input)...)
	case depthwise:
		return Before(Contiguous(own2d, v.Weight)...)
	}
	return slices.Concat(Before(Contiguous(slow, v.Input, v.Weight)...), Contiguous(slow, grad), v.patches(grad.Sizes))
}

// WeightGradient is what cudnn_convolution_backward_weight takes; Grad is given.
func (v *Convolution) WeightGradient(p *platform.Platform) []Request {
	var out []Request
	for _, m := range []*tensor.Meta{v.Grad, v.Input} {
		if !m.IsFormat(v.Format()) {
			out = append(out, CopyOf(m, "native/cudnn/ConvShared.cpp"))
		}
	}
	return append(Before(out...), v.CuDNN(p, v.Grad.Sizes, false)...)
}
