package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// conjPhysical is self for real tensors.
func conjPhysical(c *ops.Call) (any, error) {
	if !c.Self().DType.Complex() {
		return c.Args[0], nil
	}
	return c.Do("aten::_conj_physical", c.Args[0]), nil
}

func frexp(c *ops.Call) ([]tensor.Meta, error) {
	m, err := floating(c)
	if err != nil {
		return nil, err
	}
	e := m[0].Clone()
	e.DType = tensor.Int32
	return append(m, e), nil
}

// ndtr is (1 + erf(x·√½))·½.
func ndtr(c *ops.Call) (any, error) {
	x := c.Do("aten::mul.Scalar", c.Args[0], 0.70710678118654752440)
	x = c.Do("aten::add.Scalar", c.Do("aten::erf", x), int64(1))
	return c.Do("aten::mul.Scalar", x, 0.5), nil
}

func angle(c *ops.Call) ([]tensor.Meta, error) {
	return c.Elementwise(ops.FloatType(c.TensorType()).ToReal(), c.Operands())
}
