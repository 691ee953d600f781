// Package fx runs exported graphs on exec's machine: a walk over the nodes of a graph, whose
// operators name their overload, with a block for each graph that an operator runs. A value is
// released after its last use, as the code that torch.fx generates for the graph does.
package fx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// New returns what starts runs of p.
func New(p *program.Program) exec.Start { return start(p, nil, nil) }

// NewSeen is New for a program of which more is reported than it holds.
func NewSeen(p *program.Program, s *Seen) exec.Start { return start(p, s, nil) }

// Seen is what was seen of the live model when a program was exported.
type Seen struct {
	Releases []lifetime.Release // when Python released the program's results
	Differs  string             // where the live model runs other operators than the program; "" where it runs the same
	// Autocast and Converted are Differs under autocast, and with parameters and inputs of another
	// dtype: x.to(y.dtype) is a cast to one dtype in a program.
	Autocast, Converted string
	// Contiguous says that the live model may call contiguous() on what attention gives, which is
	// in no program where it had nothing to copy.
	Contiguous bool
	// that hold tensors, parents first, as they are moved to a device; none where the program's own
	// order states it
	Modules []string
}

// Watch is NewSeen with what reports after a run the live ranges by which values were released.
func Watch(p *program.Program, s *Seen) (start exec.Start, lifetimes func() []lifetime.Func) {
	var last *walker
	start = func(m *exec.Machine) (exec.Driver, error) {
		d, err := NewSeen(p, s)(m)
		last, _ = d.(*walker)
		return d, err
	}
	return start, func() []lifetime.Func {
		if last == nil {
			return nil
		}
		return []lifetime.Func{{Func: p.Entry, Graph: last.graph, Ranges: last.ranges}}
	}
}

// Mismatch is a result that is not what the program recorded.
type Mismatch struct {
	Node     *program.Node
	Result   int
	Got      tensor.Meta
	Recorded tensor.Meta
}

// Compare is New for a program whose every recorded result is to be compared with what the rules
// give; each says so once a result, and is handed also those that agree.
func Compare(p *program.Program, each func(Mismatch)) exec.Start { return start(p, nil, each) }

func start(p *program.Program, seen *Seen, each func(Mismatch)) exec.Start {
	return func(m *exec.Machine) (exec.Driver, error) {
		if p.Entry == nil {
			return nil, errors.New("got a program without a graph, want one")
		}
		g, err := p.Entry.Graph()
		if err != nil {
			return nil, err
		}
		m.PythonContainers()
		w := &walker{Machine: m, prog: p, graph: g, seen: seen, each: each, regs: make([]any, g.NumValues),
			set: make([]bool, g.NumValues), host: exec.FromHost(p)}
		return w, nil
	}
}

// walker runs one program in one run.
type walker struct {
	*exec.Machine
	prog  *program.Program
	graph *program.Graph
	body  *block
	insts []*inst // of all blocks, in order
	regs  []any   // by value
	set   []bool
	now   *inst

	hidden map[int]int64 // the level of vmap that hides a value's first dimension; nil where there is no vmap
	// the graph of an associative scan runs, which was recorded for one of the elements that it
	// runs for
	combining bool

	ranges         []lifetime.Range
	inReleaseOrder bool // they are in the order in which Python released values

	seen    *Seen            // nil where nothing is known
	symbols map[string]int64 // their values in this run
	host    bool             // the program names no accelerator: what it says of devices means the one it runs on
	each    func(Mismatch)
}

// Params are what a caller gives by name.
func (w *walker) Params() []program.Param {
	f := w.prog.Entry
	if f.Inputs == nil {
		return f.Params
	}
	out := make([]program.Param, len(f.Inputs))
	next := 0
	for i, in := range f.Inputs {
		out[i] = program.Param{Name: in.Name, Type: &program.Type{Kind: program.AnyType}}
		if in.Tree.Kind == program.LeafTree {
			out[i] = f.Params[next]
			out[i].Name = in.Name
		}
		next += in.Tree.Leaves()
	}
	return out
}

// Load moves the program's tensors: as torch.export.passes.move_to_device_pass does with what
// torch.export.load makes, one by one, each for itself; in eager execution in the order of the
// module that was exported, whose tied weights are one.
func (w *walker) Load() {
	if w.Options().Liveness == exec.LastUse {
		w.Machine.Load(nil, nil)
		for _, s := range w.prog.States {
			w.StateOn(s, exec.Accelerator)
		}
		return
	}
	w.Machine.Load(nil, nil)
	w.liftConstants(w.graph.Body)
	first := map[tied]*program.State{}
	for _, s := range moduleOrder(w.prog.States, w.modules()) {
		key := tied{s.Storage, s.Meta.StorageOffset, fmt.Sprint(s.Meta.Sizes, s.Meta.Strides)}
		if same := first[key]; same != nil && s.Class == tensor.Parameter && same.Class == tensor.Parameter {
			w.Tie(s, same)
			continue
		}
		first[key] = s
		w.State(s)
	}
}

// liftConstants leaves on the host what code makes of numbers as it runs (torch.tensor): a program
// has it as a constant and copies that.
func (w *walker) liftConstants(b *program.Block) {
	for _, n := range b.Nodes {
		if s := lifted(n); s != nil {
			w.StateOn(s, "cpu")
		}
		for _, inner := range n.Blocks {
			w.liftConstants(inner)
		}
	}
}

