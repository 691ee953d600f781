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
	"aten::native_batch_norm":                   ofOtherLayouts,
	"aten::cross_entropy_loss":                  ofSmoothedMean,
	"aten::im2col":                              ofFewerColumns,
	"aten::slow_conv_transpose2d":               ofCopiedTwice,
	"aten::slow_conv_transpose3d":               ofCopiedTwice,
	"aten::_native_batch_norm_legit_functional": ops.Always("the order of its results, and sums of channels last"),
	"aten::convolution":                         ops.OfComplex("the three convolutions that a complex one is"),
	"aten::_convolution":                        ops.OfComplex("the three convolutions that a complex one is"),
}

func ofOtherLayouts(c *ops.Call) string {
	x := c.T("input")
	switch format := x.SuggestFormat(); {
	case c.Bool("training") && format != tensor.Contiguous:
		return "the sums of channels last"
	case !x.IsFormat(format) && (c.T("weight") == nil || c.T("bias") == nil):
		return "what stands for a weight and a bias that are absent"
	}
	return ""
}

// ofSmoothedMean is of class weights: those of the targets that count are chosen by their values.
func ofSmoothedMean(c *ops.Call) string {
	if c.Float("label_smoothing") > 0 && c.T("weight") != nil && c.Int("reduction") == reduceMean &&
		!c.T("target").DType.Floating() {
		return "the weights of the targets that count"
	}
	return ""
}

func ofFewerColumns(c *ops.Call) string {
	if m, err := im2col(c); err == nil && m[0].NBytes() < c.Self().NBytes() {
		return "the memory of its input, which its result keeps"
	}
	return ""
}

func ofCopiedTwice(c *ops.Call) string {
	if !c.Self().IsContiguous() {
		return "the copy of its input while the result is made"
	}
	return ""
}
