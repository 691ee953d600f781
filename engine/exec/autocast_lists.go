package exec

import (
	"strings"
	"sync"
)

// What autocast does to each operator on CUDA: the lists of aten/src/ATen/autocast_mode.h.
// TestAutocastLists compares them with what PyTorch registers.

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
		castLower: {"_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
			"conv_transpose3d",
			"convolution", "cudnn_convolution", "cudnn_convolution_transpose", "prelu", "addmm", "addmv", "addr", "matmul",
			"einsum", "mm", "mv",
			"linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "_thnn_fused_lstm_cell",
			"_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
			"_scaled_dot_product_flash_attention",
			"scaled_dot_product_attention"},
		castFloat: {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
			"sinh", "tan",
			"pow", "softplus", "layer_norm", "native_layer_norm", "rms_norm", "group_norm", "frobenius_norm", "nuclear_norm",
			"cosine_similarity",
			"poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss",
			"smooth_l1_loss",
			"huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
			"multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp",
			"upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_nearest2d", "_upsample_nearest_exact2d",
			"upsample_nearest3d",
			"_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d", "_upsample_bilinear2d_aa",
			"upsample_trilinear3d",
			"upsample_bicubic2d", "_upsample_bicubic2d_aa"},
		castDType: {"prod", "softmax", "log_softmax", "cumprod", "cumsum", "linalg_vector_norm", "linalg_matrix_norm",
			"sum"},
		castNorm:    {"norm"},
		castRNN:     {"_cudnn_rnn"},
		castRefused: {"binary_cross_entropy"},
		castWidest: {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put",
			"tensordot", "scatter_add"},
	}
	m := map[string]castPolicy{}
	for _, n := range []string{"deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"} {
		// torchvision/csrc/ops/autocast
		m["torchvision::"+n] = castVision
	}
	for p, names := range lists {
		for _, n := range names {
			m["aten::"+n] = p
		}
	}
	return m
})

// castPolicyOf is the policy of one overload. Those without a separate kernel for autocast are
// cast, where they are made of others, inside.
func castPolicyOf(name, overload string) castPolicy {
	p := castPolicies()[name]
	if p == 0 || strings.HasSuffix(overload, "out") || withoutCast[overload] {
		return 0
	}
	return p
}

var withoutCast = map[string]bool{"vec": true, "padding": true, "quantized": true, "hacked_twin": true, "sublist": true,
	"dtype":           true,
	"ScalarOpt_dtype": true, "ScalarOpt_dim_dtype": true, "names_ScalarOpt_dim_dtype": true}
