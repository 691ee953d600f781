package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::l1_loss":                              ops.OfComplex("the parts of a complex absolute value"),
	"aten::multilabel_margin_loss":               ops.Always("copies of what does not lie row by row"),
	"aten::_embedding_bag_dense_backward":        ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_softmax_backward_data":               ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_log_softmax_backward_data":           ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_bicubic2d_aa_backward":      ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_bilinear2d_aa_backward":     ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_nearest_exact1d_backward":   ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_nearest_exact2d_backward":   ops.Always("copies and sorts of a gradient's kernel"),
	"aten::_upsample_nearest_exact3d_backward":   ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_bicubic2d_backward":          ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_bilinear2d_backward":         ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_nearest1d_backward":          ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_nearest2d_backward":          ops.Always("copies and sorts of a gradient's kernel"),
	"aten::upsample_nearest3d_backward":          ops.Always("copies and sorts of a gradient's kernel"),
	"aten::native_group_norm_backward":           ops.Always("copies and sorts of a gradient's kernel"),
	"aten::embedding_dense_backward":             ops.Always("copies and sorts of a gradient's kernel"),
	"aten::renorm":                               ops.Always("the norms, in float"),
	"aten::renorm_":                              ops.Always("the norms, in float"),
	"aten::embedding_renorm":                     ops.Always("the norms, in float"),
	"aten::embedding_renorm_":                    ops.Always("the norms, in float"),
	"aten::affine_grid_generator":                ops.Always("parts of the operator"),
	"aten::cdist":                                ops.Always("parts of the operator"),
	"aten::_cdist_forward":                       ops.OfStrided("copies of its operands"),
	"aten::_conv_depthwise2d":                    ops.OfStrided("the order of its copies"),
	"aten::_euclidean_dist":                      ops.OfStrided("copies of its operands"),
	"aten::_adaptive_avg_pool2d_backward":        ofOtherFormats,
	"aten::_adaptive_avg_pool3d_backward":        ops.OfStrided("copies of its operands"),
	"aten::adaptive_max_pool2d_backward":         ofOtherFormats,
	"aten::adaptive_max_pool3d_backward":         ops.OfStrided("copies of its operands"),
	"aten::avg_pool2d_backward":                  ofOtherFormats,
	"aten::avg_pool3d_backward":                  ops.OfStrided("copies of its operands"),
	"aten::max_pool2d_with_indices_backward":     ofOtherFormats,
	"aten::max_pool3d_with_indices_backward":     ops.OfStrided("copies of its operands"),
	"aten::multilabel_margin_loss_forward":       ops.OfStrided("copies of its operands"),
	"aten::native_batch_norm_backward":           ofOtherFormats,
	"aten::native_layer_norm_backward":           ops.OfStrided("copies of its operands"),
	"aten::nll_loss_backward":                    ops.OfStrided("copies of its operands"),
	"aten::nll_loss2d_backward":                  ops.OfStrided("copies of its operands"),
	"aten::reflection_pad1d_backward":            ops.OfStrided("copies of its operands"),
	"aten::reflection_pad2d_backward":            ops.OfStrided("copies of its operands"),
	"aten::soft_margin_loss_backward":            ops.OfStrided("copies of its operands"),
	"aten::upsample_linear1d_backward":           ops.OfStrided("copies of its operands"),
	"aten::upsample_trilinear3d_backward":        ops.OfStrided("copies of its operands"),
	"torchvision::deform_conv2d":                 ops.OfStrided("copies of its operands"),
	"aten::_native_batch_norm_legit":             ofOtherLayouts,
	"aten::_native_batch_norm_legit_no_training": ofOtherLayouts,
	"aten::max_unpool2d":                         ops.Always("parts of the operator"),
	"aten::max_unpool3d":                         ops.Always("parts of the operator"),
	"aten::native_batch_norm":                    ofOtherLayouts,
	"aten::cross_entropy_loss":                   ofSmoothedMean,
	"aten::im2col":                               ofFewerColumns,
	"aten::slow_conv_transpose2d":                ofCopiedTwice,
	"aten::slow_conv_transpose3d":                ofCopiedTwice,
	"aten::_native_batch_norm_legit_functional":  ops.Always("the order of its results, and sums of channels last"),
	"aten::convolution":                          ofConvolution,
	"aten::_convolution":                         ofConvolution,
}

func ofOtherLayouts(c *ops.Call) string {
	x := c.T("input")
	switch format := x.SuggestFormat(); {
	case c.Schema.ArgIndex("training") >= 0 && c.Bool("training") && format != tensor.Contiguous:
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

// ofConvolution is of complex tensors, and of weights that lie otherwise where each channel has its
// filter or there is no input.
func ofConvolution(c *ops.Call) string {
	x, w := c.T("input"), c.T("weight")
	if apart := len(w.Sizes) > 1 && w.Sizes[1] == 1; !w.IsFormat(w.SuggestFormat()) && (apart || x.Numel() == 0) {
		return "a copy of its weight"
	}
	return ops.OfComplex("the three convolutions that a complex one is")(c)
}

// ofOtherFormats is of tensors that lie neither row by row nor channels last.
func ofOtherFormats(c *ops.Call) string {
	for _, t := range c.Operands() {
		if t != nil && !t.IsFormat(t.SuggestFormat()) {
			return "copies of its operands"
		}
	}
	return ""
}
