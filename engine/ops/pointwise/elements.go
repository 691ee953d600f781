package pointwise

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// arith is a Value of two arguments: with ints where the result is integral, else with floats.
func arith(onInts func(a, b int64) int64, onFloats func(a, b float64) float64) func(*ops.Call) *tensor.Data {
	return func(c *ops.Call) *tensor.Data {
		m, ok := c.KnownMeta()
		if !ok || m.DType.Complex() {
			return nil
		}
		a, b := ops.ExpandElements(c.Args[0], m.Sizes), ops.ExpandElements(c.Args[1], m.Sizes)
		out := ops.NewElements(len(a.Ints))
		if m.DType.Integral(true) {
			for i := range a.Ints {
				out.Ints[i] = onInts(a.Ints[i], b.Ints[i])
			}
		} else {
			for i := range a.Floats {
				out.Floats[i] = onFloats(a.Floats[i], b.Floats[i])
			}
		}
		return out.Data(m.DType)
	}
}

// relation is a Value of bools.
func relation(holds func(a, b float64) bool) func(*ops.Call) *tensor.Data {
	return func(c *ops.Call) *tensor.Data {
		m, ok := c.KnownMeta()
		if !ok {
			return nil
		}
		a, b := ops.ExpandElements(c.Args[0], m.Sizes), ops.ExpandElements(c.Args[1], m.Sizes)
		out := ops.NewElements(len(a.Ints))
		for i := range a.Floats {
			if holds(a.Floats[i], b.Floats[i]) {
				out.Ints[i], out.Floats[i] = 1, 1
			}
		}
		return out.Data(m.DType)
	}
}

// each is a Value of one argument; integral results are computed in floats, which hold every size
// exactly.
func each(f func(float64) float64) func(*ops.Call) *tensor.Data {
	return func(c *ops.Call) *tensor.Data {
		m, ok := c.KnownMeta()
		if !ok || m.DType.Complex() {
			return nil
		}
		out := ops.ExpandElements(c.Args[0], m.Sizes)
		for i := range out.Floats {
			out.Floats[i] = f(out.Floats[i])
			out.Ints[i] = int64(out.Floats[i])
		}
		return out.Data(m.DType)
	}
}

func addValue(c *ops.Call) *tensor.Data {
	n, _ := ops.AsNumber(c.Arg("alpha"))
	f := c.Float("alpha")
	return arith(func(a, b int64) int64 { return a + n*b }, func(a, b float64) float64 { return a + f*b })(c)
}

func subValue(c *ops.Call) *tensor.Data {
	n, _ := ops.AsNumber(c.Arg("alpha"))
	f := c.Float("alpha")
	return arith(func(a, b int64) int64 { return a - n*b }, func(a, b float64) float64 { return a - f*b })(c)
}

func rsubValue(c *ops.Call) *tensor.Data {
	n, _ := ops.AsNumber(c.Arg("alpha"))
	f := c.Float("alpha")
	return arith(func(a, b int64) int64 { return b - n*a }, func(a, b float64) float64 { return b - f*a })(c)
}

func mulInt(a, b int64) int64 { return a * b }

func mulFloat(a, b float64) float64 { return a * b }

func divIntTrunc(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func divIntFloor(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return ops.DivFloor(a, b)
}

func divFloat(a, b float64) float64 { return a / b }

func divFloatFloor(a, b float64) float64 { return math.Floor(a / b) }

// divValue honours rounding_mode.
func divValue(c *ops.Call) *tensor.Data {
	switch c.Str("rounding_mode") {
	case "floor":
		return arith(divIntFloor, divFloatFloor)(c)
	case "trunc":
		return arith(divIntTrunc, func(a, b float64) float64 { return math.Trunc(a / b) })(c)
	}
	return arith(divIntTrunc, divFloat)(c)
}

func remainderInt(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a - b*ops.DivFloor(a, b)
}

func remainderFloat(a, b float64) float64 { return a - b*math.Floor(a/b) }

func fmodInt(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a % b
}

func powInt(a, b int64) int64 {
	if b < 0 {
		return int64(math.Pow(float64(a), float64(b)))
	}
	n := int64(1)
	for range min(b, 64) {
		n *= a
	}
	return n
}

func minInt(a, b int64) int64 { return min(a, b) }

func maxInt(a, b int64) int64 { return max(a, b) }

func equalTo(a, b float64) bool { return a == b }

func notEqual(a, b float64) bool { return a != b }

func less(a, b float64) bool { return a < b }

func lessEqual(a, b float64) bool { return a <= b }

func greater(a, b float64) bool { return a > b }

func greaterEqual(a, b float64) bool { return a >= b }

func bothTrue(a, b float64) bool { return a != 0 && b != 0 }

func eitherTrue(a, b float64) bool { return a != 0 || b != 0 }

func oneTrue(a, b float64) bool { return (a != 0) != (b != 0) }

func reciprocal(a float64) float64 { return 1 / a }

func rsqrt(a float64) float64 { return 1 / math.Sqrt(a) }

func negate(a float64) float64 { return -a }

func sign(a float64) float64 {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return 0
}

// clampValue is clamp, clamp_min and clamp_max with numbers or tensors for bounds.
func clampValue(c *ops.Call) *tensor.Data {
	m, ok := c.KnownMeta()
	if !ok || m.DType.Complex() {
		return nil
	}
	out := ops.ExpandElements(c.Args[0], m.Sizes)
	if v := c.Arg("min"); v != nil {
		b := ops.ExpandElements(v, m.Sizes)
		for i := range out.Ints {
			out.Ints[i], out.Floats[i] = max(out.Ints[i], b.Ints[i]), max(out.Floats[i], b.Floats[i])
		}
	}
	if v := c.Arg("max"); v != nil {
		b := ops.ExpandElements(v, m.Sizes)
		for i := range out.Ints {
			out.Ints[i], out.Floats[i] = min(out.Ints[i], b.Ints[i]), min(out.Floats[i], b.Floats[i])
		}
	}
	return out.Data(m.DType)
}
