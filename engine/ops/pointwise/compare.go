package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// isClose is aten/src/ATen/native/TensorCompare.cpp isclose.
func isClose(c *ops.Call) (any, error) {
	self, other := c.T("self"), c.T("other")
	if self.DType != other.DType {
		return nil, c.Errorf("got %s and %s, want one dtype", self.DType, other.DType)
	}
	close := c.Do("aten::eq.Tensor", self, other)
	if c.Bool("equal_nan") && (self.DType.Floating() || self.DType.Complex()) {
		a, b := c.Do("aten::isnan", self), c.Do("aten::isnan", other)
		both := c.Do("aten::bitwise_and.Tensor", a, b)
		c.Do("aten::bitwise_or_.Tensor", close, both)
		c.Free(both, b, a)
	}
	if c.Float("rtol") == 0 && c.Float("atol") == 0 {
		return close, nil
	}
	float := int64(tensor.Float32)
	if self.DType == tensor.Bool {
		self = c.Do("aten::to.dtype", self, float)
	}
	if c.T("self").DType.Integral(true) {
		other = c.Do("aten::to.dtype", other, float)
	}
	scaled := c.Do("aten::mul.Scalar", other, c.Float("rtol"))
	size := c.Do("aten::abs", scaled)
	allowed := c.Do("aten::add.Scalar", size, c.Float("atol"))
	c.Free(size, scaled)
	gap := c.Do("aten::sub.Tensor", self, other)
	actual := c.Do("aten::abs", gap)
	c.Free(gap)
	finite := c.Do("aten::isfinite", actual)
	within := c.Do("aten::le.Tensor", actual, allowed)
	c.Do("aten::bitwise_and_.Tensor", finite, within)
	c.Do("aten::bitwise_or_.Tensor", close, finite)
	return close, nil
}

// isFinite is aten/src/ATen/native/TensorCompare.cpp isfinite.
func isFinite(c *ops.Call) (any, error) {
	self := c.T("self")
	switch {
	case self.DType.Integral(true):
		return c.Do("aten::ones_like", self, ops.Kw{"dtype": int64(tensor.Bool)}), nil
	case self.DType.Complex():
		real := c.Do("aten::isfinite", c.Do("aten::real", self))
		return c.Do("aten::bitwise_and_.Tensor", real, c.Do("aten::isfinite", c.Do("aten::imag", self))), nil
	}
	bounded := c.Do("aten::ne.Scalar", c.Do("aten::abs", self), 1.0)
	return c.Do("aten::mul.Tensor", c.Do("aten::eq.Tensor", self, self), bounded), nil
}

func isReal(c *ops.Call) (any, error) {
	self := c.T("self")
	if self.DType.Complex() {
		return c.Do("aten::eq.Scalar", c.Do("aten::imag", self), int64(0)), nil
	}
	return c.Do("aten::ones_like", self, ops.Kw{"dtype": int64(tensor.Bool)}), nil
}

// isIn has the elements' sizes.
func isIn(c *ops.Call) ([]tensor.Meta, error) {
	if t, ok := c.Args[0].(*tensor.Tensor); ok {
		return ops.One(ops.EmptyLike(t, tensor.Bool, tensor.Preserve))
	}
	return ops.One(ops.FreshAs(c.T("test_elements"), tensor.Bool))
}

func bitwiseNot(c *ops.Call) ([]tensor.Meta, error) {
	if d := c.T("self").DType; !d.Integral(true) {
		return nil, c.Errorf("got %s, want an integral dtype", d)
	}
	return ops.Pointwise(c)
}

func not(a float64) float64 {
	if a == 0 {
		return 1
	}
	return 0
}
