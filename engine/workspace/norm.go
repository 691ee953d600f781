package workspace

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// GroupNorm is a group norm of N samples of so many channels, each of PerChannel elements.
type GroupNorm struct {
	Input                   *tensor.Meta
	N, Channels, PerChannel int64
	Groups                  int64
	Affine                  bool // it has a weight or a bias
}

// Requests are a copy of an input of mixed layout, of half types the statistics in float, and the
// scale and shift of each sample's channels where there are weights or the input may be read as
// channels last (native/group_norm.cpp, native/cuda/group_norm_kernel.cu). With one element a
// channel, read row by row, the kernel needs no scale and shift.
func (g GroupNorm) Requests() []Request {
	x := g.Input
	if !OnDevice(x) || x.Numel() == 0 {
		return nil
	}
	const source = "native/cuda/group_norm_kernel.cu GroupNormKernelImplInternal"
	var out []Request
	if !x.IsFormat(x.SuggestFormat()) {
		out = []Request{CopyOf(x, "native/group_norm.cpp group_norm")}
	}
	sum := x.DType.AccumulateType()
	if sum != x.DType {
		r := Request{Bytes: units.Bytes(g.N * g.Groups * sum.ItemSize()), Source: source}
		out = append(out, r, r)
	}
	if last := len(x.Sizes) == 4 && x.IsFormat(tensor.ChannelsLast); !last && (g.PerChannel == 1 || !g.Affine) {
		return out
	}
	r := Request{Bytes: units.Bytes(g.N * g.Channels * sum.ItemSize()), Source: source}
	return append(out, r, r)
}

// CuDNNBatchNorm is what native/cudnn/BatchNorm.cpp asks for beside the results: in inference
// nothing; in training a workspace and a reserve, whose sizes cuDNN reports only to a handle of a
// device. Recordings of three models on GPUs (200 calls, float32, contiguous) have neither.
// Channels last takes another kernel (CUDNN_BATCHNORM_SPATIAL_PERSISTENT), of which there is no
// recording.
func CuDNNBatchNorm(x *tensor.Meta, training bool) []Request {
	if !training || x.SuggestFormat() == tensor.Contiguous || !OnDevice(x) {
		return nil
	}
	return []Request{{
		Upper: x.NBytes(), Note: note.WorkspaceEstimate,
		Source: "workspace and reserve of cuDNN's batch norm in training, channels last, are not known: taken as none",
	}}
}
