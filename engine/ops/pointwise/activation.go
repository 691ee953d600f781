package pointwise

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// glu multiplies the halves of a dimension.
func glu(c *ops.Call) ([]tensor.Meta, error) {
	self := c.T("self")
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if len(self.Sizes) == 0 || self.Sizes[dim]%2 != 0 {
		return nil, c.Errorf("got sizes %v, want an even size in dimension %d", self.Sizes, dim)
	}
	half := *self
	half.Sizes = slices.Clone(self.Sizes)
	half.Sizes[dim] /= 2
	return c.Elementwise(self.DType, []*tensor.Tensor{&half, &half})
}

// prelu shows the weight along the channels.
func prelu(c *ops.Call) (any, error) {
	self, weight := c.T("self"), c.T("weight")
	if n := weight.Numel(); n != 1 && (len(self.Sizes) < 2 || self.Sizes[1] != n) {
		return nil, c.Errorf("got %d weights for sizes %v, want one or one a channel", n, self.Sizes)
	}
	if k := len(weight.Sizes); k > 1 && k != len(self.Sizes) {
		return nil, c.Errorf("got weights %v, want a number or a vector", weight.Sizes)
	}
	if len(self.Sizes) != len(weight.Sizes) {
		shape := make([]any, len(self.Sizes))
		for i := range shape {
			shape[i] = int64(1)
		}
		if len(shape) > 1 {
			shape[1] = weight.Numel()
		}
		weight = c.Do("aten::reshape", weight, ops.NewList(schema.Int, shape...))
	}
	return c.Do("aten::_prelu_kernel", self, weight), nil
}

// logSigmoid keeps the first of log_sigmoid_forward's results.
func logSigmoid(c *ops.Call) (any, error) {
	ts := c.DoList("aten::log_sigmoid_forward", c.Args...)
	if c.Err() != nil {
		return nil, nil
	}
	return ts[0], nil
}

// logSigmoidForward has a buffer on the host only.
func logSigmoidForward(c *ops.Call) ([]tensor.Meta, error) {
	m, err := floating(c)
	if err != nil {
		return nil, err
	}
	self := c.T("self")
	if self.Device != "cpu" {
		return append(m, ops.FreshLike(self, 0)), nil
	}
	return append(m, ops.EmptyLike(self, self.DType, tensor.Contiguous)), nil
}
