package nn

import (
	"github.com/memspec/memspec/engine/ops"
)

// padRules pad tensors and move pixels.
var padRules = []ops.Rule{
	{Schema: "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", Out: constantPad},
	{Schema: "aten::$1(Tensor self, SymInt[$2] padding) -> Tensor",
		For: "reflection_pad1d:2 reflection_pad2d:4 reflection_pad3d:6", Out: reflectPad, Workspace: padWorkspace},
	{Schema: "aten::$1(Tensor self, SymInt[$2] padding) -> Tensor",
		For: "replication_pad1d:2 replication_pad2d:4 replication_pad3d:6", Out: mirrorPad},
	{Schema: "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", Body: pad},
	{Schema: "aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor", Body: pad},
	{Schema: "aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", Body: padCircular},
	{Schema: "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", Out: pixelShuffle},
	{Schema: "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", Out: pixelUnshuffle},
	{Schema: "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", Out: channelShuffle},
	{Schema: "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", Out: channelShuffle},
	{Schema: "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", Body: gridSampler},
	{Schema: "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", Out: gridSample},
	{Schema: "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", Out: gridSample},
	{Schema: "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", Out: affineGrid,
		Workspace: affineGridWorkspace},
	{Schema: "aten::$1(Tensor grad_output, Tensor self, SymInt[$2] padding) -> Tensor",
		For: "reflection_pad1d_backward:2 reflection_pad2d_backward:4 reflection_pad3d_backward:6 " +
			"replication_pad1d_backward:2 replication_pad2d_backward:4 replication_pad3d_backward:6",
		Out: ops.FreshLikeArg("self")},
	{Schema: "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)", Out: gridGradients},
	{Schema: "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)", Out: gridGradients},
}
