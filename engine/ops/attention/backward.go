package attention

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// attentionBackward is the gradients of query, key and value, and of a mask where the operator
// gives one.
func attentionBackward(n int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		var out []tensor.Meta
		for _, t := range []*tensor.Tensor{c.T("query"), c.T("key"), c.T("value")} {
			if len(t.Sizes) != 4 {
				return nil, c.Errorf("got sizes %v, want 4 dimensions", t.Sizes)
			}
			if n == 4 { // the memory-efficient kernel writes positions before heads, the others as the operand lies
				out = append(out, turned(ops.FreshLike(t, t.Sizes[0], t.Sizes[2], t.Sizes[1], t.Sizes[3])))
			} else {
				out = append(out, ops.EmptyLike(t, t.DType, tensor.Preserve))
			}
		}
		if n == 4 {
			bias := ops.NoTensor()
			if t := c.T("attn_bias"); t != nil {
				bias = ops.FreshLike(t, t.Sizes...)
				// rows of multiples of 16 elements (transformers/cuda/attention_backward.cu)
				if last := len(t.Sizes) - 1; last >= 0 {
					wide := slices.Clone(t.Sizes)
					wide[last] = (wide[last] + 15) / 16 * 16
					bias.Strides = tensor.ContiguousStrides(wide)
				}
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

func flashBackwardWorkspace(c *ops.Call) []workspace.Request {
	return workspace.FlashAttentionBackward(&c.T("query").Meta)
}

func efficientBackwardWorkspace(c *ops.Call) []workspace.Request {
	a := workspace.Attention{Query: &c.T("query").Meta, Key: &c.T("key").Meta, Value: &c.T("value").Meta,
		Dropout: c.Float("dropout_p")}
	return a.EfficientBackward(c.Platform(), &c.T("grad_out_").Meta)
}
