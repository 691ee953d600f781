package nn

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// conv is a convolution with its operands.
type conv struct {
	x, w *tensor.Tensor
	workspace.Convolution
}

// convOf reads a call's convolution once.
func convOf(c *ops.Call) (*conv, error) {
	if v, ok := c.Memo.(*conv); ok {
		return v, nil
	}
	v, err := readConv(c)
	if err == nil {
		c.Memo = v
	}
	return v, err
}

// readConv reads the arguments of any of the convolution operators.
func readConv(c *ops.Call) (*conv, error) {
	x, w := c.Args[max(c.Schema.ArgIndex("input"), 0)].(*tensor.Tensor), c.T("weight")
	n := len(w.Sizes) - 2
	if n < 1 || len(x.Sizes) != n+2 {
		return nil, c.Errorf("got input %v and weight %v, want as many dimensions, at least 3", x.Sizes, w.Sizes)
	}
	v := &conv{x: x, w: w, Convolution: workspace.Convolution{
		Input: &x.Meta, Weight: &w.Meta, Groups: c.IntOr("groups", 1), Bias: c.T("bias") != nil,
		Transposed: c.Bool("transposed") || c.Schema.ArgIndex("output_padding") >= 0 &&
			c.Schema.ArgIndex("transposed") < 0, CuDNNOff: c.Schema.ArgIndex("cudnn_enabled") >= 0 &&
			!c.Bool("cudnn_enabled"),
	}}
	if strings.Contains(c.Schema.Name, "depthwise") {
		v.Groups = x.Sizes[1]
	}
	for _, p := range []struct {
		to    *[]int64
		name  string
		other int64 // where the operator has no such argument
	}{{to: &v.Stride, name: "stride"}, {to: &v.Padding, name: "padding"}, {&v.Dilation, "dilation", 1},
		{to: &v.OutputPadding, name: "output_padding"}} {
		given := c.Ints(p.name)
		if len(given) == 0 && c.Schema.ArgIndex(p.name) >= 0 {
			return nil, c.Errorf("got no %s, want 1 or %d members", p.name, n)
		}
		wide, err := widened(c, p.name, given, n, p.other)
		if err != nil {
			return nil, err
		}
		*p.to = wide
	}
	if err := CheckSteps(c, &v.Convolution); err != nil {
		return nil, err
	}
	if x.DType != w.DType {
		return nil, c.Errorf("got input of %s and weight of %s, want one dtype", x.DType, w.DType)
	}
	if x.Device != w.Device {
		return nil, c.Errorf("got input on %s and weight on %s, want one device", x.Device, w.Device)
	}
	return v, CheckConv(c, &v.Convolution)
}

// CheckSteps refuses strides, dilations and paddings that no convolution has. There is one of each
// a dimension.
func CheckSteps(c *ops.Call, v *workspace.Convolution) error {
	for i := range v.Stride {
		if v.Stride[i] <= 0 || v.Dilation[i] <= 0 || v.Padding[i] < 0 {
			return c.Errorf("got stride %v, dilation %v and padding %v, want positive ones and padding of at least 0",
				v.Stride, v.Dilation, v.Padding)
		}
		if v.Transposed && (v.OutputPadding[i] < 0 || v.OutputPadding[i] >= max(v.Stride[i], v.Dilation[i])) ||
			v.OutputPadding[i] < 0 {
			return c.Errorf("got output_padding %v, want at least 0 and less than stride %v or dilation %v",
				v.OutputPadding, v.Stride, v.Dilation)
		}
	}
	return nil
}

// CheckConv refuses weights, groups and a bias that do not fit the input.
func CheckConv(c *ops.Call, v *workspace.Convolution) error {
	if v.Groups < 1 {
		return c.Errorf("got %d groups, want at least 1", v.Groups)
	}
	for _, n := range v.Weight.Sizes[2:] {
		if n < 1 {
			return c.Errorf("got weight %v, want a kernel of at least 1 in each dimension", v.Weight.Sizes)
		}
	}
	out := v.Weight.Sizes[0]
	if v.Transposed {
		out = v.Weight.Sizes[1] * v.Groups
	}
	if out < 1 {
		return c.Errorf("got weight %v, want at least one channel of results", v.Weight.Sizes)
	}
	if b := c.T("bias"); b != nil && (len(b.Sizes) != 1 || b.Sizes[0] != out) {
		return c.Errorf("got bias %v and weight %v, want a vector of %d", b.Sizes, v.Weight.Sizes, out)
	}
	if v.Input.Numel() == 0 && v.Input.Sizes[0] > 0 && v.Input.Sizes[1] > 0 {
		return c.Errorf("got input %v, want none of its sizes 0 but the batch's", v.Input.Sizes)
	}
	channels := v.Weight.Sizes[1] * v.Groups
	if v.Transposed {
		channels = v.Weight.Sizes[0]
	}
	if v.Input.Sizes[1] != channels {
		return c.Errorf("got input of %d channels and weight %v in %d groups, want %d channels", v.Input.Sizes[1],
			v.Weight.Sizes, v.Groups, channels)
	}
	if v.Weight.Sizes[0]%v.Groups != 0 {
		return c.Errorf("got weight %v in %d groups, want a multiple of groups", v.Weight.Sizes, v.Groups)
	}
	return nil
}

