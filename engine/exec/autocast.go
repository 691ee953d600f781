package exec

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Autocast casts the arguments of an operator before it is dispatched, outermost first: inside an operator that it changed nothing more
// is cast. The lists are those of aten/src/ATen/autocast_mode.h for CUDA.

type castPolicy uint8

const (
	castLower   castPolicy = iota + 1 // to the autocast dtype
	castFloat                         // to float32
	castDType                         // computes in float32: the dtype argument is set
	castWidest                        // to the widest of the arguments' types
	castNorm                          // computes in float32 by another overload
	castRNN                           // to float16, the weights in one new buffer
	castRefused                       // PyTorch refuses it
	castVision                        // to float32, and the results back to the dtype of the first argument
)

var castPolicies = sync.OnceValue(func() map[string]castPolicy {
	lists := map[castPolicy][]string{
		castLower: {"_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
			"convolution", "cudnn_convolution", "cudnn_convolution_transpose", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv",
			"linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "_thnn_fused_lstm_cell",
			"_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "_scaled_dot_product_flash_attention",
			"scaled_dot_product_attention"},
		castFloat: {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan",
			"pow", "softplus", "layer_norm", "native_layer_norm", "rms_norm", "group_norm", "frobenius_norm", "nuclear_norm", "cosine_similarity",
			"poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss",
			"huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
			"multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp",
			"upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_nearest2d", "_upsample_nearest_exact2d", "upsample_nearest3d",
			"_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d", "_upsample_bilinear2d_aa", "upsample_trilinear3d",
			"upsample_bicubic2d", "_upsample_bicubic2d_aa"},
		castDType:   {"prod", "softmax", "log_softmax", "cumprod", "cumsum", "linalg_vector_norm", "linalg_matrix_norm", "sum"},
		castNorm:    {"norm"},
		castRNN:     {"_cudnn_rnn"},
		castRefused: {"binary_cross_entropy"},
		castWidest:  {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put", "tensordot", "scatter_add"},
	}
	m := map[string]castPolicy{}
	for _, n := range []string{"deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"} { // torchvision/csrc/ops/autocast
		m["torchvision::"+n] = castVision
	}
	for p, names := range lists {
		for _, n := range names {
			m["aten::"+n] = p
		}
	}
	return m
})

// castPolicyOf is the policy of one overload. Those without a kernel of their own for autocast are cast, where they are made of others, inside.
func castPolicyOf(name, overload string) castPolicy {
	p := castPolicies()[name]
	if p == 0 || strings.HasSuffix(overload, "out") || withoutCast[overload] {
		return 0
	}
	return p
}

var withoutCast = map[string]bool{"vec": true, "padding": true, "quantized": true, "hacked_twin": true, "sublist": true, "dtype": true,
	"ScalarOpt_dtype": true, "ScalarOpt_dim_dtype": true, "names_ScalarOpt_dim_dtype": true}

// autocastArgs casts an operator's arguments, or chooses another overload; done says that it did, so that nothing inside is cast again.
func (m *machine) autocastArgs(b *ops.Bound, args []any) (to *ops.Bound, out []any, done bool, err error) {
	p := castPolicyOf(b.Schema.Name, b.Schema.Overload)
	if p == 0 {
		return b, args, false, nil
	}
	lower, err := tensor.ParseDType(m.plat.Autocast)
	if err != nil {
		return nil, nil, false, err
	}
	switch p {
	case castDType:
		return b, m.autocastDType(b, args), true, nil
	case castNorm:
		to, out = m.autocastNorm(b, args)
		return to, out, true, nil
	case castRefused:
		return nil, nil, false, fmt.Errorf("%s is refused under autocast: PyTorch calls it unsafe", b.Schema.Name)
	case castRNN:
		out, err = m.autocastRNN(b, args)
		return b, out, true, err
	case castWidest:
		var wide tensor.DType
		if wide, err = widest(b, args, lower); err == nil {
			out, err = m.castAll(args, wide, lower)
		}
	case castFloat:
		out, err = m.castAll(args, tensor.Float32, lower)
	case castVision:
		out, err = m.castInOrder(args, lower)
	default:
		out, err = m.castAll(args, lower, lower)
	}
	return b, out, true, err
}

// castAll casts every argument. The casts are arguments of one C++ call, which compilers may evaluate in any order; GCC, which builds PyTorch
// for Linux, begins with the last.
func (m *machine) castAll(args []any, to, lower tensor.DType) (out []any, err error) {
	out = make([]any, len(args))
	for i := len(args) - 1; i >= 0; i-- {
		if out[i], err = m.castArg(args[i], to, lower); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// autocastNorm is the overload with a dtype, for those that have none.
func (m *machine) autocastNorm(b *ops.Bound, args []any) (*ops.Bound, []any) {
	overload := map[string]string{"Scalar": "ScalarOpt_dtype", "ScalarOpt_dim": "ScalarOpt_dim_dtype"}[b.Schema.Overload]
	t, ok := args[0].(*tensor.Tensor)
	if !ok || overload == "" || !eligible(t) {
		return b, args
	}
	to, ok := m.table.Lookup("aten::norm." + overload)
	if !ok {
		return b, args
	}
	return to, append(slices.Clone(args), int64(tensor.Float32))
}

// autocastRNN copies the weights into one buffer of float16 and casts input and states to float16, whatever autocast's own dtype is
// (aten/src/ATen/cudnn/AutocastRNN.cpp).
func (m *machine) autocastRNN(b *ops.Bound, args []any) (out []any, err error) {
	out = slices.Clone(args)
	weights, _ := args[b.Schema.ArgIndex("weight")].(*ops.List)
	buffer := b.Schema.ArgIndex("weight_buf")
	if weights != nil && len(weights.Items) > 0 && args[buffer] == nil {
		n := int64(0)
		for _, v := range weights.Items {
			if t, ok := v.(*tensor.Tensor); ok && eligible(t) && t.DType != tensor.Float16 {
				n += t.Numel()
			}
		}
		if n > 0 {
			if out[buffer], err = m.temporary("aten::empty.memory_format", ops.NewList(schema.Int, n), int64(tensor.Float16), nil, accelerator, nil, nil); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range []string{"cx", "hx", "input"} {
		i := b.Schema.ArgIndex(name)
		if out[i], err = m.castArg(args[i], tensor.Float16, tensor.Float16); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// autocastDType sets the dtype argument where it is None and the first tensor is one that autocast looks at.
func (m *machine) autocastDType(b *ops.Bound, args []any) []any {
	i := b.Schema.ArgIndex("dtype")
	if t, ok := args[0].(*tensor.Tensor); !ok || i < 0 || args[i] != nil || !eligible(t) {
		return args
	}
	out := append([]any(nil), args...)
	out[i] = int64(tensor.Float32)
	return out
}

// eligible tensors are the accelerator's, of a floating type other than float64.
func eligible(t *tensor.Tensor) bool {
	return t.Device == accelerator && t.DType.Floating() && t.DType != tensor.Float64
}

// widest is the type that castWidest goes to; a floating type that is neither of the two is refused, as autocast_mode.h's prioritize does.
func widest(b *ops.Bound, args []any, lower tensor.DType) (tensor.DType, error) {
	w := lower
	for _, v := range args {
		t, ok := v.(*tensor.Tensor)
		switch {
		case !ok || !eligible(t) || t.DType == lower:
		case t.DType == tensor.Float32:
			w = tensor.Float32
		default:
			return w, fmt.Errorf("%s: got %s under autocast to %s, want float32 or %[3]s", b.Schema.Name, t.DType, lower)
		}
	}
	return w, nil
}

// castInOrder casts the arguments of torchvision's operators to float32: these wrappers begin with the first.
func (m *machine) castInOrder(args []any, lower tensor.DType) (out []any, err error) {
	out = make([]any, len(args))
	for i, v := range args {
		if out[i], err = m.castArg(v, tensor.Float32, lower); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// castArg casts one argument. Parameters that require a gradient are cast once and kept to the end of the pass; all else for the call.
func (m *machine) castArg(v any, to, lower tensor.DType) (any, error) {
	switch t := v.(type) {
	case *tensor.Tensor:
		if !eligible(t) || t.DType == to {
			return v, nil
		}
		cached := to == lower && t.DType == tensor.Float32 && t.RequiresGrad && t.Storage.Category == tensor.Parameter
		if c := m.casts[t]; cached && c != nil {
			return c, nil
		}
		if !cached {
			return m.temporary("aten::to.dtype", t, int64(to), false, false, nil)
		}
		c, err := m.made("aten::to.dtype", t, int64(to), false, false, nil)
		if err != nil {
			return nil, err
		}
		if m.casts == nil {
			m.casts = map[*tensor.Tensor]*tensor.Tensor{}
		}
		m.casts[t] = c
		m.castOrder = append(m.castOrder, c)
		return c, nil
	case *ops.List:
		out := &ops.List{Elem: t.Elem, Items: make([]any, len(t.Items))}
		for i, item := range t.Items {
			c, err := m.castArg(item, to, lower)
			if err != nil {
				return nil, err
			}
			out.Items[i] = c
		}
		return out, nil
	}
	return v, nil
}

// castBack gives all results of a torchvision operator the dtype that its first argument had, places of maxima too, and lets go of the casts
// before and of the results after, both from the first on. nms gives positions and leaves them.
func (m *machine) castBack(b *ops.Bound, args []any, v any, mark int) (any, error) {
	if castPolicies()[b.Schema.Name] != castVision {
		return v, nil
	}
	slices.Reverse(m.temps[mark:])
	m.dropTemps(mark)
	first, ok := args[0].(*tensor.Tensor)
	if !ok || !eligible(first) || first.DType == tensor.Float32 || b.Schema.Name == "torchvision::nms" {
		return v, nil
	}
	results := []any{v}
	if tuple, ok := v.(*ops.Tuple); ok {
		results = tuple.Items
	}
	var wide []*tensor.Tensor
	for i, item := range results {
		t, ok := item.(*tensor.Tensor)
		if !ok {
			continue
		}
		c, err := m.made("aten::to.dtype", t, int64(first.DType), false, false, nil)
		if err != nil {
			return nil, err
		}
		results[i] = c
		wide = append(wide, t)
	}
	for _, t := range wide {
		m.drop(t)
	}
	if _, ok := v.(*ops.Tuple); ok {
		return v, nil
	}
	return results[0], nil
}

// temporary is a tensor that an operator makes, held to the end of the one that is about to run.
func (m *machine) temporary(op string, args ...any) (any, error) {
	t, err := m.made(op, args...)
	if err != nil {
		return nil, err
	}
	m.temps = append(m.temps, t)
	return t, nil
}

// made is the tensor that an operator makes.
func (m *machine) made(op string, args ...any) (*tensor.Tensor, error) {
	b, ok := m.table.Lookup(op)
	if !ok {
		return nil, &ops.MissingError{Op: op}
	}
	r, err := m.apply(b, args)
	if err != nil {
		return nil, err
	}
	t, ok := r.(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("internal error: got %s from %s", ops.TypeName(r), op)
	}
	return t, nil
}

// leaveAutocast lets go of the cached casts, as the outermost autocast context does.
func (m *machine) leaveAutocast() {
	for _, c := range m.castOrder {
		m.drop(c)
	}
	m.casts, m.castOrder = nil, nil
}
