package index

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::_unsafe_masked_index_put_accumulate": ops.Always("the sort of positions"),
	"aten::masked_scatter_backward":             ops.Always("the sort of positions"),
	"aten::index_reduce":                        ops.Always("the sort of positions"),
	"aten::index_reduce_":                       ops.Always("the sort of positions"),
	"aten::scatter_reduce":                      ops.Always("the sort of positions"),
	"aten::scatter_reduce_":                     ops.Always("the sort of positions"),
	"aten::_unsafe_masked_index":                ops.Always("parts of the kernel"),
	"aten::masked_scatter":                      ops.OfStrided("copies of its operands"),
	"aten::masked_scatter_":                     ops.OfStrided("copies of its operands"),
	"aten::nonzero_static":                      ops.Always("parts of the kernel"),
}
