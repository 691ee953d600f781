package attention

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// attentionBackend is select_sdp_backend: the first backend in the release's order whose checks pass (native/transformers/cuda/sdp_utils.cpp).
func attentionBackend(c *ops.Call, q, k, v *tensor.Tensor) platform.SDPABackend {
	if !ops.OnCUDA(q) || !c.OK() {
		return platform.SDPAMath
	}
	for _, b := range c.Platform().SDPAOrder() {
		ok := false
		switch b {
		case platform.SDPAFlash:
			ok = flashTakes(c, q, k, v)
		case platform.SDPAEfficient:
			ok = efficientTakes(c, q, k, v)
		case platform.SDPACuDNN:
			ok = cudnnTakes(c, q, k, v)
		default:
			ok = true
		}
		if ok {
			return b
		}
	}
	return platform.SDPAMath
}

func halfType(d tensor.DType) bool { return d == tensor.Float16 || d == tensor.BFloat16 }

// fourDims are the checks the fused backends share: batches alike, four dimensions, none of them empty, dense rows.
func fourDims(q, k, v *tensor.Tensor) bool {
	for _, t := range []*tensor.Tensor{q, k, v} {
		if len(t.Sizes) != 4 || t.Numel() == 0 {
			return false
		}
	}
	return q.Sizes[0] == k.Sizes[0] && q.Sizes[0] == v.Sizes[0] && k.Sizes[2] == v.Sizes[2] && gapless(q, k, v)
}

// heads says whether query heads match key and value heads, or are a multiple of them where gqa is on.
func heads(q, k, v *tensor.Tensor, gqa bool) bool {
	hq, hk, hv := q.Sizes[1], k.Sizes[1], v.Sizes[1]
	if gqa {
		return hk == hv && hq%hk == 0
	}
	return hq == hk && hq == hv
}

func flashTakes(c *ops.Call, q, k, v *tensor.Tensor) bool {
	cap := c.Platform().Device.ComputeCapability
	if !fourDims(q, k, v) || !heads(q, k, v, c.Bool("enable_gqa")) || !halfType(q.DType) || c.T("attn_mask") != nil {
		return false
	}
	d := q.Sizes[3]
	return cap.AtLeast(8, 0) && cap.SM() <= 121 && k.Sizes[3] == d && v.Sizes[3] == d && d <= 256 &&
		(!c.Bool("is_causal") || q.Sizes[2] == k.Sizes[2])
}

func efficientTakes(c *ops.Call, q, k, v *tensor.Tensor) bool {
	cap := c.Platform().Device.ComputeCapability
	if !fourDims(q, k, v) || !heads(q, k, v, c.Bool("enable_gqa") && c.Platform().Release().EfficientGQA) || q.Sizes[3] != k.Sizes[3] || cap.SM() < 50 || cap.SM() > 121 {
		return false
	}
	align := int64(1)
	switch {
	case halfType(q.DType) && cap.AtLeast(7, 0):
		align = 8
	case q.DType == tensor.Float32 && cap.AtLeast(8, 0):
		align = 4
	}
	if q.DType != tensor.Float32 && q.DType != tensor.Float16 && (q.DType != tensor.BFloat16 || !cap.AtLeast(8, 0)) {
		return false
	}
	return q.Sizes[3]%align == 0 && v.Sizes[3]%align == 0
}

func cudnnTakes(c *ops.Call, q, k, v *tensor.Tensor) bool {
	p := c.Platform()
	cap := p.Device.ComputeCapability
	if !fourDims(q, k, v) || !heads(q, k, v, c.Bool("enable_gqa")) || !halfType(q.DType) || p.Deterministic || !cap.AtLeast(8, 0) || cap.SM() > 121 {
		return false
	}
	limit := int64(128)
	if cap.Major == 9 && cap.Minor == 0 && p.CuDNN.AtLeast(9, 10) {
		limit = 256
	}
	for _, d := range []int64{q.Sizes[3], v.Sizes[3]} {
		if d%8 != 0 || d > limit {
			return false
		}
	}
	if k.Sizes[2] == 1 || q.Sizes[2] == 1 && (c.Float("dropout_p") > 0 || p.CuDNNAttentionRefusesDecode()) {
		return false
	}
	return !p.Release().Torch.AtLeast(2, 13) || q.Sizes[0] <= 65535 && q.Sizes[1] <= 65535
}