// lifted is the constant that a node makes a tensor of, as torch.tensor does; nil where it is
// another node.
func lifted(n *program.Node) *program.State {
	if n.Key() != "aten::lift_fresh_copy" || len(n.Args) != 1 {
		return nil
	}
	s, _ := n.Args[0].Const.(*program.State)
	if s == nil || !s.OfCode {
		return nil
	}
	return s
}

// tied is what two names of one parameter agree in.
type tied struct {
	storage int
	offset  int64
	shape   string
}

func (w *walker) modules() []string {
	if w.seen == nil {
		return nil
	}
	return w.seen.Modules
}

// moduleOrder is the order in which nn.Module._apply moves tensors: those of children first, then
// own parameters, then own buffers; children stand in the order of modules, where these are
// reported, then in that in which the program first names something of theirs.
func moduleOrder(states []*program.State, modules []string) []*program.State {
	root := &folder{children: map[string]*folder{}}
	for _, path := range modules {
		root.at(strings.Split(path, "."))
	}
	for _, s := range states {
		parts := strings.Split(s.Name, ".")
		at := root.at(parts[:len(parts)-1])
		at.own = append(at.own, s)
	}
	return root.list(make([]*program.State, 0, len(states)))
}

// folder is a module as the names of states say of it.
type folder struct {
	children map[string]*folder
	order    []*folder
	own      []*program.State
}

// at is the folder of a path below f; made where it is new.
func (f *folder) at(path []string) *folder {
	for _, name := range path {
		next := f.children[name]
		if next == nil {
			next = &folder{children: map[string]*folder{}}
			f.children[name] = next
			f.order = append(f.order, next)
		}
		f = next
	}
	return f
}

func (f *folder) list(out []*program.State) []*program.State {
	for _, child := range f.order {
		out = child.list(out)
	}
	for _, buffers := range [2]bool{false, true} {
		for _, s := range f.own {
			if (s.Class != tensor.Parameter) == buffers {
				out = append(out, s)
			}
		}
	}
	return out
}

// Prepare lays the graph out.
func (w *walker) Prepare() error { return w.compile() }

// Forward runs the graph.
func (w *walker) Forward(args []any) (any, error) {
	leaves, err := w.leaves(args)
	if err != nil {
		return nil, err
	}
	for i, v := range w.graph.Params {
		w.Hold(leaves[i])
		w.put(v, leaves[i])
	}
	for _, id := range w.body.dead {
		w.clear(id)
	}
	if err := w.run(w.body); err != nil {
		return nil, err
	}
	n := w.graph.Body.Nodes[len(w.graph.Body.Nodes)-1]
	result := w.result(&n.Args[0])
	for id := range w.regs {
		w.clear(id)
	}
	return result, nil
}

// result builds what the program gives its caller, held once.
func (w *walker) result(a *program.Arg) any {
	items := a.Items
	if a.Items == nil {
		if l, ok := a.Const.(*program.ListLit); ok {
			for _, c := range l.Items {
				items = append(items, program.Arg{Const: c})
			}
		}
	}
	values := make([]any, len(items))
	for i := range items {
		values[i] = w.arg(&items[i])
		w.Hold(values[i])
	}
	if t := w.prog.Entry.Output; t != nil && t.Leaves() == len(values) {
		v, _ := built(t, values)
		return v
	}
	return &ops.Tuple{Items: values, Refs: 1}
}

// built is a structure with its leaves, and what is left of them.
func built(t *program.Tree, leaves []any) (any, []any) {
	if t.Kind == program.LeafTree {
		return leaves[0], leaves[1:]
	}
	items := make([]any, len(t.Items))
	for i, item := range t.Items {
		items[i], leaves = built(item, leaves)
	}
	switch {
	case t.Kind == program.ListTree:
		return &ops.List{Items: items, Refs: 1}, leaves
	case t.Kind == program.DictTree || t.Kind == program.ObjectTree && len(t.Names) == len(items):
		d := &ops.Dict{Values: items, Refs: 1}
		for i := range items {
			d.Keys = append(d.Keys, t.Names[i])
		}
		return d, leaves
	}
	return &ops.Tuple{Items: items, Refs: 1}, leaves
}

// Kept shows nothing: a pass leaves what it changes in arguments and in the model's tensors.
func (w *walker) Kept(func(any)) {}

// Describe writes what the graph's names hold.
func (w *walker) Describe(s *exec.State) {
	for i, v := range w.regs {
		s.Slot(w.set[i], v)
	}
}

func (w *walker) put(v *program.Value, x any) { w.regs[v.ID], w.set[v.ID] = x, true }

// clear releases a name.
func (w *walker) clear(id int) {
	if w.set[id] {
		v := w.regs[id]
		w.regs[id], w.set[id] = nil, false
		w.Drop(v)
	}
}

// fail makes err an error of the model at the current node.
func (w *walker) fail(err error) error {
	var e *exec.EvalError
	if errors.As(err, &e) || w.now == nil {
		return err
	}
	n := w.now.node
	e = &exec.EvalError{Msg: err.Error(), Op: n.Op, Pos: n.Where.Pos(), Cause: err}
	if n.Where.Stack != nil {
		for _, f := range n.Where.Stack.Frames {
			entry := exec.StackEntry{Func: f.Function, Record: f.File, Line: f.Line,
				Pos: program.Pos{File: f.File, Line: f.Line}}
			e.Stack = append(e.Stack, entry)
		}
	} else {
		e.Stack = []exec.StackEntry{{Func: w.prog.Entry.Name, Record: w.prog.Entry.Record, Line: int(n.Where.Stmt)}}
	}
	return e
}
