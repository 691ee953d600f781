package torchscript

import (
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Object is an instance at run time: a module, or an object that a program makes. Attributes are
// filled in from the archive when they are first read.
type Object struct {
	Class  *program.Class
	FQN    string
	Module bool
	lit    *program.Object
	attrs  []any
	filled []bool
	refs   int32
	sites  []codeSites
}

// Enum is a member of an enumeration.
type Enum struct {
	Class *program.Class
	Name  string
	Value any
}

// Hold counts one more holder.
func (o *Object) Hold() { o.refs++ }

// Drop counts one holder less. Modules stay; another object that no one holds releases its
// attributes.
func (o *Object) Drop(h *exec.Heap) {
	if o.refs--; o.refs != 0 || o.Module {
		return
	}
	for i, filled := range o.filled {
		if filled {
			h.Drop(o.attrs[i])
		}
	}
}

// Describe writes the object's attributes.
func (o *Object) Describe(s *exec.State) {
	s.Text(o.Class.Name)
	for i, v := range o.attrs {
		s.Slot(o.filled[i], v)
	}
}

// kind is a value's type, coarse enough to look up what an operator resolved to last.
type kind uint8

const (
	kNone kind = iota
	kBool
	kInt
	kFloat
	kComplex
	kStr
	kTensor
	kScalarTensor // 0-dim or one element: may convert to a number
	kDevice
	kList
	kTuple
	kDict
	kUnknown
	kOther
)

func kindOf(v any) kind {
	switch v := v.(type) {
	case nil:
		return kNone
	case bool:
		return kBool
	case int64:
		return kInt
	case float64:
		return kFloat
	case complex128:
		return kComplex
	case string:
		return kStr
	case *tensor.Tensor:
		if len(v.Sizes) == 0 {
			return kScalarTensor
		}
		return kTensor
	case ops.Device:
		return kDevice
	case *ops.List:
		return kList
	case *ops.Tuple:
		return kTuple
	case *ops.Dict:
		return kDict
	case ops.Unbacked:
		return kUnknown
	}
	return kOther
}
