package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// convCall is a convolution with its parameters widened to the spatial dimensions.
type convCall struct {
	x, w                              *tensor.Tensor
	grad                              *tensor.Tensor // of a weight's gradient: the result's gradient, and w is what is made
	stride, padding, dilation, outPad []int64
	transposed                        bool
	groups                            int64
	off                               bool // cuDNN is switched off
}

// conved is conv, read once a call.
func (c *Call) conved() (*convCall, error) {
	if v, ok := c.memo.(*convCall); ok {
		return v, nil
	}
	v, err := c.readConv()
	if err == nil {
		c.memo = v
	}
	return v, err
}

// readConv reads the arguments of any of the convolution operators.
func (c *Call) readConv() (*convCall, error) {
	x, w := c.Args[max(c.Schema.ArgIndex("input"), 0)].(*tensor.Tensor), c.T("weight")
	n := len(w.Sizes) - 2
	if n < 1 || len(x.Sizes) != n+2 {
		return nil, c.Errorf("got input %v and weight %v, want as many dimensions, at least 3", x.Sizes, w.Sizes)
	}
	v := &convCall{x: x, w: w, groups: c.IntOr("groups", 1), transposed: c.Bool("transposed") || c.Schema.ArgIndex("output_padding") >= 0 && c.Schema.ArgIndex("transposed") < 0}
	for _, p := range []struct {
		to    *[]int64
		name  string
		other int64
	}{{&v.stride, "stride", 1}, {&v.padding, "padding", 0}, {&v.dilation, "dilation", 1}, {&v.outPad, "output_padding", 0}} {
		if c.Schema.ArgIndex(p.name) >= 0 && len(c.Ints(p.name)) == 0 {
			return nil, c.Errorf("got no %s, want 1 or %d members", p.name, n)
		}
		wide, err := c.wide(p.name, n, p.other)
		if err != nil {
			return nil, err
		}
		*p.to = wide
	}
	for i := range n {
		if v.stride[i] <= 0 || v.dilation[i] <= 0 || v.padding[i] < 0 {
			return nil, c.Errorf("got stride %v, dilation %v and padding %v, want positive ones and padding of at least 0", v.stride, v.dilation, v.padding)
		}
		if v.transposed && (v.outPad[i] < 0 || v.outPad[i] >= max(v.stride[i], v.dilation[i])) || v.outPad[i] < 0 {
			return nil, c.Errorf("got output_padding %v, want at least 0 and less than stride %v or dilation %v", v.outPad, v.stride, v.dilation)
		}
	}
	if x.DType != w.DType {
		return nil, c.Errorf("got input of %s and weight of %s, want one dtype", x.DType, w.DType)
	}
	if x.Device != w.Device {
		return nil, c.Errorf("got input on %s and weight on %s, want one device", x.Device, w.Device)
	}
	return v, v.check(c)
}

func (v *convCall) check(c *Call) error {
	if v.groups < 1 {
		return c.Errorf("got %d groups, want at least 1", v.groups)
	}
	for _, n := range v.w.Sizes[2:] {
		if n < 1 {
			return c.Errorf("got weight %v, want a kernel of at least 1 in each dimension", v.w.Sizes)
		}
	}
	out := v.w.Sizes[0]
	if v.transposed {
		out = v.w.Sizes[1] * v.groups
	}
	if out < 1 {
		return c.Errorf("got weight %v, want at least one channel of results", v.w.Sizes)
	}
	if b := c.T("bias"); b != nil && (len(b.Sizes) != 1 || b.Sizes[0] != out) {
		return c.Errorf("got bias %v and weight %v, want a vector of %d", b.Sizes, v.w.Sizes, out)
	}
	if v.x.Numel() == 0 && v.x.Sizes[0] > 0 && v.x.Sizes[1] > 0 {
		return c.Errorf("got input %v, want none of its sizes 0 but the batch's", v.x.Sizes)
	}
	channels := v.w.Sizes[1] * v.groups
	if v.transposed {
		channels = v.w.Sizes[0]
	}
	if v.x.Sizes[1] != channels {
		return c.Errorf("got input of %d channels and weight %v in %d groups, want %d channels", v.x.Sizes[1], v.w.Sizes, v.groups, channels)
	}
	if v.w.Sizes[0]%v.groups != 0 {
		return c.Errorf("got weight %v in %d groups, want a multiple of groups", v.w.Sizes, v.groups)
	}
	return nil
}

