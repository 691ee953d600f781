package attention

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// The fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer
// (native/transformers/cuda/attention.cu, transformer.cpp). On the device none each is one
// operator, as on fake tensors; on a real one it is made of those below.

func nativeMultiHead(c *ops.Call) (any, error) {
	q := c.T("query")
	if len(q.Sizes) != 3 {
		return nil, c.Errorf("got query %v, want 3 dimensions", q.Sizes)
	}
	h, e := c.Int("num_head"), c.Int("embed_dim")
	if h <= 0 || e%h != 0 || q.Sizes[2] != e {
		return nil, c.Errorf("got query %v, %d heads and %d dimensions, want dimensions that divide", q.Sizes, h, e)
	}
	if c.OnFakeTensors() {
		return fakeMultiHead(c, q)
	}
	if (c.Platform().Release().FusedMHAAnyHead || (e/h)%8 == 0) && !c.Bool("need_weights") && c.T("mask") == nil &&
		q == c.T("key") && q == c.T("value") {
		if out := fusedMultiHead(c, q, h, e); out != nil {
			return c.Tuple(out, nil), nil
		}
	}
	return plainMultiHead(c, h, e)
}

// fakeMultiHead has weights of as many keys as queries, however many keys there are.
func fakeMultiHead(c *ops.Call, q *tensor.Tensor) (any, error) {
	out := c.Empty(q, q.DType, q.Sizes...)
	b, t := q.Sizes[0], q.Sizes[1]
	switch {
	case !c.Bool("need_weights"):
		return c.Tuple(out, c.Empty(q, q.DType, 0)), nil
	case c.Bool("average_attn_weights"):
		return c.Tuple(out, c.Empty(q, q.DType, b, t, t)), nil
	}
	return c.Tuple(out, c.Empty(q, q.DType, b, c.Int("num_head"), t, t)), nil
}

// fusedMultiHead goes through flash or efficient attention; nil where neither takes it.
func fusedMultiHead(c *ops.Call, x *tensor.Tensor, h, e int64) *tensor.Tensor {
	b, t := x.Sizes[0], x.Sizes[1]
	// as they will be except the strides, of which the choice looks at the last alone
	head := ops.FreshLike(x, b, h, t, e/h)
	a, p := workspace.Attention{Query: &head, Key: &head, Value: &head}, c.Platform()
	if p.IsNone() || !a.Takes(p, platform.SDPAFlash) && !a.Takes(p, platform.SDPAEfficient) {
		return nil
	}
	packed := c.Do("aten::linear", x, c.T("qkv_weight"), c.T("qkv_bias"))
	parts := make([]*tensor.Tensor, 3)
	for i := range parts {
		part := c.Do("aten::slice.Tensor", packed, int64(-1), int64(i)*e, int64(i+1)*e)
		parts[i] = c.Do("aten::transpose.int", c.Do("aten::view", part, ops.IntList(b, t, h, e/h)), int64(1), int64(2))
	}
	y := c.Do("aten::scaled_dot_product_attention", parts[0], parts[1], parts[2])
	past := c.Do("aten::reshape", c.Do("aten::transpose.int", y, int64(1), int64(2)), ops.IntList(b, t, e))
	return c.Do("aten::linear", past, c.T("proj_weight"), c.T("proj_bias"))
}

// projected is qkv_projection: one product where query, key and value are one tensor, else one for
// each that differs, joined.
func projected(c *ops.Call, e int64) *tensor.Tensor {
	q, k, v, w := c.T("query"), c.T("key"), c.T("value"), c.T("qkv_weight")
	if q == k && k == v {
		return c.Do("aten::linear", q, w)
	}
	ends, inputs := []int64{0, e, 2 * e, 3 * e}, []*tensor.Tensor{q, k, v}
	if k == v {
		ends, inputs = []int64{0, e, 3 * e}, inputs[:2]
	}
	parts := make([]*tensor.Tensor, len(inputs))
	for i, x := range inputs {
		parts[i] = c.Do("aten::linear", x, c.Do("aten::slice.Tensor", w, int64(0), ends[i], ends[i+1]))
	}
	packed := c.Do("aten::cat", ops.TensorList(parts...), int64(2))
	slices.Reverse(parts)
	c.Free(parts...)
	return packed
}

