package prim

import (
	"math"
	"math/cmplx"

	"github.com/memspec/memspec/engine/ops"
)

// complexRules are the operators on Python's complex numbers (torch/csrc/jit/runtime/register_prim_ops.cpp, over std::complex).
var complexRules = []ops.Rule{
	{Schema: "aten::acos.complex(complex a) -> complex", Host: complex1(cmplx.Acos)},
	{Schema: "aten::acosh.complex(complex a) -> complex", Host: complex1(cmplx.Acosh)},
	{Schema: "aten::asin.complex(complex a) -> complex", Host: complex1(cmplx.Asin)},
	{Schema: "aten::asinh.complex(complex a) -> complex", Host: complex1(cmplx.Asinh)},
	{Schema: "aten::atan.complex(complex a) -> complex", Host: complex1(cmplx.Atan)},
	{Schema: "aten::atanh.complex(complex a) -> complex", Host: complex1(cmplx.Atanh)},
	{Schema: "aten::cos.complex(complex a) -> complex", Host: complex1(cmplx.Cos)},
	{Schema: "aten::cosh.complex(complex a) -> complex", Host: complex1(cmplx.Cosh)},
	{Schema: "aten::exp.complex(complex a) -> complex", Host: complex1(cmplx.Exp)},
	{Schema: "aten::log.complex(complex a) -> complex", Host: complex1(cmplx.Log)},
	{Schema: "aten::log10.complex(complex a) -> complex", Host: complex1(log10Complex)},
	{Schema: "aten::sin.complex(complex a) -> complex", Host: complex1(cmplx.Sin)},
	{Schema: "aten::sinh.complex(complex a) -> complex", Host: complex1(cmplx.Sinh)},
	{Schema: "aten::sqrt.complex(complex a) -> complex", Host: complex1(cmplx.Sqrt)},
	{Schema: "aten::tan.complex(complex a) -> complex", Host: complex1(cmplx.Tan)},
	{Schema: "aten::tanh.complex(complex a) -> complex", Host: complex1(cmplx.Tanh)},
	{Schema: "aten::neg.complex(complex a) -> complex", Host: complex1(func(z complex128) complex128 { return -z })},
	{Schema: "aten::add.complex(complex a, complex b) -> complex", Host: addHost},
	{Schema: "aten::add.int_complex(int a, complex b) -> complex", Host: addHost},
	{Schema: "aten::add.complex_int(complex a, int b) -> complex", Host: addHost},
	{Schema: "aten::add.float_complex(float a, complex b) -> complex", Host: addHost},
	{Schema: "aten::add.complex_float(complex a, float b) -> complex", Host: addHost},
	{Schema: "aten::sub.complex(complex a, complex b) -> complex", Host: subNum},
	{Schema: "aten::sub.int_complex(int a, complex b) -> complex", Host: subNum},
	{Schema: "aten::sub.complex_int(complex a, int b) -> complex", Host: subNum},
	{Schema: "aten::sub.float_complex(float a, complex b) -> complex", Host: subNum},
	{Schema: "aten::sub.complex_float(complex a, float b) -> complex", Host: subNum},
	{Schema: "aten::mul.complex(complex a, complex b) -> complex", Host: mulHost},
	{Schema: "aten::mul.int_complex(int a, complex b) -> complex", Host: mulHost},
	{Schema: "aten::mul.complex_int(complex a, int b) -> complex", Host: mulHost},
	{Schema: "aten::mul.float_complex(float a, complex b) -> complex", Host: mulHost},
	{Schema: "aten::mul.complex_float(complex a, float b) -> complex", Host: mulHost},
	{Schema: "aten::div.complex(complex a, complex b) -> complex", Host: divNum},
	{Schema: "aten::pow.complex(complex a, complex b) -> complex", Host: powNum},
	{Schema: "aten::pow.float_complex(float a, complex b) -> complex", Host: powNum},
	{Schema: "aten::pow.complex_float(complex a, float b) -> complex", Host: powNum},
	{Schema: "aten::log.complex_complex(complex a, complex b) -> complex", Host: logNum},
	{Schema: "aten::log.int_complex(int a, complex b) -> complex", Host: logNum},
	{Schema: "aten::log.complex_int(complex a, int b) -> complex", Host: logNum},
	{Schema: "aten::log.float_complex(float a, complex b) -> complex", Host: logNum},
	{Schema: "aten::log.complex_float(complex a, float b) -> complex", Host: logNum},
	{Schema: "aten::eq.complex(complex a, complex b) -> bool", Host: compareHost("eq")},
	{Schema: "aten::eq.float_complex(float a, complex b) -> bool", Host: compareHost("eq")},
	{Schema: "aten::eq.complex_float(complex a, float b) -> bool", Host: compareHost("eq")},
	{Schema: "aten::ne.complex(complex a, complex b) -> bool", Host: compareHost("ne")},
	{Schema: "aten::ne.float_complex(float a, complex b) -> bool", Host: compareHost("ne")},
	{Schema: "aten::ne.complex_float(complex a, float b) -> bool", Host: compareHost("ne")},
	{Schema: "aten::isnan.complex(complex a) -> bool", Host: isnanNum},
	{Schema: "aten::isinf.complex(complex a) -> bool", Host: isinfNum},
	{Schema: "aten::isfinite.complex(complex a) -> bool", Host: isfiniteNum},
	{Schema: "prim::abs.complex(complex a) -> float", Host: absNum},
	{Schema: "aten::angle.int(int a) -> float", Host: angleNum},
	{Schema: "aten::angle.float(float a) -> float", Host: angleNum},
	{Schema: "aten::angle.complex(complex a) -> float", Host: angleNum},
	{Schema: "aten::angle.Scalar(Scalar a) -> Scalar", Host: angleNum},
	{Schema: "aten::polar.int(int a, int b) -> complex", Host: polarNum},
	{Schema: "aten::polar.float(float a, float b) -> complex", Host: polarNum},
	{Schema: "aten::polar.int_float(int a, float b) -> complex", Host: polarNum},
	{Schema: "aten::polar.float_int(float a, int b) -> complex", Host: polarNum},
	{Schema: "aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", Host: polarNum},
	{Schema: "aten::sum.complex(complex[] self) -> complex", Host: sumComplex},
}

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
