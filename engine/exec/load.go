package exec

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

const tensorKind = schema.Tensor

// load moves the model's tensors to the device: eager as nn.Module._apply does (children first, then own parameters, then own buffers),
// an archive in the order of its data.pkl.
func (m *machine) load() {
	m.phase = trace.Load
	if m.o.Liveness == PythonFrame && m.prog.Root != nil {
		seen := map[*program.Object]bool{}
		m.loadModule(m.prog.Root, seen)
	}
	for _, s := range m.prog.States {
		m.state(s)
	}
}

func (m *machine) loadModule(o *program.Object, seen map[*program.Object]bool) {
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
					m.state(s)
				}
			}
		}
	}
}

// state is the tensor of a parameter, buffer or constant; the first call allocates it. Moving gives every tensor a storage of its own
// that holds its elements and no more.
func (m *machine) state(s *program.State) *tensor.Tensor {
	if t := m.states[s]; t != nil {
		return t
	}
	meta := s.Meta // sizes and strides are never written: a rule that changes some makes its own
	if !m.staysPut(s) {
		meta.Device = accelerator
	}
	if m.o.DType != tensor.Undefined && meta.DType.Floating() && s.Class != tensor.Constant {
		meta.DType = m.o.DType
	}
	if s.Packed || meta.DType.Quantized() || s.Class == tensor.Constant && len(meta.Sizes) == 0 {
		meta.Device = "cpu" // quantized kernels and their packed parameters are the CPU's; a 0-dim constant is a number
	}
	if !meta.IsDense() {
		meta.Strides = tensor.ContiguousStrides(meta.Sizes)
	}
	meta.StorageOffset = 0
	m.changed = true
	site, phase := m.site, m.phase
	m.phase = trace.Load
	pass := m.pass
	m.pass = 0
	m.setSite(s.Name, moduleOf(s.Name), program.Pos{}, s.Class)
	st := m.newStorage(meta.StorageBytes(), meta.Device, s.Class)
	m.site, m.phase, m.pass = site, phase, pass
	m.refs[st.ID] = 1 // the module's
	t := m.tensors.new()
	*t = tensor.Tensor{Meta: meta, Storage: st, Data: s.Data}
	m.states[s] = t
	m.knows(t)
	return t
}

// staysPut says whether a tensor is where it was saved: nn.Module.to moves parameters and buffers, and no other attribute
// (torch/nn/modules/module.py _apply); loading an archive moves all. What the code itself has as a constant is wherever the code is.
func (m *machine) staysPut(s *program.State) bool {
	return m.o.Liveness == PythonFrame && s.Meta.Device == "cpu" && s.Class == tensor.Constant && !s.Packed && !s.OfCode
}

// moduleOf is the module of a state's name.
func moduleOf(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return ""
}

// inputs moves the arguments of forward to the device, in order, and fits them to its parameters.
func (m *machine) inputs() ([]any, error) {
	params := m.prog.Entry.Params
	if len(params) > 0 && m.prog.Root != nil { // self, whatever it is called
		params = params[1:]
	}
	args := make([]any, len(params))
	given := make([]bool, len(params))
	for i, in := range m.o.Inputs {
		at := i
		if in.Name != "" {
			at = slices.IndexFunc(params, func(p program.Param) bool { return p.Name == in.Name })
			if at < 0 {
				return nil, &InputError{Msg: fmt.Sprintf("got input %s, want one of %s", in.Name, paramNames(params))}
			}
		}
		if at >= len(params) {
			return nil, &InputError{Msg: fmt.Sprintf("got %d inputs, want %d: %s", len(m.o.Inputs), len(params), paramNames(params))}
		}
		if given[at] {
			return nil, &InputError{Msg: fmt.Sprintf("got input %s twice, want it once", params[at].Name)}
		}
		given[at] = true
		m.setSite("input "+params[at].Name, "", program.Pos{}, tensor.Input)
		v, err := m.inputValue(in.Value)
		if err != nil {
			return nil, &InputError{Msg: fmt.Sprintf("input %s: %v", params[at].Name, err)}
		}
		if !fitsType(v, params[at].Type) {
			return nil, &InputError{Msg: fmt.Sprintf("input %s: got %s, want %s", params[at].Name, ops.TypeName(v), params[at].Type)}
		}
		args[at] = v
	}
	for i, p := range params {
		switch {
		case given[i]:
		case p.HasDef:
			args[i] = m.literal(p.Default)
		case p.Type != nil && (p.Type.Kind == program.OptionalType || p.Type.Kind == program.NoneType):
		default:
			return nil, &InputError{Msg: fmt.Sprintf("got no input %s, want one: %s", p.Name, paramNames(params))}
		}
	}
	m.noSite()
	return args, nil
}

