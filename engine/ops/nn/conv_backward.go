package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// The gradients of convolutions (native/Convolution.cpp convolution_backward, native/cudnn/ConvShared.cpp, native/cuda/DepthwiseConv2d.cu).

// convolutionBackward runs a kernel a gradient, in the order of the backend. The gradient of the input is what a transposed convolution does,
// that of a transposed convolution's input a convolution.
func convolutionBackward(c *ops.Call) (any, error) {
	g, x, w := c.T("grad_output"), c.T("input"), c.T("weight")
	if len(w.Sizes) < 3 || len(x.Sizes) != len(w.Sizes) || len(g.Sizes) != len(w.Sizes) {
		return nil, c.Errorf("got gradient %v, input %v and weight %v, want as many dimensions", g.Sizes, x.Sizes, w.Sizes)
	}
	if c.OnFakeTensors() || !ops.OnCUDA(x) {
		return c.DoAny("memspec::convolution_gradients", c.Args...), nil
	}
	v, err := readConv(c)
	if err != nil {
		return nil, err
	}
	b := &convGradients{c: c, v: v, g: g, mask: c.Arg("output_mask"), flat: len(w.Sizes) == 3}
	bias := g
	if b.flat {
		v.X = b.contiguous(v.X, tensor.Contiguous)
		b.widen()
	}
	switch v.backend(convPlatform(c), b.g.Sizes) {
	case convEmpty:
		return c.DoAny("memspec::convolution_gradients", c.Args...), nil
	case convCuDNN:
		b.throughCuDNN()
	case convDepthwise:
		b.depthwise()
	default:
		b.grads[0], b.grads[1] = b.native(true, true)
	}
	b.narrow()
	if b.wants(2) {
		dims := []int64{0}
		for d := 2; d < len(bias.Sizes); d++ {
			dims = append(dims, int64(d))
		}
		b.grads[2] = c.Do("aten::sum.dim_IntList", bias, ops.IntList(dims...))
	}
	return c.Tuple(ops.OrNone(b.grads[0]), ops.OrNone(b.grads[1]), ops.OrNone(b.grads[2])), nil
}

// convGradients is a convolution_backward under way: of one dimension it is run as of two, see viewed2d.
type convGradients struct {
	c     *ops.Call
	v     *Conv
	g     *tensor.Tensor // the result's gradient
	mask  any
	flat  bool
	grads [3]*tensor.Tensor // of input, weight and bias; nil where nobody asked
}

func (b *convGradients) wants(i int) bool {
	l, ok := b.mask.(*ops.List)
	return !ok || i < len(l.Items) && l.Items[i] == true
}

func (b *convGradients) contiguous(t *tensor.Tensor, f tensor.MemoryFormat) *tensor.Tensor {
	return b.c.Do("aten::contiguous", t, int64(f))
}

// widen gives tensors and parameters of one dimension a height of 1.
func (b *convGradients) widen() {
	v := b.v
	b.v = &Conv{
		X: b.c.Do("aten::unsqueeze", v.X, int64(2)), Weight: b.c.Do("aten::unsqueeze", v.Weight, int64(2)), Transposed: v.Transposed, Groups: v.Groups, CuDNNOff: v.CuDNNOff,
		Stride: []int64{1, v.Stride[0]}, Padding: []int64{0, v.Padding[0]}, Dilation: []int64{1, v.Dilation[0]}, OutputPadding: []int64{0, v.OutputPadding[0]},
	}
	b.g = b.c.Do("aten::unsqueeze", b.g, int64(2))
}

func (b *convGradients) narrow() {
	for i, t := range b.grads[:2] {
		if b.flat && t != nil {
			b.grads[i] = b.c.Do("aten::squeeze.dim", t, int64(2))
		}
	}
}

// throughCuDNN is cudnn_convolution_backward and cudnn_convolution_transpose_backward.
func (b *convGradients) throughCuDNN() {
	c, v, p := b.c, b.v, convPlatform(b.c)
	x, w, g := v.X, v.Weight, b.g
	if b.wants(1) {
		x = b.contiguous(x, v.format())
	}
	if f := x.SuggestFormat(); v.Transposed || g.SuggestFormat() != f {
		g = b.contiguous(g, f)
	}
	padding, stride, dilation := ops.IntList(v.Padding...), ops.IntList(v.Stride...), ops.IntList(v.Dilation...)
	flags := []any{v.Groups, p.Benchmark, p.Deterministic, p.TF32CuDNN}
	if b.wants(0) && v.Transposed {
		b.grads[0] = c.Do("aten::cudnn_convolution", append([]any{g, w, padding, stride, dilation}, flags...)...)
	} else if b.wants(0) { // what the result's sizes leave open, the padding of the output says
		open := make([]int64, len(v.Stride))
		for i := range open {
			open[i] = x.Sizes[i+2] - ((g.Sizes[i+2]-1)*v.Stride[i] - 2*v.Padding[i] + v.Dilation[i]*(w.Sizes[i+2]-1) + 1)
		}
		b.grads[0] = c.Do("aten::cudnn_convolution_transpose", append([]any{g, w, padding, ops.IntList(open...), stride, dilation}, flags...)...)
	}
	if b.wants(1) {
		in, out := x, g
		if v.Transposed {
			in, out = g, x
		}
		b.grads[1] = c.Do("memspec::cudnn_convolution_weight_gradient", append([]any{in, out, ops.IntList(w.Sizes...), padding, stride, dilation}, flags...)...)
	}
	if g != b.g {
		c.Free(g)
	}
	if x != v.X {
		c.Free(x)
	}
}

