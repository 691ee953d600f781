package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// What bodies of composite operators share.

// parts is Do for an operator that returns several tensors. Each result is held by itself: the latest dies first unless freed before.
func (c *Call) parts(key string, args ...any) []*tensor.Tensor {
	v := c.DoAny(key, args...)
	var items []any
	switch l := v.(type) {
	case *List:
		items = l.Items
	case *Tuple:
		items = l.Items
	}
	ts := make([]*tensor.Tensor, max(len(items), 4)) // after an error a body may still take its parts
	for i, item := range items {
		if t, ok := item.(*tensor.Tensor); ok {
			ts[i] = t
			c.M.Keep(t)
		}
	}
	if items != nil {
		c.M.Free(v)
	}
	return ts[:max(len(items), 4)]
}

// get is std::get<i> of an operator's results: the others die at once, the first one first, as a C++ tuple lets go.
func (c *Call) get(i int, key string, args ...any) *tensor.Tensor {
	ts := c.parts(key, args...)
	for j, t := range ts {
		if j != i {
			c.Free(t)
		}
	}
	if ts[i] == nil {
		return c.nothing()
	}
	return ts[i]
}

// nothing is what an operator gives after an error.
func (c *Call) nothing() *tensor.Tensor {
	return &tensor.Tensor{Storage: &tensor.Storage{ID: -1}}
}

// firstOf is a body that keeps only the first result of another operator with the same arguments.
func firstOf(key string) func(*Call) (any, error) {
	return func(c *Call) (any, error) { return c.get(0, key, c.Args...), nil }
}

// ok says that no Do has failed: only then may a body look at the sizes of what Do gave.
func (c *Call) ok() bool { return c.err == nil }

// fake says that operators go as PyTorch dispatches them on fake tensors: where it asks isTensorSubclassLike, the answer is yes.
func (c *Call) fake() bool { return c.Platform().IsNone() }

// wide is v repeated to n members: int[n] arguments take one member for all.
func (c *Call) wide(name string, n int, other int64) ([]int64, error) {
	v := c.Ints(name)
	switch len(v) {
	case n:
		return v, nil
	case 1:
		return slices.Repeat(v, n), nil
	case 0:
		return slices.Repeat([]int64{other}, n), nil
	}
	return nil, c.Errorf("got %s %v, want 1 or %d members", name, v, n)
}

// notEmpty refuses sizes of 0 from dimension from on: only batches may be empty.
func (c *Call) notEmpty(sizes []int64, from int) error {
	if slices.Contains(sizes[from:], 0) {
		return c.Errorf("got input %v, want none of its sizes 0 but the batch's", sizes)
	}
	return nil
}

// opt is an optional tensor as an argument of Do: a nil *Tensor must not become a non-nil any.
func opt(t *tensor.Tensor) any {
	if t == nil {
		return nil
	}
	return t
}

// dimList is an int[] of places for Do.
func dimList(ds []int) *List {
	items := make([]any, len(ds))
	for i, d := range ds {
		items[i] = int64(d)
	}
	return NewList(schema.Int, items...)
}

// product multiplies sizes.
func product(sizes []int64) int64 {
	n := int64(1)
	for _, d := range sizes {
		n *= d
	}
	return n
}

// accType is the dtype kernels add up in: float for half and bfloat16 (ATen/AccumulateType.h).
func accType(d tensor.DType) tensor.DType {
	switch {
	case d == tensor.Float16 || d == tensor.BFloat16:
		return tensor.Float32
	case d == tensor.ComplexHalf:
		return tensor.Complex64
	case d.Integral(true):
		return tensor.Int64
	}
	return d
}
