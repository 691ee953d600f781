package exec

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Heap counts who holds storages, and the containers and objects that hold them in turn. A storage
// is born when it is made and dies with its last holder; births and deaths on the accelerator are
// the events of the trace.
//
// Holders are counted as PyTorch's interpreter and CPython count them, and not found by a scan of
// what is reachable: deaths have an order, and the order decides which block the next allocation
// gets.
type Heap struct {
	sites  *Sites
	python bool // the program's containers are CPython's, which clears them from the end

	events  []trace.Event
	holders []int32           // by storage
	births  []trace.SiteID    // by storage: where it was made
	live    []*tensor.Storage // by storage, nil once it died
	bytes   units.Bytes       // of live storages on the accelerator
	peak    units.Bytes
	own     own
}

// Shared is a value of a driver's own that several may hold, as they hold a container.
type Shared interface {
	// Hold counts one more holder.
	Hold()
	// Drop counts one less; without a holder the value releases its members (Heap.Drop).
	Drop(h *Heap)
	// Describe writes what the value holds.
	Describe(s *State)
}

// newHeap makes an empty heap; liveness reports whose containers the program has.
func newHeap(sites *Sites, l Liveness) *Heap {
	return &Heap{sites: sites, python: l == PythonFrame}
}

// PythonContainers says that the program's containers are CPython's, whatever releases its values.
func (h *Heap) PythonContainers() { h.python = true }

// reserve makes room for n storages.
func (h *Heap) reserve(n int) {
	h.holders = make([]int32, 0, n)
	h.births = make([]trace.SiteID, 0, n)
	h.live = make([]*tensor.Storage, 0, n)
	h.events = make([]trace.Event, 0, n+n/2)
}

// eventful says whether a storage's birth and death are events: the accelerator's are. A storage of
// no bytes never reaches the allocator, but a workspace that is taken for nothing may at the upper
// bound (trace.Estimate).
func eventful(s *tensor.Storage) bool {
	return s.Device == Accelerator && (s.NBytes > 0 || s.Category == tensor.Workspace)
}

// NewStorage makes a storage without a holder.
func (h *Heap) NewStorage(bytes units.Bytes, device string, cat tensor.Category) *tensor.Storage {
	s := new(tensor.Storage)
	*s = tensor.Storage{ID: tensor.StorageID(len(h.holders)), NBytes: bytes, Device: device, Category: cat}
	h.holders = append(h.holders, 0)
	h.births = append(h.births, h.sites.now)
	h.live = append(h.live, s)
	if eventful(s) {
		h.event(trace.Alloc, s, h.sites.now)
		h.bytes += bytes
		h.peak = max(h.peak, h.bytes)
	}
	return s
}

// event appends what happens to a storage.
func (h *Heap) event(a trace.Action, s *tensor.Storage, site trace.SiteID) {
	h.events = append(h.events, trace.Event{Action: a, Storage: s.ID, Bytes: s.NBytes, Pass: h.sites.pass, Site: site})
}

// release ends a storage's life, whoever holds it.
func (h *Heap) release(id tensor.StorageID) {
	s := h.live[id]
	h.live[id] = nil
	if eventful(s) {
		h.event(trace.FreeRequested, s, h.births[id])
		h.bytes -= s.NBytes
	}
}

// emptyCache notes that the allocator's cache is emptied.
func (h *Heap) emptyCache() {
	h.events = append(h.events, trace.Event{Action: trace.EmptyCache, Storage: trace.NoStorage, Pass: h.sites.pass,
		Site: h.sites.now})
}

// grow makes a storage bigger: a birth at the new size and then a death at the old one. Every
// tensor on it keeps it.
func (h *Heap) grow(s *tensor.Storage, bytes units.Bytes) {
	bigger := h.NewStorage(bytes, s.Device, s.Category)
	h.holders[bigger.ID] = h.holders[s.ID]
	h.holders[s.ID] = 0
	h.release(s.ID)
	*s = *bigger // the tensors on it point to s
	h.live[s.ID] = s
}

// Hold counts one more holder of v; what is neither tensor, container nor object has none.
func (h *Heap) Hold(v any) {
	switch v := v.(type) {
	case nil, int64, bool, float64, string:
	case *tensor.Tensor:
		if v.Storage.ID >= 0 {
			h.holders[v.Storage.ID]++
		}
	case *ops.List:
		v.Refs++
	case *ops.Tuple:
		v.Refs++
	case *ops.Dict:
		v.Refs++
	case Shared:
		v.Hold()
	}
}

// Drop counts one holder of v less. What no one holds dies and releases its members.
func (h *Heap) Drop(v any) {
	switch v := v.(type) {
	case nil, int64, bool, float64, string:
	case *tensor.Tensor:
		id := v.Storage.ID
		if id < 0 {
			return
		}
		if h.holders[id]--; h.holders[id] == 0 {
			h.release(id)
		}
	case *ops.List:
		if v.Refs--; v.Refs == 0 {
			h.DropItems(v.Items)
		}
	case *ops.Tuple:
		switch v.Refs--; {
		case v.Refs != 0:
		case v.Struct: // torch.return_types is a struct sequence: cleared from the front (Objects/structseq.c)
			h.dropInOrder(v.Items)
		default:
			h.DropItems(v.Items)
		}
	case *ops.Dict:
		if v.Refs--; v.Refs == 0 {
			for i := range v.Values {
				h.Drop(v.Keys[i])
				h.Drop(v.Values[i])
			}
		}
	case Shared:
		v.Drop(h)
	}
}

// DropItems releases what a list or tuple held: CPython clears these from the end
// (Objects/listobject.c list_dealloc, Objects/tupleobject.c tupledealloc), C++ a vector from the
// front.
func (h *Heap) DropItems(items []any) {
	if !h.python {
		h.dropInOrder(items)
		return
	}
	for i := len(items) - 1; i >= 0; i-- {
		h.Drop(items[i])
	}
}

func (h *Heap) dropInOrder(items []any) {
	for _, v := range items {
		h.Drop(v)
	}
}

// NewTensor makes a tensor on a separate storage, held once.
func (h *Heap) NewTensor(meta tensor.Meta, cat tensor.Category) (*tensor.Tensor, error) {
	if err := meta.Check(); err != nil {
		return nil, err
	}
	meta.StorageOffset = 0
	s := h.NewStorage(meta.StorageBytes(), meta.Device, cat)
	h.holders[s.ID] = 1
	return h.TensorOn(s, meta), nil
}

// TensorOn makes a tensor on a storage and counts no holder.
func (h *Heap) TensorOn(s *tensor.Storage, meta tensor.Meta) *tensor.Tensor {
	t := new(tensor.Tensor)
	*t = tensor.Tensor{Meta: meta, Storage: s}
	return t
}

// Events are the births and deaths so far.
func (h *Heap) Events() []trace.Event { return h.events }
