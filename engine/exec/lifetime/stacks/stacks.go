// Package stacks reads the live ranges of eager execution off a traced archive.
//
// Such an archive carries no source text, but every operator's Python stack, and printed names that
// the tracer took from Python's locals. The ranges come in five steps, each a separate value:
//
//	frames      by node: its part of the stack, from the forward of the function's module inward (frames.go)
//	calls       by node: the executions of Python functions around it (calls.go)
//	names       by value: the local that held it where it was first used (names.go)
//	statements  by node and call: the execution of a statement that it is part of (statements.go)
//	ranges      by value: its end (ranges.go, locals.go, containers.go)
//
// What follows from PyTorch and Python: a call of a module holds its arguments until it returns; a
// temporary goes with the operator that takes it, or with the function that it was passed to; a
// local holds its value until it is bound anew or its call ends. What only is likely: where no name
// is reported, a result is bound to the local whose value its statement reads for the last time,
// for `x = f(x)` is far more common than a name left lying. What nothing records: del, aliases,
// containers that a call fills, results that the program throws away. So Ranges is a reading, and
// Most is its other end: every value that a name might still hold is held.
// docs/decisions/lifetimes.md has the rules, why each follows, and the recording or test that fails
// without it.
package stacks

import (
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// Program is what the stacks of a traced program report. It reads functions as they are asked for,
// and is not for concurrent use.
type Program struct {
	prog      *program.Program
	functions map[*program.Graph]*function
	groups    map[*program.Stack][][]*program.Frame
	first     map[*program.Func][][]*program.Frame // the stack of a function's first operator, in groups
	records   map[string]int                       // by record: the line of its first function
	frames    []*program.Frame                     // of all groups, in one piece
	depth     int

	counts map[string]int // of userNames
	times  map[int]int    // of the scope under way
	ends   []end          // of the ranges under way
	lines  []*lineRun     // by depth, of the lines under way: each is used again for the next execution
}

// New is what the stacks of p report.
func New(p *program.Program) *Program {
	return &Program{prog: p, functions: map[*program.Graph]*function{}, groups: map[*program.Stack][][]*program.Frame{},
		first: map[*program.Func][][]*program.Frame{}}
}

// maxNesting is how deep calls of modules are followed.
const maxNesting = 200

// Ranges are the live ranges of the values that fn's nodes make, for the module self, as far as the
// stacks record them. What is not among them goes after its last use: parameters, whose values the
// caller holds, and what nothing uses.
func (p *Program) Ranges(fn *program.Func, self *program.Object) ([]lifetime.Range, error) {
	t, err := p.function(fn, self)
	if err != nil || t == nil {
		return nil, err
	}
	return t.ranges(), nil
}

// function is what is found out about a function of the program, nil where calls nest too deep.
type function struct {
	p       *Program
	nodes   []*program.Node
	num     []int // by node: its number in lifetime.Numbering
	count   int   // of these numbers
	frames  [][]*program.Frame
	at      []position
	def     []int     // by value: its node, -1 for parameters
	uses    [][]int   // by value: the nodes that take it
	number  []numeric // by value
	printed []string  // by value: its printed name without the printer's counter, "" for none
	names   []name
	first   []int             // by value: the first one with the same name, plus one; 0 where no name is known
	next    []int             // by value: the next one with the same name, plus one; 0 for none
	list    []*program.Object // by node: the list of modules that the module it calls is a member of
	callee  []*program.Object // by node: the module it calls
	result  []origin          // what the function returns
	ends    []int             // by value: its last use
}

// function reads fn, and the functions that it calls first.
func (p *Program) function(fn *program.Func, self *program.Object) (*function, error) {
	g, err := fn.Graph()
	if err != nil {
		return nil, err
	}
	if t := p.functions[g]; t != nil {
		return t, nil
	}
	if p.depth >= maxNesting {
		return nil, nil
	}
	p.depth++
	defer func() { p.depth-- }()
	t := p.newFunction(g)
	p.functions[g] = t
	callees := make([]*function, len(t.nodes))
	objects := p.objects(g, self)
	for i, n := range t.nodes {
		if n.Op != "prim::CallMethod" {
			continue
		}
		v := firstArg(n)
		o := at(objects, v)
		if o == nil {
			continue
		}
		t.callee[i] = o
		if def := t.def[v]; def >= 0 && t.nodes[def].Op == "prim::GetAttr" && numbered(t.nodes[def].Text) {
			t.list[i] = at(objects, firstArg(t.nodes[def]))
		}
		if f := o.Class.Method(n.Text); f != nil {
			if sub, err := p.function(f, o); err == nil {
				callees[i] = sub
			}
		}
	}
	t.frames = fillFrames(t, p.framesOf(t.nodes, objects))
	t.at = p.callsOf(t.frames)
	t.printed = p.userNames(g, p.opensRecord(fn))
	t.findNames(callees)
	t.bind()
	statements(t)
	return t, nil
}

func (p *Program) newFunction(g *program.Graph) *function {
	n, nodes := g.NumValues, g.Body.Nodes
	t := &function{p: p, nodes: nodes, def: make([]int, n), uses: make([][]int, n), number: make([]numeric, n),
		names: make([]name, n), list: make([]*program.Object, len(nodes)), callee: make([]*program.Object, len(nodes)),
		num: make([]int, len(nodes))}
	for i := range t.def {
		t.def[i] = lifetime.Param
	}
	for i, n := range nodes {
		t.num[i] = t.count
		t.count += 1 + inside(n)
	}
	uses := make([]int, n) // by value
	for _, n := range nodes {
		eachUse(n, func(v *program.Value) { uses[v.ID]++ })
	}
	for id, k := range uses {
		t.uses[id] = make([]int, 0, k)
	}
	for i, n := range nodes {
		for _, v := range n.Outs {
			t.def[v.ID] = i
			t.number[v.ID] = t.makesNumber(n)
		}
		eachUse(n, func(v *program.Value) { t.uses[v.ID] = append(t.uses[v.ID], i) })
	}
	return t
}

// inside is how many nodes n's blocks have, those of these nodes included.
func inside(n *program.Node) int {
	count := 0
	for _, b := range n.Blocks {
		for _, sub := range b.Nodes {
			count += 1 + inside(sub)
		}
	}
	return count
}

// objects are the modules that values of g are, by value, self being the first parameter.
func (p *Program) objects(g *program.Graph, self *program.Object) []*program.Object {
	out := make([]*program.Object, g.NumValues)
	if len(g.Params) > 0 {
		out[g.Params[0].ID] = self
	}
	for _, n := range g.Body.Nodes {
		if n.Op != "prim::GetAttr" {
			continue
		}
		if o := at(out, firstArg(n)); o != nil {
			if i, ok := o.Class.AttrIndex(n.Text); ok && i < len(o.Attrs) {
				if sub, ok := o.Attrs[i].(*program.Object); ok {
					out[n.Outs[0].ID] = sub
				}
			}
		}
	}
	return out
}

// at is the module that a value is, nil where it is none.
func at(objects []*program.Object, value int) *program.Object {
	if value < 0 {
		return nil
	}
	return objects[value]
}

// numbered says whether an attribute is a member of a Sequential or ModuleList, whose children are
// called 0, 1 and so on.
func numbered(name string) bool { return name >= "0" && name < ":" }

// firstArg is the value that a node takes first, -1 where that is none.
func firstArg(n *program.Node) int {
	if len(n.Args) == 0 || n.Args[0].Value == nil {
		return -1
	}
	return n.Args[0].Value.ID
}

// numeric says whether a value is a number on the host.
type numeric uint8

const (
	notNumber numeric = iota
	number            // Python's own
	wrapped           // in a tensor without dimensions
)

// makesNumber says whether a node gives a number. The tracer wraps every size that Python reads
// (torch/csrc/jit/frontend/tracer.cpp getSizeOf), so that what is computed with it are operators on
// such tensors alone; where an operator wants a number, the wrapping is taken off.
func (t *function) makesNumber(n *program.Node) numeric {
	switch n.Op {
	case "prim::NumToTensor":
		return wrapped
	case "aten::size", "aten::Int", "aten::Float", "aten::Bool", "aten::ScalarImplicit", "aten::IntImplicit":
		return number
	}
	kind := notNumber
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			k := t.number[v.ID]
			if k == notNumber {
				return notNumber
			}
			kind = max(kind, k)
		}
	}
	if kind != wrapped || n.Op == "prim::ListConstruct" || n.Op == "prim::TupleConstruct" {
		return notNumber
	}
	return wrapped
}

// eachUse calls f with every value that n and its blocks use.
func eachUse(n *program.Node, f func(*program.Value)) {
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			f(v)
		}
	}
	for _, b := range n.Blocks {
		for _, sub := range b.Nodes {
			eachUse(sub, f)
		}
		for j := range b.Outs {
			if v := b.Outs[j].Value; v != nil {
				f(v)
			}
		}
	}
}
