package attention

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::_transformer_encoder_layer_fwd": ops.OfStrided("copies of its operands"),
}
