package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Operators on lists of tensors (aten/src/ATen/native/ForeachOpsKernels.cpp).

// eachLike is one result a tensor of the first list: promoted with its partners in the other lists,
// and with numbers.
func eachLike(float bool) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		first := 0
		if _, isList := c.Args[0].(*ops.List); !isList {
			first = 1 // pow of a number by tensors
		}
		ts := c.Tensors(c.Schema.Args[first].Name)
		out := make([]tensor.Meta, len(ts))
		for i, t := range ts {
			operands, values := []*tensor.Tensor{t}, []any{t}
			for j, a := range c.Schema.Args {
				switch v := c.Args[j].(type) {
				case *tensor.Tensor:
					values = append(values, v)
				case *ops.List:
					if j == first || a.Name == "weight" {
						continue
					}
					if len(v.Items) != len(ts) {
						return nil, c.Errorf("got %d and %d tensors, want as many", len(ts), len(v.Items))
					}
					if o, ok := v.Items[i].(*tensor.Tensor); ok {
						operands = append(operands, o)
					}
					values = append(values, v.Items[i])
				case bool, int64, float64, complex128:
					if a.Name == "scalar" || a.Name == "exponent" || a.Name == "self" {
						values = append(values, v)
					}
				}
			}
			d := ops.ResultType(values...)
			if float {
				d = ops.FloatType(d)
			}
			m, err := c.Iterate(d, operands)
			if err != nil {
				return nil, err
			}
			out[i] = m
		}
		return out, nil
	}
}

// eachNothing writes in place and returns nothing.
func eachNothing(*ops.Call) ([]tensor.Meta, error) { return nil, nil }

// eachScalar is one 0-dim result a tensor (norm, max).
func eachScalar(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Tensors("self")
	out := make([]tensor.Meta, len(ts))
	for i, t := range ts {
		out[i] = ops.FreshAs(t, c.DTypeOr("dtype", t.DType).ToReal())
	}
	return out, nil
}

// eachCloned copies each tensor.
func eachCloned(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Tensors("self")
	out := make([]tensor.Meta, len(ts))
	for i, t := range ts {
		out[i] = ops.EmptyLike(t, t.DType, tensor.Preserve)
	}
	return out, nil
}

// eachProduct is a matrix product a pair.
func eachProduct(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.Tensors(c.Schema.Args[0].Name), c.Tensors(c.Schema.Args[1].Name)
	out := make([]tensor.Meta, len(a))
	for i := range a {
		if i >= len(b) || len(a[i].Sizes) != 2 || len(b[i].Sizes) != 2 || a[i].Sizes[1] != b[i].Sizes[0] {
			return nil, c.Errorf("got matrices that do not multiply at %d", i)
		}
		out[i] = ops.FreshLike(a[i], a[i].Sizes[0], b[i].Sizes[1])
	}
	return out, nil
}
