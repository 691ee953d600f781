package exec

import (
	"fmt"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Autocast casts the arguments of an operator before it is dispatched, outermost first: inside an operator that it changed nothing more
// is cast. The lists are those of aten/src/ATen/autocast_mode.h for CUDA.

type castPolicy uint8

const (
	castLower  castPolicy = iota + 1 // to the autocast dtype
	castFloat                        // to float32
	castDType                        // computes in float32: the dtype argument is set
	castWidest                       // to the widest of the arguments' types
)

var castPolicies = func() map[string]castPolicy {
	lists := map[castPolicy][]string{
		castLower: {"_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
			"convolution", "cudnn_convolution", "cudnn_convolution_transpose", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv",
			"linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "_thnn_fused_lstm_cell",
			"_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "_scaled_dot_product_flash_attention",
			"scaled_dot_product_attention"},
		castFloat: {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan",
			"pow", "softplus", "layer_norm", "native_layer_norm", "group_norm", "frobenius_norm", "nuclear_norm", "cosine_similarity",
			"poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss",
			"huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
			"multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp",
			"upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_nearest2d", "_upsample_nearest_exact2d", "upsample_nearest3d",
			"_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d", "_upsample_bilinear2d_aa", "upsample_trilinear3d",
			"upsample_bicubic2d", "_upsample_bicubic2d_aa"},
		castDType:  {"prod", "softmax", "log_softmax", "cumprod", "cumsum", "linalg_vector_norm", "linalg_matrix_norm", "sum"},
		castWidest: {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put", "tensordot", "scatter_add"},
	}
	m := map[string]castPolicy{}
	for p, names := range lists {
		for _, n := range names {
			m["aten::"+n] = p
		}
	}
	return m
}()

// autocastArgs casts an operator's arguments; done says that it did, so that nothing inside is cast again.
func (m *machine) autocastArgs(b *ops.Bound, args []any) (out []any, done bool, err error) {
	p := castPolicies[b.Schema.Name]
	if p == 0 {
		return args, false, nil
	}
	lower, err := tensor.ParseDType(m.plat.Autocast)
	if err != nil {
		return nil, false, err
	}
	to := tensor.Float32
	switch p {
	case castLower:
		to = lower
	case castDType:
		return m.autocastDType(b, args), true, nil
	case castWidest:
		to = widest(args, lower)
	}
	out = make([]any, len(args))
	for i, v := range args {
		if out[i], err = m.castArg(v, to, lower); err != nil {
			return nil, false, err
		}
	}
	return out, true, nil
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

func widest(args []any, lower tensor.DType) tensor.DType {
	w := lower
	for _, v := range args {
		if t, ok := v.(*tensor.Tensor); ok && eligible(t) && t.DType == tensor.Float32 {
			w = tensor.Float32
		}
	}
	return w
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
		b, ok := m.table.Lookup("aten::to.dtype")
		if !ok {
			return nil, &ops.MissingError{Op: "aten::to.dtype"}
		}
		r, err := m.apply(b, []any{t, int64(to), false, false, nil})
		if err != nil {
			return nil, err
		}
		c, ok := r.(*tensor.Tensor)
		if !ok {
			return nil, fmt.Errorf("internal error: got %s from a cast", ops.TypeName(r))
		}
		if !cached {
			m.temps = append(m.temps, c)
			return c, nil
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

// leaveAutocast lets go of the cached casts, as the outermost autocast context does.
func (m *machine) leaveAutocast() {
	for _, c := range m.castOrder {
		m.drop(c)
	}
	m.casts, m.castOrder = nil, nil
}
