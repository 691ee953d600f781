package prim

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
)

// Python's arithmetic on ints, floats and bools, as TorchScript has it.

func isInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

var errZeroDivision = errors.New("integer division by zero")

// both applies fi to two ints, else ff to two floats; a schema that returns a float gets one.
func both(c *ops.Call, fi func(a, b int64) (int64, error), ff func(a, b float64) float64) (any, error) {
	a, ok1 := isInt(c.Args[0])
	b, ok2 := isInt(c.Args[1])
	if ok1 && ok2 && fi != nil && c.Schema.Returns[0].Type.Kind != schema.Float {
		n, err := fi(a, b)
		if err != nil {
			return nil, c.Errorf("%v", err)
		}
		return n, nil
	}
	return ff(ops.AsFloat(c.Args[0]), ops.AsFloat(c.Args[1])), nil
}

// addNum and mulNum wrap at 64 bits, as TorchScript's ints do.
func addNum(a, b int64) (int64, error) { return a + b, nil }

func mulNum(a, b int64) (int64, error) { return a * b, nil }

func subNum(c *ops.Call) (any, error) {
	return both(c, func(a, b int64) (int64, error) {
		return a - b, nil
	}, func(a, b float64) float64 { return a - b })
}

func addHost(c *ops.Call) (any, error) {
	switch a := c.Args[0].(type) {
	case string:
		b := c.Str("b")
		if len(a)+len(b) > maxString {
			return nil, c.Errorf("got a string of more than %d bytes", maxString)
		}
		return a + b, nil
	case *ops.List:
		b, ok := c.Args[1].(*ops.List)
		if !ok {
			return ops.NewUnbacked(c.Schema.Name, schema.Any), nil
		}
		if len(a.Items)+len(b.Items) > maxItems {
			return nil, c.Errorf("got a list of more than %d items", maxItems)
		}
		items := append(append(make([]any, 0, len(a.Items)+len(b.Items)), a.Items...), b.Items...)
		l := c.List(a.Elem, items...)
		if len(a.Items) == 0 {
			l.Elem = b.Elem
		}
		return l, nil
	}
	return both(c, addNum, func(a, b float64) float64 { return a + b })
}

func mulHost(c *ops.Call) (any, error) {
	a, b := c.Args[0], c.Args[1]
	if l, ok := b.(*ops.List); ok {
		a, b = l, a
	}
	if l, ok := a.(*ops.List); ok {
		n, _ := isInt(b)
		return repeatList(c, l, n)
	}
	return both(c, mulNum, func(a, b float64) float64 { return a * b })
}

// maxItems bounds what one host operator may build.
const maxItems = 1 << 22

func repeatList(c *ops.Call, l *ops.List, n int64) (any, error) {
	if n > 0 && int64(len(l.Items)) > maxItems/n {
		return nil, c.Errorf("got a list of more than %d items", maxItems)
	}
	var items []any
	for range max(n, 0) {
		items = append(items, l.Items...)
	}
	return c.List(l.Elem, items...), nil
}

func divNum(c *ops.Call) (any, error) {
	return ops.AsFloat(c.Args[0]) / ops.AsFloat(c.Args[1]), nil
}

func floordivNum(c *ops.Call) (any, error) {
	return both(c, func(a, b int64) (int64, error) {
		if b == 0 {
			return 0, errZeroDivision
		}
		return ops.DivFloor(a, b), nil
	}, func(a, b float64) float64 { return math.Floor(a / b) })
}

func truncdivNum(c *ops.Call) (any, error) {
	return both(c, func(a, b int64) (int64, error) {
		if b == 0 {
			return 0, errZeroDivision
		}
		return a / b, nil
	}, func(a, b float64) float64 { return math.Trunc(a / b) })
}

func floatMod(a, b float64) float64 {
	return math.Mod(math.Mod(a, b)+b, b)
}

func remainderNum(c *ops.Call) (any, error) {
	return both(c, func(a, b int64) (int64, error) {
		if b == 0 {
			return 0, errZeroDivision
		}
		return a - ops.DivFloor(a, b)*b, nil
	}, floatMod)
}

func fmodNum(c *ops.Call) (any, error) {
	return math.Mod(ops.AsFloat(c.Args[0]), ops.AsFloat(c.Args[1])), nil
}