// ConvSizes is conv_output_size, or conv_input_size for a transposed one (native/ConvUtils.h).
func ConvSizes(c *ops.Call, v *workspace.Convolution) ([]int64, error) {
	out := make([]int64, 0, len(v.Stride)+2)
	out = append(out, v.Input.Sizes[0], v.Weight.Sizes[0])
	if v.Transposed {
		out[1] = v.Weight.Sizes[1] * v.Groups
	}
	if v.Input.Sizes[1] == 0 {
		out[1] = 0
	}
	for i := range v.Stride {
		in, kernel := v.Input.Sizes[i+2], v.Dilation[i]*(v.Weight.Sizes[i+2]-1)+1
		var d int64
		if v.Transposed {
			d = (in-1)*v.Stride[i] - 2*v.Padding[i] + kernel + v.OutputPadding[i]
		} else {
			if in+2*v.Padding[i] < kernel {
				return nil, c.Errorf("got input %v with padding %v, want at least the kernel's %d in dimension %d",
					v.Input.Sizes, v.Padding, kernel, i+2)
			}
			d = (in+2*v.Padding[i]-kernel)/v.Stride[i] + 1
		}
		if d < 0 {
			return nil, c.Errorf("got input %v, too small for kernel %v", v.Input.Sizes, v.Weight.Sizes[2:])
		}
		out = append(out, d)
	}
	return out, nil
}

func convolution(c *ops.Call) ([]tensor.Meta, error) {
	v, err := convOf(c)
	if err != nil {
		return nil, err
	}
	sizes, err := ConvSizes(c, &v.Convolution)
	if err != nil {
		return nil, err
	}
	return c.One(ops.FreshFormat(v.x, v.Format(), sizes...))
}

// convolutionWorkspace is what the kernel takes that the convolution goes to.
func convolutionWorkspace(c *ops.Call) []workspace.Request {
	v, err := convOf(c)
	if err != nil {
		return nil
	}
	out, err := ConvSizes(c, &v.Convolution)
	if err != nil {
		return nil
	}
	by := workspace.AnyConv
	switch {
	case strings.HasSuffix(c.Schema.Name, "_relu"):
		by = workspace.FusedConv
	case strings.HasPrefix(c.Schema.Name, "aten::cudnn_"):
		by = workspace.CuDNNConv
	}
	return v.Requests(convPlatform(c), out, by)
}

// columnsWorkspace is of the operators that run a convolution as a product of matrices.
func columnsWorkspace(c *ops.Call) []workspace.Request {
	v, err := convOf(c)
	if err != nil || !ops.OnCUDA(v.x) {
		return nil
	}
	out, err := ConvSizes(c, &v.Convolution)
	if err != nil {
		return nil
	}
	return v.Columns(c.Platform(), out)
}

// convPlatform is the platform with the flags that the call itself gives: traced code has those of
// the day it was traced.
func convPlatform(c *ops.Call) *platform.Platform {
	own := *c.Platform()
	for name, flag := range map[string]*bool{"benchmark": &own.Benchmark, "deterministic": &own.Deterministic,
		"allow_tf32": &own.TF32CuDNN} {
		if c.Schema.ArgIndex(name) >= 0 {
			*flag = c.Bool(name)
		}
	}
	return &own
}

// unbatched gives an input without a batch one of 1, and takes it off the result (Convolution.cpp
// batchify).
func unbatched(c *ops.Call, x *tensor.Tensor, n int, run func(x *tensor.Tensor) *tensor.Tensor) (any, error) {
	switch len(x.Sizes) {
	case n + 2:
		return run(x), nil
	case n + 1:
		return c.Do("aten::squeeze.dim", run(c.Do("aten::unsqueeze", x, int64(0))), int64(0)), nil
	}
	return nil, c.Errorf("got input %v, want %d or %d dimensions", x.Sizes, n+1, n+2)
}

func convND(n int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		return unbatched(c, c.T("input"), n, func(x *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::convolution", x, c.T("weight"), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"),
				c.Arg("dilation"), false, ops.IntList(make([]int64, n)...), c.Arg("groups"))
		})
	}
}

func convTransposeND(n int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		return unbatched(c, c.T("input"), n, func(x *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::convolution", x, c.T("weight"), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"),
				c.Arg("dilation"), true, c.Arg("output_padding"), c.Arg("groups"))
		})
	}
}

func convPadded(n int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		return unbatched(c, c.T("input"), n, func(x *tensor.Tensor) *tensor.Tensor {
			return c.Do("aten::_convolution_mode", x, c.T("weight"), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"),
				c.Arg("dilation"), c.Arg("groups"))
		})
	}
}

