package aotinductor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

var tensorType = &program.Type{Kind: program.TensorType}

// graph is a wrapper's function under construction.
type graph struct {
	body    program.Block
	now     *program.Block // that is written: body, or one in it
	nodes   int
	values  int
	names   map[string]program.Arg // what a name stands for: a value, or a constant of the program
	owned   []string               // names that hold something, in the order they were made
	numbers map[string]*term       // names of sizes
	arrays  map[string]*term       // names of lists
	made    map[*program.Value]*program.Node
	none    map[*program.Value]bool  // what names no tensor yet
	reads   map[string]*program.Node // by name: the node that reads it off a tensor
	least   map[string]int64         // of such a number, as the wrapper checks it
	most    map[string]int64
	origin  string            // what the next kernel was made of, as the wrapper records
	places  map[string]*lines // of kernels, by handle
	at      *lines            // of the next kernel
}

func newGraph() *graph {
	g := &graph{reads: map[string]*program.Node{}, least: map[string]int64{}, most: map[string]int64{},
		names: map[string]program.Arg{}, numbers: map[string]*term{}, arrays: map[string]*term{},
		made: map[*program.Value]*program.Node{}, none: map[*program.Value]bool{}}
	g.now = &g.body
	return g
}

func (g *graph) value(name string) *program.Value {
	g.values++
	return &program.Value{ID: g.values - 1, Name: name, Type: tensorType}
}

// node appends a node, with what it was made of as the place.
func (g *graph) node(op string, where place) *program.Node {
	n := &program.Node{Operation: &program.Operation{Op: op,
		Where: program.Where{Line: where.line, Stmt: int32(g.nodes)}}}
	g.nodes++
	g.now.Nodes = append(g.now.Nodes, n)
	return n
}

// name binds a name to what a node gives it.
func (g *graph) name(name string, n *program.Node) *program.Value {
	v := g.value(name)
	n.Outs = append(n.Outs, v)
	g.bind(name, program.Arg{Value: v})
	return v
}

func (g *graph) bind(name string, a program.Arg) {
	g.names[name] = a
	if a.Value != nil {
		g.owned = append(g.owned, name)
	}
}

// view is another look at what an argument names.
func (g *graph) view(name string, of program.Arg, m *program.TensorMeta, where place) {
	n := g.node(program.BufferAlias, where)
	if m != nil {
		n.Op = program.BufferView
		n.Meta = &program.NodeMeta{Recorded: []*program.TensorMeta{m}}
	}
	n.Args = []program.Arg{of}
	v := g.name(name, n)
	g.made[v] = g.made[of.Value]
}

// move gives what one name holds to another.
func (g *graph) move(to, from string, where place) error {
	a, ok := g.names[from]
	if !ok {
		return fail(where, "got %s, want a name that stands for something", short(from))
	}
	if a.Value == nil { // a constant: nothing is held
		g.names[to] = a
		return nil
	}
	n := g.node(program.BufferMove, where)
	n.Args = []program.Arg{a}
	g.forget(from)
	v := g.name(to, n)
	g.made[v] = g.made[a.Value]
	return nil
}

// free ends what a name holds. One that holds nothing may be freed again.
func (g *graph) free(name string, where place) error {
	a, ok := g.names[name]
	if !ok {
		return fail(where, "got %s freed, want a name that stands for something", short(name))
	}
	if a.Value == nil || !slices.Contains(g.owned, name) {
		return nil
	}
	if !g.none[a.Value] {
		n := g.node(program.BufferFree, where)
		n.Args = []program.Arg{a}
	}
	g.forget(name)
	return nil
}

// forget takes a name from those that hold something.
func (g *graph) forget(name string) {
	if i := slices.Index(g.owned, name); i >= 0 {
		g.owned = slices.Delete(g.owned, i, i+1)
	}
}

// kernel is a kernel of the wrapper's own.
func (g *graph) kernel(name string, args []program.Arg, where place) {
	n := g.node(program.FusedKernel, where)
	n.Text, n.Args = name, args
	g.describe(n)
}

// describe says of a kernel, and of the buffers that are first used by it, which operators it was
// made of.
func (g *graph) describe(n *program.Node) {
	if g.at != nil {
		n.Where.Stack = g.at.stack
	}
	if g.origin == "" {
		return
	}
	made := g.origin
	if of := copied(n, g.origin); of != "" {
		made = "layout copy for " + of
	}
	made += g.at.text()
	for i := range n.Args {
		n.Args[i].Values(func(v *program.Value) {
			if of := g.made[v]; of != nil && of.Text == "" {
				of.Text, of.Where.Stack = made, n.Where.Stack
			}
		})
	}
	if n.Text == "" {
		n.Text = g.origin
	}
}

