package ops

import (
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// wanted keeps the gradients that output_mask asks for; the others are undefined.
func (c *Call) wanted(ms ...tensor.Meta) []tensor.Meta {
	mask, ok := c.Arg("output_mask").(*List)
	if !ok {
		return ms
	}
	for i := range ms {
		if i < len(mask.Items) && mask.Items[i] != true {
			ms[i] = none()
		}
	}
	return ms
}

// gradLikeInput is a gradient in the layout of the input.
func gradLikeInput(c *Call) ([]tensor.Meta, error) {
	x := c.T("self")
	return one(freshFormat(x, x.SuggestFormat(), x.Sizes...))
}

// normBackward is a gradient of the input and those of weight and bias.
func normBackward(c *Call) ([]tensor.Meta, error) {
	x := c.T("input")
	w := c.T("weight")
	out := []tensor.Meta{freshFormat(x, x.SuggestFormat(), x.Sizes...)}
	if c.Schema.ArgIndex("normalized_shape") >= 0 {
		out[0] = fresh(x, x.Sizes...)
	}
	for range len(c.Schema.Returns) - 1 {
		switch {
		case w != nil:
			out = append(out, fresh(w, w.Sizes...))
		case c.Schema.ArgIndex("normalized_shape") < 0 && len(x.Sizes) > 1:
			out = append(out, fresh(x, x.Sizes[1]))
		default:
			out = append(out, none())
		}
	}
	return c.wanted(out...), nil
}

func softmaxBackward(c *Call) ([]tensor.Meta, error) {
	g := c.T("grad_output")
	return one(freshAs(g, c.DTypeOr("input_dtype", g.DType), g.Sizes...))
}

// pointBackward has the shape of input and target.
func pointBackward(c *Call) ([]tensor.Meta, error) {
	ts := []*tensor.Tensor{c.T("self"), c.T("target")}
	return c.elementwise(ts[0].DType, ts)
}

// attentionBackward is the gradients of query, key and value, and of a mask where the operator gives one.
func attentionBackward(n int) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		var out []tensor.Meta
		for _, t := range []*tensor.Tensor{c.T("query"), c.T("key"), c.T("value")} {
			if len(t.Sizes) != 4 {
				return nil, c.Errorf("got sizes %v, want 4 dimensions", t.Sizes)
			}
			out = append(out, turned(fresh(t, t.Sizes[0], t.Sizes[2], t.Sizes[1], t.Sizes[3])))
		}
		if n == 4 {
			bias := none()
			if t := c.T("attn_bias"); t != nil {
				bias = fresh(t, t.Sizes...)
			}
			out = append(out, bias)
			if mask, ok := c.Arg("grad_input_mask").(*List); ok {
				for i := range out {
					if i < len(mask.Items) && mask.Items[i] != true {
						out[i] = none()
					}
				}
			}
		}
		return out, nil
	}
}

// flashBackwardScratch is the softmax's sums and the query gradient's accumulator (flash_attn/flash_api.cpp mha_bwd).
func flashBackwardScratch(c *Call) []Scratch {
	q := c.T("query")
	if !onCUDA(q) || len(q.Sizes) != 4 {
		return nil
	}
	b, h, rows, d := q.Sizes[0], q.Sizes[1], divCeil(q.Sizes[2], 128)*128, divCeil(q.Sizes[3], 32)*32
	const source = "native/transformers/cuda/flash_attn/flash_api.cpp mha_bwd"
	return []Scratch{{Bytes: units.Bytes(4 * b * h * rows), Source: source}, {Bytes: units.Bytes(4 * b * h * rows * d), Source: source}}
}

// efficientBackwardScratch is delta, one float a row.
func efficientBackwardScratch(c *Call) []Scratch {
	q := c.T("query")
	if !onCUDA(q) || len(q.Sizes) != 4 {
		return nil
	}
	return []Scratch{{Bytes: units.Bytes(4 * q.Sizes[0] * q.Sizes[1] * q.Sizes[2]), Source: "native/transformers/cuda/attention_backward.cu delta"}}
}
