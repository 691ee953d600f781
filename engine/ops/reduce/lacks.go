package reduce

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::corrcoef":       ops.OfComplex("the parts of complex correlations"),
	"aten::cumprod":        ofStridedInto,
	"aten::cumprod_":       ops.OfStrided("a copy beside the result"),
	"aten::cumsum":         ofStridedInto,
	"aten::cumsum_":        ops.OfStrided("a copy beside the result"),
	"aten::mode":           ofLongRows,
	"aten::norm":           ofStridedCast,
	"aten::prod":           ofStridedInto,
	"aten::segment_reduce": ofLengths,
}

func ofLengths(c *ops.Call) string {
	if c.T("lengths") != nil {
		return "the offsets that it makes of lengths, and their sums"
	}
	return ops.OfStrided("copies of its operands")(c)
}

func ofStridedInto(c *ops.Call) string {
	if c.T("out") != nil {
		return ops.OfStrided("a copy beside the result")(c)
	}
	return ""
}

func ofStridedCast(c *ops.Call) string {
	if c.Has("dtype") {
		return ops.OfStrided("a copy in the result's dtype")(c)
	}
	return ""
}

// ofLongRows is mode_kernel_impl's limit of what one block of threads sorts.
func ofLongRows(c *ops.Call) string {
	x := c.Self()
	if d, err := c.WrapDim(c.Int("dim"), len(x.Sizes)); err == nil && len(x.Sizes) > 0 && x.Sizes[d] > 2048 {
		return "the sorts of a row of more than 2048 elements"
	}
	return ""
}
