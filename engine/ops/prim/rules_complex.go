package prim

import (
	"math/cmplx"

	"github.com/memspec/memspec/engine/ops"
)

// complexRules are the operators on Python's complex numbers
// (torch/csrc/jit/runtime/register_prim_ops.cpp, over std::complex).
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
	{Schema: "aten::add.$1($2 a, complex b) -> complex", For: "complex:complex int_complex:int", Host: addHost},
	{Schema: "aten::add.$1_$2($1 a, $2 b) -> complex", For: "complex:int float:complex complex:float", Host: addHost},
	{Schema: "aten::sub.$1($2 a, complex b) -> complex", For: "complex:complex int_complex:int", Host: subNum},
	{Schema: "aten::sub.$1_$2($1 a, $2 b) -> complex", For: "complex:int float:complex complex:float", Host: subNum},
	{Schema: "aten::mul.$1($2 a, complex b) -> complex", For: "complex:complex int_complex:int", Host: mulHost},
	{Schema: "aten::mul.$1_$2($1 a, $2 b) -> complex", For: "complex:int float:complex complex:float", Host: mulHost},
	{Schema: "aten::div.complex(complex a, complex b) -> complex", Host: divNum},
	{Schema: "aten::pow.$1($2 a, complex b) -> complex", For: "complex:complex float_complex:float", Host: powNum},
	{Schema: "aten::pow.complex_float(complex a, float b) -> complex", Host: powNum},
	{Schema: "aten::log.$1_complex($1 a, complex b) -> complex", For: "complex int", Host: logNum},
	{Schema: "aten::log.$1_$2($1 a, $2 b) -> complex", For: "complex:int float:complex complex:float", Host: logNum},
	{Schema: "aten::eq.complex(complex a, complex b) -> bool", Host: compareHost("eq")},
	{Schema: "aten::eq.$1_$2($1 a, $2 b) -> bool", For: "float:complex complex:float", Host: compareHost("eq")},
	{Schema: "aten::ne.complex(complex a, complex b) -> bool", Host: compareHost("ne")},
	{Schema: "aten::ne.$1_$2($1 a, $2 b) -> bool", For: "float:complex complex:float", Host: compareHost("ne")},
	{Schema: "aten::isnan.complex(complex a) -> bool", Host: isnanNum},
	{Schema: "aten::isinf.complex(complex a) -> bool", Host: isinfNum},
	{Schema: "aten::isfinite.complex(complex a) -> bool", Host: isfiniteNum},
	{Schema: "prim::abs.complex(complex a) -> float", Host: absNum},
	{Schema: "aten::angle.$1($1 a) -> $2", For: "int:float float:float complex:float Scalar:Scalar", Host: angleNum},
	{Schema: "aten::polar.$1($1 a, $1 b) -> complex", For: "int float", Host: polarNum},
	{Schema: "aten::polar.$1_$2($1 a, $2 b) -> complex", For: "int:float float:int", Host: polarNum},
	{Schema: "aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", Host: polarNum},
	{Schema: "aten::sum.complex(complex[] self) -> complex", Host: sumComplex},
}
