package ops

import "github.com/memspec/memspec/engine/tensor"

// What TensorIterator (aten/src/ATen/TensorIterator.cpp) gives elementwise operators: shape, dtype,
// device and strides of the result.

// Operands are the tensor arguments, in order; out= arguments are none of them.
func (c *Call) Operands() []*tensor.Tensor {
	ts := make([]*tensor.Tensor, 0, len(c.Args))
	for _, v := range c.Args {
		if t, ok := v.(*tensor.Tensor); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// OperandMetas are the metadata of Operands.
func (c *Call) OperandMetas() []*tensor.Meta {
	ts := c.Operands()
	ms := make([]*tensor.Meta, len(ts))
	for i, t := range ts {
		ms[i] = &t.Meta
	}
	return ms
}

// CommonDevice is the first device that is not the host; 0-dim tensors of the host go with any
// (TensorIteratorBase::compute_types).
func (c *Call) CommonDevice(ts []*tensor.Tensor) (string, error) {
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

// Iterate is a fresh result of dtype d over ts.
func (c *Call) Iterate(d tensor.DType, ts []*tensor.Tensor) (tensor.Meta, error) {
	shapes := make([][]int64, len(ts))
	for i, t := range ts {
		shapes[i] = t.Sizes
	}
	shape, err := c.Broadcast(shapes...)
	if err != nil {
		return tensor.Meta{}, err
	}
	device, err := c.CommonDevice(ts)
	if err != nil {
		return tensor.Meta{}, err
	}
	return tensor.Meta{DType: d, Sizes: shape, Strides: elementwiseStrides(shape, ts), Device: device}, nil
}

// Elementwise is Iterate for an operator of one result.
func (c *Call) Elementwise(d tensor.DType, ts []*tensor.Tensor) ([]tensor.Meta, error) {
	m, err := c.Iterate(d, ts)
	if err != nil {
		return nil, err
	}
	return One(m)
}

// TensorType is the dtype the tensor arguments meet in.
func (c *Call) TensorType() tensor.DType {
	ts := c.Operands()
	vs := make([]any, len(ts))
	for i, t := range ts {
		vs[i] = t
	}
	return ResultType(vs...)
}

// Pointwise promotes the tensor arguments; numbers are parameters.
func Pointwise(c *Call) ([]tensor.Meta, error) { return c.Elementwise(c.TensorType(), c.Operands()) }

// PointwiseFloat is pointwise with integers becoming the default float.
func PointwiseFloat(c *Call) ([]tensor.Meta, error) {
	return c.Elementwise(FloatType(c.TensorType()), c.Operands())
}