func powNum(c *ops.Call) (any, error) {
	if ops.AsFloat(c.Args[0]) == 0 && ops.AsFloat(c.Args[1]) < 0 {
		return nil, c.Errorf("got 0 to the power of %v, want no power below 0", c.Args[1])
	}
	return both(c, func(a, b int64) (int64, error) {
		if b < 0 {
			return 0, nil
		}
		n := int64(1)
		for ; b > 0; b >>= 1 {
			if b&1 != 0 {
				n *= a
			}
			a *= a
		}
		return n, nil
	}, math.Pow)
}

func divmodNum(c *ops.Call) (any, error) {
	a, ok1 := isInt(c.Args[0])
	b, ok2 := isInt(c.Args[1])
	if ok1 && ok2 {
		if b == 0 {
			return nil, c.Errorf("%v", errZeroDivision)
		}
		q := ops.DivFloor(a, b)
		return c.Tuple(q, a-q*b), nil
	}
	x, y := ops.AsFloat(c.Args[0]), ops.AsFloat(c.Args[1])
	if y == 0 {
		return nil, c.Errorf("float divmod by zero")
	}
	r := floatMod(x, y)
	return c.Tuple((x-r)/y, r), nil
}

func gcdNum(c *ops.Call) (any, error) {
	a, _ := isInt(c.Args[0])
	b, _ := isInt(c.Args[1])
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		a = -a
	}
	return a, nil
}

func bitwiseNum(c *ops.Call, f func(a, b int64) int64) (any, error) {
	a, _ := isInt(c.Args[0])
	b, _ := isInt(c.Args[1])
	n := f(a, b)
	if _, isBool := c.Args[0].(bool); isBool {
		return n != 0, nil
	}
	return n, nil
}

func andNum(c *ops.Call) (any, error) { return bitwiseNum(c, func(a, b int64) int64 { return a & b }) }

func orNum(c *ops.Call) (any, error) { return bitwiseNum(c, func(a, b int64) int64 { return a | b }) }

func xorNum(c *ops.Call) (any, error) { return bitwiseNum(c, func(a, b int64) int64 { return a ^ b }) }

func lshiftNum(c *ops.Call) (any, error) {
	return bitwiseNum(c, func(a, b int64) int64 { return a << uint64(b&63) })
}

func rshiftNum(c *ops.Call) (any, error) {
	return bitwiseNum(c, func(a, b int64) int64 { return a >> uint64(b&63) })
}

func negNum(c *ops.Call) (any, error) {
	if n, ok := isInt(c.Args[0]); ok {
		return -n, nil
	}
	return -ops.AsFloat(c.Args[0]), nil
}

func absNum(c *ops.Call) (any, error) {
	if n, ok := isInt(c.Args[0]); ok {
		return max(n, -n), nil
	}
	return math.Abs(ops.AsFloat(c.Args[0])), nil
}

// whole is f of a number as an int, by way of a float as in PyTorch.
func whole(c *ops.Call, f func(float64) float64) (any, error) {
	x := f(ops.AsFloat(c.Args[0]))
	if math.IsNaN(x) || x < -1<<63 || x >= 1<<63 {
		return nil, c.Errorf("got %v, want a number that fits an int", x)
	}
	return int64(x), nil
}

func ceilNum(c *ops.Call) (any, error) { return whole(c, math.Ceil) }

func floorNum(c *ops.Call) (any, error) { return whole(c, math.Floor) }

// roundNum is a float, whatever it is given.
func roundNum(c *ops.Call) (any, error) { return math.RoundToEven(ops.AsFloat(c.Args[0])), nil }

// floatIs says whether f holds for a float.
func floatIs(f func(float64) bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return f(ops.AsFloat(c.Args[0])), nil }
}

func isInfinite(x float64) bool { return math.IsInf(x, 0) }

func isFinite(x float64) bool { return !math.IsNaN(x) && !isInfinite(x) }

func factorialNum(c *ops.Call) (any, error) {
	n, _ := isInt(c.Args[0])
	if n < 0 || n > 20 {
		return nil, c.Errorf("got %d, want an int of 0 to 20", n)
	}
	f := int64(1)
	for i := int64(2); i <= n; i++ {
		f *= i
	}
	return f, nil
}

func math1(f func(float64) float64) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return f(ops.AsFloat(c.Args[0])), nil }
}

func math2(f func(a, b float64) float64) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return f(ops.AsFloat(c.Args[0]), ops.AsFloat(c.Args[1])), nil }
}

