package pointwise

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// What TensorIterator (aten/src/ATen/TensorIterator.cpp) gives elementwise operators: shape, dtype,
// device and strides of the result.

// wrapped stands for a Python number among a TensorIterator's operands: a 0-dim tensor.
var wrapped = &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float64, Device: "cpu"}}

// withNumbers is operands with numbers among the first two arguments wrapped.
func withNumbers(c *ops.Call) []*tensor.Tensor {
	ts := c.Operands()
	for i := range min(2, len(c.Args)) {
		if ops.IsScalar(c.Args[i]) && c.Schema.Args[i].Type.Kind == schema.Number {
			ts = append(ts, wrapped)
		}
	}
	return ts
}

// pairType is the dtype the first two arguments meet in, numbers included.
func pairType(c *ops.Call) tensor.DType { return ops.ResultType(c.Args[0], c.Args[1]) }

// floating is pointwise for kernels that have no integers.
func floating(c *ops.Call) ([]tensor.Meta, error) {
	if d := c.TensorType(); !d.Floating() && !d.Complex() {
		return nil, c.Errorf("got %s, want a floating dtype", d)
	}
	return ops.Pointwise(c)
}

// numeric is pointwise for kernels that have no bool.
func numeric(c *ops.Call) ([]tensor.Meta, error) {
	if c.TensorType() == tensor.Bool {
		return nil, c.Errorf("got bool, want a number's dtype")
	}
	return ops.Pointwise(c)
}

// predicate gives bools.
func predicate(c *ops.Call) ([]tensor.Meta, error) { return c.Elementwise(tensor.Bool, c.Operands()) }

// binary promotes the first two arguments, of which one may be a number.
func binary(c *ops.Call) ([]tensor.Meta, error) { return c.Elementwise(pairType(c), withNumbers(c)) }

// binaryFloat is binary with integers becoming the default float (true division).
func binaryFloat(c *ops.Call) ([]tensor.Meta, error) {
	return c.Elementwise(ops.FloatType(pairType(c)), withNumbers(c))
}

// compare gives bools from two arguments, of which one may be a number.
func compare(c *ops.Call) ([]tensor.Meta, error) { return c.Elementwise(tensor.Bool, withNumbers(c)) }

// bitwise is binary for integers and bools.
func bitwise(c *ops.Call) ([]tensor.Meta, error) {
	if d := pairType(c); !d.Integral(true) {
		return nil, c.Errorf("got %s, want an integral dtype", d)
	}
	return binary(c)
}

// realPart is pointwise with complex results becoming real (abs).
func realPart(c *ops.Call) ([]tensor.Meta, error) {
	return c.Elementwise(c.TensorType().ToReal(), c.Operands())
}

// written is self after an elementwise operator has written it: unchanged. The operands must
// broadcast to its shape.
func written(c *ops.Call, d tensor.DType) ([]tensor.Meta, error) {
	self := c.Args[0].(*tensor.Tensor)
	if d != tensor.Undefined && !ops.CanCast(d, self.DType) {
		return nil, c.Errorf("got a result of %s, want one that %s can hold", d, self.DType)
	}
	for _, t := range c.Operands()[1:] {
		shape, err := c.Broadcast(self.Sizes, t.Sizes)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(shape, self.Sizes) {
			return nil, c.Errorf("got an output of sizes %v, want %v", self.Sizes, shape)
		}
		if partOf(self, t) {
			return nil, c.Errorf("got an operand of sizes %v in part of the memory of the output's %v, want all of it or none",
				t.Sizes, self.Sizes)
		}
	}
	return ops.One(self.Meta)
}

// partOf says whether two tensors share memory and are not one (ATen/MemoryOverlap.cpp
// get_overlap_status).
func partOf(a, b *tensor.Tensor) bool {
	if a == b || a.Storage != b.Storage || a.Numel() == 0 || b.Numel() == 0 || !a.IsDense() || !b.IsDense() {
		return false
	}
	fromA, fromB := a.StorageOffset*a.DType.ItemSize(), b.StorageOffset*b.DType.ItemSize()
	toA, toB := fromA+a.Numel()*a.DType.ItemSize(), fromB+b.Numel()*b.DType.ItemSize()
	if fromA == fromB && toA == toB {
		return !slices.Equal(a.Strides, b.Strides)
	}
	return fromA < toB && fromB < toA
}

// inPlace writes self with what pointwise or binary gives.
func inPlace(c *ops.Call) ([]tensor.Meta, error) {
	if len(c.Args) > 1 {
		return written(c, ops.ResultType(c.Args[0], tensorOrNumber(c, 1)))
	}
	return written(c, c.TensorType())
}

// tensorOrNumber is argument i where it takes part in promotion, else nil.
func tensorOrNumber(c *ops.Call, i int) any {
	switch v := c.Args[i].(type) {
	case *tensor.Tensor:
		return v
	case bool, int64, float64, complex128:
		if name := c.Schema.Args[i].Name; name == "other" || name == "exponent" {
			return v
		}
	}
	return nil
}

// inPlaceFloat writes self with what pointwiseFloat or binaryFloat gives: integers refuse.
func inPlaceFloat(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Args[0].(*tensor.Tensor)
	if self.DType.Integral(true) {
		return nil, c.Errorf("got %s, want a dtype that can hold a float", self.DType)
	}
	return inPlace(c)
}

// overwrite writes self whatever the other arguments are.
func overwrite(c *ops.Call) ([]tensor.Meta, error) { return written(c, tensor.Undefined) }
