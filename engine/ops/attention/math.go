package attention

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// scaledDotProductAttention chooses a backend, makes a boolean mask an additive one, and keeps the
// first result.
func scaledDotProductAttention(c *ops.Call) (any, error) {
	q, k, v := c.T("query"), c.T("key"), c.T("value")
	if len(q.Sizes) < 2 || len(k.Sizes) < 2 || len(v.Sizes) < 2 {
		return nil, c.Errorf("got query %v, key %v and value %v, want at least 2 dimensions", q.Sizes, k.Sizes, v.Sizes)
	}
	if q.DType != k.DType || q.DType != v.DType {
		return nil, c.Errorf("got query of %s, key of %s and value of %s, want one dtype", q.DType, k.DType, v.DType)
	}
	// seen in 2.15
	flat := len(q.Sizes) == 3 && len(k.Sizes) == 3 && len(v.Sizes) == 3 && c.Platform().Release().Torch.AtLeast(2, 15)
	if flat {
		q, k = c.Do("aten::unsqueeze", q, int64(0)), c.Do("aten::unsqueeze", k, int64(0))
		v = c.Do("aten::unsqueeze", v, int64(0))
		if !c.OK() {
			return nil, nil
		}
	}
	if n := len(v.Sizes) - 2; k.Sizes[len(k.Sizes)-2] != v.Sizes[n] {
		return nil, c.Errorf("got %d keys and %d values, want as many", k.Sizes[len(k.Sizes)-2], v.Sizes[n])
	}
	mask := c.T("attn_mask")
	if mask != nil && c.Bool("is_causal") {
		return nil, c.Errorf("got attn_mask and is_causal, want one of them")
	}
	a := workspace.Attention{Query: &q.Meta, Key: &k.Meta, Value: &v.Meta, Causal: c.Bool("is_causal"),
		Grouped: c.Bool("enable_gqa"), Dropout: c.Float("dropout_p")}
	if mask != nil {
		a.Mask = &mask.Meta
	}
	backend, err := a.Backend(c.Platform())
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	converted := additive(c, mask, q.DType)
	var out *tensor.Tensor
	kw := ops.Kw{"scale": c.Arg("scale")}
	p, causal := c.Arg("dropout_p"), c.Arg("is_causal")
	switch backend {
	case platform.SDPAFlash:
		out = paddedHeads(c, q, k, v, func(q, k, v *tensor.Tensor) *tensor.Tensor {
			return c.DoGet(0, "aten::_scaled_dot_product_flash_attention", q, k, v, p, causal, false, kw)
		})
	case platform.SDPAEfficient:
		bias := alignedBias(c, converted, q, k)
		if bias != nil && converted != mask && bias.Storage != converted.Storage {
			c.Free(converted)
		}
		out = c.DoGet(0, "aten::_scaled_dot_product_efficient_attention", q, k, v, ops.OrNone(bias), false, p, causal,
			kw)
	case platform.SDPACuDNN:
		out = c.DoGet(0, "aten::_scaled_dot_product_cudnn_attention", q, k, v, ops.OrNone(converted), false, p, causal,
			false, kw)
	default:
		kw["enable_gqa"] = c.Bool("enable_gqa")
		out = c.DoGet(0, "aten::_scaled_dot_product_attention_math", q, k, v, ops.OrNone(converted), p, causal, nil, kw)
	}
	if flat {
		return c.Do("aten::squeeze.dim", out, int64(0)), nil
	}
	return out, nil
}

// additive is convert_boolean_attn_mask: 0 where the mask holds, -inf where it does not.
func additive(c *ops.Call, mask *tensor.Tensor, d tensor.DType) *tensor.Tensor {
	if mask == nil || mask.DType != tensor.Bool {
		return mask
	}
	inf := c.Do("aten::scalar_tensor", math.Inf(-1), ops.Kw{"dtype": int64(d), "device": ops.Device(mask.Device)})
	zero := c.Do("aten::scalar_tensor", 0.0, ops.Kw{"dtype": int64(d), "device": ops.Device(mask.Device)})
	out := c.Do("aten::where.self", mask, zero, inf)
	c.Free(zero, inf)
	return out
}

