package ops

import (
	"math"

	"github.com/memspec/memspec/engine/tensor"
)

// Elements of small CPU tensors: size arithmetic in traced programs.

// elems are the elements of an argument, broadcast to shape, as ints and as floats.
type elems struct {
	ints   []int64
	floats []float64
}

func newElems(n int) elems { return elems{make([]int64, n), make([]float64, n)} }

// number is a Python number or a dtype's element as both.
func number(v any) (int64, float64) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1
		}
	case int64:
		return v, float64(v)
	case float64:
		return int64(v), v
	}
	return 0, 0
}

// element is element i of t's data as an int and as a float.
func element(t *tensor.Tensor, i int) (int64, float64) {
	if t.DType.Integral(true) {
		return t.Data.Ints[i], float64(t.Data.Ints[i])
	}
	return int64(t.Data.Floats[i]), t.Data.Floats[i]
}

// expandElems are v's elements as shape shows them.
func expandElems(v any, shape []int64) elems {
	n := int(product(shape))
	out := newElems(n)
	t, ok := v.(*tensor.Tensor)
	if !ok {
		i, f := number(v)
		for k := range n {
			out.ints[k], out.floats[k] = i, f
		}
		return out
	}
	strides := make([]int64, len(shape))
	off := len(shape) - len(t.Sizes)
	step := int64(1)
	for d := len(t.Sizes) - 1; d >= 0; d-- {
		if t.Sizes[d] != 1 {
			strides[off+d] = step
		}
		step *= t.Sizes[d]
	}
	walk(shape, strides, 0, func(k int, at int64) {
		out.ints[k], out.floats[k] = element(t, int(at))
	})
	return out
}

// walk visits the elements of shape in row-major order with their places under strides and offset.
func walk(shape, strides []int64, offset int64, visit func(k int, at int64)) {
	n := product(shape)
	index := make([]int64, len(shape))
	at := offset
	for k := range n {
		visit(int(k), at)
		for d := len(shape) - 1; d >= 0; d-- {
			index[d]++
			at += strides[d]
			if index[d] < shape[d] {
				break
			}
			at -= index[d] * strides[d]
			index[d] = 0
		}
	}
}

// hasData says whether every element of the result can be known: its Out holds and no data is missing.
func (c *Call) resultMeta() (tensor.Meta, bool) {
	metas, err := c.Rule.Out(c)
	if err != nil || len(metas) != 1 {
		return tensor.Meta{}, false
	}
	return metas[0], metas[0].Device == "cpu" && metas[0].Numel() <= tensor.MaxData
}

// data narrows elements to dtype d.
func (e elems) data(d tensor.DType) *tensor.Data {
	if d.Integral(true) {
		if d == tensor.Bool {
			for i := range e.ints {
				if e.ints[i] != 0 {
					e.ints[i] = 1
				}
			}
		}
		return &tensor.Data{Ints: e.ints}
	}
	if d == tensor.Float32 {
		for i, f := range e.floats {
			e.floats[i] = float64(float32(f))
		}
	}
	return &tensor.Data{Floats: e.floats}
}

// arith is a Value of two arguments: with ints where the result is integral, else with floats.
func arith(onInts func(a, b int64) int64, onFloats func(a, b float64) float64) func(*Call) *tensor.Data {
	return func(c *Call) *tensor.Data {
		m, ok := c.resultMeta()
		if !ok || m.DType.Complex() {
			return nil
		}
		a, b := expandElems(c.Args[0], m.Sizes), expandElems(c.Args[1], m.Sizes)
		out := newElems(len(a.ints))
		if m.DType.Integral(true) {
			for i := range a.ints {
				out.ints[i] = onInts(a.ints[i], b.ints[i])
			}
		} else {
			for i := range a.floats {
				out.floats[i] = onFloats(a.floats[i], b.floats[i])
			}
		}
		return out.data(m.DType)
	}
}

// relation is a Value of bools.
func relation(holds func(a, b float64) bool) func(*Call) *tensor.Data {
	return func(c *Call) *tensor.Data {
		m, ok := c.resultMeta()
		if !ok {
			return nil
		}
		a, b := expandElems(c.Args[0], m.Sizes), expandElems(c.Args[1], m.Sizes)
		out := newElems(len(a.ints))
		for i := range a.floats {
			if holds(a.floats[i], b.floats[i]) {
				out.ints[i], out.floats[i] = 1, 1
			}
		}
		return out.data(m.DType)
	}
}

