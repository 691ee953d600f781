package pointwise

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::isclose":              ops.Always("copies that its parts make"),
	"aten::isin":                 ofSorts,
	"aten::ldexp":                ops.Always("copies that its parts make"),
	"aten::ldexp_":               ops.Always("copies that its parts make"),
	"aten::mvlgamma":             ops.Always("copies that its parts make"),
	"aten::mvlgamma_":            ops.Always("copies that its parts make"),
	"aten::special_multigammaln": ops.Always("copies that its parts make"),
	"aten::_foreach_max":         ops.Always("copies that its parts make"),
	"aten::_foreach_mm":          ops.Always("copies that its parts make"),
	"aten::_foreach_norm":        ops.Always("copies that its parts make"),
	"aten::_foreach_pow":         ops.Always("copies that its parts make"),
	"aten::_foreach_powsum":      ops.Always("copies that its parts make"),
	"aten::abs":                  ops.OfComplex("a copy of a complex operand"),
	"aten::angle":                ops.OfComplex("a copy of a complex operand"),
	"aten::isinf":                ops.OfComplex("a copy of a complex operand"),
}
