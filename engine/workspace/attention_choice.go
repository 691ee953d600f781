package workspace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// Attention is a scaled dot product attention of batch × heads × length × size.
type Attention struct {
	Query, Key, Value *tensor.Meta
	Mask              *tensor.Meta // nil for none
	Causal            bool
	Grouped           bool // enable_gqa: fewer heads of keys and values than of queries
	Dropout           float64
}

// Backend is select_sdp_backend: the first backend in the release's order whose checks pass
// (native/transformers/cuda/sdp_utils.cpp). It is an error where the run may choose from some alone
// and none of them takes the call.
func (a *Attention) Backend(p *platform.Platform) (platform.SDPABackend, error) {
	if !OnDevice(a.Query) || p.IsNone() {
		return platform.SDPAMath, nil
	}
	for _, b := range p.SDPAOrder() {
		if a.Takes(p, b) {
			return b, nil
		}
	}
	return platform.SDPAMath, fmt.Errorf("got query %v, key %v and value %v of %s, which none of %s takes on compute "+
		"capability %s: PyTorch refuses to run it (torch.nn.attention.sdpa_kernel)",
		a.Query.Sizes, a.Key.Sizes, a.Value.Sizes, a.Query.DType, strings.Join(p.Attention.Names(),
			", "), p.Device.ComputeCapability)
}

// Takes says whether a backend may be chosen and its checks pass.
func (a *Attention) Takes(p *platform.Platform, b platform.SDPABackend) bool {
	if !p.SDPAAllows(b) {
		return false
	}
	switch b {
	case platform.SDPAFlash:
		return a.flash(p)
	case platform.SDPAEfficient:
		return a.efficient(p)
	case platform.SDPACuDNN:
		return a.cudnn(p)
	}
	return true
}

func halfType(d tensor.DType) bool { return d == tensor.Float16 || d == tensor.BFloat16 }

// seenIn215 says that a release has what PyTorch 2.15 has and 2.11 has not: broadcast heads, limits
// of a kernel's grid, cuDNN's limits (testdata/aten/<torch>/choices); which release between them
// brought it is not settled.
func seenIn215(p *platform.Platform) bool { return p.Release().Torch.AtLeast(2, 15) }

// fourDims are the checks the fused backends share: batches alike, four dimensions, lengths and
// heads that are not empty, dense rows. A mask, as it was given, has dense rows too: one that is
// expanded along them has not (sdp_utils_cpp.h check_last_dim_stride_equals_1).
func (a *Attention) fourDims() bool {
	q, k, v := a.Query, a.Key, a.Value
	if m := a.Mask; m != nil && len(m.Sizes) > 0 && m.Strides[len(m.Strides)-1] != 1 {
		return false
	}
	for _, m := range []*tensor.Meta{q, k, v} {
		if len(m.Sizes) != 4 || m.Sizes[1]*m.Sizes[2]*m.Sizes[3] == 0 || m.Strides[3] != 1 {
			return false
		}
	}
	return q.Sizes[0] == k.Sizes[0] && q.Sizes[0] == v.Sizes[0]
}

// heads says whether query heads match key and value heads, or are a multiple of them where that is
// allowed.
func (a *Attention) heads(p *platform.Platform, grouped bool) bool {
	hq, hk, hv := a.Query.Sizes[1], a.Key.Sizes[1], a.Value.Sizes[1]
	if grouped || hk == 1 && seenIn215(p) {
		return hk == hv && hq%hk == 0
	}
	return hq == hk && hq == hv
}

// grid says whether batch and heads fit the grid of a kernel.
func (a *Attention) grid() bool { return a.Query.Sizes[0] <= 65535 && a.Query.Sizes[1] <= 65535 }

func (a *Attention) flash(p *platform.Platform) bool {
	cap := p.Device.ComputeCapability
	if !a.fourDims() || !a.heads(p, a.Grouped) || !halfType(a.Query.DType) || a.Mask != nil || seenIn215(p) &&
		!a.grid() {
		return false
	}
	d := a.Query.Sizes[3]
	return cap.AtLeast(8, 0) && cap.SM() <= 121 && a.Key.Sizes[3] == d && a.Value.Sizes[3] == d && d <= 256 &&
		(!a.Causal || a.Query.Sizes[2] == a.Key.Sizes[2])
}

func (a *Attention) efficient(p *platform.Platform) bool {
	cap := p.Device.ComputeCapability
	d := a.Query.DType
	if !a.fourDims() || !a.heads(p, a.Grouped && p.Release().EfficientGQA) || a.Query.Sizes[3] != a.Key.Sizes[3] ||
		cap.SM() < 50 || cap.SM() > 121 {
		return false
	}
	align := int64(1)
	switch {
	case halfType(d) && cap.AtLeast(7, 0):
		align = 8
	case d == tensor.Float32 && cap.AtLeast(8, 0):
		align = 4
	}
	if d != tensor.Float32 && d != tensor.Float16 && (d != tensor.BFloat16 || !cap.AtLeast(8, 0)) {
		return false
	}
	return a.Query.Sizes[3]%align == 0 && a.Value.Sizes[3]%align == 0
}

func (a *Attention) cudnn(p *platform.Platform) bool {
	q, k := a.Query, a.Key
	cap := p.Device.ComputeCapability
	if !a.fourDims() || !halfType(q.DType) || p.Deterministic || !cap.AtLeast(8, 0) || cap.SM() > 121 {
		return false
	}
	if !a.heads(p, false) && (!a.Grouped || q.Sizes[1]%k.Sizes[1] != 0 || q.Sizes[1]%a.Value.Sizes[1] != 0) {
		return false
	}
	limit := int64(128)
	if cap.Minor == 0 && (cap.Major == 9 && p.CuDNN.AtLeast(9, 10) || cap.Major == 10 && seenIn215(p)) {
		limit = 256
	}
	if slices.ContainsFunc([]int64{q.Sizes[3], a.Value.Sizes[3]}, func(d int64) bool { return d%8 != 0 || d > limit }) {
		return false
	}
	if k.Sizes[2] == 1 || a.Dropout > 0 && (q.Sizes[2] == 1 || seenIn215(p) && !sixteenths(a.Dropout)) ||
		q.Sizes[2] == 1 && p.CuDNNAttentionRefusesDecode() {
		return false
	}
	return !p.Release().Torch.AtLeast(2, 13) || a.grid()
}

// sixteenths says whether a probability is a number of sixteenths: cuDNN's kernel drops by no other
// (testdata/aten/2.15/choices).
func sixteenths(p float64) bool { return p*16 == math.Trunc(p*16) }
