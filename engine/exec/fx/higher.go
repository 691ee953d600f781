package fx

import (
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

func isHigherOrder(op string) bool { return strings.HasPrefix(op, program.HigherOrder) }

// higher runs an operator that runs graphs.
func (w *walker) higher(in *inst) (any, error) {
	switch strings.TrimPrefix(in.node.Op, program.HigherOrder) {
	case "wrap_with_set_grad_enabled", "strict_mode", "wrap", "hints_wrapper", "wrap_with_autocast", "invoke_subgraph":
		if len(in.blocks) != 1 {
			return nil, errNoGraph
		}
		b := in.blocks[0]
		args := in.node.Args
		return w.graphOf(in, b, args[max(len(args)-len(b.src.Params), 0):])
	}
	return w.missing(in)
}

// graphOf runs a graph on arguments, which its caller holds to its end.
func (w *walker) graphOf(in *inst, b *block, args []program.Arg) (any, error) {
	for i, v := range b.src.Params {
		x := w.arg(&args[i])
		w.Hold(x)
		w.put(v, x)
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
	w.leave(b)
	return out, nil
}

// leave lets go of what a block's names still hold.
func (w *walker) leave(b *block) {
	for _, v := range b.src.Params {
		w.clear(v.ID)
	}
	for i := range b.insts {
		for _, v := range b.insts[i].node.Outs {
			w.clear(v.ID)
		}
	}
}
