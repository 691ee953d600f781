// Package lifetime says how long a function's values live: a live range is a separate value, which
// can be printed, checked and tested, and by which exec releases what a run holds.
//
// LastUse is the rule of PyTorch's interpreter. Package stacks reads the ranges of eager execution
// off the Python stacks of a traced archive.
//
// A live range is what one function's own registers hold. A storage lives as long as any range of
// any function holds one of its tensors: views, containers and callers are exec's to count.
package lifetime

import (
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/program"
)

// Range is the live range of a value in a function. A value has several where it ends in either
// branch of an If.
type Range struct {
	Value *program.Value
	From  int // the node that makes it, by Numbering; Param for parameters of the function
	To    int // the node with which it ends; Param where that is the function's entry
	End   End
	Arg   int // of To, where End is AsArgument; the block of To, where it is AtEntry
	Why   Why
	Local string // the user's name that holds it, "" where none is known
}

// Param stands for the node that makes a function's parameters: the call.
const Param = -1

// End is how a range ends.
type End uint8

// The ends.
const (
	AsArgument End = iota // To takes it for the last time, as argument Arg, and releases it when it is done
	After                 // it goes after To, and all that To's blocks did
	AtEntry               // nothing in a block of To uses it: it goes as that is entered
	BlockOut              // it leaves its block as a result of To, around it
	Escapes               // it is there when its function returns: a caller may hold it on
	Open                  // a name holds it as the run goes: until that is bound anew or deleted, or its frame ends
)

// Why says by what rule a range ends.
type Why uint8

// The rules.
const (
	LastUsed  Why = iota // after its last use
	Unused               // nothing uses it
	Bound                // a local of the user's holds it
	Temporary            // an expression's value: the operator that took it is done
	Passed               // the function that it was passed to returns
	Rebound              // the local that holds it is bound anew
	FrameEnd             // the call whose local it is returns
	Contained            // a container holds it until its call returns
	Number               // a size, which takes no memory
	Unknown              // what holds it is not known: held to the end of the function
	Recorded             // Python was seen to release it then, as the program was exported
)

var whyNames = [...]string{"last use", "no use", "bound to a local", "temporary", "parameter of a call",
	"local bound anew", "local to the end of its call",
	"in a container to the end of its call", "number", "held to the end, as no death is known", "seen at export"}

func (w Why) String() string { return whyNames[w] }

// Func is a function with the live ranges of its values, in the order in which they end; of those
// that end together, in the order of release.
type Func struct {
	Func   *program.Func
	Graph  *program.Graph
	Ranges []Range
}

// Numbering is the nodes of g in the order in which they are written, those of a node's blocks
// right behind it. ends is, by node, the last one of its blocks, or the node itself.
func Numbering(g *program.Graph) (nodes []*program.Node, ends []int) {
	var add func(b *program.Block)
	add = func(b *program.Block) {
		for _, n := range b.Nodes {
			at := len(nodes)
			nodes, ends = append(nodes, n), append(ends, at)
			for _, sub := range n.Blocks {
				add(sub)
			}
			ends[at] = len(nodes) - 1
		}
	}
	add(g.Body)
	return nodes, ends
}

// Check returns all violations of what ranges promise: every value that is made has one, which
// begins where it is made and ends where all its uses are over, with a node that has the argument
// or block that it says.
func Check(f *Func) error {
	nodes, ends := Numbering(f.Graph)
	c := &checker{f: f, nodes: nodes, end: make([]int, f.Graph.NumValues), from: make([]int, f.Graph.NumValues)}
	for i := range c.end {
		c.end[i], c.from[i] = none, none
	}
	for _, v := range f.Graph.Params {
		c.from[v.ID] = Param
	}
	for i, n := range nodes {
		for _, v := range n.Outs {
			c.from[v.ID] = i
		}
		for _, b := range n.Blocks {
			for _, v := range b.Params {
				c.from[v.ID] = i
			}
		}
	}
	for i := range f.Ranges {
		c.held(&f.Ranges[i], ends)
	}
	for id, from := range c.from {
		if from != none && c.end[id] == none {
			c.errorf("value %d: got no range, want one", id)
		}
	}
	for i, n := range nodes {
		for j := range n.Args {
			if v := n.Args[j].Value; v != nil && c.end[v.ID] != none && c.end[v.ID] < i {
				c.errorf("value %d: got its end with node %d, want it after its use by node %d", v.ID, c.end[v.ID], i)
			}
		}
	}
	return errors.Join(c.errs...)
}

const none = -2

type checker struct {
	f     *Func
	nodes []*program.Node
	from  []int // by value
	end   []int // by value: the last node that it outlives
	errs  []error
}

func (c *checker) errorf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s", c.f.Func.Name, fmt.Sprintf(format, args...)))
}

// held checks one range.
func (c *checker) held(r *Range, ends []int) {
	id := r.Value.ID
	switch {
	case id < 0 || id >= len(c.from) || c.from[id] == none:
		c.errorf("value %d: got a range, want none of what nothing makes", id)
		return
	case r.From != c.from[id]:
		c.errorf("value %d: got a range from node %d, want %d", id, r.From, c.from[id])
	case r.To < Param || r.To >= len(c.nodes) || r.To < r.From && r.End != BlockOut:
		c.errorf("value %d: got an end with node %d, want one of %d from %d on", id, r.To, len(c.nodes), r.From)
		return
	}
	end := r.To
	switch r.End {
	case AsArgument:
		if r.To < 0 || r.Arg < 0 || r.Arg >= len(c.nodes[r.To].Args) || c.nodes[r.To].Args[r.Arg].Value != r.Value {
			c.errorf("value %d: got an end as argument %d of node %d, which does not take it there", id, r.Arg, r.To)
		}
	case AtEntry:
		if r.To >= 0 && r.Arg >= len(c.nodes[r.To].Blocks) {
			c.errorf("value %d: got an end at block %d of node %d, which has %d", id, r.Arg, r.To,
				len(c.nodes[r.To].Blocks))
		}
	case After, BlockOut, Escapes:
		if r.To >= 0 {
			end = ends[r.To]
		}
	case Open:
		end = len(c.nodes)
	}
	c.end[id] = max(c.end[id], end)
}
