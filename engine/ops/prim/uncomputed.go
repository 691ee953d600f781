package prim

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
)

// uncomputedRules are operators whose results are not computed: complex numbers of Python, and
// parts of its strings. No size is known to depend on them; one that does is as unknown as a
// tensor's data (torch/csrc/jit/runtime/register_prim_ops.cpp, register_string_ops.cpp).
var uncomputedRules = []ops.Rule{
	{Schema: "aten::$1.complex(complex a) -> complex",
		For: "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh neg", Host: unknown},
	{Schema: "aten::$1.complex(complex a, complex b) -> complex", For: "add sub mul div pow", Host: unknown},
	{Schema: "aten::$1.int_complex(int a, complex b) -> complex", For: "add sub mul", Host: unknown},
	{Schema: "aten::$1.complex_int(complex a, int b) -> complex", For: "add sub mul", Host: unknown},
	{Schema: "aten::$1.float_complex(float a, complex b) -> complex", For: "add sub mul pow", Host: unknown},
	{Schema: "aten::$1.complex_float(complex a, float b) -> complex", For: "add sub mul pow", Host: unknown},
	{Schema: "aten::log.complex_complex(complex a, complex b) -> complex", Host: unknown},
	{Schema: "aten::log.$1_$2($1 a, $2 b) -> complex",
		For: "int:complex complex:int float:complex complex:float", Host: unknown},
	{Schema: "aten::$1.complex(complex a, complex b) -> bool", For: "eq ne", Host: unknown},
	{Schema: "aten::$1.float_complex(float a, complex b) -> bool", For: "eq ne", Host: unknown},
	{Schema: "aten::$1.complex_float(complex a, float b) -> bool", For: "eq ne", Host: unknown},
	{Schema: "aten::$1.complex(complex a) -> bool", For: "isnan isinf isfinite", Host: unknown},
	{Schema: "prim::abs.complex(complex a) -> float", Host: unknown},
	{Schema: "aten::angle.$1($1 a) -> $2", For: "int:float float:float complex:float Scalar:Scalar", Host: unknown},
	{Schema: "aten::polar.$1($1 a, $1 b) -> complex", For: "int float", Host: unknown},
	{Schema: "aten::polar.$1_$2($1 a, $2 b) -> complex", For: "int:float float:int", Host: unknown},
	{Schema: "aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", Host: unknown},
	{Schema: "aten::sum.complex(complex[] self) -> complex", Host: unknown},
	{Schema: "aten::$1(str self) -> str", For: "capitalize swapcase title", Host: unknown},
	{Schema: "aten::$1(str self, int width, str fillchar=\" \") -> str", For: "center ljust rjust", Host: unknown},
	{Schema: "aten::zfill(str self, int width) -> str", Host: unknown},
	{Schema: "aten::expandtabs(str self, int tabsize=8) -> str", Host: unknown},
	{Schema: "aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", Host: unknown},
	{Schema: "aten::splitlines(str self, bool keepends=False) -> str[]", Host: unknown},
	{Schema: "aten::percentFormat(str self, ...) -> str", Host: unknown},
	{Schema: "aten::ord(str string) -> int", Host: unknown},
	{Schema: "aten::$1(int i) -> str", For: "chr hex oct bin", Host: unknown},
	{Schema: "aten::$1(str self) -> bool",
		For:  "isalnum isalpha isdecimal isdigit isnumeric isspace isupper islower isprintable isidentifier istitle",
		Host: unknown},
}

// unknown is a result that is not computed.
func unknown(c *ops.Call) (any, error) {
	return ops.NewUnbacked(c.Schema.Name, ops.KindOf(c.Schema.Returns[0].Type)), nil
}

func isComplex(v any) bool {
	_, ok := v.(complex128)
	return ok
}

// ofReals are rules on numbers of which what a complex one gives is not computed.
func ofReals(rules []ops.Rule) []ops.Rule {
	for i := range rules {
		host := rules[i].Host
		rules[i].Host = func(c *ops.Call) (any, error) {
			if slices.ContainsFunc(c.Args, isComplex) {
				return unknown(c)
			}
			return host(c)
		}
	}
	return rules
}