// depthwise is PyTorch's own kernels: in two dimensions the weight's gradient comes first.
func (b *convGradients) depthwise() {
	if len(b.v.X.Sizes) == 5 {
		b.grads[0], b.grads[1] = b.native(true, true)
		return
	}
	g := b.g
	b.g = b.contiguous(g, tensor.Contiguous)
	_, b.grads[1] = b.native(false, true)
	b.grads[0], _ = b.native(true, false)
	if b.g != g {
		b.c.Free(b.g)
	}
}

// native is the gradients of input and weight by a kernel of PyTorch's own.
func (b *convGradients) native(input, weight bool) (gx, gw *tensor.Tensor) {
	input, weight = input && b.wants(0), weight && b.wants(1)
	if !input && !weight {
		return nil, nil
	}
	v := b.v
	ts := b.c.DoParts("memspec::convolution_gradients", b.g, v.X, v.Weight, nil, ops.IntList(v.Stride...), ops.IntList(v.Padding...), ops.IntList(v.Dilation...),
		v.Transposed, ops.IntList(v.OutputPadding...), v.Groups, ops.NewList(schema.Bool, input, weight, false))
	return ts[0], ts[1]
}

func convolutionGradients(c *ops.Call) ([]tensor.Meta, error) {
	g, x, w := c.T("grad_output"), c.T("input"), c.T("weight")
	f := (&Conv{X: x, Weight: w}).format()
	channels := w.Sizes[0]
	if c.Bool("transposed") {
		channels = w.Sizes[1] * max(c.Int("groups"), 1)
	}
	return wanted(c, ops.FreshFormat(x, f, x.Sizes...), ops.FreshFormat(w, f, w.Sizes...), ops.FreshLike(g, channels)), nil
}

// convolutionGradientsScratch is what PyTorch's own kernels take: contiguous operands, and columns where the convolution is a product.
func convolutionGradientsScratch(c *ops.Call) []ops.Scratch {
	g, x, w := c.T("grad_output"), c.T("input"), c.T("weight")
	v, err := readConv(c)
	if err != nil || x.Numel() == 0 {
		return nil
	}
	mask := c.Arg("output_mask").(*ops.List)
	copied := func(t *tensor.Tensor, before bool, source string) (out []ops.Scratch) {
		if !t.IsFormat(tensor.Contiguous) {
			out = []ops.Scratch{{Bytes: t.NBytes(), Before: before, Source: source}}
		}
		return out
	}
	const own2d, own3d, slow = "native/cuda/DepthwiseConv2d.cu", "native/cuda/DepthwiseConv3d.cu", "native/cuda/ConvolutionMM2d.cu"
	switch depthwise := v.backend(convPlatform(c), g.Sizes) == convDepthwise; {
	case depthwise && len(x.Sizes) == 5:
		return slices.Concat(copied(g, false, own3d), copied(x, false, own3d), copied(w, false, own3d))
	case depthwise && mask.Items[1] == true:
		return copied(x, true, own2d)
	case depthwise:
		return copied(w, true, own2d)
	}
	return slices.Concat(copied(x, true, slow), copied(w, true, slow), copied(g, false, slow), v.buffer(g.Sizes))
}

// cudnnWeightGradient is cudnn_convolution_backward_weight.
func cudnnWeightGradient(c *ops.Call) ([]tensor.Meta, error) {
	v := weightGradient(c)
	return ops.One(ops.FreshFormat(v.X, v.format(), v.Weight.Sizes...))
}

// weightGradient is the call of a weight's gradient: of the weight only the sizes are known before.
func weightGradient(c *ops.Call) *Conv {
	x := c.T("input")
	w := &tensor.Tensor{Meta: ops.FreshLike(x, c.Ints("weight_size")...)}
	return &Conv{
		X: x, Weight: w, Grad: c.T("grad_output"), Groups: c.Int("groups"),
		Stride: c.Ints("stride"), Padding: c.Ints("padding"), Dilation: c.Ints("dilation"), OutputPadding: make([]int64, len(w.Sizes)-2),
	}
}

func cudnnWeightGradientScratch(c *ops.Call) []ops.Scratch {
	v := weightGradient(c)
	f := v.format()
	var out []ops.Scratch
	for _, t := range []*tensor.Tensor{v.Grad, v.X} {
		if !t.IsFormat(f) {
			out = append(out, ops.Scratch{Bytes: t.NBytes(), Before: true, Source: "native/cudnn/ConvShared.cpp"})
		}
	}
	return append(out, v.workspace(convPlatform(c), v.Grad.Sizes, false)...)
}