// convMode is padding given by name: "same" with an odd total pads a copy of the input first
// (Convolution.cpp convolution_same).
func convMode(c *ops.Call) (any, error) {
	x, w := c.T("input"), c.T("weight")
	n := len(w.Sizes) - 2
	if n < 1 {
		return nil, c.Errorf("got weight %v, want at least 3 dimensions", w.Sizes)
	}
	pad := make([]int64, n)
	conv := func(x *tensor.Tensor) *tensor.Tensor {
		return c.Do("aten::convolution", x, w, c.Arg("bias"), c.Arg("stride"), ops.IntList(pad...), c.Arg("dilation"),
			false, ops.IntList(make([]int64, n)...), c.Arg("groups"))
	}
	switch c.Str("padding") {
	case "valid":
		return conv(x), nil
	case "same":
	default:
		return nil, c.Errorf("got padding %q, want valid or same", c.Str("padding"))
	}
	dilation, err := wide(c, "dilation", n, 1)
	if err != nil {
		return nil, err
	}
	stride, err := wide(c, "stride", n, 1)
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
		x = c.Do("aten::constant_pad_nd", x, ops.IntList(extra...))
	}
	return conv(x), nil
}

func slowConv(forward string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		return c.Do(forward, c.Args...), nil
	}
}

// convTBC is a convolution over time × batch × channels.
func convTBC(c *ops.Call) ([]tensor.Meta, error) {
	x, w := c.T("self"), c.T("weight")
	if len(x.Sizes) != 3 || len(w.Sizes) != 3 || x.Sizes[2] != w.Sizes[1] {
		return nil, c.Errorf("got %v and %v, want [time, batch, in] and [kernel, in, out]", x.Sizes, w.Sizes)
	}
	if b := c.T("bias"); b != nil && (len(b.Sizes) != 1 || b.Sizes[0] != w.Sizes[2]) {
		return nil, c.Errorf("got bias %v and weight %v, want a vector of %d", b.Sizes, w.Sizes, w.Sizes[2])
	}
	return ops.One(ops.FreshLike(x, x.Sizes[0]-w.Sizes[0]+1+2*c.Int("pad"), x.Sizes[1], w.Sizes[2]))
}

// windows is the number of places of a sliding window in each of two dimensions.
func windows(c *ops.Call, sizes []int64) (int64, error) {
	kernel, dilation, padding, stride := c.Ints("kernel_size"), c.Ints("dilation"), c.Ints("padding"), c.Ints("stride")
	for _, p := range [][]int64{kernel, dilation, padding, stride} {
		if len(p) != 2 {
			return 0, c.Errorf("got %v, want 2 numbers", p)
		}
	}
	n := int64(1)
	for i := range 2 {
		if kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 {
			return 0, c.Errorf("got kernel %v, stride %v, dilation %v and padding %v, want positive ones and padding of at "+
				"least 0", kernel, stride, dilation, padding)
		}
		d := ops.DivFloor(sizes[i]+2*padding[i]-dilation[i]*(kernel[i]-1)-1, stride[i]) + 1
		if d < 1 {
			return 0, c.Errorf("got sizes %v, too small for kernel %v", sizes, kernel)
		}
		n *= d
	}
	return n, nil
}

func im2col(c *ops.Call) ([]tensor.Meta, error) {
	x, kernel := c.T("self"), c.Ints("kernel_size")
	n := len(x.Sizes)
	if n != 3 && n != 4 {
		return nil, c.Errorf("got input %v, want 3 or 4 dimensions", x.Sizes)
	}
	if err := notEmpty(c, x.Sizes, n-3); err != nil {
		return nil, err
	}
	places, err := windows(c, x.Sizes[n-2:])
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(x, append(slices.Clone(x.Sizes[:n-3]), x.Sizes[n-3]*tensor.Numel(kernel), places)...))
}

func col2im(c *ops.Call) ([]tensor.Meta, error) {
	x, kernel, size := c.T("self"), c.Ints("kernel_size"), c.Ints("output_size")
	n := len(x.Sizes)
	if n != 2 && n != 3 || len(size) != 2 || len(kernel) != 2 || tensor.Numel(kernel) < 1 || x.Sizes[n-2] < 1 ||
		x.Sizes[n-2]%tensor.Numel(kernel) != 0 {
		return nil, c.Errorf("got input %v, output %v and kernel %v, want [batch, channels × kernel, places]", x.Sizes,
			size, kernel)
	}
	places, err := windows(c, size)
	if err != nil {
		return nil, err
	}
	if places != x.Sizes[n-1] {
		return nil, c.Errorf("got %d columns, want %d", x.Sizes[n-1], places)
	}
	return ops.One(ops.FreshLike(x, append(slices.Clone(x.Sizes[:n-2]), x.Sizes[n-2]/tensor.Numel(kernel), size[0],
		size[1])...))
}
