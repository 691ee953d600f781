package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// subtract is binary; bools refuse (sub_check).
func subtract(c *Call) ([]tensor.Meta, error) {
	for _, t := range c.operands() {
		if t.DType == tensor.Bool {
			return nil, c.Errorf("got a bool tensor, want numbers")
		}
	}
	return binary(c)
}

// divMode keeps integers where the quotient is rounded.
func divMode(c *Call) ([]tensor.Meta, error) {
	if c.Has("rounding_mode") {
		return binary(c)
	}
	return binaryFloat(c)
}

func inPlaceMode(c *Call) ([]tensor.Meta, error) {
	if c.Has("rounding_mode") {
		return inPlace(c)
	}
	return inPlaceFloat(c)
}

// boundType is the dtype of clamp: the bounds take part.
func (c *Call) boundType() (tensor.DType, error) {
	if !c.Has("min") && !c.Has("max") {
		return 0, c.Errorf("got neither min nor max, want one of them")
	}
	return resultType(c.Args[0], c.Arg("min"), c.Arg("max")), nil
}

func clamp(c *Call) ([]tensor.Meta, error) {
	d, err := c.boundType()
	if err != nil {
		return nil, err
	}
	return c.elementwise(d, c.operands())
}

func clampInPlace(c *Call) ([]tensor.Meta, error) {
	d, err := c.boundType()
	if err != nil {
		return nil, err
	}
	return c.written(d)
}

// heaviside wants one dtype of both.
func heaviside(c *Call) ([]tensor.Meta, error) {
	if a, b := c.T("self").DType, c.T("values").DType; a != b {
		return nil, c.Errorf("got %s and %s, want one dtype", a, b)
	}
	return pointwise(c)
}

// sameDTypes is floating with one dtype for all tensors (lerp).
func sameDTypes(c *Call) ([]tensor.Meta, error) {
	ts := c.operands()
	for _, t := range ts[1:] {
		if t.DType != ts[0].DType && len(t.Sizes) > 0 {
			return nil, c.Errorf("got %s and %s, want one dtype", ts[0].DType, t.DType)
		}
	}
	return c.elementwise(ts[0].DType, ts)
}

// doubleOf is the dtype float_power computes in.
func (c *Call) doubleOf() tensor.DType {
	if c.pairType().Complex() {
		return tensor.Complex128
	}
	return tensor.Float64
}

