// Package program is the typed graph of an artifact: what a decoder makes and exec runs.
//
// Nothing after this room knows which format a program came from. A Program is immutable once its decoder returned it, with one
// exception: a Func may carry its body as a closure that is called once, at first use (Func.Graph), so that a check pays for the
// functions it runs and not for those it merely finds in the archive.
//
// # Node kinds
//
//	aten::*, prim::*, ns::*   an operator, resolved at run time by ops (TorchScript source carries no overload)
//	prim::Constant            never a node: constants are Args
//	prim::GetAttr             Out = Args[0].Text
//	prim::SetAttr             Args[0].Text = Args[1]
//	prim::CallMethod          Args[0].Text(Args[1:]...), looked up in the class of the object at run time (so interfaces work)
//	prim::CallFunction        Callee(Args...)
//	prim::CreateObject        Class(Args...): a NamedTuple class makes that value. Of other classes it makes an empty object, has no Args, and
//	                          does not run __init__: the archive calls that itself. Class is nil for classes of torch.classes, named by Text
//	prim::TupleConstruct, prim::ListConstruct, prim::DictConstruct (keys and values alternate), prim::TupleUnpack, prim::ListUnpack
//	prim::If                  Args[0] decides; Blocks[0] then, Blocks[1] else; Outs are the blocks' Outs
//	prim::Loop                Args: trip count, first condition, carried values…; Blocks[0].Params: iteration, carried…;
//	                          its Outs: next condition, carried…. A while loop has trip count nil (no limit)
//	prim::Return              leaves the function with Args (one value), from any depth
//	prim::RaiseException      raises: Args[0] the message, Text the class where known
//	prim::Enter, prim::Exit   a with statement's ends; Args[0] the context manager
//	prim::Uninitialized       a value that is never looked at
//	prim::unchecked_cast      its argument, seen as Type
//	prim::isinstance          Args[0], Types
//	prim::fork                Callee(Args...), run at once; its result is a future that aten::wait gives back
//	prim::EnumValue, prim::EnumName   of Args[0]
//	prim::tolist              Args[0] as nested lists of type Types[0]
//	aten::IntImplicit, aten::FloatImplicit, aten::ComplexImplicit, aten::ScalarImplicit
//	                          Args[0] where a number is wanted: a tensor is read, a number stays
//
// An expression statement's node has no Outs, whatever its operator returns. An argument that is a list literal is a new list each time
// it is read.
package program

import (
	"slices"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/tensor"
)

// Program is one artifact.
type Program struct {
	Format   string // "torchscript"
	Producer string // what the artifact tells of its maker: torch version where known, container version
	Tells    Tells  // of the Python that it was made from
	Entry    *Func  // the root's forward; nil where it has none
	Root     *Object
	Classes  []*Class  // sorted by name
	Funcs    []*Func   // free functions, sorted by name; those that another function holds (see prim::fork) are not among them
	Modules  []*Module // in the order of the root's children, depth first
	States   []*State  // parameters, buffers and constants in the order the archive loads them
	Notes    []string
}

// Tells is what a program tells of the Python that it was made from: by that a runtime that runs Python decides when values die.
type Tells uint8

// What a program may tell.
const (
	TellsNothing Tells = iota // one function without the user's frames and names (a frozen archive)
	TellsSource               // functions as the user wrote them, with their source text (a scripted archive)
	TellsStacks               // the Python stack of each operation (a traced archive)
	TellsModules              // the calls of modules that each operation is in, and its frames (an exported program)
)

func (t Tells) String() string { return [...]string{"nothing", "source", "stacks", "modules"}[t] }

// Module is one nn.Module of the tree.
type Module struct {
	FQN    string // "" for the root
	Object *Object
	Parent *Module
}

// Object is an instance of a class: a module, or any other object the archive holds. Exec copies attributes before it changes them.
type Object struct {
	Class *Class
	FQN   string // for modules: the first path from the root
	Attrs []any  // Literals in the order of Class.Attrs
	// State is what the archive holds of an object whose class has __setstate__: that method's argument. Attrs then holds the class's
	// constants only, until the method has run.
	State    any
	HasState bool
}

// Literal values, as they stand in Attrs, Constants and Args: nil (None), bool, int64, float64, complex128, string, Device, *State (a tensor),
// *Object, *ListLit, *TupleLit, *DictLit, EnumLit, *FuncRef.
type (
	// Device is a torch.device literal.
	Device string
	// ListLit is a list.
	ListLit struct {
		Items []any
		Elem  *Type // nil where not told
	}
	// TupleLit is a tuple; Class is set for a named tuple.
	TupleLit struct {
		Items []any
		Class *Class
	}
	// DictLit is a dict in insertion order.
	DictLit struct{ Keys, Values []any }
	// EnumLit is a member of an enumeration class.
	EnumLit struct {
		Class *Class
		Name  string
		Value any
	}
	// Opaque is a custom-class object (packed parameters of quantized operators, say): its state is whatever the archive held.
	Opaque struct {
		Class string
		State any
	}
)

// ClassKind tells the sorts of classes apart.
type ClassKind uint8

// The class kinds.
const (
	PlainClass ClassKind = iota
	ModuleClass
	NamedTupleClass
	EnumClass
	InterfaceClass
)

// Class is a class of the archive.
type Class struct {
	Name       string // "__torch__.torchvision.models.resnet.ResNet"
	Kind       ClassKind
	Attrs      []Attr // in the order of the source; named tuple fields and enum members too
	Parameters []string
	Buffers    []string
	Methods    []*Func
	attrIndex  map[string]int
	methods    map[string]*Func
}

// Attr is a declared attribute.
type Attr struct {
	Name    string
	Type    *Type
	Default any // enum members: their value; named tuple defaults; else nil
	HasDef  bool
}

