package fx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// run runs a block's nodes.
func (w *walker) run(b *block) error {
	for i := range b.insts {
		in := &b.insts[i]
		if in.node.Op == "prim::Return" {
			return nil
		}
		w.now = in
		if err := w.Step(); err != nil {
			return w.fail(err)
		}
		if err := w.Within(); err != nil {
			return w.fail(err)
		}
		w.Node()
		v, err := w.eval(in)
		if err != nil {
			return w.fail(err)
		}
		if err := w.finish(in, v); err != nil {
			return w.fail(err)
		}
	}
	return nil
}

// eval computes a node's result, held once.
func (w *walker) eval(in *inst) (any, error) {
	w.enterSite(in)
	defer w.Sites.Leave()
	if w.hidden != nil && !strings.HasPrefix(in.node.Op, predispatch) && !w.vectorised(in) {
		return w.unknown(in)
	}
	switch {
	case in.lack != nil:
		return nil, in.lack
	case in.bound != nil:
		return w.apply(in)
	case strings.HasPrefix(in.node.Op, predispatch):
		return w.vmap(in)
	case len(in.blocks) > 0 || isHigherOrder(in.node.Op):
		return w.higher(in)
	case in.node.Key() != "":
		return w.missing(in)
	}
	return w.number(in)
}

// place makes a node's place the current one.
func (w *walker) enterSite(in *inst) {
	if in.placed {
		w.Sites.EnterAgain(in.site)
		return
	}
	n := in.node
	module := ""
	if n.Where.Call != nil {
		module = n.Where.Call.Module.FQN
	}
	pos := n.Where.Pos()
	if pos.File == "" {
		pos = program.Pos{File: w.prog.Entry.Record, Line: int(n.Where.Stmt)}
	}
	in.site, in.placed = w.Sites.Enter(n.Op, module, pos), true
}

// apply runs an operator.
func (w *walker) apply(in *inst) (any, error) {
	for _, s := range in.slots {
		in.args[s.at] = w.filled(s.arg, s.typ)
	}
	v, err := w.checked(in)
	for _, s := range in.slots {
		if s.arg.Items != nil {
			w.Drop(in.args[s.at])
		}
	}
	return v, err
}

// checked runs an operator on arguments of the types that its schema has: rules do not look at them
// again.
func (w *walker) checked(in *inst) (any, error) {
	for i, v := range in.args {
		if v != nil && !in.bound.Takes(i, v) || v == nil && in.bound.Schema.Args[i].Type.Kind == schema.Tensor {
			a := &in.bound.Schema.Args[i]
			return nil, fmt.Errorf("%s: got %s as %s, want %s", key(in.node), ops.TypeName(v), a.Name, a.Type)
		}
	}
	return w.Apply(in.bound, in.args)
}

// filled is an argument as a parameter of type t takes it; a list is held once.
func (w *walker) filled(a *program.Arg, t *schema.Type) any {
	if a.Items == nil {
		return convert(w.regs[a.Value.ID], t)
	}
	if t.Kind == schema.Optional {
		t = t.Elems[0]
	}
	_ = w.MakeItems(len(a.Items))
	l := &ops.List{Items: make([]any, 0, len(a.Items)), Refs: 1}
	elem := t
	if t.Kind == schema.List {
		elem = t.Elems[0]
		l.Elem = elem.Kind
	}
	for i := range a.Items {
		v := convert(w.arg(&a.Items[i]), elem)
		w.Hold(v)
		l.Items = append(l.Items, v)
	}
	return l
}

// arg is an argument's value.
func (w *walker) arg(a *program.Arg) any {
	switch {
	case a.Value != nil:
		return w.regs[a.Value.ID]
	case a.Items != nil:
		_ = w.MakeItems(len(a.Items))
		l := &ops.List{Items: make([]any, len(a.Items))}
		for i := range a.Items {
			l.Items[i] = w.arg(&a.Items[i])
			w.Hold(l.Items[i])
		}
		return l
	}
	return w.literal(a.Const)
}

// number runs a function of numbers, found by its arguments.
func (w *walker) number(in *inst) (any, error) {
	args := make([]any, len(in.node.Args))
	for i := range in.node.Args {
		args[i] = w.arg(&in.node.Args[i])
	}
	bound, full, err := w.Table().Resolve(in.node.Op, args, nil)
	var none *ops.NoOverloadError
	if _, missing := exec.Missing(err); missing || errors.As(err, &none) && exec.AnyUnknown(args) {
		return w.missing(in)
	}
	if err != nil {
		return nil, err
	}
	return w.Apply(bound, full)
}