// each is a Value of one argument; integral results are computed in floats, which hold every size exactly.
func each(f func(float64) float64) func(*Call) *tensor.Data {
	return func(c *Call) *tensor.Data {
		m, ok := c.resultMeta()
		if !ok || m.DType.Complex() {
			return nil
		}
		out := expandElems(c.Args[0], m.Sizes)
		for i := range out.floats {
			out.floats[i] = f(out.floats[i])
			out.ints[i] = int64(out.floats[i])
		}
		return out.data(m.DType)
	}
}

// same is the Value of an operator that keeps every element in its place: casts, copies, reshapes.
func same(c *Call) *tensor.Data {
	self, ok := c.Args[0].(*tensor.Tensor)
	m, ok2 := c.resultMeta()
	if !ok || !ok2 || m.DType.Complex() || m.Numel() != self.Numel() {
		return nil
	}
	out := expandElems(self, self.Sizes)
	if m.DType == tensor.Bool {
		for i, f := range out.floats {
			if f != 0 {
				out.ints[i] = 1
			}
		}
	}
	return out.data(m.DType)
}

// filled is a Value of one number everywhere.
func filled(v any, m tensor.Meta) *tensor.Data {
	if m.Device != "cpu" || m.Numel() > tensor.MaxData || m.DType.Complex() || v != nil && !IsScalar(v) {
		return nil
	}
	return expandElems(v, m.Sizes).data(m.DType)
}

// seen is the Value of a view: its elements are found by laying self out contiguously and looking at it in the same way.
func seen(c *Call) *tensor.Data {
	self, ok := c.Args[0].(*tensor.Tensor)
	if !ok || self.Data == nil {
		return nil
	}
	flat := *self
	flat.Strides, flat.StorageOffset = tensor.ContiguousStrides(self.Sizes), 0
	d := *c
	d.Args = append([]any{&flat}, c.Args[1:]...)
	m, ok := d.resultMeta()
	if !ok {
		return nil
	}
	out := newElems(int(m.Numel()))
	walk(m.Sizes, m.Strides, m.StorageOffset, func(k int, at int64) {
		out.ints[k], out.floats[k] = element(self, int(at))
	})
	return out.data(m.DType)
}

func addValue(c *Call) *tensor.Data {
	n, _ := number(c.Arg("alpha"))
	f := c.Float("alpha")
	return arith(func(a, b int64) int64 { return a + n*b }, func(a, b float64) float64 { return a + f*b })(c)
}

func subValue(c *Call) *tensor.Data {
	n, _ := number(c.Arg("alpha"))
	f := c.Float("alpha")
	return arith(func(a, b int64) int64 { return a - n*b }, func(a, b float64) float64 { return a - f*b })(c)
}

func rsubValue(c *Call) *tensor.Data {
	n, _ := number(c.Arg("alpha"))
	f := c.Float("alpha")
	return arith(func(a, b int64) int64 { return b - n*a }, func(a, b float64) float64 { return b - f*a })(c)
}

func mulInt(a, b int64) int64       { return a * b }
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
	return divFloor(a, b)
}

func divFloat(a, b float64) float64      { return a / b }
func divFloatFloor(a, b float64) float64 { return math.Floor(a / b) }

// divValue honours rounding_mode.
func divValue(c *Call) *tensor.Data {
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
	return a - b*divFloor(a, b)
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

func equalTo(a, b float64) bool   { return a == b }
func notEqual(a, b float64) bool  { return a != b }
func less(a, b float64) bool      { return a < b }
func lessEqual(a, b float64) bool { return a <= b }

func greater(a, b float64) bool      { return a > b }
func greaterEqual(a, b float64) bool { return a >= b }
func bothTrue(a, b float64) bool     { return a != 0 && b != 0 }
func eitherTrue(a, b float64) bool   { return a != 0 || b != 0 }
func oneTrue(a, b float64) bool      { return (a != 0) != (b != 0) }

func reciprocal(a float64) float64 { return 1 / a }
func rsqrt(a float64) float64      { return 1 / math.Sqrt(a) }
func negate(a float64) float64     { return -a }
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
func clampValue(c *Call) *tensor.Data {
	m, ok := c.resultMeta()
	if !ok || m.DType.Complex() {
		return nil
	}
	out := expandElems(c.Args[0], m.Sizes)
	if v := c.Arg("min"); v != nil {
		b := expandElems(v, m.Sizes)
		for i := range out.ints {
			out.ints[i], out.floats[i] = max(out.ints[i], b.ints[i]), max(out.floats[i], b.floats[i])
		}
	}
	if v := c.Arg("max"); v != nil {
		b := expandElems(v, m.Sizes)
		for i := range out.ints {
			out.ints[i], out.floats[i] = min(out.ints[i], b.ints[i]), min(out.floats[i], b.floats[i])
		}
	}
	return out.data(m.DType)
}