// outSizes is conv_output_size, or conv_input_size for a transposed one (native/ConvUtils.h).
func (v *convCall) outSizes(c *Call) ([]int64, error) {
	out := make([]int64, 0, len(v.stride)+2)
	out = append(out, v.x.Sizes[0], v.w.Sizes[0])
	if v.transposed {
		out[1] = v.w.Sizes[1] * v.groups
	}
	if v.x.Sizes[1] == 0 {
		out[1] = 0
	}
	for i := range v.stride {
		in, kernel := v.x.Sizes[i+2], v.dilation[i]*(v.w.Sizes[i+2]-1)+1
		var d int64
		if v.transposed {
			d = (in-1)*v.stride[i] - 2*v.padding[i] + kernel + v.outPad[i]
		} else {
			if in+2*v.padding[i] < kernel {
				return nil, c.Errorf("got input %v with padding %v, want at least the kernel's %d in dimension %d", v.x.Sizes, v.padding, kernel, i+2)
			}
			d = (in+2*v.padding[i]-kernel)/v.stride[i] + 1
		}
		if d < 0 {
			return nil, c.Errorf("got input %v, too small for kernel %v", v.x.Sizes, v.w.Sizes[2:])
		}
		out = append(out, d)
	}
	return out, nil
}

// format is cudnn_conv_suggest_memory_format: channels last where input or weight suggest it, but for double.
func (v *convCall) format() tensor.MemoryFormat {
	if v.x.DType == tensor.Float64 {
		return tensor.Contiguous
	}
	for _, t := range v.operands() {
		if f := t.SuggestFormat(); f != tensor.Contiguous {
			return f
		}
	}
	return tensor.Contiguous
}

// operands are what a convolution, or a gradient of one, is made of.
func (v *convCall) operands() [2]*tensor.Tensor {
	if v.grad != nil {
		return [2]*tensor.Tensor{v.x, v.grad}
	}
	return [2]*tensor.Tensor{v.x, v.w}
}

func convolution(c *Call) ([]tensor.Meta, error) {
	v, err := c.conved()
	if err != nil {
		return nil, err
	}
	sizes, err := v.outSizes(c)
	if err != nil {
		return nil, err
	}
	return c.one(freshFormat(v.x, v.format(), sizes...))
}

// unbatched gives an input without a batch one of 1, and takes it off the result (Convolution.cpp batchify).
func (c *Call) unbatched(x *tensor.Tensor, n int, run func(x *tensor.Tensor) *tensor.Tensor) (any, error) {
	switch len(x.Sizes) {
	case n + 2:
		return run(x), nil
	case n + 1:
		return c.Do("aten::squeeze.dim", run(c.Do("aten::unsqueeze", x, int64(0))), int64(0)), nil
	}
	return nil, c.Errorf("got input %v, want %d or %d dimensions", x.Sizes, n+1, n+2)
}

func convND(n int) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.unbatched(c.T("input"), n, func(x *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::convolution", x, c.T("weight"), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"), c.Arg("dilation"), false, intList(make([]int64, n)...), c.Arg("groups"))
		})
	}
}

func convTransposeND(n int) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.unbatched(c.T("input"), n, func(x *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::convolution", x, c.T("weight"), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"), c.Arg("dilation"), true, c.Arg("output_padding"), c.Arg("groups"))
		})
	}
}

func convPadded(n int) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.unbatched(c.T("input"), n, func(x *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::_convolution_mode", x, c.T("weight"), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"), c.Arg("dilation"), c.Arg("groups"))
		})
	}
}