// copied is the library's operator for which a kernel copies an operand into the layout that the
// library is to have it in (torch/_inductor/ir.py ExternKernel.require_strides); "" where it does
// other things. Inductor leaves the operator to the library: a separate kernel that is made of it
// alone, or that reads a weight and nothing else, is that copy.
func copied(n *program.Node, origin string) string {
	if n.Op != program.FusedKernel {
		return ""
	}
	if libraries[origin] {
		return origin
	}
	if len(n.Args) != 2 || n.Args[1].Value == nil {
		return ""
	}
	if _, weight := n.Args[0].Const.(*program.State); !weight {
		return ""
	}
	for op := range strings.SplitSeq(origin, ", ") {
		if libraries[op] {
			return op
		}
	}
	return ""
}

// libraries are operators that inductor leaves to them.
var libraries = map[string]bool{
	"aten::convolution": true, "aten::convolution_backward": true, "aten::mm": true, "aten::addmm": true,
	"aten::bmm": true, "aten::baddbmm": true,
}

// note reads "Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.addmm,
// aten.gelu]", and the handle of a kernel.
func (g *graph) note(text string) {
	if _, handle, ok := strings.Cut(text, handles); ok {
		g.at = g.places[strings.TrimSpace(handle)]
		return
	}
	g.at = nil
	_, list, _ := strings.Cut(text, "Original ATen: [")
	list, _, _ = strings.Cut(list, "]")
	g.origin = ""
	if list != "" {
		g.origin = strings.ReplaceAll(list, "aten.", "aten::")
	}
}

// end closes what is still held, as C++ locals end, the latest first, and returns.
func (g *graph) end(results []program.Arg, where place) {
	slices.Reverse(g.owned)
	for i := range g.owned {
		if a := g.names[g.owned[i]]; !g.none[a.Value] {
			n := g.node(program.BufferFree, where)
			n.Args = []program.Arg{a}
		}
	}
	n := g.node("prim::Return", where)
	n.Args = []program.Arg{{Items: results}}
}

// meta reads sizes and strides.
func (g *graph) meta(d tensor.DType, sizes, strides *term) (*program.TensorMeta, error) {
	m := &program.TensorMeta{DType: d, Device: "cuda"}
	var err error
	if m.Sizes, err = g.sizes(sizes); err != nil {
		return nil, err
	}
	if m.Strides, err = g.sizes(strides); err != nil {
		return nil, err
	}
	if len(m.Sizes) != len(m.Strides) {
		return nil, fail(sizes.where, "got %d sizes and %d strides", len(m.Sizes), len(m.Strides))
	}
	return m, nil
}

// sizes reads a list of sizes, or the name of one.
func (g *graph) sizes(t *term) ([]program.Size, error) {
	l, err := g.listOf(t)
	if err != nil {
		return nil, err
	}
	out := make([]program.Size, len(l.args))
	for i, a := range l.args {
		if out[i], err = a.size(g.numbers); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (g *graph) listOf(t *term) (*term, error) {
	for t != nil && t.kind == callTerm && t.text == "static_cast" && len(t.args) == 1 {
		t = t.args[0]
	}
	if t != nil && t.kind == nameTerm && g.arrays[t.text] != nil {
		return g.arrays[t.text], nil
	}
	if t == nil || t.kind != listTerm {
		var where place
		if t != nil {
			where = t.where
		}
		return nil, fail(where, "got %v, want a list of sizes", t)
	}
	return t, nil
}

// dtypeOf reads cached_torch_dtype_float32.
func dtypeOf(t *term) (tensor.DType, error) {
	d, err := tensor.ParseDType(strings.TrimPrefix(t.text, "cached_torch_dtype_"))
	if err != nil || t.kind != nameTerm {
		return d, fail(t.where, "got %s, want a dtype", t)
	}
	return d, nil
}

// function is the finished graph.
func (g *graph) function(params []*program.Value) *program.Graph {
	return &program.Graph{Params: params, Body: &g.body, NumValues: g.values}
}

// key is the overload that torch.ops.aten.convolution.default names.
func key(op string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(op, "torch.ops."), ".")
	switch {
	case len(parts) == 3 && parts[2] == "default", len(parts) == 2:
		return parts[0] + "::" + parts[1], nil
	case len(parts) == 3:
		return parts[0] + "::" + parts[1] + "." + parts[2], nil
	}
	return "", fmt.Errorf("got the operator %s, want torch.ops.NAMESPACE.NAME.OVERLOAD", short(op))
}
