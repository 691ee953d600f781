package fx

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Operators that run graphs, as PyTorch runs them eagerly (torch/_higher_order_ops).

func isHigherOrder(op string) bool { return strings.HasPrefix(op, program.HigherOrder) }

// graphsOf is how many graphs the operators have that are known.
var graphsOf = map[string]int{
	"wrap": 1, "wrap_with_set_grad_enabled": 1, "strict_mode": 1, "hints_wrapper": 1, "invoke_subgraph": 1,
	"wrap_with_autocast": 1, "cond": 2, "while_loop": 2, "map_impl": 1, "scan": 1,
	"associative_scan": 1,
}

// Runs says whether an operator is one that runs graphs and is known, or stands around what
// torch.vmap vectorises.
func Runs(op string) bool {
	return isHigherOrder(op) && graphsOf[strings.TrimPrefix(op, program.HigherOrder)] > 0 ||
		strings.HasPrefix(op, predispatch)
}

// higher runs an operator that runs graphs.
func (w *walker) higher(in *inst) (any, error) {
	name := strings.TrimPrefix(in.node.Op, program.HigherOrder)
	graphs, ok := graphsOf[name]
	if !ok {
		return w.missing(in)
	}
	if len(in.blocks) != graphs {
		return nil, fmt.Errorf("%s: got %d graphs, want %d", in.node.Op, len(in.blocks), graphs)
	}
	switch name {
	case "wrap_with_autocast":
		return w.autocast(in)
	case "hints_wrapper":
		return w.hinted(in)
	case "cond":
		return w.cond(in)
	case "while_loop":
		return w.while(in)
	case "scan":
		return w.scan(in)
	case "associative_scan":
		return w.associated(in)
	case "map_impl":
		return w.mapped(in)
	}
	return w.wrapped(in)
}

// wrapped runs the graph on the last arguments: what stands before them are the operator's own.
func (w *walker) wrapped(in *inst) (any, error) {
	args := in.node.Args
	n := len(in.blocks[0].src.Params)
	if n > len(args) {
		return nil, fmt.Errorf("%s: got %d arguments, want %d for its graph", in.node.Op, len(args), n)
	}
	return w.graphOf(in, 0, w.values(args[len(args)-n:]))
}

// hinted runs the graph on a tuple of arguments.
func (w *walker) hinted(in *inst) (any, error) {
	args, err := w.operands(in, 0, 0)
	if err != nil {
		return nil, err
	}
	return w.graphOf(in, 0, args)
}

// autocast is wrap_with_autocast(device_type, dtype, enabled, cache_enabled, graph, *args). Moving
// a program leaves a region's device as it is; but the module that was exported on the host mostly
// asks its inputs for the device.
func (w *walker) autocast(in *inst) (v any, err error) {
	args := in.node.Args
	if len(args) < 4 {
		return nil, fmt.Errorf("%s: got %d arguments, want at least 4", in.node.Op, len(args))
	}
	device, _ := args[0].Const.(string)
	enabled, _ := args[2].Const.(bool)
	if w.Options().Liveness != exec.LastUse && w.device(device) != device {
		w.Note(note.Note{ID: note.DeviceRemapped, Subject: device})
		device = w.device(device)
	}
	if device != exec.Accelerator {
		return w.wrapped(in)
	}
	to := ""
	if enabled {
		to = tensor.Float16.String() // what torch.autocast("cuda") casts to
		if d, ok := args[1].Const.(int64); ok {
			to = tensor.DType(d).String()
		}
	}
	err = w.Autocast(to, func() error {
		v, err = w.wrapped(in)
		return err
	})
	return v, err
}

// operands are the members of the lists among a node's arguments from the first on, those of the
// graph's parameters.
func (w *walker) operands(in *inst, first, graph int) ([]any, error) {
	var out []any
	for i := first; i < len(in.node.Args); i++ {
		out = append(out, w.members(&in.node.Args[i])...)
	}
	if n := len(in.blocks[graph].src.Params); n != len(out) {
		return nil, fmt.Errorf("%s: got %d operands, want the %d of its graph", in.node.Op, len(out), n)
	}
	return out, nil
}

// members are those of a list among a node's arguments, which the list does not hold; none of
// another argument.
func (w *walker) members(a *program.Arg) []any {
	if a.Items != nil {
		return w.values(a.Items)
	}
	return ops.Members(w.arg(a))
}

func (w *walker) values(args []program.Arg) []any {
	out := make([]any, len(args))
	for i := range args {
		out[i] = w.arg(&args[i])
	}
	return out
}

// graphOf runs one of a node's graphs on arguments, which the node holds to its end.
func (w *walker) graphOf(in *inst, graph int, args []any) (*ops.Tuple, error) {
	b := in.blocks[graph]
	for i, v := range b.src.Params {
		w.Hold(args[i])
		w.put(v, args[i])
	}
	for _, id := range b.dead {
		w.clear(id)
	}
	if err := w.run(b); err != nil {
		return nil, err
	}
	w.now = in
	out := &ops.Tuple{Refs: 1}
	for i := range b.src.Outs {
		v := w.arg(&b.src.Outs[i])
		w.Hold(v)
		out.Items = append(out.Items, v)
	}
	for _, v := range b.src.Params {
		w.clear(v.ID)
	}
	for i := range b.insts {
		for _, v := range b.insts[i].node.Outs {
			w.clear(v.ID)
		}
	}
	return out, nil
}

