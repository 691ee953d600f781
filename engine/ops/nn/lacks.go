package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::l1_loss":                             ops.OfComplex("the parts of a complex absolute value"),
	"aten::multilabel_margin_loss":              ops.Always("copies of what does not lie row by row"),
	"aten::_embedding_bag_dense_backward":       ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_softmax_backward_data":              ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_log_softmax_backward_data":          ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_bicubic2d_aa_backward":     ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_bilinear2d_aa_backward":    ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_nearest_exact1d_backward":  ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_nearest_exact2d_backward":  ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_nearest_exact3d_backward":  ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_bicubic2d_backward":         ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_bilinear2d_backward":        ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_nearest1d_backward":         ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_nearest2d_backward":         ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_nearest3d_backward":         ops.Always("copies and sorts of a gradient's kernel"),
	"aten::native_group_norm_backward":          ops.Always("copies and sorts of a gradient's kernel"),
	"aten::embedding_dense_backward":            ops.Always("copies and sorts of a gradient's kernel"),
	"aten::renorm":                              ops.Always("the norms, in float"),
	"aten::renorm_":                             ops.Always("the norms, in float"),
	"aten::embedding_renorm":                    ops.Always("the norms, in float"),
	"aten::embedding_renorm_":                   ops.Always("the norms, in float"),
	"aten::affine_grid_generator":               ops.Always("parts of the operator"),
	"aten::cdist":                               ops.Always("parts of the operator"),
	"aten::max_unpool2d":                        ops.Always("parts of the operator"),
	"aten::max_unpool3d":                        ops.Always("parts of the operator"),
	"aten::native_batch_norm":                   ofTrainingChannelsLast,
	"aten::_native_batch_norm_legit_functional": ops.Always("the order of its results, and sums of channels last"),
	"aten::convolution":                         ops.OfComplex("the three convolutions that a complex one is"),
	"aten::_convolution":                        ops.OfComplex("the three convolutions that a complex one is"),
}

func ofTrainingChannelsLast(c *ops.Call) string {
	if c.Bool("training") && c.T("input").SuggestFormat() != tensor.Contiguous {
		return "the sums of channels last"
	}
	return ""
}