// floatPower casts tensors to double and calls pow; C++ evaluates the arguments from the right.
func floatPower(c *Call) (any, error) {
	d := int64(c.doubleOf())
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
func floatPowerInPlace(c *Call) (any, error) {
	if d := c.doubleOf(); c.T("self").DType != d {
		return nil, c.Errorf("got %s, want %s", c.T("self").DType, d)
	}
	if t := c.T("exponent"); t != nil {
		return c.Do("aten::pow_.Tensor", c.Args[0], c.Do("aten::to.dtype", t, int64(c.doubleOf()))), nil
	}
	return c.Do("aten::pow_.Scalar", c.Args...), nil
}

// where takes what condition chooses of two.
func where(c *Call) ([]tensor.Meta, error) {
	if d := c.T("condition").DType; d != tensor.Bool && d != tensor.Uint8 {
		return nil, c.Errorf("got a condition of %s, want bool", d)
	}
	return c.elementwise(resultType(c.T("self"), c.T("other")), c.operands())
}

// whereScratch are the copies of operands of another dtype, or on the host.
func whereScratch(c *Call) []Scratch {
	d := resultType(c.T("self"), c.T("other"))
	m, err := c.Rule.Out(c)
	if err != nil || m[0].Device == "cpu" {
		return nil
	}
	var out []Scratch
	for _, t := range []*tensor.Tensor{c.T("self"), c.T("other")} {
		if t.DType != d || t.Device == "cpu" {
			meta := emptyLike(t, d, tensor.Preserve)
			out = append(out, Scratch{Bytes: meta.StorageBytes(), Before: true, Source: "aten/src/ATen/native/TensorCompare.cpp where_self_out"})
		}
	}
	return out
}

// whereScalar makes tensors of numbers on the other operand's device, then casts.
func whereScalar(c *Call) (any, error) {
	d := resultType(c.Arg("self"), c.Arg("other"))
	like := c.T("self")
	if like == nil {
		like = c.T("other")
	}
	if like == nil {
		like = c.T("condition")
	}
	made := func(v any) *tensor.Tensor {
		return c.Do("aten::scalar_tensor", v, Kw{"dtype": int64(d), "device": Device(like.Device)})
	}
	cond := c.T("condition")
	self, other := c.T("self"), c.T("other")
	switch {
	case self != nil:
		right := made(c.Arg("other"))
		return c.Do("aten::where.self", cond, c.Do("aten::to.dtype", self, int64(d)), right), nil
	case other != nil:
		left := made(c.Arg("self"))
		return c.Do("aten::where.self", cond, left, c.Do("aten::to.dtype", other, int64(d))), nil
	}
	right := made(c.Arg("other"))
	return c.Do("aten::where.self", cond, made(c.Arg("self")), right), nil
}

// whereIndices is nonzero_numpy.
func whereIndices(c *Call) (any, error) { return c.DoAny("aten::nonzero_numpy", c.Args...), nil }

// maskedFill is a contiguous copy in the shape of self and mask.
func maskedFill(c *Call) ([]tensor.Meta, error) {
	self, mask := c.T("self"), c.T("mask")
	if err := c.checkMask(mask); err != nil {
		return nil, err
	}
	shape, err := c.broadcast(self.Sizes, mask.Sizes)
	if err != nil {
		return nil, err
	}
	return one(fresh(self, shape...))
}

func (c *Call) checkMask(mask *tensor.Tensor) error {
	if mask.DType != tensor.Bool {
		return c.Errorf("got a mask of %s, want bool", mask.DType)
	}
	if v := c.T("value"); v != nil && len(v.Sizes) > 0 {
		return c.Errorf("got a value of sizes %v, want a 0-dim tensor", v.Sizes)
	}
	return nil
}

func maskedFillInPlace(c *Call) ([]tensor.Meta, error) {
	if err := c.checkMask(c.T("mask")); err != nil {
		return nil, err
	}
	return overwrite(c)
}

// diff is repeated subtraction of neighbours (aten/src/ATen/native/ReduceOps.cpp diff_helper).
func diff(c *Call) (any, error) {
	self := c.T("self")
	n, dim := c.Int("n"), c.Int("dim")
	at, err := c.wrapDim(dim, len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if len(self.Sizes) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
	}
	if n < 0 {
		return nil, c.Errorf("got n %d, want at least 0", n)
	}
	if n == 0 {
		z := c.Do("aten::zeros_like", self)
		return c.Do("aten::copy_", z, self), nil
	}
	result := self
	if c.Has("prepend") || c.Has("append") {
		var parts []any
		for _, v := range []any{c.Arg("prepend"), self, c.Arg("append")} {
			if v != nil {
				parts = append(parts, v)
			}
		}
		result = c.Do("aten::cat", NewList(schema.Tensor, parts...), dim)
	}
	if c.Err() != nil {
		return nil, nil
	}
	size := result.Sizes[at]
	op := "aten::sub.Tensor"
	if self.DType == tensor.Bool {
		op = "aten::logical_xor"
	}
	for range min(n, size) {
		length := result.Sizes[at] - 1
		a := c.Do("aten::narrow", result, dim, int64(1), length)
		b := c.Do("aten::narrow", result, dim, int64(0), length)
		next := c.Do(op, a, b)
		c.Free(b, a)
		if result != self {
			c.Free(result)
		}
		result = next
		if c.Err() != nil {
			return nil, nil
		}
	}
	return result, nil
}

func frexp(c *Call) ([]tensor.Meta, error) {
	m, err := floating(c)
	if err != nil {
		return nil, err
	}
	e := m[0].Clone()
	e.DType = tensor.Int32
	return append(m, e), nil
}

// ndtr is (1 + erf(x·√½))·½.
func ndtr(c *Call) (any, error) {
	x := c.Do("aten::mul.Scalar", c.Args[0], 0.70710678118654752440)
	x = c.Do("aten::add.Scalar", c.Do("aten::erf", x), int64(1))
	return c.Do("aten::mul.Scalar", x, 0.5), nil
}

// isClose is aten/src/ATen/native/TensorCompare.cpp isclose.
func isClose(c *Call) (any, error) {
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
func isFinite(c *Call) (any, error) {
	self := c.T("self")
	switch {
	case self.DType.Integral(true):
		return c.Do("aten::ones_like", self, Kw{"dtype": int64(tensor.Bool)}), nil
	case self.DType.Complex():
		real := c.Do("aten::isfinite", c.Do("aten::real", self))
		return c.Do("aten::bitwise_and_.Tensor", real, c.Do("aten::isfinite", c.Do("aten::imag", self))), nil
	}
	bounded := c.Do("aten::ne.Scalar", c.Do("aten::abs", self), 1.0)
	return c.Do("aten::mul.Tensor", c.Do("aten::eq.Tensor", self, self), bounded), nil
}

func isReal(c *Call) (any, error) {
	self := c.T("self")
	if self.DType.Complex() {
		return c.Do("aten::eq.Scalar", c.Do("aten::imag", self), int64(0)), nil
	}
	return c.Do("aten::ones_like", self, Kw{"dtype": int64(tensor.Bool)}), nil
}

// isIn has the elements' sizes.
func isIn(c *Call) ([]tensor.Meta, error) {
	if t, ok := c.Args[0].(*tensor.Tensor); ok {
		return one(emptyLike(t, tensor.Bool, tensor.Preserve))
	}
	return one(freshAs(c.T("test_elements"), tensor.Bool))
}

func bitwiseNot(c *Call) ([]tensor.Meta, error) {
	if d := c.T("self").DType; !d.Integral(true) {
		return nil, c.Errorf("got %s, want an integral dtype", d)
	}
	return pointwise(c)
}

func not(a float64) float64 {
	if a == 0 {
		return 1
	}
	return 0
}

// chunkCat pads each tensor to whole chunks and lays the chunks side by side.
func chunkCat(c *Call) ([]tensor.Meta, error) {
	ts := c.Tensors("tensors")
	if len(ts) == 0 {
		return nil, c.Errorf("got no tensors, want one or more")
	}
	dim, err := c.wrapDim(c.Int("dim"), len(ts[0].Sizes))
	if err != nil {
		return nil, err
	}
	n := c.Int("num_chunks")
	width := int64(0)
	for _, t := range ts {
		width += divCeil(t.Sizes[dim], n) * product(t.Sizes[dim+1:])
	}
	return one(fresh(ts[0], append(slices.Clone(ts[0].Sizes[:dim]), n, width)...))
}

func angle(c *Call) ([]tensor.Meta, error) {
	return c.elementwise(floatType(c.tensorType()).ToReal(), c.operands())
}

// itself is a Body that returns its first argument.
func itself(c *Call) (any, error) { return c.Args[0], nil }

// glu multiplies the halves of a dimension.
func glu(c *Call) ([]tensor.Meta, error) {
	self := c.T("self")
	dim, err := c.wrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if len(self.Sizes) == 0 || self.Sizes[dim]%2 != 0 {
		return nil, c.Errorf("got sizes %v, want an even size in dimension %d", self.Sizes, dim)
	}
	half := *self
	half.Sizes = slices.Clone(self.Sizes)
	half.Sizes[dim] /= 2
	return c.elementwise(self.DType, []*tensor.Tensor{&half, &half})
}

// prelu shows the weight along the channels.
func prelu(c *Call) (any, error) {
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
		weight = c.Do("aten::reshape", weight, NewList(schema.Int, shape...))
	}
	return c.Do("aten::_prelu_kernel", self, weight), nil
}

// logSigmoid keeps the first of log_sigmoid_forward's results.
func logSigmoid(c *Call) (any, error) {
	ts := c.DoList("aten::log_sigmoid_forward", c.Args...)
	if c.Err() != nil {
		return nil, nil
	}
	return ts[0], nil
}

// logSigmoidForward has a buffer on the host only.
func logSigmoidForward(c *Call) ([]tensor.Meta, error) {
	m, err := floating(c)
	if err != nil {
		return nil, err
	}
	self := c.T("self")
	if self.Device != "cpu" {
		return append(m, fresh(self, 0)), nil
	}
	return append(m, emptyLike(self, self.DType, tensor.Contiguous)), nil
}
