package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// lacks is what these operators take on a device that their rules do not tell: testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::binary_cross_entropy":                ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::binary_cross_entropy_with_logits":    ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::huber_loss":                          ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::l1_loss":                             ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::mse_loss":                            ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::smooth_l1_loss":                      ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::soft_margin_loss":                    ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::multi_margin_loss":                   ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::multilabel_margin_loss":              ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
	"aten::nll_loss_nd":                         ops.Always("the storage of all elements that a mean or sum of them keeps, and sums that lie otherwise"),
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
