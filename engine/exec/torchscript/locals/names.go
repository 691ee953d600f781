// Package locals follows what the names of the user's Python hold while a scripted function runs
// eagerly. A local name holds its tensor until it is bound anew, deleted, or its frame ends. A
// scripted archive carries the source text of every function beside the code, and the printed names
// of the code say which of the user's names a value had.
//
// A Reader reads from both, before a function runs, where each node stands in the text and which
// names its results get (Names). A Scope then goes through the text with one call of the function:
// node by node as the interpreter runs them, and on its way through the statements that left
// nothing in the archive, such as aliases, lists of names and del.
//
// Without the text the printed names alone are followed. Not followed: names that a comprehension
// or a nested function binds.
package locals

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/program"
)

// Names is what is known of a function's names before it runs. Nodes are numbered as they are
// written, those of blocks behind the node that has them.
type Names struct {
	text   *program.SourceText // the user's function
	src    *pysource.Source    // nil where the archive carries no text: then printed names alone are followed
	locals []string            // parameters first, then as the compiler numbers them
	index  map[string]int32    // where there are many
	stmt   []int32             // by node: its statement in src, -1 where unknown
	// by node: the compound statement that an If or Loop is, -1 where it is none (a condition in an
	// expression)
	header   []int32
	bind     [][]int32     // by value: the locals it is bound to
	fill     []bool        // by node: makes the tensor of `x[i] = number`
	placed   []bool        // by statement: it left nodes in the archive
	together map[int]int32 // by node: the local that holds all its results as one tuple, `t = torch.topk(x, 4)`
}

// Bound are the locals that a value is bound to once its statement is complete.
func (n *Names) Bound(value int) []string {
	out := make([]string, len(n.bind[value]))
	for i, local := range n.bind[value] {
		out[i] = n.locals[local]
	}
	return out
}

// HostNumber says whether a node makes the tensor of `x[i] = number`: eager execution puts the
// number in a tensor on the CPU (torch/csrc/autograd/python_variable_indexing.cpp valueToTensor).
func (n *Names) HostNumber(node int) bool { return n.fill[node] }

// Reader reads the names of the functions of one program. The zero Reader is ready.
type Reader struct {
	texts map[*program.SourceText]*pysource.Source // functions of many classes share theirs
	// by text, nil for one that does not parse: statements run once a call
	exprs map[string]python.Expr
	work  reading // used again
}

// reading is a function whose names are being read.
type reading struct {
	*Names
	nodes []node  // in order
	uses  []uses  // by value
	defs  []*node // by value, nil for parameters
	first []int32 // by printed statement: its first node and one more, 0 for none
	next  []int32 // by node: the next one of its printed statement and one more, 0 for none
}

// node is a node with its number.
type node struct {
	*program.Node
	num int32
}

// uses is what is known of a value's uses.
type uses struct {
	any   bool
	stmt  int32 // the statement they are in
	mixed bool  // or there are several
	first *node
}

// outFlow stands for the place of a block's results, nowhere for one that is not known.
const (
	nowhere = -1
	outFlow = -2
)

// Read reads the names of a function of count nodes.
func (r *Reader) Read(g *program.Graph, count int) *Names {
	w := &r.work
	w.uses, w.defs = zeroed.Extend(w.uses[:0], g.NumValues), zeroed.Extend(w.defs[:0], g.NumValues)
	w.nodes, w.next, w.first = zeroed.Extend(w.nodes[:0], count)[:0], zeroed.Extend(w.next[:0], count), w.first[:0]
	n := &Names{
		text: g.Source, stmt: make([]int32, count), header: make([]int32, count), fill: make([]bool, count),
		bind: make([][]int32, g.NumValues),
	}
	w.Names = n
	locals := len(g.Params)
	if n.text != nil {
		n.src = r.source(n.text)
		locals += len(n.src.Locals)
	}
	n.locals = make([]string, 0, locals)
	for _, p := range g.Params {
		n.local(p.Name)
	}
	w.gather(g.Body)
	if n.src == nil {
		for i := range n.stmt {
			n.stmt[i], n.header[i] = nowhere, nowhere
		}
		w.bindPrinted(g.Body)
		return n
	}
	for _, name := range n.src.Locals {
		n.local(name)
	}
	n.placed = make([]bool, len(n.src.Stmts))
	w.place()
	w.consume(g.Body, 0)
	for i := range w.nodes {
		w.bindNode(&w.nodes[i])
	}
	return n
}

// source is a text read.
func (r *Reader) source(t *program.SourceText) *pysource.Source {
	s := r.texts[t]
	if s == nil {
		s = pysource.Read(t.Text)
		if r.texts == nil {
			r.texts = map[*program.SourceText]*pysource.Source{}
		}
		r.texts[t] = s
	}
	return s
}

// expr is the expression that a text is, nil where it is none that is read.
func (r *Reader) expr(text string) python.Expr {
	x, ok := r.exprs[text]
	if !ok {
		if parsed, err := python.ParseExpr(text); err == nil {
			x = parsed
		}
		if r.exprs == nil {
			r.exprs = map[string]python.Expr{}
		}
		r.exprs[text] = x
	}
	return x
}

// local is the number of a name.
func (n *Names) local(name string) int32 {
	i, ok := n.find(name)
	if !ok {
		i = int32(len(n.locals))
		n.locals = append(n.locals, name)
		if n.index != nil {
			n.index[name] = i
		}
	}
	return i
}

// manyLocals is from how many on a map finds names faster.
const manyLocals = 16

// find is the number of a name that has one.
func (n *Names) find(name string) (i int32, ok bool) {
	if len(n.locals) < manyLocals {
		for i, l := range n.locals {
			if l == name {
				return int32(i), true
			}
		}
		return 0, false
	}
	if n.index == nil {
		n.index = make(map[string]int32, 2*len(n.locals))
		for i, l := range n.locals {
			n.index[l] = int32(i)
		}
	}
	i, ok = n.index[name]
	return i, ok
}

// numberOf is the number of a name that a statement assigns.
func (n *Names) numberOf(name string) int32 {
	i, _ := n.find(name)
	return i
}

// anyLocal is the longest local that name may stand for, -1 for none.
func (n *Names) anyLocal(name string) int32 {
	for end := len(name); end > 0; end-- {
		if i, ok := n.find(name[:end]); ok && printedAs(name, name[:end]) {
			return i
		}
		if c := name[end-1]; c < '0' || c > '9' {
			break
		}
	}
	return nowhere
}

// printed says whether a printed name came from a name of the user's; the printer's own are an
// underscore and a number.
func printed(name string) bool {
	return strings.TrimLeft(name, "_0123456789") != ""
}

// printedAs says whether the printer may have written local p as name: itself, or with its counter
// behind.
func printedAs(name, p string) bool {
	if p == "" || !strings.HasPrefix(name, p) {
		return false
	}
	digits := name[len(p):]
	if digits == "" {
		return true
	}
	if digits[0] == '0' && len(digits) > 1 {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}
