package quant

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/nn"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// packedParams are a weight with its convolution's parameters.
type packedParams struct {
	weight, bias                      *tensor.Tensor
	stride, padding, dilation, outPad []int64
	groups                            int64
	transposed                        bool
}

// packed reads an argument that is packed parameters: made by a rule below, or as its class's
// __getstate__ wrote it (aten/src/ATen/native/quantized/cpu/conv_serialization.h,
// fbgemm_utils.cpp).
func packed(c *ops.Call, i int) (*packedParams, error) {
	o, ok := c.Args[i].(*ops.Packed)
	if !ok {
		return nil, c.Errorf("got %s, want packed parameters", ops.TypeName(c.Args[i]))
	}
	switch s := o.State.(type) {
	case *packedParams:
		return s, nil
	case *ops.Tuple:
		if p := parsePacked(s.Items); p != nil {
			return p, nil
		}
	}
	return nil, &ops.MissingError{Op: c.Schema.Name + " with parameters packed as " + o.Class}
}

func parsePacked(items []any) *packedParams {
	tensorAt := func(items []any, i int) *tensor.Tensor {
		if i >= len(items) {
			return nil
		}
		t, _ := items[i].(*tensor.Tensor)
		return t
	}
	if w := tensorAt(items, 0); w != nil { // linear: weight and bias
		return &packedParams{weight: w, bias: tensorAt(items, 1)}
	}
	if len(items) != 3 {
		return nil
	}
	switch version := items[0].(type) {
	case string: // "2": a list of a configuration and a weight, a list of an optional bias
		given, ok := items[1].(*ops.List)
		if version != "2" || !ok || len(given.Items) != 2 {
			return nil
		}
		config := tensorAt(given.Items, 0)
		if config == nil || config.Data == nil {
			return nil
		}
		p := configured(config.Data.Ints)
		if p == nil {
			return nil
		}
		p.weight = tensorAt(given.Items, 1)
		if more, ok := items[2].(*ops.List); ok {
			p.bias = tensorAt(more.Items, 0)
		}
		return p
	case int64: // 3: numbers, then tensors: none, weight, bias
		list, ok := items[1].(*ops.List)
		given, ok2 := items[2].(*ops.List)
		if version != 3 || !ok || !ok2 || len(given.Items) < 2 {
			return nil
		}
		var config []int64
		for _, v := range list.Items {
			n, _ := ops.AsInt(v)
			config = append(config, n)
		}
		p := configured(config)
		if p != nil {
			p.weight, p.bias = tensorAt(given.Items, 1), tensorAt(given.Items, 2)
		}
		return p
	}
	return nil
}

// configured reads spatial dimensions, strides, paddings, dilations, output paddings, groups and
// the flag of a transposed convolution.
func configured(v []int64) *packedParams {
	if len(v) == 0 || v[0] < 1 || v[0] > 3 || int64(len(v)) != 1+4*v[0]+2 {
		return nil
	}
	n := v[0]
	part := func(i int64) []int64 { return v[1+i*n : 1+(i+1)*n] }
	return &packedParams{stride: part(0), padding: part(1), dilation: part(2), outPad: part(3), groups: v[1+4*n],
		transposed: v[2+4*n] != 0}
}

func packLinear(c *ops.Call) (any, error) {
	return &ops.Packed{Class: "quantized.LinearPackedParamsBase",
		State: &packedParams{weight: c.T("W"), bias: c.T("B")}}, nil
}

func packConv(c *ops.Call) (any, error) {
	return &ops.Packed{Class: "quantized.ConvPackedParamsBase", State: &packedParams{
		weight: c.T("weight"), bias: c.T("bias"), stride: c.Ints("stride"), padding: c.Ints("padding"),
		dilation: c.Ints("dilation"),
		outPad:   c.Ints("output_padding"), groups: c.Int("groups"), transposed: c.Schema.ArgIndex("output_padding") >= 0,
	}}, nil
}

func packEmbedding(c *ops.Call) (any, error) {
	return &ops.Packed{Class: "quantized.EmbeddingPackedParamsBase", State: &packedParams{weight: c.T("weight")}}, nil
}

func packCell(*ops.Call) (any, error) { return &ops.Packed{Class: "rnn.CellParamsBase"}, nil }

func unpack(c *ops.Call) (any, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	return c.Tuple(ops.OrNone(p.weight), ops.OrNone(p.bias)), nil
}

// unpackLegacy is for weights packed into a tensor, as programs before 1.4 did: what is in them is
// not known.
func unpackLegacy(c *ops.Call) (any, error) { return nil, &ops.MissingError{Op: c.Schema.Key()} }

func unpackEmbedding(c *ops.Call) (any, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	return ops.OrNone(p.weight), nil
}

