package passes

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// Under autocast the executor writes casts into the graph: operators take their tensors cast to the
// lower precision, or to float32, each time anew (torch/csrc/jit/passes/autocast.cpp). What eager
// autocast then finds to cast, an optional bias for one, it casts besides, and keeps.

// lowered are the operators all of whose tensors are cast to the lower precision; raised those
// whose tensors are cast to float32. The second take in sums and products of tensors of which no
// dtype is written down. TestAutocastLists compares both with what PyTorch does.
var lowered = names(
	`_convolution _thnn_fused_gru_cell _thnn_fused_lstm_cell addbmm addmm addmv addr baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d
	convolution cudnn_convolution cudnn_convolution_transpose gru_cell linear lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell`)

var raised = names(
	`acos add addcdiv addcmul asin atan2 bilinear binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cross cumprod
	cumsum dist div dot erfinv exp expm1 frobenius_norm gelu group_norm hinge_embedding_loss index_put kl_div l1_loss layer_norm log log10 log1p log2 log_softmax
	logsumexp margin_ranking_loss mse_loss mul multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss nll_loss2d nuclear_norm pdist pow prod reciprocal
	renorm rsqrt sinh smooth_l1_loss soft_margin_loss softmax softplus sub sum tan tensordot triplet_margin_loss`)

func names(text string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(text) {
		out["aten::"+name] = true
	}
	return out
}

// scalarTypes are autocast's dtypes as graphs write them (c10/core/ScalarType.h).
var scalarTypes = map[string]int64{"float16": 5, "bfloat16": 15}

const onCPU = "bfloat16" // what autocast casts to on a CPU; it is off there

// insertCasts casts the tensors of operators as autocast to a dtype does.
func (g *Graph) insertCasts(to string) {
	if to == "" {
		return
	}
	g.castBlock(g.Body, to, g.definers())
}

func (g *Graph) castBlock(b *program.Block, to string, def []*program.Node) {
	out := make([]*program.Node, 0, 2*len(b.Nodes))
	for _, n := range b.Nodes {
		eachBlock(n, func(sub *program.Block) { g.castBlock(sub, to, def) })
		switch {
		case writes(n):
		case lowered[n.Op]:
			out = g.castArgs(out, n, def, "aten::_autocast_to_reduced_precision",
				[]program.Arg{{}, {Const: true}, {Const: false}, {Const: scalarTypes[to]}, {Const: scalarTypes[onCPU]}})
		case raised[n.Op] && !statedDType(n):
			out = g.castArgs(out, n, def, "aten::_autocast_to_full_precision",
				[]program.Arg{{}, {Const: true}, {Const: false}})
		}
		out = append(out, n)
	}
	b.Nodes = out
}

// castArgs appends the casts of a node's tensors to out, one for each tensor, and gives them to the
// node.
func (g *Graph) castArgs(
	out []*program.Node, n *program.Node, def []*program.Node, cast string, with []program.Arg,
) []*program.Node {
	done := map[any]*program.Value{}
	args := slices.Clone(n.Args)
	for i := range args {
		var of any = args[i].Value
		if args[i].Value == nil {
			state, ok := args[i].Const.(*program.State)
			if !ok {
				continue
			}
			of = state
		} else if v := args[i].Value; !g.typedTensor(v, def) || def[v.ID] != nil && def[v.ID].Op == cast {
			continue
		}
		if done[of] == nil {
			c := g.newNode(cast, n)
			c.Args = slices.Clone(with)
			c.Args[0] = program.Arg{Value: args[i].Value, Const: args[i].Const}
			done[of] = &program.Value{ID: g.NumValues, Type: &program.Type{Kind: program.TensorType}}
			g.NumValues++
			c.Outs = []*program.Value{done[of]}
			out = append(out, c)
		}
		args[i].Value, args[i].Const = done[of], nil
	}
	n.Args = args
	return out
}

// writes says that a call writes into an argument: it is then left alone.
func writes(n *program.Node) bool {
	return slices.ContainsFunc(n.Args, func(a program.Arg) bool { return a.Name == "out" })
}

// statedDType says that an operator is reported the dtype of its result: by name, or where softmax
// takes it.
func statedDType(n *program.Node) bool {
	place := -1
	if n.Op == "aten::softmax" || n.Op == "aten::log_softmax" {
		place = 2
	}
	a := at(n, place, "dtype")
	return a != nil && (a.Value != nil || a.Const != nil)
}

// typedTensor says whether a value's static type is Tensor: an optional one is not.
func (g *Graph) typedTensor(v *program.Value, def []*program.Node) bool {
	if v.Type != nil && v.Type.Kind != program.AnyType {
		return v.Type.Kind == program.TensorType
	}
	d := def[v.ID]
	if d == nil {
		return false
	}
	switch d.Op {
	case "prim::GetAttr":
		t := g.attrType(d)
		return t != nil && t.Kind == program.TensorType
	case "prim::If":
		i := slices.Index(d.Outs, v)
		return !slices.ContainsFunc(d.Blocks,
			func(b *program.Block) bool { return b.Outs[i].Value == nil || !g.typedTensor(b.Outs[i].Value, def) })
	case "prim::TupleUnpack":
		if g.typedMember(&d.Args[0], slices.Index(d.Outs, v), def) {
			return true
		}
	case "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional":
		return d.Args[0].Value != nil && g.optionalTensor(d.Args[0].Value, def)
	}
	return g.tensorValue(v, def)
}

// typedMember says whether a member of a tuple is a tensor by its type.
func (g *Graph) typedMember(tuple *program.Arg, i int, def []*program.Node) bool {
	v := tuple.Value
	if v == nil {
		return false
	}
	if v.Type != nil && v.Type.Kind == program.TupleType {
		return i < len(v.Type.Elems) && v.Type.Elems[i].Kind == program.TensorType
	}
	d := def[v.ID]
	if d == nil || d.Op != "prim::TupleConstruct" || i >= len(d.Args) {
		return false
	}
	of := &d.Args[i]
	return of.Value != nil && g.typedTensor(of.Value, def)
}

// optionalTensor says whether a value is a tensor or None by its type.
func (g *Graph) optionalTensor(v *program.Value, def []*program.Node) bool {
	t := v.Type
	if d := def[v.ID]; t == nil && d != nil && d.Op == "prim::GetAttr" {
		t = g.attrType(d)
	}
	if t != nil && t.Kind == program.OptionalType {
		t = t.Elems[0]
	}
	return t != nil && t.Kind == program.TensorType
}

// attrType is an attribute's declared type, nil where it is not known.
func (g *Graph) attrType(n *program.Node) *program.Type {
	class := g.eval.Class(n.Args[0].Const)
	if class == nil {
		return nil
	}
	if i, ok := class.AttrIndex(n.Text); ok {
		return class.Attrs[i].Type
	}
	return nil
}
