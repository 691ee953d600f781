package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// What TensorIterator (aten/src/ATen/TensorIterator.cpp) gives elementwise operators: shape, dtype, device and strides of the result.

// operands are the tensor arguments, in order; out= arguments are none of them.
func (c *Call) operands() []*tensor.Tensor {
	ts := make([]*tensor.Tensor, 0, len(c.Args))
	for _, v := range c.Args {
		if t, ok := v.(*tensor.Tensor); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// wrapped stands for a Python number among a TensorIterator's operands: a 0-dim tensor.
var wrapped = &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float64, Device: "cpu"}}

// withNumbers is operands with numbers among the first two arguments wrapped.
func (c *Call) withNumbers() []*tensor.Tensor {
	ts := c.operands()
	for i := range min(2, len(c.Args)) {
		if IsScalar(c.Args[i]) && c.Schema.Args[i].Type.Kind == schema.Number {
			ts = append(ts, wrapped)
		}
	}
	return ts
}

// commonDevice is the first device that is not the host; 0-dim tensors of the host go with any (TensorIteratorBase::compute_types).
func (c *Call) commonDevice(ts []*tensor.Tensor) (string, error) {
	device := "cpu"
	for _, t := range ts {
		if t.Device != "cpu" {
			device = t.Device
			break
		}
	}
	for _, t := range ts {
		if t.Device != device && !(t.Device == "cpu" && len(t.Sizes) == 0) {
			return "", c.Errorf("got tensors on %s and %s, want one device", device, t.Device)
		}
	}
	return device, nil
}

// iterate is a fresh result of dtype d over ts.
func (c *Call) iterate(d tensor.DType, ts []*tensor.Tensor) (tensor.Meta, error) {
	shapes := make([][]int64, len(ts))
	for i, t := range ts {
		shapes[i] = t.Sizes
	}
	shape, err := c.broadcast(shapes...)
	if err != nil {
		return tensor.Meta{}, err
	}
	device, err := c.commonDevice(ts)
	if err != nil {
		return tensor.Meta{}, err
	}
	return tensor.Meta{DType: d, Sizes: shape, Strides: elementwiseStrides(shape, ts), Device: device}, nil
}

func (c *Call) elementwise(d tensor.DType, ts []*tensor.Tensor) ([]tensor.Meta, error) {
	m, err := c.iterate(d, ts)
	if err != nil {
		return nil, err
	}
	return one(m)
}

// tensorType is the dtype the tensor arguments meet in.
func (c *Call) tensorType() tensor.DType {
	ts := c.operands()
	vs := make([]any, len(ts))
	for i, t := range ts {
		vs[i] = t
	}
	return resultType(vs...)
}

// pairType is the dtype the first two arguments meet in, numbers included.
func (c *Call) pairType() tensor.DType { return resultType(c.Args[0], c.Args[1]) }

// pointwise promotes the tensor arguments; numbers are parameters.
func pointwise(c *Call) ([]tensor.Meta, error) { return c.elementwise(c.tensorType(), c.operands()) }

// pointwiseFloat is pointwise with integers becoming the default float.
func pointwiseFloat(c *Call) ([]tensor.Meta, error) {
	return c.elementwise(floatType(c.tensorType()), c.operands())
}

// floating is pointwise for kernels that have no integers.
func floating(c *Call) ([]tensor.Meta, error) {
	if d := c.tensorType(); !d.Floating() && !d.Complex() {
		return nil, c.Errorf("got %s, want a floating dtype", d)
	}
	return pointwise(c)
}

// numeric is pointwise for kernels that have no bool.
func numeric(c *Call) ([]tensor.Meta, error) {
	if c.tensorType() == tensor.Bool {
		return nil, c.Errorf("got bool, want a number's dtype")
	}
	return pointwise(c)
}

// predicate gives bools.
func predicate(c *Call) ([]tensor.Meta, error) { return c.elementwise(tensor.Bool, c.operands()) }

// binary promotes the first two arguments, of which one may be a number.
func binary(c *Call) ([]tensor.Meta, error) { return c.elementwise(c.pairType(), c.withNumbers()) }

// binaryFloat is binary with integers becoming the default float (true division).
func binaryFloat(c *Call) ([]tensor.Meta, error) {
	return c.elementwise(floatType(c.pairType()), c.withNumbers())
}

// compare gives bools from two arguments, of which one may be a number.
func compare(c *Call) ([]tensor.Meta, error) { return c.elementwise(tensor.Bool, c.withNumbers()) }

// bitwise is binary for integers and bools.
func bitwise(c *Call) ([]tensor.Meta, error) {
	if d := c.pairType(); !d.Integral(true) {
		return nil, c.Errorf("got %s, want an integral dtype", d)
	}
	return binary(c)
}

// realPart is pointwise with complex results becoming real (abs).
func realPart(c *Call) ([]tensor.Meta, error) {
	return c.elementwise(c.tensorType().ToReal(), c.operands())
}

// canCast is c10::canCast: a result may be written to a dtype of the same or a higher category.
func canCast(from, to tensor.DType) bool {
	switch {
	case from.Complex() && !to.Complex():
		return false
	case from.Floating() && to.Integral(true):
		return false
	case from != tensor.Bool && to == tensor.Bool:
		return false
	}
	return true
}

// written is self after an elementwise operator has written it: unchanged. The operands must broadcast to its shape.
func (c *Call) written(d tensor.DType) ([]tensor.Meta, error) {
	self := c.Args[0].(*tensor.Tensor)
	if d != tensor.Undefined && !canCast(d, self.DType) {
		return nil, c.Errorf("got a result of %s, want one that %s can hold", d, self.DType)
	}
	for _, t := range c.operands()[1:] {
		shape, err := c.broadcast(self.Sizes, t.Sizes)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(shape, self.Sizes) {
			return nil, c.Errorf("got an output of sizes %v, want %v", self.Sizes, shape)
		}
	}
	return one(self.Meta)
}

// inPlace writes self with what pointwise or binary gives.
func inPlace(c *Call) ([]tensor.Meta, error) {
	if len(c.Args) > 1 {
		return c.written(resultType(c.Args[0], c.tensorOrNumber(1)))
	}
	return c.written(c.tensorType())
}

// tensorOrNumber is argument i where it takes part in promotion, else nil.
func (c *Call) tensorOrNumber(i int) any {
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
func inPlaceFloat(c *Call) ([]tensor.Meta, error) {
	self := c.Args[0].(*tensor.Tensor)
	if self.DType.Integral(true) {
		return nil, c.Errorf("got %s, want a dtype that can hold a float", self.DType)
	}
	return inPlace(c)
}

// overwrite writes self whatever the other arguments are.
func overwrite(c *Call) ([]tensor.Meta, error) { return c.written(tensor.Undefined) }

// selfMeta is the first argument's metadata: an in-place operator that changes none of it.
func selfMeta(c *Call) ([]tensor.Meta, error) { return one(c.Args[0].(*tensor.Tensor).Meta) }

// forward is a Body that is another operator with the same arguments and more of them.
func forward(key string, more ...any) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.DoAny(key, slices.Concat(c.Args, more)...), nil
	}
}

// write runs an operator that writes one of its arguments: nothing new is held.
func (c *Call) write(key string, args ...any) { c.Free(c.Do(key, args...)) }
