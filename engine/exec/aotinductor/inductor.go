// Package aotinductor runs the code of AOTInductor packages on exec's machine: buffers are made,
// reused and freed where the code says so, fused kernels take nothing, and the operators that it
// falls back to follow their rules, with their workspace.
//
// The weights of an AOTInductor package are one block that its runtime takes with cudaMalloc,
// outside of PyTorch's allocator (torch/csrc/inductor/aoti_runtime/model_base.h load_constants): no
// events, but Trace.Outside.
package aotinductor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Runs says whether a node is one of the driver's own, which need no rule.
func Runs(op string) bool { return strings.HasPrefix(op, "inductor::") && op != program.Proxied }

// New returns what starts runs of p.
func New(p *program.Program) exec.Start {
	return func(m *exec.Machine) (exec.Driver, error) {
		if p.Entry == nil {
			return nil, errors.New("got a program without a graph, want one")
		}
		g, err := p.Entry.Graph()
		if err != nil {
			return nil, err
		}
		m.PythonContainers()
		w := &walker{Machine: m, prog: p, graph: g, regs: make([]any, g.NumValues),
			sites: map[*program.Node]trace.SiteID{}, weights: map[*program.State]*tensor.Tensor{}, reads: readsOf(p, g)}
		return w, nil
	}
}

// walker runs one program in one run.
type walker struct {
	*exec.Machine
	prog    *program.Program
	graph   *program.Graph
	regs    []any // by value; nil of one that names nothing
	sites   map[*program.Node]trace.SiteID
	weights map[*program.State]*tensor.Tensor
	symbols map[string]int64 // their values in this run
	now     *program.Node
	reads   map[string]*number
	rounds  *exec.Rounds                      // of the loop under way
	readOff map[*program.Value]*program.Value // by value: the tensor's name
}

// Params are the wrapper's own, in order.
func (w *walker) Params() []program.Param { return w.prog.Entry.Params }

// Literal is the value of a literal of the program.
func (w *walker) Literal(v any) any { return v }

// alignment of each weight in their block (torch/_inductor/codecache.py).
const alignment = 64

// Load takes the weights' block.
func (w *walker) Load() {
	w.Machine.Load(nil, nil)
	var block units.Bytes
	for _, s := range w.prog.States {
		meta := s.Meta
		w.weights[s] = w.TensorOn(&tensor.Storage{ID: -1, NBytes: units.Bytes(s.NBytes), Device: meta.Device,
			Category: s.Class}, meta)
		if meta.Device == exec.Accelerator {
			block += units.Bytes((s.NBytes + alignment - 1) / alignment * alignment)
		}
	}
	w.TakeOutside(block)
}

// Prepare has nothing to do: a package's code is compiled.
func (w *walker) Prepare() error { return nil }

// Kept shows nothing: nothing of a call stays.
func (w *walker) Kept(func(any)) {}

// Describe writes what the wrapper's names hold.
func (w *walker) Describe(s *exec.State) {
	for _, v := range w.regs {
		s.Slot(v != nil, v)
	}
}

// Forward runs the wrapper.
func (w *walker) Forward(args []any) (any, error) {
	if err := w.bind(args); err != nil {
		return nil, err
	}
	w.Sites.Begin(trace.Forward)
	for i, v := range w.graph.Params {
		w.Hold(args[i])
		w.regs[v.ID] = args[i]
	}
	end, err := w.run(w.graph.Body)
	if err != nil {
		return nil, w.fail(err)
	}
	if end == nil {
		return nil, w.fail(errors.New("got the end of the code, want a return"))
	}
	return w.results(end)
}

