package nn

import (
	"github.com/memspec/memspec/engine/ops"
)

// visionRules are torchvision's operators (torchvision/csrc/ops).
var visionRules = []ops.Rule{
	{Schema: "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", Out: nms,
		Workspace: nmsWorkspace},
	{Schema: "torchvision::qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", Out: nms},
	{Schema: "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
		Out: regions(false, false), Workspace: contiguousInputs},
	{Schema: "torchvision::qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
		Out: regions(false, false)},
	{Schema: "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
		Out: regions(true, false), Workspace: contiguousInputs},
	{Schema: "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
		Out: regions(true, true), Workspace: contiguousInputs},
	{Schema: "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
		Out: regions(true, true), Workspace: contiguousInputs},
	{Schema: "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
		Out: deformConv, Workspace: deformWorkspace},
	{Schema: "torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor", Out: boxIOU},
	{Schema: "torchvision::_cuda_version() -> int", Host: cudaVersion},
}
