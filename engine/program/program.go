// Package program is the typed graph of an artifact: what a decoder makes and exec runs.
//
// Nothing after this room knows which format a program came from. A Program is immutable once its
// decoder returned it, with one exception: a Func may carry its body as a closure that is called
// once, at first use (Func.Graph), so that a check pays for the functions it runs and not for those
// it merely finds in the archive.
//
// # Node kinds
//
//	aten::*, prim::*, ns::*   an operator, resolved at run time by ops where the node has no Key (TorchScript source carries no overload)
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
//	higher_order::*           torch.export's operators that run graphs, which are their Blocks in the order of the arguments; Args are the others.
//	                          What an operator gives a graph are that Block's Params
//
//	inductor::*               what compiled code does with its buffers: see BufferEmpty. Text is what the next kernel was made of
//
// A format whose nodes name their overload sets NodeMeta.Key, and nothing is resolved; one that
// recorded what a node gave sets NodeMeta.Recorded.
//
// An expression statement's node has no Outs, whatever its operator returns. An argument that is a
// list literal is a new list each time it is read.
package program

import "github.com/memspec/memspec/engine/tensor"

// Program is one artifact.
type Program struct {
	Format   string    // "torchscript"
	Producer string    // what the artifact says of its maker: torch version where known, container version
	Records  Records   // of the Python that it was made from
	Compiled bool      // what a compiler made of it: its buffers end where it says
	For      [2]int    // the compute capability that its kernels were compiled for; zero where that is not known
	Entry    *Func     // what is run; nil where there is nothing
	Symbols  []Symbol  // sizes that the program leaves open, sorted by name
	Modules  []*Module // in the order of the root's children, depth first
	States   []*State  // parameters, buffers and constants in the order the archive loads them
	Notes    []string
	Objects  // what the code works on, where the format has objects; else empty
}

// Records is what a program says of the Python that it was made from: by that a runtime that runs
// Python decides when values die.
type Records uint8

// What a program may report.
const (
	RecordsNothing Records = iota // one function without the user's frames and names (a frozen archive)
	RecordsSource                 // functions as the user wrote them, with their source text (a scripted archive)
	RecordsStacks                 // the Python stack of each operation (a traced archive)
	// the calls of modules that each operation is in, and its frames (an exported program)
	RecordsModules
)

func (t Records) String() string { return [...]string{"nothing", "source", "stacks", "modules"}[t] }

// Module is one nn.Module of the tree.
type Module struct {
	FQN    string  // "" for the root
	Class  string  // its Python class, as far as is known
	Object *Object // nil where the format has no objects
	Parent *Module
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