// InputError is an input that does not fit the model.
type InputError struct{ Msg string }

func (e *InputError) Error() string { return e.Msg }

func paramNames(params []program.Param) string {
	s := ""
	for i, p := range params {
		if i > 0 {
			s += ", "
		}
		s += p.Name + " " + p.Type.String()
	}
	if s == "" {
		return "none"
	}
	return s
}

func (m *machine) inputValue(v any) (any, error) {
	switch v := v.(type) {
	case tensor.Meta:
		if v.Device == "" {
			v.Device = accelerator
		}
		return m.newTensor(v, tensor.Input)
	case []Input:
		return m.inputList(v)
	case Tuple:
		l, err := m.inputList(v)
		if err != nil {
			return nil, err
		}
		return &ops.Tuple{Items: l.Items, Refs: 1}, nil
	case Dict:
		l, err := m.inputList(v)
		if err != nil {
			return nil, err
		}
		d := &ops.Dict{Values: l.Items, Refs: 1}
		for _, in := range v {
			d.Keys = append(d.Keys, in.Name)
		}
		return d, nil
	case nil, bool, int64, float64, string:
		return v, nil
	}
	return nil, fmt.Errorf("internal error: got input of Go type %T", v)
}

func (m *machine) inputList(items []Input) (*ops.List, error) {
	l := &ops.List{Refs: 1}
	for _, in := range items {
		v, err := m.inputValue(in.Value)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	return l, nil
}

// fitsType says whether an input's value can be passed as t. A list, tuple or dict without the types of its members, as in isinstance(v, list), is any.
func fitsType(v any, t *program.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case program.TensorType:
		_, ok := v.(*tensor.Tensor)
		return ok
	case program.IntType:
		_, ok := v.(int64)
		return ok
	case program.FloatType:
		_, isInt := v.(int64)
		_, ok := v.(float64)
		return ok || isInt
	case program.BoolType:
		_, ok := v.(bool)
		return ok
	case program.StrType:
		_, ok := v.(string)
		return ok
	case program.NoneType:
		return v == nil
	case program.OptionalType:
		return v == nil || fitsType(v, t.Elems[0])
	case program.ListType:
		l, ok := v.(*ops.List)
		if !ok {
			return false
		}
		for _, item := range l.Items {
			if len(t.Elems) > 0 && !fitsType(item, t.Elems[0]) {
				return false
			}
		}
		return true
	case program.TupleType:
		tu, ok := v.(*ops.Tuple)
		if !ok || len(t.Elems) == 0 {
			return ok
		}
		if len(tu.Items) != len(t.Elems) {
			return false
		}
		for i, item := range tu.Items {
			if !fitsType(item, t.Elems[i]) {
				return false
			}
		}
		return true
	case program.DictType:
		d, ok := v.(*ops.Dict)
		if !ok {
			return false
		}
		for _, item := range d.Values {
			if len(t.Elems) > 1 && !fitsType(item, t.Elems[1]) {
				return false
			}
		}
		return true
	}
	return true
}