// missing gives an operator without a rule its results as the program recorded them, at the sizes
// that they were recorded at; else nothing is known.
func (w *walker) missing(in *inst) (any, error) {
	n := in.node
	out := &ops.Tuple{Refs: 1}
	if !w.atExample() || len(n.Outs) == 0 && len(n.Recorded()) == 0 {
		w.Unsupported(key(n), trace.NoRule)
	} else {
		for i := range n.Outs {
			if n.Recorded()[i] == nil {
				return w.unknown(in)
			}
		}
		w.Note(note.Note{ID: note.OpAssumed, Subject: key(n)})
		for i := range n.Outs {
			meta, err := n.Recorded()[i].Bind(w.symbols)
			if err != nil {
				return nil, err
			}
			meta.Device = w.device(meta.Device)
			t, err := w.NewTensor(meta, tensor.Activation)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, t)
		}
		return out, nil
	}
	return w.results(in, out), nil
}

func key(n *program.Node) string {
	if n.Key() != "" {
		return n.Key()
	}
	return n.Op
}

// unknown gives results of which nothing is known.
func (w *walker) unknown(in *inst) (any, error) {
	w.Unsupported(key(in.node), trace.NoRule)
	return w.results(in, &ops.Tuple{Refs: 1}), nil
}

func (w *walker) results(in *inst, out *ops.Tuple) any {
	for _, v := range in.node.Outs {
		if v.Type != nil && v.Type.Kind == program.TensorType {
			w.UnknownTensor()
		}
		out.Items = append(out.Items, ops.NewUnbacked(in.node.Op, schema.Any))
	}
	return out
}

// finish gives a node's results their names and releases what is used no more: the arguments first,
// then what the tuple of results alone held, the latest first, as CPython clears a tuple.
func (w *walker) finish(in *inst, v any) error {
	n := in.node
	items := flat(nil, v)
	if u, ok := v.(ops.Unbacked); ok {
		items = make([]any, len(n.Outs))
		for i := range items {
			items[i] = u
		}
	}
	if len(n.Outs) == 0 {
		w.release(in)
		w.Drop(v)
		return nil
	}
	if len(items) != len(n.Outs) {
		return fmt.Errorf("%s: got %d results, want %d", key(n), len(items), len(n.Outs))
	}
	if w.each != nil {
		w.compare(n, items)
	}
	if w.inReleaseOrder && w.seen.Contiguous && n.Op == "aten::scaled_dot_product_attention" {
		w.sameLayout(n, items[0])
	}
	if len(items) == 1 {
		w.put(n.Outs[0], items[0])
		w.release(in)
		return nil
	}
	for i, out := range n.Outs {
		w.put(out, items[i])
	}
	w.release(in)
	return nil
}

// release releases the values that end with a node: in the order that was seen; else its arguments
// in their order, then results.
func (w *walker) release(in *inst) {
	if w.inReleaseOrder {
		for _, id := range in.drop {
			w.clear(id)
		}
		return
	}
	first := len(in.drop)
	for i, id := range in.drop {
		if w.isResult(in, id) {
			first = i
			break
		}
		w.clear(id)
	}
	for i := len(in.drop) - 1; i >= first; i-- {
		w.clear(in.drop[i])
	}
}

func (w *walker) isResult(in *inst, id int) bool {
	for _, v := range in.node.Outs {
		if v.ID == id {
			return true
		}
	}
	return false
}

// flat is the members of a result, those of lists in it among them.
func flat(out []any, v any) []any {
	switch v := v.(type) {
	case *ops.Tuple:
		for _, item := range v.Items {
			out = flat(out, item)
		}
		return out
	case *ops.List:
		for _, item := range v.Items {
			out = flat(out, item)
		}
		return out
	}
	return append(out, v)
}

// sameLayout notes an attention that lays its result out otherwise here than where the program was
// exported: backends differ in that, and contiguous(), which is no operator of a program where it
// has nothing to do, copies then.
func (w *walker) sameLayout(n *program.Node, v any) {
	t, ok := v.(*tensor.Tensor)
	if !ok || n.Recorded()[0] == nil {
		return
	}
	recorded, err := n.Recorded()[0].Bind(w.symbols)
	if err != nil {
		return
	}
	for i, size := range t.Sizes {
		if size > 1 && i < len(recorded.Strides) && t.Strides[i] != recorded.Strides[i] {
			w.Note(note.Note{ID: note.OperatorsDiffer, Subject: n.Op + " lays its result out otherwise than where the program " +
				"was exported: the model's contiguous() may copy here"})
			return
		}
	}
}

// compare hands each recorded result on with what the rules gave.
func (w *walker) compare(n *program.Node, items []any) {
	for i, v := range items {
		t, ok := v.(*tensor.Tensor)
		if !ok || i >= len(n.Recorded()) || n.Recorded()[i] == nil {
			continue
		}
		recorded, err := n.Recorded()[i].Bind(w.symbols)
		if err != nil {
			continue // of an unbacked symbol
		}
		got := w.shown(n.Outs[i], t.Meta)
		if w.combining { // a part of a tensor: its elements lie further apart than one that was recorded alone
			got.Strides = recorded.Strides
		}
		w.each(Mismatch{Node: n, Result: i, Got: got, Recorded: recorded})
	}
}
