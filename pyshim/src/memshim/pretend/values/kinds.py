"""Operators by what has to be done beside them, by name."""

from __future__ import annotations

BACKENDS = ("CPU", "CUDA", "Meta", "QuantizedCPU", "QuantizedCUDA")
COMPOSITES = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")
MEMORY_ONLY = tuple(
    """
    empty new_empty resize set_ record_stream _resize _pin_memory is_pinned pin_memory data
    """.split()
)
# python_arg_parser.cpp
TAKE_NUMBERS = ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide")
COLLECTIVES = ("c10d::", "_c10d_functional::", "_c10d_functional_autograd::", "c10d_functional::", "symm_mem::")
# composite by name: copy_ is not made of other operators, and a check for errors is followed as one
LEAVES = {"aten::copy_", "aten::_linalg_check_errors"}
OVERWRITES = ("aten::copy_", "aten::fill_", "aten::zero_")  # what was there before does not matter
PRODUCTS = {
    f"aten::{n}"
    for n in ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "_scaled_mm", "_int_mm", "_addmm_activation")
}
LAYERS = tuple(
    """
    convolution _convolution cudnn_ linalg_ _foreach_ _fused_ batch_norm native_batch_norm _native_batch_norm
    native_layer_norm native_group_norm native_dropout
    """.split()
)  # what they give of unknown values is zero as well as any
PASSED_BY = tuple(
    """
    as_strided view _unsafe_view t transpose.int permute expand select.int slice.Tensor unsqueeze squeeze squeeze.dim
    detach alias _reshape_alias unfold split.Tensor split_with_sizes unbind.int diagonal empty.memory_format
    empty_strided empty_like new_empty new_empty_strided convolution _convolution cudnn_convolution
    cudnn_convolution_transpose convolution_backward native_dropout ones_like zeros_like full_like div.Scalar
    mul.Scalar add.Scalar sub.Scalar threshold_backward gelu_backward silu_backward sigmoid_backward tanh_backward
    hardswish_backward hardsigmoid_backward hardtanh_backward leaky_relu_backward elu_backward native_dropout_backward
    _log_softmax_backward_data _softmax_backward_data cudnn_batch_norm_backward native_batch_norm_backward
    native_layer_norm_backward native_group_norm_backward
    """.split()
)  # what they give is fresh, not known and not zeroed first: no need to come by here
COMPOSED = tuple(
    """
    clone slice_backward select_backward diagonal_backward stack repeat embedding new_zeros new_ones new_full
    zeros_like full ones sum mean index_put
    """.split()
)  # made of others, which come here themselves
WHOLE = {
    f"aten::{n}"
    for n in """
        relu relu_ mean sum _log_softmax _softmax add_ sub_ mul_ div_ add sub mul div nll_loss_forward gelu silu
        sigmoid tanh
    """.split()
}  # what these call inside says nothing beside them
OVER_ITSELF = ("add_", "sub_", "mul_", "div_", "scatter_")  # CUDA's kernel leaves what it writes over as it was
PARTLY = {"aten::_grouped_mm", "aten::_scaled_grouped_mm"}  # what no group covers of their results is not written
# Besides those that work element by element: of integers they are followed as far as copies of integers are.
COUNTING = {f"aten::{n}" for n in ("arange", "copy_", "cumsum", "cumsum_", "fill_", "max", "min", "sum")}
UNCHECKED = {"aten::linalg_ldl_solve"}  # LAPACK writes where its pivots point
# batch norm writes these though its schema does not say so
RUNNING = ("running_mean", "running_var", "save_mean", "save_invstd")
