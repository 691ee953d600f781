package exec

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Load moves the model's tensors to the device: those of a tree of modules as nn.Module._apply
// does, children first, then own parameters, then own buffers (torch/nn/modules/module.py); then
// the others in their order. root may be nil.
func (m *Machine) Load(root *program.Object, states []*program.State) {
	n := 2 * (len(states) + 32) // a classifier makes about as many more in a pass
	m.reserve(n)
	m.Sites.list = slices.Grow(m.Sites.list, n)
	m.states = make(map[*program.State]*tensor.Tensor, len(states))
	m.loadModule(root, map[*program.Object]bool{})
	for _, s := range states {
		m.State(s)
	}
}

func (m *Machine) loadModule(o *program.Object, seen map[*program.Object]bool) {
	if o == nil || seen[o] {
		return
	}
	seen[o] = true
	for _, a := range o.Attrs {
		if child, ok := a.(*program.Object); ok && child.Class != nil && child.Class.Kind == program.ModuleClass {
			m.loadModule(child, seen)
		}
	}
	for _, names := range [2][]string{o.Class.Parameters, o.Class.Buffers} {
		for _, name := range names {
			if i, ok := o.Class.AttrIndex(name); ok && i < len(o.Attrs) {
				if s, ok := o.Attrs[i].(*program.State); ok {
					m.State(s)
				}
			}
		}
	}
}

// State is the tensor of a parameter, buffer or constant; the first call moves it to the device.
// Moving gives every tensor a separate storage that holds its elements and no more.
func (m *Machine) State(s *program.State) *tensor.Tensor {
	device := Accelerator
	switch {
	case s.Packed || s.Meta.DType.Quantized() || m.number(s):
		device = "cpu" // quantized kernels and their packed parameters are the CPU's
	case m.staysPut(s):
		device = s.Meta.Device
	}
	return m.StateOn(s, device)
}

// number says whether a constant is a number on the host. In TorchScript's runtime those of an
// archive go where the archive is loaded (torch.jit.load's map_location), and there are tensors of
// 512 B; an eager run has them as Python's numbers. The device none is compared with runs that were
// loaded on the host.
func (m *Machine) number(s *program.State) bool {
	return s.Class == tensor.Constant && len(s.Meta.Sizes) == 0 && (m.o.Liveness == PythonFrame || m.platform.IsNone())
}

// StateOn is State with the device that the tensor is on.
func (m *Machine) StateOn(s *program.State, device string) *tensor.Tensor {
	if t := m.states[s]; t != nil {
		return t
	}
	meta := s.Meta // sizes and strides are never written: a rule that changes some makes its own
	meta.Device = device
	if m.o.DType != tensor.Undefined && meta.DType.Floating() && s.Class != tensor.Constant {
		meta.DType = m.o.DType
	}
	if !meta.IsDense() {
		meta.Strides = tensor.ContiguousStrides(meta.Sizes)
	}
	meta.StorageOffset = 0
	m.Alter()
	was := *m.Sites
	m.Sites.pass, m.Sites.phase = 0, trace.Load
	m.Sites.enter(s.Name, moduleOf(s.Name), program.Pos{}, s.Class)
	st := m.NewStorage(meta.StorageBytes(), meta.Device, s.Class)
	m.Sites.pass, m.Sites.phase, m.Sites.now = was.pass, was.phase, was.now
	m.holders[st.ID] = 1 // the module's
	t := m.TensorOn(st, meta)
	t.Data = s.Data
	m.states[s] = t
	m.values.add(t)
	return t
}

// staysPut says whether a tensor is where it was saved: nn.Module.to moves parameters and buffers,
// and no other attribute (torch/nn/modules/module.py _apply); loading an archive moves all. What
// the code itself has as a constant is wherever the code is.
func (m *Machine) staysPut(s *program.State) bool {
	return m.o.Liveness == PythonFrame && s.Meta.Device == "cpu" && s.Class == tensor.Constant && !s.OfCode
}

// Tie says that two states are one tensor, as a weight that two modules share: it moves once.
func (m *Machine) Tie(s, other *program.State) { m.states[s] = m.State(other) }

// moduleOf is the module of a state's name.
func moduleOf(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

// FromHost says whether a program was made on the host and knows of no accelerator: a device that
// its code names is then the one that it was made on, and means the run's. Where its tensors were
// on an accelerator, a CPU that it names is the CPU.
func FromHost(p *program.Program) bool {
	for _, s := range p.States {
		if strings.HasPrefix(s.Meta.Device, Accelerator) {
			return false
		}
	}
	if p.Entry == nil {
		return true
	}
	for i := range p.Entry.Params {
		if m := p.Entry.Params[i].Meta; m != nil && strings.HasPrefix(m.Device, Accelerator) {
			return false
		}
	}
	return true
}