// attentionMath is _scaled_dot_product_attention_math. Its locals die in the reverse of the order
// C++ declares them.
func attentionMath(c *ops.Call) (any, error) {
	q, k, v, mask := c.T("query"), c.T("key"), c.T("value"), c.T("attn_mask")
	origin := q.DType
	upcast := (origin == tensor.Float16 || origin == tensor.BFloat16) && c.Platform().MathSDPAUpcasts()
	if upcast {
		kw := ops.Kw{"dtype": int64(tensor.Float32)}
		q, k, v = c.Do("aten::_to_copy", q, kw), c.Do("aten::_to_copy", k, kw), c.Do("aten::_to_copy", v, kw)
	}
	if !c.OK() {
		return nil, nil
	}
	n := len(q.Sizes)
	if n < 2 || len(k.Sizes) < 2 {
		return nil, c.Errorf("got query %v and key %v, want at least 2 dimensions", q.Sizes, k.Sizes)
	}
	scale := math.Sqrt(1 / math.Sqrt(float64(q.Sizes[n-1])))
	if s, ok := c.Arg("scale").(float64); ok {
		scale = math.Sqrt(s)
	}
	scaled := c.Do("aten::mul.Scalar", q, scale)
	var causal *tensor.Tensor
	if c.Bool("is_causal") {
		ones := c.Do("aten::ones", ops.IntList(q.Sizes[n-2], k.Sizes[n-2]),
			ops.Kw{"dtype": int64(tensor.Bool), "device": ops.Device(q.Device)})
		low := c.Do("aten::tril", ones)
		c.Free(ones)
		causal = additive(c, low, q.DType)
		c.Free(low)
		mask = causal
	}
	keys, values := k, v
	if c.Bool("enable_gqa") && n >= 3 {
		if r := q.Sizes[n-3] / max(k.Sizes[n-3], 1); r != 1 {
			keys = c.Do("aten::repeat_interleave.self_int", k, r, int64(-3))
		}
		if r := q.Sizes[n-3] / max(v.Sizes[n-3], 1); r != 1 {
			values = c.Do("aten::repeat_interleave.self_int", v, r, int64(-3))
		}
	}
	view := c.Do("aten::transpose.int", keys, int64(-2), int64(-1))
	turned := c.Do("aten::mul.Scalar", view, scale)
	c.Free(view)
	attn := c.Do("aten::matmul", scaled, turned)
	c.Free(turned)
	if mask != nil {
		if c.OnFakeTensors() {
			sum := c.Do("aten::add.Tensor", attn, mask)
			c.Free(attn)
			attn = sum
		} else {
			attn = c.Do("aten::add_.Tensor", attn, mask)
		}
	}
	soft := softmaxed(c, attn)
	c.Free(attn)
	if mask != nil && !c.OnFakeTensors() {
		c.Free(attn) // add_ gave it a second time
	}
	attn = soft
	if c.Float("dropout_p") > 0 {
		dropped := c.Do("aten::dropout", attn, c.Arg("dropout_p"), true)
		c.Free(attn)
		attn = dropped
	}
	var out, weights *tensor.Tensor
	if upcast {
		weights = c.Do("aten::_to_copy", attn, ops.Kw{"dtype": int64(origin)})
		wide := c.Do("aten::matmul", attn, values)
		out = c.Do("aten::_to_copy", wide, ops.Kw{"dtype": int64(origin)})
		c.Free(wide, attn)
	} else {
		weights = attn
		out = c.Do("aten::matmul", attn, values)
	}
	res := c.Tuple(out, weights)
	if keys != k {
		c.Free(keys)
	}
	if values != v {
		c.Free(values)
	}
	c.Free(scaled)
	if causal != nil {
		c.Free(causal)
	}
	return res, nil
}

// softmaxed is _safe_softmax from 2.5 on, softmax before.
func softmaxed(c *ops.Call, attn *tensor.Tensor) *tensor.Tensor {
	if c.Platform().Release().SafeSoftmax {
		return c.Do("aten::_safe_softmax", attn, int64(-1))
	}
	return c.Do("aten::softmax.int", attn, int64(-1))
}

// paddedHeads gives flash attention head dimensions in multiples of 8: copies of q, k and v, and a
// part of the result.
func paddedHeads(c *ops.Call, q, k, v *tensor.Tensor, run func(q, k, v *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	n := len(q.Sizes) - 1
	extra := (8 - q.Sizes[n]%8) % 8
	if extra == 0 {
		return run(q, k, v)
	}
	pad := func(t *tensor.Tensor) *tensor.Tensor { return c.Do("aten::constant_pad_nd", t, ops.IntList(0, extra)) }
	out := run(pad(q), pad(k), pad(v))
	return c.Do("aten::slice.Tensor", out, int64(-1), int64(0), q.Sizes[n])
}

// alignedBias is pad_bias and preprocess_mask: a mask whose rows do not lie at multiples of 8
// elements is copied with longer rows, then expanded.
func alignedBias(c *ops.Call, mask, q, k *tensor.Tensor) *tensor.Tensor {
	if mask == nil || !c.OK() || len(mask.Sizes) < 2 {
		return mask
	}
	n := len(mask.Sizes) - 1
	cols := mask.Sizes[n]
	aligned := mask.Strides[n] == 1
	for i := range n {
		aligned = aligned && mask.Strides[i]%8 == 0
	}
	if !aligned {
		mask = c.Do("aten::slice.Tensor", c.Do("aten::constant_pad_nd", mask, ops.IntList(0, 8-cols%8)), int64(-1),
			int64(0), cols)
	}
	return c.Do("aten::expand", mask, ops.IntList(q.Sizes[0], q.Sizes[1], q.Sizes[2], k.Sizes[2]))
}
