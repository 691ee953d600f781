package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// What PyTorch refuses though the results would have sizes (native/UnaryOps.cpp mvlgamma_check,
// native/BinaryOps.cpp, native/ReduceOps.cpp diff_check).

// atLeast wants an int argument to be no less.
func atLeast(name string, least int64) func(*ops.Call) error {
	return func(c *ops.Call) error {
		if n := c.Int(name); n < least {
			return c.Errorf("got %s %d, want at least %d", name, n, least)
		}
		return nil
	}
}

// noFractions refuses integers to the power of a negative one.
func noFractions(c *ops.Call) error {
	n, isInt := ops.AsInt(c.Arg("exponent"))
	if isInt && n < 0 && c.Self().DType.Integral(true) {
		return c.Errorf("got %s to the power of %d, want no negative power of integers", c.Self().DType, n)
	}
	return nil
}

// realNumbers refuses operands whose kernels of rounded quotients and remainders have neither bools
// nor complex numbers (native/cuda/BinaryDivFloorKernel.cu, BinaryDivTruncKernel.cu,
// BinaryRemainderKernel.cu).
func realNumbers(c *ops.Call) error {
	if d := pairType(c); d == tensor.Bool || d.Complex() {
		return c.Errorf("got %s, want integers or floats", d)
	}
	return nil
}

// integers refuses operands of which one is none (native/cuda/GcdLcmKernel.cu).
func integers(c *ops.Call) error {
	if d := pairType(c); !d.Integral(false) {
		return c.Errorf("got %s, want integers", d)
	}
	return nil
}

// joinable wants what is put before and behind to be as large as self but in the dimension.
func joinable(c *ops.Call) error {
	self := c.Self()
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return err
	}
	for _, name := range [...]string{"prepend", "append"} {
		t := c.T(name)
		if t == nil {
			continue
		}
		fits := len(t.Sizes) == len(self.Sizes)
		for i := range t.Sizes {
			fits = fits && (i == dim || t.Sizes[i] == self.Sizes[i])
		}
		if !fits {
			return c.Errorf("got %s %v to %v, want as many in all dimensions but %d", name, t.Sizes, self.Sizes, dim)
		}
	}
	return nil
}