func packedInts(c *ops.Call) (any, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	name := c.Schema.Name
	switch {
	case strings.HasSuffix(name, "_output_padding"):
		return ops.IntList(p.outPad...), nil
	case strings.HasSuffix(name, "_padding"):
		return ops.IntList(p.padding...), nil
	case strings.HasSuffix(name, "_stride"):
		return ops.IntList(p.stride...), nil
	}
	return ops.IntList(p.dilation...), nil
}

func packedGroups(c *ops.Call) (any, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	return p.groups, nil
}

func packedTransposed(c *ops.Call) (any, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	if p.transposed {
		return int64(1), nil
	}
	return int64(0), nil
}

// packedArg is the place of the packed parameters among the arguments.
func packedArg(c *ops.Call) int {
	for i, v := range c.Args {
		if _, ok := v.(*ops.Packed); ok {
			return i
		}
	}
	return 0
}

// quantLinear gives what it is given: dynamic layers take and give float32.
func quantLinear(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("X")
	p, err := packed(c, packedArg(c))
	if err != nil {
		return nil, err
	}
	n := len(x.Sizes) - 1
	if n < 1 || p.weight == nil || len(p.weight.Sizes) != 2 || x.Sizes[n] != p.weight.Sizes[1] {
		return nil, c.Errorf("got input %v, want one that fits the weight", x.Sizes)
	}
	return ops.One(ops.FreshLike(x, append(slices.Clone(x.Sizes[:n]), p.weight.Sizes[0])...))
}

// quantConv gives channels last, as the host's kernels do, in one dimension too.
func quantConv(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("qx")
	p, err := packed(c, packedArg(c))
	if err != nil {
		return nil, err
	}
	n := len(x.Sizes) - 2
	if n < 1 || p.weight == nil || len(p.weight.Sizes) != n+2 && len(p.weight.Sizes) != n+3 {
		return nil, c.Errorf("got input %v, want one that fits the weight", x.Sizes)
	}
	last := func(v []int64, other int64) []int64 { // one dimension is packed as two
		if len(v) == 0 {
			return slices.Repeat([]int64{other}, n)
		}
		return v[max(len(v)-n, 0):]
	}
	w := &tensor.Tensor{Meta: p.weight.Meta.Clone()}
	if len(w.Sizes) > len(x.Sizes) { // and its weight with a height of 1
		w.Sizes = append(slices.Clone(w.Sizes[:2]), w.Sizes[3:]...)
		w.Strides = tensor.ContiguousStrides(w.Sizes)
	}
	v := &workspace.Convolution{Input: &x.Meta, Weight: &w.Meta, Stride: last(p.stride, 1), Padding: last(p.padding, 0),
		Dilation: last(p.dilation, 1), OutputPadding: last(p.outPad, 0), Groups: max(p.groups, 1),
		Transposed: p.transposed}
	sizes, err := convSizes(c, v)
	if err != nil {
		return nil, err
	}
	return ops.One(channelsLast(x, sizes))
}

// convSizes are the sizes of a convolution's result, whose numbers an archive may hold.
func convSizes(c *ops.Call, v *workspace.Convolution) ([]int64, error) {
	n := len(v.Input.Sizes) - 2
	for _, list := range [][]int64{v.Stride, v.Padding, v.Dilation, v.OutputPadding} {
		if len(list) != n {
			return nil, c.Errorf("got %v for a convolution of %d dimensions, want a number of each", list, n)
		}
	}
	if err := nn.CheckSteps(c, v); err != nil {
		return nil, err
	}
	if err := nn.CheckConv(c, v); err != nil {
		return nil, err
	}
	return nn.ConvSizes(c, v)
}

// channelsLast is a fresh tensor whose channels are its densest dimension.
func channelsLast(x *tensor.Tensor, sizes []int64) tensor.Meta {
	switch len(sizes) {
	case 3:
		return ops.TransposedMeta(ops.FreshLike(x, sizes[0], sizes[2], sizes[1]), 1, 2)
	case 4:
		return ops.FreshFormat(x, tensor.ChannelsLast, sizes...)
	case 5:
		return ops.FreshFormat(x, tensor.ChannelsLast3d, sizes...)
	}
	return ops.FreshLike(x, sizes...)
}

func quantEmbedding(c *ops.Call) ([]tensor.Meta, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	i := c.T("indices")
	if p.weight == nil || len(p.weight.Sizes) != 2 {
		return nil, c.Errorf("got no weight of 2 dimensions")
	}
	return ops.One(ops.NewMeta(tensor.Float32, i.Device, append(slices.Clone(i.Sizes), p.weight.Sizes[1])))
}
