package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// wanted keeps the gradients that output_mask asks for; the others are undefined.
func wanted(c *ops.Call, ms ...tensor.Meta) []tensor.Meta {
	mask, ok := c.Arg("output_mask").(*ops.List)
	if !ok {
		return ms
	}
	for i := range ms {
		if i < len(mask.Items) && mask.Items[i] != true {
			ms[i] = ops.NoTensor()
		}
	}
	return ms
}

// gradLikeInput is a gradient in the layout of the input.
func gradLikeInput(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	return ops.One(ops.FreshFormat(x, x.SuggestFormat(), x.Sizes...))
}

// contiguousGradient is that of a pool of three dimensions, whatever the input's layout.
func contiguousGradient(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	return ops.One(ops.FreshLike(x, x.Sizes...))
}

// normBackward is a gradient of the input and those of weight and bias.
func normBackward(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("input")
	w := c.T("weight")
	out := []tensor.Meta{ops.FreshFormat(x, x.SuggestFormat(), x.Sizes...)}
	if c.Schema.ArgIndex("normalized_shape") >= 0 {
		out[0] = ops.FreshLike(x, x.Sizes...)
	}
	for range len(c.Schema.Returns) - 1 {
		switch {
		case w != nil:
			out = append(out, ops.FreshLike(w, w.Sizes...))
		case c.Schema.ArgIndex("normalized_shape") < 0 && len(x.Sizes) > 1:
			out = append(out, ops.FreshLike(x, x.Sizes[1]))
		default:
			out = append(out, ops.NoTensor())
		}
	}
	return wanted(c, out...), nil
}

func softmaxBackward(c *ops.Call) ([]tensor.Meta, error) {
	g := c.T("grad_output")
	return ops.One(ops.FreshAs(g, c.DTypeOr("input_dtype", g.DType), g.Sizes...))
}

// pointBackward has the shape of input and target.
func pointBackward(c *ops.Call) ([]tensor.Meta, error) {
	ts := []*tensor.Tensor{c.T("self"), c.T("target")}
	return c.Elementwise(ts[0].DType, ts)
}