func logNum(c *ops.Call) (any, error) {
	if len(c.Args) == 2 {
		return math.Log(ops.AsFloat(c.Args[0])) / math.Log(ops.AsFloat(c.Args[1])), nil
	}
	return math.Log(ops.AsFloat(c.Args[0])), nil
}

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

func degrees(x float64) float64 { return x * 180 / math.Pi }

func radians(x float64) float64 { return x * math.Pi / 180 }

func modfNum(c *ops.Call) (any, error) {
	x := ops.AsFloat(c.Args[0])
	if math.IsInf(x, 0) {
		return c.Tuple(math.Copysign(0, x), x), nil
	}
	i, f := math.Modf(x)
	return c.Tuple(f, i), nil
}

func frexpNum(c *ops.Call) (any, error) {
	f, e := math.Frexp(ops.AsFloat(c.Args[0]))
	return c.Tuple(f, int64(e)), nil
}

// compareValues orders two host values: ok is false where they cannot be ordered (then only
// equality means something).
func compareValues(a, b any) (order int, equal, ok bool) {
	if x, isStr := a.(string); isStr {
		y, _ := b.(string)
		return cmp.Compare(x, y), x == y, true
	}
	if x, isA := isInt(a); isA {
		if y, isB := isInt(b); isB {
			return cmp.Compare(x, y), x == y, true
		}
	}
	if isComplex(a) || isComplex(b) {
		return 0, a == b, false
	}
	if ops.IsScalar(a) && ops.IsScalar(b) {
		x, y := ops.AsFloat(a), ops.AsFloat(b)
		if math.IsNaN(x) || math.IsNaN(y) {
			return 2, false, true // no order holds
		}
		return cmp.Compare(x, y), x == y, true
	}
	if x, isList := a.(*ops.List); isList {
		y, _ := b.(*ops.List)
		if y == nil || len(x.Items) != len(y.Items) {
			return 0, false, false
		}
		for i := range x.Items {
			if _, eq, _ := compareValues(x.Items[i], y.Items[i]); !eq {
				return 0, false, false
			}
		}
		return 0, true, false
	}
	return 0, a == b, false
}

// compareHost is a comparison of numbers, strings, devices and lists.
func compareHost(op string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		order, equal, ok := compareValues(c.Args[0], c.Args[1])
		if d, isDev := c.Args[0].(ops.Device); isDev {
			e, _ := c.Args[1].(ops.Device)
			order, equal, ok = 0, d == e, true
		}
		switch op {
		case "eq":
			return equal, nil
		case "ne":
			return !equal, nil
		}
		if !ok {
			return nil, c.Errorf("got %s and %s, want numbers or strings", ops.TypeName(c.Args[0]),
				ops.TypeName(c.Args[1]))
		}
		switch op {
		case "lt":
			return order == -1, nil
		case "le":
			return order == -1 || equal, nil
		case "gt":
			return order == 1, nil
		}
		return order == 1 || equal, nil
	}
}

// indexOf is a device's index, "" for one without.
func indexOf(d ops.Device) string {
	if k := d.Kind(); len(k) < len(d) {
		return string(d[len(k)+1:])
	}
	return ""
}

// extremeNum is max (sign 1) or min (-1) of two numbers, of a list, or of two lists by order of
// their items.
func extremeNum(sign int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		if l, ok := c.Args[0].(*ops.List); ok && len(c.Args) == 1 {
			if len(l.Items) == 0 {
				return nil, c.Errorf("got an empty list, want items")
			}
			best := l.Items[0]
			for _, v := range l.Items[1:] {
				if o, _, _ := compareValues(v, best); o == sign {
					best = v
				}
			}
			return best, nil
		}
		a, b := c.Args[0], c.Args[1]
		if l, ok := a.(*ops.List); ok {
			r, _ := b.(*ops.List)
			if o := compareLists(l, r); o == -sign {
				return r, nil
			}
			return l, nil
		}
		best := a
		if o, _, _ := compareValues(b, a); o == sign {
			best = b
		}
		if c.Schema.Returns[0].Type.Kind == schema.Float {
			return ops.AsFloat(best), nil
		}
		return best, nil
	}
}

// compareLists orders lists by their first items that differ, then by length.
func compareLists(a, b *ops.List) int {
	return slices.CompareFunc(a.Items, b.Items, func(x, y any) int {
		order, _, _ := compareValues(x, y)
		return order
	})
}