// convMode is padding given by name: "same" with an odd total pads a copy of the input first (Convolution.cpp convolution_same).
func convMode(c *Call) (any, error) {
	x, w := c.T("input"), c.T("weight")
	n := len(w.Sizes) - 2
	pad := make([]int64, n)
	conv := func(x *tensor.Tensor) *tensor.Tensor {
		return c.Do("aten::convolution", x, w, c.Arg("bias"), c.Arg("stride"), intList(pad...), c.Arg("dilation"), false, intList(make([]int64, n)...), c.Arg("groups"))
	}
	switch c.Str("padding") {
	case "valid":
		return conv(x), nil
	case "same":
	default:
		return nil, c.Errorf("got padding %q, want valid or same", c.Str("padding"))
	}
	dilation, err := c.wide("dilation", n, 1)
	if err != nil {
		return nil, err
	}
	stride, err := c.wide("stride", n, 1)
	if err != nil {
		return nil, err
	}
	if slices.Max(stride) > 1 {
		return nil, c.Errorf("got padding same with stride %v, want strides of 1", stride)
	}
	extra := make([]int64, 2*n)
	odd := false
	for i := range n {
		total := dilation[i] * (w.Sizes[i+2] - 1)
		pad[i] = total / 2
		if total%2 == 1 { // the longer side is the right one
			extra[2*(n-1-i)+1] = 1
			odd = true
		}
	}
	if odd {
		for len(extra) > 2 && extra[len(extra)-1] == 0 && extra[len(extra)-2] == 0 {
			extra = extra[:len(extra)-2]
		}
		x = c.Do("aten::constant_pad_nd", x, intList(extra...))
	}
	return conv(x), nil
}

func slowConv(forward string) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.Do(forward, c.Args...), nil
	}
}

// convTBC is a convolution over time × batch × channels.
func convTBC(c *Call) ([]tensor.Meta, error) {
	x, w := c.T("self"), c.T("weight")
	if len(x.Sizes) != 3 || len(w.Sizes) != 3 || x.Sizes[2] != w.Sizes[1] {
		return nil, c.Errorf("got %v and %v, want [time, batch, in] and [kernel, in, out]", x.Sizes, w.Sizes)
	}
	if b := c.T("bias"); b != nil && (len(b.Sizes) != 1 || b.Sizes[0] != w.Sizes[2]) {
		return nil, c.Errorf("got bias %v and weight %v, want a vector of %d", b.Sizes, w.Sizes, w.Sizes[2])
	}
	return one(fresh(x, x.Sizes[0]-w.Sizes[0]+1+2*c.Int("pad"), x.Sizes[1], w.Sizes[2]))
}

// windows is the number of places of a sliding window in each of two dimensions.
func (c *Call) windows(sizes []int64) (int64, error) {
	kernel, dilation, padding, stride := c.Ints("kernel_size"), c.Ints("dilation"), c.Ints("padding"), c.Ints("stride")
	for _, p := range [][]int64{kernel, dilation, padding, stride} {
		if len(p) != 2 {
			return 0, c.Errorf("got %v, want 2 numbers", p)
		}
	}
	n := int64(1)
	for i := range 2 {
		if kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 {
			return 0, c.Errorf("got kernel %v, stride %v, dilation %v and padding %v, want positive ones and padding of at least 0", kernel, stride, dilation, padding)
		}
		d := divFloor(sizes[i]+2*padding[i]-dilation[i]*(kernel[i]-1)-1, stride[i]) + 1
		if d < 1 {
			return 0, c.Errorf("got sizes %v, too small for kernel %v", sizes, kernel)
		}
		n *= d
	}
	return n, nil
}

func im2col(c *Call) ([]tensor.Meta, error) {
	x, kernel := c.T("self"), c.Ints("kernel_size")
	n := len(x.Sizes)
	if n != 3 && n != 4 {
		return nil, c.Errorf("got input %v, want 3 or 4 dimensions", x.Sizes)
	}
	if err := c.notEmpty(x.Sizes, n-3); err != nil {
		return nil, err
	}
	places, err := c.windows(x.Sizes[n-2:])
	if err != nil {
		return nil, err
	}
	return one(fresh(x, append(slices.Clone(x.Sizes[:n-3]), x.Sizes[n-3]*product(kernel), places)...))
}

func col2im(c *Call) ([]tensor.Meta, error) {
	x, kernel, size := c.T("self"), c.Ints("kernel_size"), c.Ints("output_size")
	n := len(x.Sizes)
	if n != 2 && n != 3 || len(size) != 2 || len(kernel) != 2 || product(kernel) < 1 || x.Sizes[n-2] < 1 || x.Sizes[n-2]%product(kernel) != 0 {
		return nil, c.Errorf("got input %v, output %v and kernel %v, want [batch, channels × kernel, places]", x.Sizes, size, kernel)
	}
	places, err := c.windows(size)
	if err != nil {
		return nil, err
	}
	if places != x.Sizes[n-1] {
		return nil, c.Errorf("got %d columns, want %d", x.Sizes[n-1], places)
	}
	return one(fresh(x, append(slices.Clone(x.Sizes[:n-2]), x.Sizes[n-2]/product(kernel), size[0], size[1])...))
}
