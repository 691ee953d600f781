package exec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// inputs moves the arguments of forward to the device, in order, and fits them to its parameters.
func (m *Machine) inputs() ([]any, error) {
	params := m.driver.Params()
	args := make([]any, len(params))
	given := make([]bool, len(params))
	var missing []string
	for i, in := range m.o.Inputs {
		at := i
		if in.Name != "" {
			at = slices.IndexFunc(params, func(p program.Param) bool { return p.Name == in.Name })
			if at < 0 {
				return nil, &InputError{Msg: fmt.Sprintf("got input %s, want one of %s", in.Name, paramNames(params))}
			}
		}
		if at >= len(params) {
			return nil, &InputError{Msg: fmt.Sprintf("got %d inputs, want %d: %s", len(m.o.Inputs), len(params),
				paramNames(params))}
		}
		if given[at] {
			return nil, &InputError{Msg: fmt.Sprintf("got input %s twice, want it once", params[at].Name)}
		}
		given[at] = true
		m.Sites.enter("input "+params[at].Name, "", program.Pos{}, tensor.Input)
		v, err := m.inputValue(in.Value)
		if err != nil {
			return nil, &InputError{Msg: fmt.Sprintf("input %s: %v", params[at].Name, err)}
		}
		if !Fits(v, params[at].Type) {
			return nil, &InputError{Msg: fmt.Sprintf("input %s: got %s, want %s%s", params[at].Name, ops.TypeName(v),
				params[at].Type, tensorHint(in.Value, params[at].Type))}
		}
		args[at] = v
	}
	for i, p := range params {
		switch {
		case given[i]:
		case p.HasDef:
			args[i] = m.driver.Literal(p.Default)
		case p.Type != nil && (p.Type.Kind == program.OptionalType || p.Type.Kind == program.NoneType):
		default:
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		return nil, &InputError{Missing: missing,
			Msg: fmt.Sprintf("got no input %s, want one each of: %s", strings.Join(missing, ", "), paramNames(params))}
	}
	m.Sites.Leave()
	return args, nil
}

// InputError is an input that does not fit the model.
type InputError struct {
	Msg     string
	Missing []string // inputs that were not given
}

func (e *InputError) Error() string { return e.Msg }

// tensorHint helps where somebody wrote a tensor's sizes alone.
func tensorHint(v any, want *program.Type) string {
	items, list := v.([]Input)
	if want == nil || want.Kind != program.TensorType || !list || len(items) == 0 {
		return ""
	}
	sizes := make([]string, len(items))
	for i, it := range items {
		n, ok := it.Value.(int64)
		if !ok {
			return ""
		}
		sizes[i] = strconv.FormatInt(n, 10)
	}
	return ", such as float32[" + strings.Join(sizes, ",") + "]"
}

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

func (m *Machine) inputValue(v any) (any, error) {
	switch v := v.(type) {
	case tensor.Meta:
		if v.Device == "" {
			v.Device = Accelerator
		}
		return m.NewTensor(v, tensor.Input)
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

func (m *Machine) inputList(items []Input) (*ops.List, error) {
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

// Fits says whether a value can be passed as t. A list, tuple or dict without the types of its
// members, as in isinstance(v, list), is any.
func Fits(v any, t *program.Type) bool {
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
		return v == nil || Fits(v, t.Elems[0])
	case program.ListType:
		l, ok := v.(*ops.List)
		if !ok {
			return false
		}
		for _, item := range l.Items {
			if len(t.Elems) > 0 && !Fits(item, t.Elems[0]) {
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
			if !Fits(item, t.Elems[i]) {
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
			if len(t.Elems) > 1 && !Fits(item, t.Elems[1]) {
				return false
			}
		}
		return true
	}
	return true
}
