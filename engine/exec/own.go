package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// own is what a traced program makes of no input: of parameters, buffers, constants and sizes
// alone. A module may keep what its first pass made so, as attention keeps its biases in the order
// of their places, and a trace shows no attribute. So where locals are held (Options.HoldLocals) it
// is held to the end of the run. What is made of packed numbers is not: a model of eight bits
// unpacks its weights anew each time, or they would not be packed.
type own struct {
	kept []tensor.StorageID // of the first pass, ascending
	of   []ownState         // by storage
}

// ownState is what a storage is made of.
type ownState uint8

const (
	ofInputs ownState = iota
	ofOwn
	ofPacked // own, and unpacked
)

// KeepOwn records an operator's result: where no argument depends on an input, its storages may be
// kept by the program's modules.
func (h *Heap) KeepOwn(args []any, kw ops.Kw, result any) {
	if h.sites.pass != 1 {
		return
	}
	made := ofOwn
	take := func(t *tensor.Tensor) { made = min(made, h.own.state(t)) }
	packed := false
	eachTensor(args, func(t *tensor.Tensor) bool {
		packed = packed || h.own.state(t) == ofPacked || t.DType.ItemSize() == 1 && t.DType != tensor.Bool
		take(t)
		return made != ofInputs
	})
	for _, v := range kw {
		eachTensor([]any{v}, func(t *tensor.Tensor) bool { take(t); return true })
	}
	if packed && made == ofOwn {
		made = ofPacked
	}
	eachTensor([]any{result}, func(t *tensor.Tensor) bool {
		h.own.record(t.Storage, made)
		return true
	})
}

// state is what a tensor is made of.
func (o *own) state(t *tensor.Tensor) ownState {
	switch id := t.Storage.ID; {
	case t.Storage.Category == tensor.Parameter, t.Storage.Category == tensor.Buffer,
		t.Storage.Category == tensor.Constant:
		return ofOwn
	case id < 0 || int(id) >= len(o.of):
		return ofInputs
	default:
		return o.of[id]
	}
}

// record sets the state of a storage that an operator made, or wrote.
func (o *own) record(s *tensor.Storage, made ownState) {
	if s.ID < 0 || s.Category != tensor.Activation {
		return
	}
	if n := int(s.ID) + 1 - len(o.of); n > 0 {
		o.of = append(o.of, make([]ownState, n)...)
	}
	before := o.of[s.ID]
	o.of[s.ID] = made
	switch at, found := slices.BinarySearch(o.kept, s.ID); {
	case made == ofOwn && !found && before == ofInputs && eventful(s):
		o.kept = slices.Insert(o.kept, at, s.ID)
	case made != ofOwn && found:
		o.kept = slices.Delete(o.kept, at, at+1)
	}
}

// keeps says whether an event is the free of what a module may keep.
func (o *own) keeps(e *trace.Event) bool {
	if e.Action != trace.FreeRequested || len(o.kept) == 0 {
		return false
	}
	_, found := slices.BinarySearch(o.kept, e.Storage)
	return found
}

// eachTensor shows the tensors of values, as long as see says so.
func eachTensor(values []any, see func(*tensor.Tensor) bool) bool {
	for _, v := range values {
		switch v := v.(type) {
		case *tensor.Tensor:
			if !see(v) {
				return false
			}
		case *ops.List:
			if !eachTensor(v.Items, see) {
				return false
			}
		case *ops.Tuple:
			if !eachTensor(v.Items, see) {
				return false
			}
		}
	}
	return true
}
