package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// The gradients of convolutions (native/Convolution.cpp convolution_backward,
// native/cudnn/ConvShared.cpp, native/cuda/DepthwiseConv2d.cu).

// convolutionBackward runs a kernel a gradient, in the order of the backend. The gradient of the
// input is what a transposed convolution does, that of a transposed convolution's input a
// convolution.
func convolutionBackward(c *ops.Call) (any, error) {
	g, x, w := c.T("grad_output"), c.T("input"), c.T("weight")
	if len(w.Sizes) < 3 || len(x.Sizes) != len(w.Sizes) || len(g.Sizes) != len(w.Sizes) {
		return nil, c.Errorf("got gradient %v, input %v and weight %v, want as many dimensions", g.Sizes, x.Sizes,
			w.Sizes)
	}
	if c.OnFakeTensors() || !ops.OnCUDA(x) {
		return c.DoAny("memspec::convolution_gradients", c.Args...), nil
	}
	v, err := readConv(c)
	if err != nil {
		return nil, err
	}
	b := &convGradients{c: c, conv: *v, g: g, mask: c.Arg("output_mask"), flat: len(w.Sizes) == 3}
	bias := g
	if b.flat {
		b.x = b.contiguous(v.x, tensor.Contiguous)
		b.widen()
	}
	if !c.OK() {
		return nil, nil
	}
	switch b.Backend(convPlatform(c), b.g.Sizes) {
	case workspace.ConvEmpty:
		return c.DoAny("memspec::convolution_gradients", c.Args...), nil
	case workspace.ConvCuDNN:
		b.throughCuDNN()
	case workspace.ConvDepthwise:
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

// convGradients is a convolution_backward under way: of one dimension it is run as of two, of
// height 1.
type convGradients struct {
	c *ops.Call
	conv
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
	high := func(t *tensor.Tensor) *tensor.Tensor { return b.c.Do("aten::unsqueeze", t, int64(2)) }
	v := *b.As2d()
	b.x, b.w = high(b.x), high(b.w)
	v.Input, v.Weight = &b.x.Meta, &b.w.Meta
	b.Convolution = v
	b.g = high(b.g)
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
	c, v, p := b.c, &b.Convolution, convPlatform(b.c)
	x, w, g := b.x, b.w, b.g
	if b.wants(1) {
		x = b.contiguous(x, v.Format())
	}
	if f := x.SuggestFormat(); v.Transposed || g.SuggestFormat() != f {
		g = b.contiguous(g, f)
	}
	if !c.OK() {
		return
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
		b.grads[0] = c.Do("aten::cudnn_convolution_transpose",
			append([]any{g, w, padding, ops.IntList(open...), stride, dilation}, flags...)...)
	}
	if b.wants(1) {
		in, out := x, g
		if v.Transposed {
			in, out = g, x
		}
		b.grads[1] = c.Do("memspec::cudnn_convolution_weight_gradient",
			append([]any{in, out, ops.IntList(w.Sizes...), padding, stride, dilation}, flags...)...)
	}
	if g != b.g {
		c.Free(g)
	}
	if x != b.x {
		c.Free(x)
	}
}

// depthwise is PyTorch's own kernels: in two dimensions the weight's gradient comes first.
func (b *convGradients) depthwise() {
	if len(b.x.Sizes) == 5 {
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
	v := &b.Convolution
	ts := b.c.DoParts("memspec::convolution_gradients", b.g, b.x, b.w, nil, ops.IntList(v.Stride...),
		ops.IntList(v.Padding...), ops.IntList(v.Dilation...), v.Transposed, ops.IntList(v.OutputPadding...), v.Groups,
		ops.NewList(schema.Bool, input, weight, false))
	return ts[0], ts[1]
}

func convolutionGradients(c *ops.Call) ([]tensor.Meta, error) {
	g, x, w := c.T("grad_output"), c.T("input"), c.T("weight")
	f := (&workspace.Convolution{Input: &x.Meta, Weight: &w.Meta}).Format()
	channels := w.Sizes[0]
	if c.Bool("transposed") {
		channels = w.Sizes[1] * max(c.Int("groups"), 1)
	}
	return wanted(c, ops.FreshFormat(x, f, x.Sizes...), ops.FreshFormat(w, f, w.Sizes...), ops.FreshLike(g, channels)),
		nil
}

// convolutionGradientsWorkspace is what PyTorch's own kernels take.
func convolutionGradientsWorkspace(c *ops.Call) []workspace.Request {
	v, err := readConv(c)
	if err != nil {
		return nil
	}
	mask := c.Arg("output_mask").(*ops.List)
	return v.NativeGradients(convPlatform(c), &c.T("grad_output").Meta, mask.Items[1] == true)
}

// cudnnWeightGradient is cudnn_convolution_backward_weight.
func cudnnWeightGradient(c *ops.Call) ([]tensor.Meta, error) {
	v := weightGradient(c)
	return ops.One(ops.FreshFormat(c.T("input"), v.Format(), v.Weight.Sizes...))
}

// weightGradient is the convolution whose weight's gradient is asked for: of the weight only the
// sizes are known before.
func weightGradient(c *ops.Call) *workspace.Convolution {
	x := c.T("input")
	w := ops.FreshLike(x, c.Ints("weight_size")...)
	return &workspace.Convolution{
		Input: &x.Meta, Weight: &w, Grad: &c.T("grad_output").Meta, Groups: c.Int("groups"),
		Stride: c.Ints("stride"), Padding: c.Ints("padding"), Dilation: c.Ints("dilation"),
		OutputPadding: make([]int64, len(w.Sizes)-2),
	}
}

func cudnnWeightGradientWorkspace(c *ops.Call) []workspace.Request {
	return weightGradient(c).WeightGradient(convPlatform(c))
}
