package attention

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// attentionBackward is the gradients of query, key and value, and of a mask where the operator gives one.
func attentionBackward(n int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		var out []tensor.Meta
		for _, t := range []*tensor.Tensor{c.T("query"), c.T("key"), c.T("value")} {
			if len(t.Sizes) != 4 {
				return nil, c.Errorf("got sizes %v, want 4 dimensions", t.Sizes)
			}
			out = append(out, turned(ops.FreshLike(t, t.Sizes[0], t.Sizes[2], t.Sizes[1], t.Sizes[3])))
		}
		if n == 4 {
			bias := ops.NoTensor()
			if t := c.T("attn_bias"); t != nil {
				bias = ops.FreshLike(t, t.Sizes...)
			}
			out = append(out, bias)
			if mask, ok := c.Arg("grad_input_mask").(*ops.List); ok {
				for i := range out {
					if i < len(mask.Items) && mask.Items[i] != true {
						out[i] = ops.NoTensor()
					}
				}
			}
		}
		return out, nil
	}
}

// flashBackwardScratch is the softmax's sums and the query gradient's accumulator (flash_attn/flash_api.cpp mha_bwd).
func flashBackwardScratch(c *ops.Call) []ops.Scratch {
	q := c.T("query")
	if !ops.OnCUDA(q) || len(q.Sizes) != 4 {
		return nil
	}
	b, h, rows, d := q.Sizes[0], q.Sizes[1], ops.DivCeil(q.Sizes[2], 128)*128, ops.DivCeil(q.Sizes[3], 32)*32
	const source = "native/transformers/cuda/flash_attn/flash_api.cpp mha_bwd"
	return []ops.Scratch{{Bytes: units.Bytes(4 * b * h * rows), Source: source}, {Bytes: units.Bytes(4 * b * h * rows * d), Source: source}}
}

// efficientBackwardScratch is delta, one float a row.
func efficientBackwardScratch(c *ops.Call) []ops.Scratch {
	q := c.T("query")
	if !ops.OnCUDA(q) || len(q.Sizes) != 4 {
		return nil
	}
	return []ops.Scratch{{Bytes: units.Bytes(4 * q.Sizes[0] * q.Sizes[1] * q.Sizes[2]), Source: "native/transformers/cuda/attention_backward.cu delta"}}
}