// cond is cond(predicate, then, else, operands).
func (w *walker) cond(in *inst) (any, error) {
	if len(in.node.Args) < 1 {
		return nil, fmt.Errorf("%s: got no predicate", in.node.Op)
	}
	way, known, err := exec.Truth(w.arg(&in.node.Args[0]))
	if err != nil {
		return nil, err
	}
	if !known {
		way = w.Choose(w.branch(in))
	}
	graph := 1
	if way {
		graph = 0
	}
	args, err := w.operands(in, 1, graph)
	if err != nil {
		return nil, err
	}
	return w.graphOf(in, graph, args)
}

func (w *walker) branch(in *inst) exec.Branch {
	return exec.Branch{Func: w.prog.Entry, Node: in.node.Where.Stmt}
}

// loopSite is a loop as the machine asks about it.
type loopSite struct {
	w  *walker
	in *inst
}

func (l loopSite) Enter()              { l.w.enterSite(l.in) }
func (l loopSite) Branch() exec.Branch { return l.w.branch(l.in) }
func (l loopSite) PositionOnly() bool  { return false }

// while is while_loop(condition, body, carried, additional): each round's results take the place of
// what was carried, and of a loop without rounds they are copies.
func (w *walker) while(in *inst) (any, error) {
	all, err := w.operands(in, 0, 0)
	if err != nil {
		return nil, err
	}
	n := len(in.blocks[1].src.Outs)
	if n > len(all) || len(in.blocks[0].src.Outs) != 1 {
		return nil, fmt.Errorf("%s: got graphs of another form than condition and body", in.node.Op)
	}
	rounds, _ := w.Rounds(loopSite{w, in}, nil)
	carried := &ops.Tuple{Refs: 1, Items: append([]any(nil), all[:n]...)}
	for _, v := range carried.Items {
		w.Hold(v)
	}
	var met any // the last condition
	for round := 0; ; round++ {
		args := append(append([]any(nil), carried.Items...), all[n:]...)
		test, err := w.graphOf(in, 0, args)
		if err != nil {
			return nil, err
		}
		w.Drop(met)
		met = test.Items[0]
		goOn, err := rounds.Next(met, carried.Items)
		if err != nil {
			return nil, err
		}
		if !goOn {
			w.Drop(met)
			if round == 0 {
				w.enterSite(in)
				return w.copies(carried)
			}
			return carried, nil
		}
		if err := w.Step(); err != nil {
			return nil, err
		}
		next, err := w.graphOf(in, 1, args)
		if err != nil {
			rounds.Failed()
			return nil, err
		}
		w.Drop(carried)
		carried = next
		rounds.Done()
		w.enterSite(in)
	}
}

// copies clones what a loop without rounds carries.
func (w *walker) copies(carried *ops.Tuple) (any, error) {
	out := &ops.Tuple{Refs: 1}
	for _, v := range carried.Items {
		if _, ok := v.(*tensor.Tensor); ok {
			c, err := w.do("aten::clone", v)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, c)
			continue
		}
		w.Hold(v)
		out.Items = append(out.Items, v)
	}
	w.Drop(carried)
	return out, nil
}

// do runs an operator of the table, whose result is held once.
func (w *walker) do(key string, args ...any) (any, error) {
	b, _ := w.Table().Lookup(key)
	full, _ := b.Fill(args)
	return w.Apply(b, full)
}

// mapped is map_impl(graph, xs, others): the graph on each part along the first dimension, all
// results held, then put together.
func (w *walker) mapped(in *inst) (any, error) {
	if len(in.node.Args) < 1 {
		return nil, fmt.Errorf("%s: got no operands", in.node.Op)
	}
	xs := w.members(&in.node.Args[0])
	all, err := w.operands(in, 0, 0)
	if err != nil || len(xs) == 0 {
		return nil, fmt.Errorf("%s: got no tensors to go over: %v", in.node.Op, err)
	}
	parts := make([]*ops.List, len(xs)) // of each tensor
	for i, x := range xs {
		v, err := w.do("aten::unbind.int", x)
		if err != nil {
			return nil, err
		}
		var ok bool
		if parts[i], ok = v.(*ops.List); !ok {
			return w.missing(in)
		}
	}
	var rounds []*ops.Tuple
	for r := range parts[0].Items {
		args := append([]any(nil), all...)
		for i := range parts {
			if r >= len(parts[i].Items) {
				return nil, fmt.Errorf("%s: got tensors of different lengths", in.node.Op)
			}
			args[i] = parts[i].Items[r]
		}
		if err := w.Step(); err != nil {
			return nil, err
		}
		out, err := w.graphOf(in, 0, args)
		if err != nil {
			return nil, err
		}
		w.enterSite(in)
		rounds = append(rounds, out)
	}
	out := &ops.Tuple{Refs: 1}
	for i := range in.blocks[0].src.Outs {
		l := &ops.List{Elem: schema.Tensor}
		for _, r := range rounds {
			l.Items = append(l.Items, r.Items[i])
		}
		v, err := w.do("aten::stack", l)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, v)
	}
	for i := len(rounds) - 1; i >= 0; i-- {
		w.Drop(rounds[i])
	}
	for _, p := range parts {
		w.Drop(p)
	}
	return out, nil
}
