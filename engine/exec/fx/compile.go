package fx

import (
	"slices"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// block mirrors program.Block.
type block struct {
	src   *program.Block
	insts []inst
	dead  []int // parameters that no one uses
}

// inst is a node made ready to run.
type inst struct {
	node   *program.Node
	bound  *ops.Bound // nil where it is found by its arguments, or where there is no rule
	args   []any      // in the schema's order, literals in their places
	slots  []slot     // the others
	lack   error      // why it cannot be run
	blocks []*block
	drop   []int // values that go after it, in order
	site   trace.SiteID
	placed bool // site is known
}

// slot is a place among the arguments that a run fills.
type slot struct {
	at  int
	arg *program.Arg
	typ *schema.Type
}

// compile lays the graph out and puts the ends of live ranges into it.
func (w *walker) compile() error {
	w.body = w.layout(w.graph.Body)
	err := w.Within()
	if err != nil {
		return err
	}
	if w.ranges, err = w.liveRanges(); err != nil {
		return err
	}
	for _, r := range w.ranges {
		switch r.End {
		case lifetime.AtEntry:
			b := w.body
			if r.To >= 0 {
				b = w.insts[r.To].blocks[r.Arg]
			}
			b.dead = append(b.dead, r.Value.ID)
		case lifetime.After:
			w.insts[r.To].drop = append(w.insts[r.To].drop, r.Value.ID)
		}
	}
	return nil
}

// liveRanges are those by which values are released.
func (w *walker) liveRanges() ([]lifetime.Range, error) {
	o := w.Options()
	switch {
	case o.Liveness == exec.LastUse:
		return lifetime.Generated(w.graph), nil
	case w.seen != nil:
		released, err := lifetime.RecordedReleases(w.graph, w.seen.Releases)
		if first := w.differs(); err == nil && first != "" {
			w.Note(note.Note{ID: note.OperatorsDiffer, Subject: first})
		}
		if err == nil && o.HoldLocals {
			return lifetime.Longest(released, lifetime.Calls(w.graph, true)), nil
		}
		w.inReleaseOrder = true
		return released, err
	}
	w.Note(note.Note{ID: note.LocalsUnknown, Subject: "an exported program carries the calls of modules and no names: " +
		"what eager execution holds is read from them"})
	return lifetime.Calls(w.graph, o.HoldLocals), nil
}

// differs is where the live model runs other operators than the program in the run's dtypes.
func (w *walker) differs() string {
	switch to := w.Options().DType; {
	case w.seen.Differs != "":
		return w.seen.Differs
	case w.Platform().Autocast != "" && w.seen.Autocast != "":
		return "under autocast: " + w.seen.Autocast
	case to != tensor.Undefined && w.seen.Converted != "" &&
		slices.ContainsFunc(w.prog.States, func(s *program.State) bool {
			return s.Class != tensor.Constant && s.Meta.DType.Floating() && s.Meta.DType != to
		}):
		return "in " + to.String() + ": " + w.seen.Converted
	}
	return ""
}

func (w *walker) layout(b *program.Block) *block {
	out := &block{src: b, insts: make([]inst, len(b.Nodes))}
	for i, n := range b.Nodes {
		in := &out.insts[i]
		in.node = n
		w.insts = append(w.insts, in)
		w.prepare(in)
		for _, sub := range n.Blocks {
			in.blocks = append(in.blocks, w.layout(sub))
		}
	}
	return out
}

// prepare finds a node's rule and puts its literal arguments in place.
func (w *walker) prepare(in *inst) {
	n := in.node
	if n.Key() == "" {
		return
	}
	b, ok := w.Table().Lookup(n.Key())
	if !ok {
		return
	}
	if c := lifted(n); c != nil && w.Options().Liveness != exec.LastUse && len(c.Meta.Sizes) > 0 {
		w.toDevice(in, c)
		return
	}
	in.bound = b
	s := b.Schema
	in.args = make([]any, len(s.Args))
	given := make([]bool, len(s.Args))
	for i := range n.Args {
		a := &n.Args[i]
		at := i
		if a.Name != "" {
			at = s.ArgIndex(a.Name)
		}
		if at < 0 || at >= len(s.Args) || given[at] {
			in.lack = &argumentError{n.Key(), a.Name}
			return
		}
		given[at] = true
		if a.Value != nil || a.Items != nil {
			in.slots = append(in.slots, slot{at, a, s.Args[at].Type})
			continue
		}
		in.args[at] = convert(w.literal(a.Const), s.Args[at].Type)
	}
	for i := range s.Args {
		if given[i] {
			continue
		}
		a := &s.Args[i]
		if !a.HasDefault && a.Type.Kind != schema.Optional {
			in.lack = &argumentError{n.Key(), a.Name}
			return
		}
		in.args[i] = b.Default(i)
	}
}

// toDevice makes a node a copy of a constant to the device.
func (w *walker) toDevice(in *inst, c *program.State) {
	in.bound, _ = w.Table().Lookup("aten::_to_copy")
	s := in.bound.Schema
	in.args = make([]any, len(s.Args))
	for i := range in.args {
		in.args[i] = in.bound.Default(i)
	}
	in.args[0], in.args[s.ArgIndex("device")] = w.literal(c), ops.Device(exec.Accelerator)
}

// argumentError is an argument that an operator's schema has not, or one that it wants and that is
// not there.
type argumentError struct{ op, name string }

func (e *argumentError) Error() string {
	return "got another argument " + e.name + " of " + e.op + " than its schema has: the program is of another PyTorch"
}

// convert makes an int a float and a number a tensor where the schema wants these: Python passes
// either.
func convert(v any, t *schema.Type) any {
	if t.Kind == schema.Optional {
		t = t.Elems[0]
	}
	if t.Kind == schema.Tensor {
		if n := ops.WrappedNumber(v); n != nil {
			return n
		}
	}
	if n, ok := v.(int64); ok && t.Kind == schema.Float {
		return float64(n)
	}
	if l, ok := v.(*ops.List); ok && t.Kind == schema.List {
		for i := range l.Items {
			l.Items[i] = convert(l.Items[i], t.Elems[0])
		}
		l.Elem = t.Elems[0].Kind
		return l
	}
	if t.Kind == schema.List && t.Size > 0 && ops.IsScalar(v) {
		l := &ops.List{Elem: t.Elems[0].Kind, Refs: 1}
		for range t.Size {
			l.Items = append(l.Items, v)
		}
		return l
	}
	return v
}
