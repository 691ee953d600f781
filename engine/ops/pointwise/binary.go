package pointwise

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// subtract is binary; bools refuse (sub_check).
func subtract(c *ops.Call) ([]tensor.Meta, error) {
	for _, t := range c.Operands() {
		if t.DType == tensor.Bool {
			return nil, c.Errorf("got a bool tensor, want numbers")
		}
	}
	return binary(c)
}

// divMode keeps integers where the quotient is rounded.
func divMode(c *ops.Call) ([]tensor.Meta, error) {
	if c.Has("rounding_mode") {
		return ops.Refusing(realNumbers, binary)(c)
	}
	return binaryFloat(c)
}

func inPlaceMode(c *ops.Call) ([]tensor.Meta, error) {
	if c.Has("rounding_mode") {
		return ops.Refusing(realNumbers, inPlace)(c)
	}
	return inPlaceFloat(c)
}

// boundType is the dtype of clamp: the bounds take part.
func boundType(c *ops.Call) (tensor.DType, error) {
	if !c.Has("min") && !c.Has("max") {
		return 0, c.Errorf("got neither min nor max, want one of them")
	}
	return ops.ResultType(c.Args[0], c.Arg("min"), c.Arg("max")), nil
}

func clamp(c *ops.Call) ([]tensor.Meta, error) {
	d, err := boundType(c)
	if err != nil {
		return nil, err
	}
	return c.Elementwise(d, c.Operands())
}

func clampInPlace(c *ops.Call) ([]tensor.Meta, error) {
	d, err := boundType(c)
	if err != nil {
		return nil, err
	}
	return written(c, d)
}

// heaviside wants one dtype of both.
func heaviside(c *ops.Call) ([]tensor.Meta, error) {
	if a, b := c.T("self").DType, c.T("values").DType; a != b {
		return nil, c.Errorf("got %s and %s, want one dtype", a, b)
	}
	return ops.Pointwise(c)
}

// sameDTypes is floating with one dtype for all tensors (lerp).
func sameDTypes(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Operands()
	for _, t := range ts[1:] {
		if t.DType != ts[0].DType && len(t.Sizes) > 0 {
			return nil, c.Errorf("got %s and %s, want one dtype", ts[0].DType, t.DType)
		}
	}
	return c.Elementwise(ts[0].DType, ts)
}

// doubleOf is the dtype float_power computes in.
func doubleOf(c *ops.Call) tensor.DType {
	if pairType(c).Complex() {
		return tensor.Complex128
	}
	return tensor.Float64
}

// floatPower casts tensors to double and calls pow; C++ evaluates the arguments from the right.
func floatPower(c *ops.Call) (any, error) {
	d := int64(doubleOf(c))
	args := slices.Clone(c.Args)
	for i := len(args) - 1; i >= 0; i-- {
		if t, ok := args[i].(*tensor.Tensor); ok {
			args[i] = c.Do("aten::to.dtype", t, d)
		}
	}
	overload := c.Schema.Overload
	return c.Do("aten::pow."+overload, args...), nil
}

// floatPowerInPlace is pow_ with the exponent in double.
func floatPowerInPlace(c *ops.Call) (any, error) {
	if d := doubleOf(c); c.T("self").DType != d {
		return nil, c.Errorf("got %s, want %s", c.T("self").DType, d)
	}
	if t := c.T("exponent"); t != nil {
		return c.Do("aten::pow_.Tensor", c.Args[0], c.Do("aten::to.dtype", t, int64(doubleOf(c)))), nil
	}
	return c.Do("aten::pow_.Scalar", c.Args...), nil
}
