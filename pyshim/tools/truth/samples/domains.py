"""Which file an operator's samples go to."""

from __future__ import annotations

import re

NAMES = [
    "conv", "norm", "pool", "matmul", "pointwise", "compare", "view", "reduce", "join", "index", "create", "cast",
    "attention", "softmax", "embedding", "random", "loss", "rnn", "sort", "quant", "vision", "foreach", "other",
]  # fmt: skip

# First match wins; whole names without aten:: and without a trailing underscore.
RULES = [
    ("other", r"torchvision::.*|stft|istft|.*fft.*|_fft.*"),
    ("foreach", r"_foreach.*|_fused_.*"),
    ("quant", r"quantize.*|dequantize.*|q_.*|fake_quantize.*|_fake_quant.*|int_repr|.*quantized.*|choose_qparams.*"),
    ("conv", r".*conv.*|unfold|fold|im2col|col2im|constant_pad_nd|pad|.*_pad\dd|_pad.*"),
    ("norm", r"(native_)?(batch|layer|group)_norm.*|instance_norm|_native_batch_norm.*|_batch_norm.*|batch_norm.*|.*rms_norm|renorm|local_response_norm|cudnn_batch_norm|_weight_norm.*"),
    ("pool", r".*pool.*"),
    ("softmax", r".*softmax.*|softmin"),
    ("attention", r".*attention.*|.*multi_head.*|_transformer.*|_triton.*"),
    ("embedding", r".*embedding.*|one_hot"),
    ("rnn", r"(lstm|gru|rnn).*|.*_rnn.*|.*_cell|_pack_pad.*|_pad_packed.*"),
    ("loss", r".*_loss.*|.*nll.*|binary_cross_entropy.*|kl_div|.*cdist.*|pdist|_pdist.*|pairwise_distance|cosine_similarity|ctc.*|_ctc.*"),
    ("matmul", r"mm|bmm|.*addmm.*|baddbmm|addbmm|_baddbmm.*|matmul|linear|mv|addmv|dot|vdot|inner|outer|ger|addr|einsum|tensordot|chain_matmul|bilinear|_trilinear|multi_dot|linalg.*|_linalg.*|cholesky.*|lu.*|svd.*|qr|geqrf|orgqr|ormqr|inverse|det|logdet|slogdet|pinverse|triangular.*|matrix.*|_int_mm|kron|matrix_power|_grouped_mm|_scaled_mm|trapezoid|trapz|cumulative_trapezoid|cross|_unsafe_matmul|ldl.*|eig.*|nuclear_norm|block_diag"),
    ("random", r".*rand.*|normal|.*dropout.*|bernoulli|multinomial|poisson|binomial|exponential|uniform|cauchy|geometric|log_normal|random|_standard_gamma|_sample_dirichlet|rrelu.*"),
    ("vision", r"upsample.*|_upsample.*|interpolate|grid_sampl.*|affine_grid.*|pixel_.*|channel_shuffle|native_channel_shuffle|.*roi.*|nms"),
    ("sort", r"sort|argsort|msort|topk|kthvalue|mode|median|nanmedian|unique.*|_unique.*|searchsorted|bucketize|histc|histogram.*|bincount|quantile|nanquantile"),
    ("compare", r"eq|ne|lt|le|gt|ge|greater.*|less.*|not_equal|equal|isclose|allclose|isnan|isinf|isfinite|isneginf|isposinf|isreal|isin|logical_.*|bitwise_.*|__and__|__or__|__xor__|__lshift__|__rshift__|__iand__|__ior__|__ixor__|maximum|minimum|fmax|fmin|where|signbit|is_nonzero"),
    ("reduce", r"sum|nansum|mean|nanmean|prod|max|min|amax|amin|aminmax|argmax|argmin|all|any|std|var|std_mean|var_mean|norm|frobenius_norm|logsumexp|_logsumexp|cum.*|logcumsumexp|_logcumsumexp|_cummax.*|_cummin.*|count_nonzero|trace|dist|cov|corrcoef|sum_to_size"),
    ("join", r"cat|concat|concatenate|stack|hstack|vstack|dstack|column_stack|row_stack|chunk|unsafe_chunk|.*split.*|unbind|meshgrid|cartesian_prod|combinations|broadcast_tensors|tensors_to.*|atleast.*|_stack|_cat"),
    ("index", r".*index.*|select|select_copy|slice|slice_copy|narrow.*|gather.*|.*scatter.*|take.*|put|masked_.*|nonzero.*|argwhere|flip|fliplr|flipud|roll|rot90|tril|triu|tril_indices|triu_indices|diag|diagonal.*|diag_embed|diagflat|fill_diagonal|repeat.*|tile|movedim|select_.*|slice_.*|_unsafe_index.*|_unsafe_masked.*"),
    ("create", r"zeros.*|ones.*|empty.*|full.*|new_.*|arange|range|linspace|logspace|eye|vander|scalar_tensor|tensor|.*_window|_efficientzerotensor|complex|polar|fill|zero|_to_dense|from_.*|ones_like|complex"),
    ("cast", r"to|_to_copy|type_as|float|half|bfloat16|double|int|long|bool|byte|char|short|chalf|cfloat|cdouble|contiguous|clone|copy|_copy.*|cpu|cuda|lift.*|lift_fresh.*|to_.*|_cast.*|_autocast.*"),
    ("view", r"view.*|_unsafe_view|reshape.*|_reshape.*|flatten|ravel|unflatten|permute.*|transpose.*|t|t_copy|swapaxes|swapdims|moveaxis|squeeze.*|unsqueeze.*|expand.*|_expand.*|broadcast_to|as_strided.*|unfold_copy|alias.*|detach.*|adjoint|mT|mH|H|T|numpy_T|matrix_H|real|imag|conj.*|_conj.*|resolve.*|resize.*|set|_neg_view.*|positive|_reshape_alias.*|values.*|_lazy_clone|swap.*"),
]  # fmt: skip
COMPILED = [(d, re.compile(r"(aten::)?(" + r + r")")) for d, r in RULES]


def domain(op: str) -> str:
    name = op
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    for d, pattern in COMPILED:
        if pattern.fullmatch(name):
            return d
    return "pointwise"
