package create

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::blackman_window":   ops.Always("steps of the operator"),
	"aten::kaiser_window":     ops.Always("steps of the operator"),
	"aten::_fused_dropout":    ops.Always("steps of the operator"),
	"aten::native_dropout":    ops.Always("steps of the operator"),
	"aten::multinomial":       ops.Always("steps of the operator"),
	"aten::normal":            ops.Always("steps of the operator"),
	"aten::randperm":          ops.Always("steps of the operator"),
	"aten::_lazy_clone":       ops.Always("steps of the operator"),
	"aten::rrelu":             ops.OfStrided("copies of its operands"),
	"aten::rrelu_":            ops.OfStrided("copies of its operands"),
	"aten::rrelu_with_noise":  ops.OfStrided("copies of its operands"),
	"aten::rrelu_with_noise_": ops.OfStrided("copies of its operands"),
}
