package workspace

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// RecurrentLayers are those of one call of cuDNN.
type RecurrentLayers struct {
	Recurrent
	Input      *tensor.Meta // time × batch × features, or packed: rows × features
	BatchFirst bool         // the input is batch × time × features
	Weights    []*tensor.Meta
	Packed     bool // the weights lie in one chunk of memory already
}

// Of fills in the sizes that the input has: of a packed one the batch of the first step, and the
// number of steps.
func (l *RecurrentLayers) Of(x *tensor.Meta, batchSizes []int64) {
	l.Input, l.DType, l.Recurrent.Input = x, x.DType, x.Sizes[len(x.Sizes)-1]
	switch {
	case len(batchSizes) > 0:
		l.Steps, l.Batch, l.OfLengths = int64(len(batchSizes)), batchSizes[0], true
	case l.BatchFirst:
		l.Steps, l.Batch = x.Sizes[1], x.Sizes[0]
	default:
		l.Steps, l.Batch = x.Sizes[0], x.Sizes[1]
	}
}

// reserved is the number of _cudnn_rnn's result that is training's reserve.
const reserved = 3

// CuDNN is a contiguous input, the weights in one buffer where they do not lie in one storage
// already, and the workspace, which is taken before training's reserve. cuDNN reports its sizes
// only to a handle of a device (cudnnGetRNNTempSpaceSizes): they are by a formula, and not known
// where no recording covers the call.
func (l RecurrentLayers) CuDNN(p *platform.Platform) []Request {
	x := l.Input
	if !OnDevice(x) {
		return nil
	}
	timeFirst := *x
	if l.BatchFirst {
		timeFirst.Sizes = []int64{x.Sizes[1], x.Sizes[0], x.Sizes[2]}
		timeFirst.Strides = []int64{x.Strides[1], x.Strides[0], x.Strides[2]}
	}
	out := Before(Contiguous("native/cudnn/RNN.cpp input.contiguous()", &timeFirst)...)
	out = append(out, Make(0), Make(1), Make(2)) // the output and the last states
	if !l.Packed {
		bytes := units.Bytes(0)
		for _, w := range l.Weights {
			bytes += w.NBytes()
		}
		out = append(out,
			Request{Bytes: bytes, Source: "native/cudnn/RNN.cpp weight_buf: the weights are not one chunk of memory"})
	}
	w := Request{Bytes: l.Workspace(p), Source: "cuDNN's recurrent layers, by a formula of cuDNN 9.19 on an H100"}
	if !l.recorded(p) {
		w.Note, w.Source = note.WorkspaceUnknown, "cuDNN's recurrent layers, beyond a formula of cuDNN 9.19 on an H100"
	}
	return append(out, w, Make(reserved))
}
