package workspace

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// RecurrentLayers are those of one call of cuDNN.
type RecurrentLayers struct {
	Input              *tensor.Meta // time × batch × features, or packed: rows × features
	BatchFirst         bool         // the input is batch × time × features
	Weights            []*tensor.Meta
	Packed             bool // the weights lie in one chunk of memory already
	Hidden, Directions int64
	Layers             int64
}

// CuDNN is a contiguous input, the weights in one buffer where they do not lie in one storage
// already, and the workspace. cuDNN reports its size only to a handle of a device
// (cudnnGetRNNTempSpaceSizes; without a device there is no handle), and no recording has one: it is
// taken as none and at the most as the gates of all layers, time steps and directions. Training's
// reserve is not asked for either.
func (l RecurrentLayers) CuDNN() []Request {
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
	if !l.Packed {
		bytes := units.Bytes(0)
		for _, w := range l.Weights {
			bytes += w.NBytes()
		}
		out = append(out,
			Request{Bytes: bytes, Source: "native/cudnn/RNN.cpp weight_buf: the weights are not one chunk of memory"})
	}
	rows := tensor.Numel(x.Sizes[:len(x.Sizes)-1])
	return append(out, Request{
		Upper:  units.Bytes(rows * 4 * l.Hidden * l.Directions * max(l.Layers, 1) * x.DType.ItemSize()),
		Source: "the workspace of cuDNN's recurrent layers is not known: taken as none", Note: note.WorkspaceEstimate,
	})
}
