package workspace

import (
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Recurrent is one call of cuDNN's recurrent layers: the numbers that decide its workspace.
type Recurrent struct {
	Mode                                   int64 // cudnnRNNMode_t
	Steps, Batch, Input, Hidden, Projected int64 // Projected 0: the state is as wide as Hidden
	Layers, Directions                     int64
	DType                                  tensor.DType
	Training, Dropout, OfLengths           bool // OfLengths: a packed batch
}

// cudnnRNNMode_t.
const (
	modeLSTM = 2
	modeGRU  = 3
)

// piece is a part of cuDNN's buffers, bytes: each is rounded up to 32.
func (r *Recurrent) piece(elements int64) int64 {
	const unit = 32
	return divCeil(elements*r.DType.ItemSize(), unit) * unit
}

func (r *Recurrent) gates() int64 {
	switch r.Mode {
	case modeLSTM:
		return 4
	case modeGRU:
		return 3
	}
	return 1
}

// reservedGates is what a step keeps for the gradients beside its state.
func (r *Recurrent) reservedGates() int64 {
	if r.Mode == modeGRU {
		return 6
	}
	return r.gates()
}

func (r *Recurrent) out() int64 {
	if r.Projected != 0 {
		return r.Projected
	}
	return r.Hidden
}

func (r *Recurrent) matrices() int64 {
	n, in := int64(0), r.Input
	for range r.Layers {
		n += r.Directions * (r.gates()*r.Hidden*(in+r.out()) + r.Projected*r.Hidden)
		in = r.out() * r.Directions
	}
	return n
}

// persistent is get_algo of native/cudnn/RNN.cpp where it does not choose the standard algorithm,
// and cuDNN has another for the dtype.
func (r *Recurrent) persistent(p *platform.Platform) bool {
	half := r.DType == tensor.Float16
	if r.Projected != 0 || !half && r.DType != tensor.Float32 || p.Device.ComputeCapability.Major < 6 {
		return false
	}
	gated := r.Mode == modeLSTM || r.Mode == modeGRU
	if r.Hidden <= 192 || !gated && r.Hidden <= 384 { // use_rnn_persist_small_h
		return true
	}
	return half && !r.OfLengths && r.persistentOnDevice(p)
}

// persistentOnDevice is use_persist_common_heuristics and, of 8.0 and newer,
// use_persist_device_heuristics.
func (r *Recurrent) persistentOnDevice(p *platform.Platform) bool {
	const tile, most = 128, 1024
	if r.Layers != 1 || r.Directions != 1 || r.Hidden > most || r.Hidden%tile != 0 || r.Input%tile != 0 {
		return false
	}
	c := p.Device.ComputeCapability
	if c.Major < 8 || c.Minor == 6 || p.Device.SMs < 98 || r.Mode == modeGRU || r.Batch%8 != 0 || r.Batch > tile {
		return false
	}
	return r.Mode == modeLSTM || r.Batch < 96 || r.Hidden < 896
}

// Workspace is what cudnnGetRNNTempSpaceSizes reports. The formula was fitted to what an H100 asked
// for with cuDNN 9.19 (testdata/measured/h100-recurrent.csv).
func (r *Recurrent) Workspace(p *platform.Platform) units.Bytes {
	persistent := r.persistent(p)
	n := r.forward(persistent)
	if r.Training && r.Projected == 0 {
		n = max(n, r.backward(persistent))
	}
	return units.Bytes(n)
}

// common is 8 MiB for each layer and direction, lengths and offsets of the sequences, and all
// matrices.
func (r *Recurrent) common() int64 {
	return int64(8*units.MiB)*r.Layers*r.Directions + 256 + divCeil(8*r.Batch, 32)*32 + r.piece(r.matrices())
}

func (r *Recurrent) forward(persistent bool) int64 {
	both, tb := r.Directions, r.Steps*r.Batch
	x, y := tb*r.Hidden, r.Layers*r.Batch*r.Hidden
	n := r.common() + r.piece(tb*r.Input) + r.piece(r.gates()*both*x) + r.piece(both*x)
	if persistent {
		n += r.piece(2*y) + r.piece(4*r.gates()*x)
	} else {
		n += r.piece(r.gates() * both * y)
	}
	n += 2 * r.piece(both*r.Layers*r.Batch*r.out())
	if r.Mode == modeLSTM {
		n += r.piece(2*both*y) + 2*r.piece(both*y)
	}
	if both == 2 {
		n += r.piece(4*x) + r.piece(4*y)
	}
	if r.Projected != 0 {
		n += r.piece(both * tb * r.Projected)
	}
	return n
}

func (r *Recurrent) backward(persistent bool) int64 {
	both, tb := r.Directions, r.Steps*r.Batch
	x, y := tb*r.Hidden, r.Layers*r.Batch*r.Hidden
	n := r.common() + 2*r.piece(tb*r.Input) + r.piece(both*both*tb*max(r.Input, r.Hidden))
	switch {
	case r.Layers == 1:
		n += 3 * r.piece(both*x)
	case both == 2 || persistent:
		n += r.piece(2*both*x) + 2*r.piece(both*x)
	default: // of one of them a few steps at a time
		n += 2*r.piece(x) + r.piece(min(r.stepsKept(), r.Steps)*r.Batch*r.Hidden)
	}
	n += 4 * r.piece(both*y)
	if both == 2 || persistent {
		n += r.piece(2 * both * y)
	} else {
		n += r.piece(y)
	}
	if both == 2 {
		n += r.piece(2 * y)
	}
	if r.Mode == modeLSTM {
		n += r.piece(2*both*y) + 4*r.piece(both*y)
	}
	if persistent {
		n += r.piece(8*x) + r.piece(r.reservedGates()*x)
	}
	return n
}

func (r *Recurrent) stepsKept() int64 {
	atOnce := int64(16)
	if r.Batch > 16 {
		atOnce = 4
	} else if r.Batch > 8 {
		atOnce = 8
	}
	return max(atOnce, 8) + atOnce*r.Layers
}

// Reserve is what a training step keeps for the gradients.
func (r *Recurrent) Reserve() units.Bytes {
	x, all := r.Steps*r.Batch*r.Hidden, r.Layers*r.Directions
	between := (r.Layers - 1) * r.Directions * x
	n := 256 + r.piece(r.reservedGates()*all*x) + r.piece(between)
	if r.Mode == modeLSTM {
		n += r.piece(all * x)
	}
	if r.Projected != 0 {
		n += r.piece(all*x) + r.piece(all*r.Steps*r.Batch*r.Projected)
	}
	if r.Dropout {
		n += 2 * divCeil(divCeil(between, 8), 32) * 32
	}
	return units.Bytes(n)
}

// recorded says whether the recording covers such a call.
func (r *Recurrent) recorded(p *platform.Platform) bool {
	if p.CuDNN.Major != 9 || p.CuDNN.Minor != 19 || p.Device.ComputeCapability.Major != 9 || r.OfLengths {
		return false
	}
	if r.Dropout && (r.Layers != 2 || r.Directions != 2) {
		return false
	}
	return r.Projected == 0 || !r.Training && r.Layers == 2 && r.Directions == 1
}
