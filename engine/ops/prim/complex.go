package prim

import (
	"math"
	"math/cmplx"

	"github.com/memspec/memspec/engine/ops"
)

func isComplex(v any) bool {
	_, ok := v.(complex128)
	return ok
}

func toComplex(v any) complex128 {
	if z, ok := v.(complex128); ok {
		return z
	}
	return complex(ops.AsFloat(v), 0)
}

func complex1(f func(complex128) complex128) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return f(toComplex(c.Args[0])), nil }
}

// log10Complex is std::log10: the logarithm over that of 10.
func log10Complex(z complex128) complex128 {
	w := cmplx.Log(z)
	return complex(real(w)/math.Ln10, imag(w)/math.Ln10)
}

// complex2 applies f where one of two numbers is complex.
func complex2(c *ops.Call, f func(a, b complex128) complex128) (any, bool) {
	if len(c.Args) < 2 || !isComplex(c.Args[0]) && !isComplex(c.Args[1]) {
		return nil, false
	}
	return f(toComplex(c.Args[0]), toComplex(c.Args[1])), true
}

func addComplex(a, b complex128) complex128 { return a + b }

func subComplex(a, b complex128) complex128 { return a - b }

func mulComplex(a, b complex128) complex128 { return a * b }

func divComplex(a, b complex128) complex128 { return a / b }

func logComplex(a, b complex128) complex128 { return cmplx.Log(a) / cmplx.Log(b) }

func angleNum(c *ops.Call) (any, error) {
	return cmplx.Phase(toComplex(c.Args[0])), nil
}

func polarNum(c *ops.Call) (any, error) {
	sin, cos := math.Sincos(ops.AsFloat(c.Args[1]))
	return complex(ops.AsFloat(c.Args[0])*cos, ops.AsFloat(c.Args[0])*sin), nil
}

func sumComplex(c *ops.Call) (any, error) {
	sum := complex128(0)
	l, _ := c.Args[0].(*ops.List)
	for _, v := range l.Items {
		sum += toComplex(v)
	}
	return sum, nil
}
