package program

import (
	"slices"
	"sync"
)

// Library says whether f is one of PyTorch's own functions, see Graph.
func (f *Func) Library() bool {
	g, err := f.Graph()
	return err == nil && g.Library
}

// Func is a function or method.
type Func struct {
	Name   string // qualified: "__torch__.torchvision.models.resnet.ResNet.forward"
	Method string // the last part
	Class  *Class // nil for a free function
	Module bool   // calling it is calling the module (nn.Module.__call__), which holds its arguments in Python
	Record string // "code/__torch__/torchvision/models/resnet.py"
	Line   int    // of its def in Record
	Params []Param
	Result *Type
	Inputs []Input // what a caller gives, where that is not one value a parameter; else nil
	Output *Tree   // of the result, likewise

	body  *Graph
	err   error
	lower func(*Func) (*Graph, error)
	once  sync.Once
}

// Param is a parameter of a Func.
type Param struct {
	Name    string
	Type    *Type // nil for self
	Default any
	HasDef  bool
	Meta    *TensorMeta // of the tensor that it was recorded with; nil where none was
	Size    *Size       // the int that it was recorded with, where that stays open; else nil
}

// Graph is a lowered function.
type Graph struct {
	Params    []*Value // one a Param, self first for methods
	Body      *Block
	NumValues int         // Value.ID lies in [0, NumValues)
	Source    *SourceText // the function as the user wrote it, nil where the archive does not record
	Library   bool        // one of PyTorch's own functions: a place in it is the user's line that called it
}

// ParamOf is which of f's parameters an argument of a call is for, -1 where it has none of that
// name; next counts those without a name.
func (f *Func) ParamOf(a *Arg, next *int) int {
	if a.Name == "" {
		*next++
		return *next - 1
	}
	return slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == a.Name })
}

// NewFunc gives f the closure that lowers its body at first use, and returns f.
func NewFunc(f *Func, lower func(*Func) (*Graph, error)) *Func {
	f.lower = lower
	return f
}

// Graph lowers the body at the first call and checks it; an error is of the artifact, with file,
// line and column, or of its decoder.
func (f *Func) Graph() (*Graph, error) {
	f.once.Do(func() {
		if f.body, f.err = f.lower(f); f.err == nil {
			f.err = checkGraph(f, f.body)
		}
		f.lower = nil
	})
	return f.body, f.err
}