// many is from how many on a map finds names faster.
const many = 24

// Seal builds the look-up tables of a class with many attributes or methods; the decoder calls it once, when both are complete.
func (c *Class) Seal() {
	if len(c.Attrs) >= many {
		c.attrIndex = make(map[string]int, len(c.Attrs))
		for i, a := range c.Attrs {
			c.attrIndex[a.Name] = i
		}
	}
	if len(c.Methods) >= many {
		c.methods = make(map[string]*Func, len(c.Methods))
		for _, m := range c.Methods {
			c.methods[m.Method] = m
		}
	}
}

// AttrIndex is the place of an attribute in Object.Attrs; of two of one name the later counts.
func (c *Class) AttrIndex(name string) (int, bool) {
	if c.attrIndex != nil {
		i, ok := c.attrIndex[name]
		return i, ok
	}
	for i := len(c.Attrs) - 1; i >= 0; i-- {
		if c.Attrs[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// Method finds a method, nil where there is none.
func (c *Class) Method(name string) *Func {
	if c.methods != nil {
		return c.methods[name]
	}
	for i := len(c.Methods) - 1; i >= 0; i-- {
		if c.Methods[i].Method == name {
			return c.Methods[i]
		}
	}
	return nil
}

// State is a tensor the archive holds.
type State struct {
	Name    string // FQN of the attribute ("layer1.0.conv1.weight"), or the constant's ("CONSTANTS.c0")
	Meta    tensor.Meta
	Storage int             // states with the same number share a storage
	NBytes  int64           // of the whole storage
	Class   tensor.Category // Parameter, Buffer or Constant
	Data    *tensor.Data    // values of a small CPU constant, where the record was small enough to be read
	Record  string          // "data/0"
	Packed  bool            // part of a packed-parameters object
	OfCode  bool            // the code itself names it: it is where the code runs, wherever the model's tensors are
}

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
}

// Graph is a lowered function.
type Graph struct {
	Params    []*Value // one a Param, self first for methods
	Body      *Block
	NumValues int         // Value.ID lies in [0, NumValues)
	Source    *SourceText // the function as the user wrote it, nil where the archive does not tell
	Library   bool        // one of PyTorch's own functions: a place in it is the user's line that called it
}

// ParamOf is which of f's parameters an argument of a call is for, -1 where it has none of that name; next counts those without a name.
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

// Graph lowers the body at the first call; an error is of the artifact, with file, line and column.
func (f *Func) Graph() (*Graph, error) {
	f.once.Do(func() { f.body, f.err = f.lower(f); f.lower = nil })
	return f.body, f.err
}

// Value is one SSA value: assigned once, but for the Params and Outs of If and Loop.
type Value struct {
	ID   int
	Name string // as printed in the archive ("x19", "_0"); "" for a nested expression
	Type *Type  // where the source annotates it
}

// Arg is an argument: a Value, or a literal where Value is nil.
type Arg struct {
	Name  string // of a keyword argument, else ""
	Value *Value
	Const any
}

// Block is a list of nodes.
type Block struct {
	Params []*Value
	Nodes  []*Node
	Outs   []Arg
}

// Node is one operation.
type Node struct {
	Op     string
	Args   []Arg
	Outs   []*Value
	Blocks []*Block
	Text   string // attribute, method or class name, see the node kinds
	Callee *Func
	Class  *Class
	Types  []*Type
	Src    SourceRange
	Line   int32 // in the function's Record
	Stmt   int32 // number of the printed statement this node belongs to, from 0 in its function
	Flags  NodeFlags
	Means  Upgrade
	ID     int // in a graph that was rewritten: its number, for tables beside the graph
}

// NodeFlags are facts about a node's place in the printed source.
type NodeFlags uint8

// The flags.
const (
	InReturn NodeFlags = 1 << iota // printed inside a return statement
	Nested                         // an inner expression of its statement: its result has no printed name
	Builtin                        // of a function that scripting puts in the place of an operator on a number and a tensor (1 - x)
)

// Upgrade says that an operator means what it did in an older release, by the name of PyTorch's upgrader (torch/csrc/jit/operator_upgraders).
type Upgrade uint8

// The upgraders. NoUpgrade is an operator that means what it does today.
const (
	NoUpgrade    Upgrade = iota
	Div0To3              // integers are divided as C does
	Full0To4             // an int or a bool fills a tensor of the default dtype
	Linspace0To7         // 100 steps where none are given
	Logspace0To8         // likewise
)

var upgradeNames = [...]string{"", "div_0_3", "full_0_4", "linspace_0_7", "logspace_0_8"}

func (u Upgrade) String() string { return upgradeNames[u] }

// SourceText is a text that debug records point into: the whole source of a user's function (scripted), or a Python stack,
// innermost frame first (traced).
type SourceText struct {
	File      string
	FirstLine int
	Text      string
	Stack     []*Frame // of a traced operation, innermost first, instead of Text; equal frames are one pointer in the whole program
}

// SourceRange is a part of a SourceText; Text is nil where the archive does not tell.
type SourceRange struct {
	Text       *SourceText
	Start, End int32
}

// Pos is a place in the user's own code.
type Pos struct {
	File string
	Line int
}

// Pos is the user's file and line. For a traced program it is the innermost frame of the stack outside torch/nn/modules/module.py
// and outside torch's own files where there is one, else the innermost frame.
func (r SourceRange) Pos() Pos {
	t := r.Text
	if t == nil {
		return Pos{}
	}
	if t.Stack != nil {
		return framesPos(t.Stack)
	}
	if t.File == "" {
		return Pos{}
	}
	return Pos{File: t.File, Line: t.FirstLine + strings.Count(t.Text[:max(0, min(int(r.Start), len(t.Text)))], "\n")}
}
