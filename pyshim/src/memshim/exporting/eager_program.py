"""A live model exported as if it ran eagerly."""

from __future__ import annotations

from typing import Any

from memshim.exporting.live_model import unnoticed
from memshim.exporting.releases import Releases


def export(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> tuple[Any, list[list[str]]]:
    """The model exported as if it ran eagerly, with when Python released its results. Raises what
    torch.export raises.

    To what asks whether it is being exported or compiled, or meets a tensor without data, the
    answer is no, and a test on tensor data goes the way that it goes with the inputs' values. The
    caller compares the program with the live model (memshim.exporting.compare_operators): only then
    it is what eager runs.
    """
    import torch
    import torch._functorch.config
    from torch._subclasses.fake_tensor import FakeTensor

    releases = Releases()
    values = not any(
        isinstance(t, FakeTensor)
        for t in [*model.parameters(), *model.buffers(), *torch.utils._pytree.tree_leaves((args, kwargs))]
    )
    with (
        torch.no_grad(),
        torch._functorch.config.patch(fake_tensor_propagate_real_tensors=values),
        unnoticed(),
        releases.watch(),
    ):
        program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    _without_tests(program.graph)
    return program, releases.of(program)


def _without_tests(graph: Any) -> None:
    """Leaves out what tracing adds to eager's operators: assertions, and the comparison that it
    makes of a tensor taken for a bool (torch/fx/experimental/proxy_tensor.py, is_nonzero)."""
    import torch

    aten = torch.ops.aten
    asserts = {
        aten._assert_scalar.default,
        aten._assert_tensor_metadata.default,
        aten.sym_constrain_range_for_size.default,
        aten.sym_constrain_range.default,
    }
    for node in reversed(list(graph.nodes)):
        if node.op != "call_function" or node.users:
            continue
        truth = node.target is aten.ne.Scalar and node.args[1] == 0 and node.meta.get("memspec_truth")
        number = not isinstance(node.target, torch._ops.OpOverload)
        if node.target is aten.item.default and node.args[0].target is aten.ne.Scalar:
            node.args[0].meta["memspec_truth"] = True
        if node.target in asserts or number or truth or node.target is aten.item.default:
            graph.erase_node(node)