// plainMultiHead materialises the scores; the context is written into the query's storage.
func plainMultiHead(c *ops.Call, h, e int64) (any, error) {
	x := c.T("query")
	b, t := x.Sizes[0], x.Sizes[1]
	packed := projected(c, e)
	qkv := c.DoParts("aten::_transform_bias_rescale_qkv", packed, c.T("qkv_bias"), h)
	c.Free(packed)
	if !c.OK() {
		return nil, nil
	}
	rows := func(t *tensor.Tensor) *tensor.Tensor { return c.Do("aten::view", t, ops.IntList(b*h, t.Sizes[2], e/h)) }
	scores := c.Do("aten::bmm", rows(qkv[0]), c.Do("aten::transpose.int", rows(qkv[1]), int64(1), int64(2)))
	if c.T("mask") != nil { // without one softmax writes over the scores
		soft := c.Do("aten::_softmax", scores, int64(-1), false)
		c.Free(scores)
		scores = soft
	}
	c.DoWrite("aten::bmm.out", scores, rows(qkv[2]), ops.Kw{"out": rows(qkv[0])})
	if !c.Bool("need_weights") {
		c.Free(scores)
	}
	ctx := c.Do("aten::reshape", c.Do("aten::transpose.int", qkv[0], int64(1), int64(2)), ops.IntList(b, t, e))
	out := c.Do("aten::linear", ctx, c.T("proj_weight"), c.T("proj_bias"))
	c.Free(ctx)
	if !c.Bool("need_weights") {
		return c.Tuple(out, nil), nil
	}
	weights := c.Do("aten::view", scores, ops.IntList(b, h, t, t))
	if c.Bool("average_attn_weights") {
		weights = c.Do("aten::mean.dim", weights, ops.IntList(1), false)
	}
	return c.Tuple(out, weights), nil
}

// biasRescaleQKV packs q, k and v into one buffer, heads before positions.
func biasRescaleQKV(c *ops.Call) (any, error) {
	x, h := c.T("qkv"), c.Int("num_heads")
	if len(x.Sizes) != 3 || h <= 0 || x.Sizes[2]%(3*h) != 0 {
		return nil, c.Errorf("got %v in %d heads, want [batch, length, 3 × dim]", x.Sizes, h)
	}
	buf := c.Empty(x, x.DType, 3, x.Sizes[0], h, x.Sizes[1], x.Sizes[2]/(3*h))
	items := make([]any, 3)
	for i := range items {
		items[i] = c.Do("aten::select.int", buf, int64(0), int64(i))
	}
	return c.Tuple(items...), nil
}

// encoderLayer is transformer_encoder_layer_forward.
func encoderLayer(c *ops.Call) (any, error) {
	src := c.T("src")
	if c.OnFakeTensors() {
		return c.Empty(src, src.DType, src.Sizes...), nil
	}
	e := c.Int("embed_dim")
	norm := func(x *tensor.Tensor, i string) *tensor.Tensor {
		return c.Do("aten::layer_norm", x, ops.IntList(e), c.T("norm_weight_"+i), c.T("norm_bias_"+i), c.Arg("eps"))
	}
	first := c.Bool("norm_first")
	x := src
	if first {
		x = norm(x, "1")
	}
	attn := c.DoGet(0, "aten::_native_multi_head_attention", x, x, x, e, c.Arg("num_heads"), c.T("qkv_weight"),
		c.T("qkv_bias"), c.T("proj_weight"), c.T("proj_bias"), c.Arg("mask"), false, true, c.Arg("mask_type"))
	c.Free(x)
	x = c.Do("aten::add_.Tensor", attn, src)
	c.Free(attn)
	if !first {
		normed := norm(x, "1")
		c.Free(x)
		x = normed
	}
	before := x
	if first {
		x = norm(x, "2")
	}
	if !c.OK() {
		return nil, nil
	}
	flat := c.Do("aten::reshape", x, ops.IntList(tensor.Numel(src.Sizes[:len(src.Sizes)-1]), e))
	hidden := c.Do("aten::_addmm_activation", c.T("ffn_bias_1"), flat, c.Do("aten::t", c.T("ffn_weight_1")),
		ops.Kw{"use_gelu": c.Bool("use_gelu")})
	down := c.Do("aten::addmm", c.T("ffn_bias_2"), hidden, c.Do("aten::t", c.T("ffn_weight_2")))
	c.Free(hidden)
	y := c.Do("aten::add_.Tensor", c.Do("aten::view", down, ops.IntList(src.Sizes...)), before)
	if !first {
		return norm(y, "2"), nil
	}
	return y, nil
}
