package fx

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// predispatch names the functions between which the operators of torch.vmap stand in a graph
// (torch/_functorch/predispatch.py): _add_batch_dim hides a dimension of a tensor, and
// _remove_batch_dim shows it again.
const predispatch = "python::torch._functorch.predispatch."

// elementwise are operators that vmap runs on the tensors as they are, the hidden dimension first
// (ATen/functorch/BatchRulesBinaryOps.cpp, BatchRulesUnaryOps.cpp), where all have the same dtype
// and as many dimensions.
var elementwise = names("add sub rsub mul div maximum minimum pow where eq ne lt le gt ge logical_and logical_or " +
	"logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor " +
	"abs neg exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sigmoid tanh sin cos relu clamp sign")

func names(text string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(text) {
		out["aten::"+name] = true
	}
	return out
}

// vmap runs one of the functions around what is vectorised.
func (w *walker) vmap(in *inst) (any, error) {
	args := in.node.Args
	number := func(i int) int64 { n, _ := args[i].Const.(int64); return n }
	switch strings.TrimPrefix(in.node.Op, predispatch) {
	case "lazy_load_decompositions", "_vmap_increment_nesting", "_vmap_decrement_nesting":
		return nil, nil
	case "_add_batch_dim": // (tensor, dimension, level)
		if len(args) != 3 || args[0].Value == nil {
			return nil, fmt.Errorf("%s: got %d arguments, want a tensor, a dimension and a level", in.node.Op,
				len(args))
		}
		if w.hidden[args[0].Value.ID] != 0 || number(2) <= 0 { // a vmap in another's
			return w.unknown(in)
		}
		if w.hidden == nil {
			w.hidden = map[int]int64{}
		}
		w.hide(in, number(2))
		return w.do("aten::movedim.int", w.arg(&args[0]), number(1), int64(0))
	case "_remove_batch_dim": // (tensor, level, size, dimension)
		if len(args) != 4 || args[0].Value == nil {
			return nil, fmt.Errorf("%s: got %d arguments, want a tensor, a level, a size and a dimension", in.node.Op,
				len(args))
		}
		if w.hidden[args[0].Value.ID] != number(1) {
			return w.unknown(in)
		}
		return w.do("aten::movedim.int", w.arg(&args[0]), int64(0), number(3))
	}
	return w.missing(in)
}

// hide says that a node's results have a hidden dimension.
func (w *walker) hide(in *inst, level int64) {
	for _, v := range in.node.Outs {
		w.hidden[v.ID] = level
	}
}

// vectorised says whether an operator is run as it stands where values have hidden dimensions; its
// results then have them too.
func (w *walker) vectorised(in *inst) bool {
	var level int64
	var first *tensor.Tensor
	same, others := true, false
	each := func(a *program.Arg) {
		if a.Value == nil {
			_, state := a.Const.(*program.State)
			others = others || state
			return
		}
		l := w.hidden[a.Value.ID]
		t, ok := w.regs[a.Value.ID].(*tensor.Tensor)
		switch {
		case l == 0:
			others = others || ok
		case !ok || level != 0 && l != level || first != nil &&
			(t.DType != first.DType || len(t.Sizes) != len(first.Sizes)):
			same = false
		default:
			level, first = l, t
		}
	}
	for i := range in.node.Args {
		a := &in.node.Args[i]
		each(a)
		for j := range a.Items {
			each(&a.Items[j])
		}
	}
	if level == 0 && same {
		return true
	}
	if !same || others || !elementwise[in.node.Op] {
		return false
	}
	w.hide(in, level)
	return true
}

// shown is what a program records of a result: it knows nothing of a hidden dimension.
func (w *walker) shown(v *program.Value, m tensor.Meta) tensor.Meta {
	if (w.combining || w.hidden[v.ID] != 0) && len(m.Sizes) > 0 {
		m.Sizes, m.Strides = m.Sizes[1:], m.Strides[1:]
	}
	return m
}
