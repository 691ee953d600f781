package ops

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Unbacked is a number without a value: it depends on tensor data (PyTorch: an unbacked SymInt,
// SymFloat or SymBool). It also stands for what an operator without a rule would have given; then
// Kind is schema.Any. Use NewUnbacked or Between: the zero value is the int 0 of no origin.
type Unbacked struct {
	Kind     schema.Kind // Int, Float, Bool; schema.Any where it is not known to be one of them
	Min, Max int64       // an Int lies between them, both included; NoMin and NoMax where nothing bounds it
	Origin   string      // the operator that it comes from
}

// An Int that nothing bounds lies between these.
const (
	NoMin = math.MinInt64
	NoMax = math.MaxInt64
)

// NewUnbacked is a number of which no more than its kind is known.
func NewUnbacked(origin string, kind schema.Kind) Unbacked {
	return Unbacked{kind, NoMin, NoMax, origin}
}

// Between is an int from lower to upper, both included.
func Between(origin string, lower, upper int64) Unbacked {
	return Unbacked{schema.Int, lower, upper, origin}
}

// IsKnown says whether v is a value, and no Unbacked.
func IsKnown(v any) bool { _, u := v.(Unbacked); return !u }

// IsSize says whether u can be taken for a size: an int that is at most something.
func (u Unbacked) IsSize() bool { return u.Kind == schema.Int && u.Max != NoMax }

// hint is a number of u's kind that u could be, n where that is an int in its range.
func (u Unbacked) hint(n int64) any {
	switch u.Kind {
	case schema.Int:
		return min(max(n, u.Min), u.Max)
	case schema.Bool:
		return true
	}
	return 1.0
}

// rangeOf is the range that an int made of ints on the host has, by operator name; each argument is
// an int or an Unbacked one.
func rangeOf(name string, args []any) (lower, upper int64) {
	var lo, hi [2]int64
	for i, v := range args[:min(len(args), 2)] {
		switch v := v.(type) {
		case int64:
			lo[i], hi[i] = v, v
		case Unbacked:
			lo[i], hi[i] = v.Min, v.Max
			if v.Kind != schema.Int {
				return NoMin, NoMax
			}
		default:
			return NoMin, NoMax
		}
	}
	if len(args) == 1 && name == "aten::neg" {
		return negated(hi[0]), negated(lo[0])
	}
	if len(args) != 2 {
		return NoMin, NoMax
	}
	switch name {
	case "aten::add":
		return added(lo[0], lo[1]), added(hi[0], hi[1])
	case "aten::sub":
		return added(lo[0], negated(hi[1])), added(hi[0], negated(lo[1]))
	case "aten::mul":
		return product(lo, hi)
	case "aten::floordiv":
		if lo[1] < 1 || hi[1] != lo[1] { // by a known number
			return NoMin, NoMax
		}
		return divided(lo[0], lo[1]), divided(hi[0], lo[1])
	case "prim::min":
		return min(lo[0], lo[1]), min(hi[0], hi[1])
	case "prim::max":
		return max(lo[0], lo[1]), max(hi[0], hi[1])
	}
	return NoMin, NoMax
}

// The arithmetic of ends: what nothing bounds stays so, and what leaves int64 is not bounded.

func negated(n int64) int64 {
	switch n {
	case NoMin:
		return NoMax
	case NoMax:
		return NoMin
	}
	return -n
}

func added(a, b int64) int64 {
	switch {
	case a == NoMin || b == NoMin:
		return NoMin
	case a == NoMax || b == NoMax:
		return NoMax
	case b > 0 && a > NoMax-b:
		return NoMax
	case b < 0 && a < NoMin-b:
		return NoMin
	}
	return a + b
}

func divided(a, b int64) int64 {
	if a == NoMin || a == NoMax {
		return a
	}
	return DivFloor(a, b)
}

// product is of two ranges of numbers that are not negative; of others nothing is said.
func product(lo, hi [2]int64) (lower, upper int64) {
	if lo[0] < 0 || lo[1] < 0 {
		return NoMin, NoMax
	}
	times := func(a, b int64) int64 {
		n, err := tensor.Product([]int64{a, b})
		if err != nil || a == NoMax && b != 0 || b == NoMax && a != 0 {
			return NoMax
		}
		return n
	}
	return times(lo[0], lo[1]), times(hi[0], hi[1])
}

// KindOf is the kind of number that a value of the type is, schema.Any where it is none or could be
// several.
func KindOf(t *schema.Type) schema.Kind {
	switch t.Kind {
	case schema.Int, schema.Float, schema.Bool:
		return t.Kind
	}
	return schema.Any
}

// kindOfDType is the kind of a number that is read off a tensor.
func kindOfDType(d tensor.DType) schema.Kind {
	switch {
	case d == tensor.Bool:
		return schema.Bool
	case d.Integral(false):
		return schema.Int
	case d.Floating():
		return schema.Float
	}
	return schema.Any
}

// NumberKind is the kind of a number, known or not, schema.Any of anything else.
func NumberKind(v any) schema.Kind {
	switch v := v.(type) {
	case bool:
		return schema.Bool
	case int64:
		return schema.Int
	case float64:
		return schema.Float
	case Unbacked:
		return v.Kind
	}
	return schema.Any
}

// fitUnbacked says whether a number that is not known may be passed as t: as any number of its kind
// may.
func fitUnbacked(u Unbacked, t *schema.Type, convert bool) (any, bool) {
	for t.Kind == schema.Optional {
		t = t.Elems[0]
	}
	switch {
	case u.Kind == schema.Any:
		return u, true
	case t.Kind == schema.List:
		return fitList(u, t, convert)
	}
	v, ok := fit(u.hint(1), t, convert)
	if kind := NumberKind(v); kind != u.Kind {
		return NewUnbacked(u.Origin, kind), ok
	}
	return u, ok
}

// ReadsTensor says whether a call on the host reads a number off a tensor.
func ReadsTensor(c *Call) bool {
	return slices.ContainsFunc(c.Args, func(v any) bool { _, ok := v.(*tensor.Tensor); return ok })
}