// run runs a block, and returns the node that ended it before its end: a return, or what left a
// loop.
func (w *walker) run(b *program.Block) (*program.Node, error) {
	for _, n := range b.Nodes {
		w.now = n
		if err := w.Step(); err != nil {
			return nil, err
		}
		w.Node()
		if n.Op == "prim::Return" {
			return n, nil
		}
		if len(n.Blocks) > 0 {
			if left, err := w.control(n); err != nil || left {
				return n, err
			}
			continue
		}
		w.place(n)
		err := w.node(n)
		w.Sites.Leave()
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// bind compares the arguments with the parameters, and finds the symbols' values.
func (w *walker) bind(args []any) error {
	params := w.prog.Entry.Params
	given := make([][]int64, len(params))
	for i := range params {
		p := &params[i]
		t, ok := args[i].(*tensor.Tensor)
		if !ok {
			return &exec.InputError{Msg: fmt.Sprintf("input %s: got no tensor, want %s", p.Name, p.Meta)}
		}
		if t.DType != p.Meta.DType {
			return &exec.InputError{Msg: fmt.Sprintf("input %s: got %s, want %s: compiled code takes one dtype", p.Name,
				t.DType, p.Meta.DType)}
		}
		given[i] = t.Sizes
	}
	if w.symbols != nil { // as in the pass before, less what that one read of data
		for name := range w.reads {
			delete(w.symbols, name)
		}
		return nil
	}
	symbols, err := w.prog.BindSymbols(given)
	if err != nil {
		return &exec.InputError{Msg: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	w.symbols = symbols
	return nil
}

// places are what nodes are reported as whose kind is no name of PyTorch's.
var places = map[string]string{program.Choice: "torch.cond", program.RoundsOf: "while_loop",
	program.LeaveLoop: "while_loop", program.ValueRead: "aten::item", program.SizeRead: "aten::size"}

// place makes a node's place the current one: the operators that it was made of, and the line of
// the wrapper.
func (w *walker) place(n *program.Node) {
	if site, there := w.sites[n]; there {
		w.Sites.EnterAgain(site)
	} else {
		w.sites[n] = w.newPlace(n)
	}
}

func (w *walker) newPlace(n *program.Node) trace.SiteID {
	op := n.Op
	if place := places[op]; place != "" {
		op = place
	}
	if n.Text != "" && (n.Op == program.BufferEmpty || n.Op == program.FusedKernel) {
		op = n.Text
	}
	at := program.Pos{File: w.prog.Entry.Record, Line: int(n.Where.Line)}
	if n.Where.Stack != nil {
		at = n.Where.Pos()
	}
	return w.Sites.EnterAs(tensor.Activation, op, "", at)
}

// node runs one.
func (w *walker) node(n *program.Node) error {
	switch n.Op {
	case program.FusedKernel: // tuned when the package was made
		return nil
	case program.BufferEmpty:
		m, err := n.Recorded()[0].Bind(w.symbols)
		if err != nil {
			return err
		}
		t, err := w.NewTensor(m, tensor.Activation)
		if err != nil {
			return err
		}
		w.put(n.Outs[0], t)
		return nil
	case program.BufferView:
		return w.view(n)
	case program.BufferAlias:
		return w.alias(n)
	case program.BufferMove:
		v, err := w.held(&n.Args[0])
		if err != nil {
			return err
		}
		w.regs[n.Args[0].Value.ID] = nil
		w.put(n.Outs[0], v)
		return nil
	case program.BufferDeclare:
		return nil
	case program.BufferAssign:
		return w.assign(n)
	case program.ValueRead:
		return w.item(n)
	case program.SizeRead:
		return w.sizeRead(n)
	case program.BufferFree:
		if v := n.Args[0].Value; v != nil {
			w.Drop(w.regs[v.ID])
			w.regs[v.ID] = nil
		}
		return nil
	}
	return w.operator(n)
}

// put gives a name what is held for it.
func (w *walker) put(v *program.Value, x any) { w.regs[v.ID] = x }

// held is what an argument names: a tensor, or the results of an operator that has several.
func (w *walker) held(a *program.Arg) (any, error) {
	if s, ok := a.Const.(*program.State); ok {
		return w.weights[s], nil
	}
	if a.Value == nil || w.regs[a.Value.ID] == nil {
		return nil, fmt.Errorf("got %s, which names no tensor here", nameOf(a))
	}
	return w.regs[a.Value.ID], nil
}

// nameOf is what the wrapper calls an argument.
func nameOf(a *program.Arg) string {
	if s, ok := a.Const.(*program.State); ok {
		return s.Name
	}
	if a.Value != nil {
		return a.Value.Name
	}
	return "a number"
}

// tensor is the tensor that an argument names.
func (w *walker) tensor(a *program.Arg) (*tensor.Tensor, error) {
	v, err := w.held(a)
	if err != nil {
		return nil, err
	}
	t, ok := v.(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("got %s, want a tensor", ops.TypeName(v))
	}
	return t, nil
}

// alias gives what an argument names another name.
func (w *walker) alias(n *program.Node) error {
	v, err := w.held(&n.Args[0])
	if err != nil {
		return err
	}
	w.Hold(v)
	w.put(n.Outs[0], v)
	return nil
}

// view makes another tensor on the storage of one.
func (w *walker) view(n *program.Node) error {
	of, err := w.tensor(&n.Args[0])
	if err != nil {
		return err
	}
	bound := *n.Recorded()[0]
	if bound.DType == tensor.Undefined {
		bound.DType = of.DType
	}
	meta, err := bound.Bind(w.symbols)
	if err != nil {
		return err
	}
	meta.Device = of.Device
	if end := meta.StorageBytes(); end > of.Storage.NBytes || meta.StorageOffset < 0 {
		return fmt.Errorf("got a view up to byte %d from element %d on, want it within the %d bytes of %s", int64(end),
			meta.StorageOffset, int64(of.Storage.NBytes), nameOf(&n.Args[0]))
	}
	t := w.TensorOn(of.Storage, meta)
	w.Hold(t)
	w.put(n.Outs[0], t)
	return nil
}

// results are what the wrapper gives its caller, who takes over what the names hold.
func (w *walker) results(n *program.Node) (any, error) {
	out := newTuple(len(n.Args[0].Items))
	seen := map[int]bool{}
	for i := range n.Args[0].Items {
		a := &n.Args[0].Items[i]
		t, err := w.tensor(a)
		if err != nil {
			return nil, w.fail(err)
		}
		if a.Value == nil || seen[a.Value.ID] {
			w.Hold(t)
		}
		if a.Value != nil {
			seen[a.Value.ID] = true
		}
		out.Items = append(out.Items, t)
	}
	for id := range w.regs {
		if !seen[id] {
			w.Drop(w.regs[id])
		}
		w.regs[id] = nil
	}
	return out, nil
}

// fail makes err an error of the model at the current node.
func (w *walker) fail(err error) error {
	if w.now == nil {
		return err
	}
	at := program.Pos{File: w.prog.Entry.Record, Line: int(w.now.Where.Line)}
	return &exec.EvalError{Msg: err.Error(), Op: w.now.Op, Pos: at, Cause: err,
		Stack: []exec.StackEntry{{Func: w.prog.Entry.Name, Record: at.File, Line: at.Line, Pos: at}}}
}
