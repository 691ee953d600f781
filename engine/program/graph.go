package program

import (
	"iter"
)

// Value is one SSA value: assigned once, except the Params and Outs of If and Loop.
type Value struct {
	ID   int
	Name string // as printed in the archive ("x19", "_0"); "" for a nested expression
	Type *Type  // where the source annotates it
}

// Arg is an argument: a Value, a list of Items where that is not nil, or a literal.
type Arg struct {
	Name  string // of a keyword argument, else ""
	Value *Value
	Items []Arg // a list that is made for the call; nil where none of its members is a Value: then it is a literal
	Const any
}

// Values calls f for each value that the argument reads.
func (a *Arg) Values(f func(*Value)) {
	if a.Value != nil {
		f(a.Value)
	}
	for i := range a.Items {
		a.Items[i].Values(f)
	}
}

// Block is a list of nodes.
type Block struct {
	Params []*Value
	Nodes  []*Node
	Outs   []Arg
}

// EachArg calls f for the arguments of each node, those of the blocks within it next, and last for
// the block's own results.
func (b *Block) EachArg(f func(*Arg)) {
	for _, n := range b.Nodes {
		for i := range n.Args {
			f(&n.Args[i])
		}
		for _, sub := range n.Blocks {
			sub.EachArg(f)
		}
	}
	for i := range b.Outs {
		f(&b.Outs[i])
	}
}

// All are the nodes of a block, each before those of the blocks within it.
func (b *Block) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { b.each(yield) }
}

func (b *Block) each(yield func(*Node) bool) bool {
	for _, n := range b.Nodes {
		if !yield(n) {
			return false
		}
		for _, sub := range n.Blocks {
			if !sub.each(yield) {
				return false
			}
		}
	}
	return true
}

// Node is one operation on values.
type Node struct {
	*Operation // what it does; nodes that were copied from one share it
	Args       []Arg
	Outs       []*Value
	Blocks     []*Block
	ID         int // in a graph that was rewritten: its number, for tables beside the graph
}

// Operation is what a node does, and where.
type Operation struct {
	Op     string
	Text   string // attribute, method or class name, see the node kinds
	Callee *Func
	Class  *Class
	Types  []*Type
	Where  Where
	Flags  NodeFlags
	Means  Upgrade
	Meta   *NodeMeta // nil where the format records nothing more
}

// NodeMeta is what some formats say of a node besides: apart from it, for the graphs of the others
// have many nodes.
type NodeMeta struct {
	Key string // of the overload, "aten::add.Tensor"; "" where that is not known
	// Recorded is what the node gave when the program was made: a tensor a result of its operator,
	// in their order, a list flattened; nil for a result that is none. The whole is nil where that
	// is not known.
	Recorded []*TensorMeta
}

// Key is that of the node's overload, "" where it is not known.
func (n *Node) Key() string {
	if n.Meta == nil {
		return ""
	}
	return n.Meta.Key
}

// Recorded is what the node gave when the program was made, nil where it is not known: see
// NodeMeta.
func (n *Node) Recorded() []*TensorMeta {
	if n.Meta == nil {
		return nil
	}
	return n.Meta.Recorded
}

// NodeFlags are facts about a node's place in the printed source.
type NodeFlags uint8

// The flags.
const (
	InReturn NodeFlags = 1 << iota // printed inside a return statement
	Nested                         // an inner expression of its statement: its result has no printed name
	// of a function that scripting puts in the place of an operator on a number and a tensor (1 -
	// x)
	Builtin
)

// Upgrade says that an operator means what it did in an older release, by the name of PyTorch's
// upgrader (torch/csrc/jit/operator_upgraders).
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
