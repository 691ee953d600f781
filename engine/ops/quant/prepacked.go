package quant

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// prepackedRules are float layers whose weights XNNPACK (native/xnnpack/RegisterOpContextClass.cpp,
// as optimize_for_mobile makes them) and oneDNN (native/mkldnn/RegisterMkldnnOpContextClass.cpp)
// have packed. They are the host's: PyTorch has no kernels for a device.
var prepackedRules = []ops.Rule{
	{Schema: "prepacked::linear_clamp_prepack(Tensor W, Tensor? B=None, Scalar? output_min=None, Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.LinearOpContext",
		Host: packClamped},
	{Schema: "prepacked::linear_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.LinearOpContext W_prepack) -> Tensor Y", Out: prepackedLinear},
	{Schema: "prepacked::conv2d_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, int[2] dilation, int groups, Scalar? output_min=None, Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.Conv2dOpContext",
		Host: packClamped},
	{Schema: "prepacked::conv2d_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.Conv2dOpContext W_prepack) -> Tensor Y", Out: prepackedConv},
	{Schema: "prepacked::conv2d_transpose_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, int[2] output_padding, int[2] dilation, int groups, Scalar? output_min=None, Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.TransposeConv2dOpContext",
		Host: packClamped},
	{Schema: "prepacked::conv2d_transpose_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.TransposeConv2dOpContext W_prepack) -> Tensor Y", Out: prepackedConv},
	{Schema: "mkldnn_prepacked::conv2d_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, int[2] dilation, int groups, int[4] input_size, str attr) -> __torch__.torch.classes.mkldnn.ConvOpContext",
		Host: packClamped},
	{Schema: "mkldnn_prepacked::conv2d_run(Tensor X, __torch__.torch.classes.mkldnn.ConvOpContext W_prepack) -> Tensor Y",
		Out: prepackedConv},
}

// packClamped packs a layer; what it is clamped to does not matter to memory.
func packClamped(c *ops.Call) (any, error) {
	p := &packedParams{weight: c.T("W"), bias: c.T("B"), groups: 1}
	class := "xnnpack.LinearOpContext"
	if c.Schema.ArgIndex("stride") >= 0 {
		p.stride, p.padding = c.Ints("stride"), c.Ints("padding")
		p.dilation, p.groups = c.Ints("dilation"), c.Int("groups")
		class = "xnnpack.Conv2dOpContext"
	}
	if c.Schema.ArgIndex("output_padding") >= 0 {
		p.outPad, p.transposed = c.Ints("output_padding"), true
		class = "xnnpack.TransposeConv2dOpContext"
	}
	return &ops.Packed{Class: class, State: p}, nil
}

// prepacked reads a layer that packClamped packed, or that an archive holds: weight, bias, a
// convolution's numbers, and two limits (native/xnnpack/OpContext.h SerializationTypeConv2dPrePack
// and those beside it; native/mkldnn/OpContext.h, without limits).
func prepacked(c *ops.Call) (*packedParams, error) {
	o, ok := c.Args[1].(*ops.Packed)
	if !ok {
		return nil, c.Errorf("got %s, want a packed layer", ops.TypeName(c.Args[1]))
	}
	if p, ok := o.State.(*packedParams); ok {
		return p, nil
	}
	missing := &ops.MissingError{Op: c.Schema.Name + " with a layer packed as " + o.Class}
	s, ok := o.State.(*ops.Tuple)
	if !ok || len(s.Items) < 2 {
		return nil, missing
	}
	p := &packedParams{groups: 1}
	p.weight, _ = s.Items[0].(*tensor.Tensor)
	p.bias, _ = s.Items[1].(*tensor.Tensor)
	var lists [][]int64
	for _, item := range s.Items[2:] {
		l, ok := item.(*ops.List)
		if !ok {
			if n, ok := item.(int64); ok && len(lists) >= 3 {
				p.groups = n
			}
			break
		}
		var list []int64
		for _, v := range l.Items {
			n, ok := ops.AsInt(v)
			if !ok {
				return nil, missing
			}
			list = append(list, n)
		}
		lists = append(lists, list)
	}
	switch len(lists) {
	case 0:
	case 3:
		p.stride, p.padding, p.dilation = lists[0], lists[1], lists[2]
	case 4:
		p.stride, p.padding, p.outPad, p.dilation, p.transposed = lists[0], lists[1], lists[2], lists[3], true
	default:
		return nil, missing
	}
	if p.weight == nil {
		return nil, missing
	}
	return p, nil
}

// onHost refuses what PyTorch refuses: it has no kernel for another tensor.
func onHost(c *ops.Call, x *tensor.Tensor) error {
	if ops.OnCUDA(x) {
		return c.Errorf("got a tensor of the device, want one of the host: PyTorch has no kernel of %s for a GPU",
			c.Schema.Name)
	}
	if x.DType != tensor.Float32 {
		return c.Errorf("got %s, want float32", x.DType)
	}
	return nil
}

func prepackedLinear(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("X")
	if err := onHost(c, x); err != nil {
		return nil, err
	}
	p, err := prepacked(c)
	if err != nil {
		return nil, err
	}
	n := len(x.Sizes) - 1
	if n < 0 || len(p.weight.Sizes) != 2 || x.Sizes[n] != p.weight.Sizes[1] {
		return nil, c.Errorf("got input %v and weight %v, want one that fits the other", x.Sizes, p.weight.Sizes)
	}
	sizes := append(append([]int64{}, x.Sizes[:n]...), p.weight.Sizes[0])
	return ops.One(ops.FreshFormat(x, x.SuggestFormat(), sizes...))
}

func prepackedConv(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("X")
	if err := onHost(c, x); err != nil {
		return nil, err
	}
	p, err := prepacked(c)
	if err != nil {
		return nil, err
	}
	two := func(v []int64, other int64) []int64 {
		switch len(v) {
		case 0:
			return []int64{other, other}
		case 1:
			return []int64{v[0], v[0]}
		}
		return v
	}
	if len(x.Sizes) != 4 || len(p.weight.Sizes) != 4 {
		return nil, c.Errorf("got input %v and weight %v, want four dimensions of each", x.Sizes, p.weight.Sizes)
	}
	v := &workspace.Convolution{Input: &x.Meta, Weight: &p.weight.Meta, Stride: two(p.stride, 1),
		Padding: two(p.padding, 0), Dilation: two(p.dilation, 1), OutputPadding: two(p.outPad, 0),
		Groups: max(p.groups, 1), Transposed: p.transposed}
	sizes, err := convSizes(c, v)
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshFormat(x, x.SuggestFormat(), sizes...))
}
