package view

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// padSequence fills a new tensor and copies each sequence into it.
func padSequence(c *ops.Call) (any, error) {
	ts, err := given(c, "sequences")
	if err != nil {
		return nil, err
	}
	longest := int64(0)
	for _, t := range ts {
		if len(t.Sizes) == 0 {
			return nil, c.Errorf("got a 0-dim sequence, want at least one dimension")
		}
		if !slices.Equal(t.Sizes[1:], ts[0].Sizes[1:]) {
			return nil, c.Errorf("got sequences of sizes %v and %v, want them to differ in length only", ts[0].Sizes,
				t.Sizes)
		}
		longest = max(longest, t.Sizes[0])
	}
	sizes := append([]int64{longest, int64(len(ts))}, ts[0].Sizes[1:]...)
	if c.Bool("batch_first") {
		sizes[0], sizes[1] = sizes[1], sizes[0]
	}
	return c.Do("aten::full", ops.IntList(sizes...), c.Float("padding_value"),
		ops.Kw{"dtype": int64(ts[0].DType), "device": ops.Device(ts[0].Device)}), nil
}

// flattenDense is one vector of all elements.
func flattenDense(c *ops.Call) (any, error) {
	ts, err := given(c, "tensors")
	if err != nil {
		return nil, err
	}
	flat := make([]*tensor.Tensor, len(ts))
	for i, t := range ts {
		flat[i] = c.Do("aten::reshape", t, ops.IntList(-1))
	}
	return c.Do("aten::cat", ops.TensorList(flat...)), nil
}

// unflattenDense shows each part of a vector in another tensor's shape.
func unflattenDense(c *ops.Call) (any, error) {
	flat := c.Self()
	at := int64(0)
	var items []any
	for _, t := range c.Tensors("tensors") {
		n := t.Numel()
		p := c.Do("aten::narrow", flat, int64(0), at, n)
		items = append(items, c.Do("aten::view", p, ops.IntList(t.Sizes...)))
		at += n
	}
	if c.Err() != nil {
		return nil, nil
	}
	return c.List(schema.Tensor, items...), nil
}
