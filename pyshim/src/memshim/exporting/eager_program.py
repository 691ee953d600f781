"""The program that a live model runs, where torch.export gives another one."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from memshim import binary
from memshim.exporting import compare_operators
from memshim.exporting.releases import Releases


def export(model: Any, args: tuple, kwargs: dict[str, Any], dynamic_shapes: Any) -> tuple[Any, list[list[str]]]:
    """The model exported as if it ran eagerly, with when Python let go of its results. Raises what torch.export raises.

    To what asks whether it is being exported or compiled, or meets a tensor without data, the answer is no, and a test on tensor data goes the way that it
    goes with the inputs' values. The caller holds the program against the live model (memshim.exporting.compare_operators): only then it is what eager runs.
    """
    import torch
    import torch._functorch.config

    from torch._subclasses.fake_tensor import FakeTensor

    releases = Releases()
    values = not any(isinstance(t, FakeTensor) for t in [*model.parameters(), *model.buffers(), *torch.utils._pytree.tree_leaves((args, kwargs))])
    with torch.no_grad(), torch._functorch.config.patch(fake_tensor_propagate_real_tensors=values), unnoticed(), releases.watch():
        program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    _without_tests(program.graph)
    return program, releases.of(program)


def find(model: Any, args: tuple, kwargs: dict[str, Any], dynamic_shapes: Any, of: Any = None) -> tuple[Any, list[list[str]]] | None:
    """The program that eager runs, as export gives it; None where there is none that the live model agrees with, or where it leaves fewer sizes open than
    the program that it stands beside (of). Where the host's is not what a GPU runs, it is the GPU's (memshim.exporting.gpu_program)."""
    from memshim.exporting import gpu_program

    def on_host() -> tuple[Any, list[list[str]]] | None:
        found = export(model, args, kwargs, dynamic_shapes)
        return found if compare_operators.compare(model, found[0], args, kwargs)["same"] else None

    for attempt in (on_host, lambda: gpu_program.find(model, args, kwargs, dynamic_shapes)):
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # what torch.export logs of an attempt
                found = attempt()
        except Exception:  # whatever the user's module or tracing it raises: the artifact itself is made
            continue
        if found and (of is None or open_sizes(of) <= open_sizes(found[0])):
            return found
    return None


def pack(found: tuple[Any, list[list[str]]] | None) -> dict[str, Any]:
    """What the sidecar tells of it: {"eager": {"program": BASE64, "releases": […]}}, the program without weights."""
    import torch

    from memshim.exporting import gpu_program

    if found is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "eager.pt2")
        with gpu_program.told(found[0]) if gpu_program.apart(found[0]) else contextlib.nullcontext():
            torch.export.save(found[0], file)
        with open(stripped(file, folder), "rb") as f:
            return {"eager": {"program": base64.b64encode(f.read()).decode(), "releases": found[1]}}


def stripped(file: str, folder: str) -> str:
    """A copy of an archive without its weights."""
    out = os.path.join(folder, "stripped")
    p = subprocess.run([binary.find(), "strip", file, "-o", out], capture_output=True, text=True)
    if p.returncode:
        raise StripError(p.stderr.strip().replace(file, os.path.basename(file)) or f"memspec strip ended with {p.returncode}")
    return out


class StripError(Exception):
    """An archive cannot be written without weights. The text is for the user."""


def open_sizes(program: Any) -> set[tuple[str, int]]:
    """The inputs' dimensions that a program leaves open."""
    inputs = set(program.graph_signature.user_inputs)
    out = set()
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and node.name in inputs and hasattr(value, "shape"):
            out |= {(node.name, i) for i, n in enumerate(value.shape) if not isinstance(n, int)}
    return out


def _ours(depth: int) -> bool:
    """Whether a caller is PyTorch's own machinery, which has to know that it traces; its layers have not."""
    name = sys._getframe(depth + 1).f_globals.get("__name__", "")
    return name == "torch" or name.startswith("torch.") and not name.startswith("torch.nn.")


def _no(real: Callable[..., bool]) -> Callable[..., bool]:
    def ask(*args: Any) -> bool:
        return real(*args) if _ours(1) else False

    return ask


@contextlib.contextmanager
def unnoticed() -> Iterator[None]:
    """To what asks whether it is traced, or meets a tensor without data, the answer is no."""
    import torch
    import torch._dynamo  # it knows PyTorch's functions by what they are when it is imported first: not those that stand here for a while
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    class Hidden(type):
        def __instancecheck__(cls, x: Any) -> bool:
            return _ours(1) and isinstance(x, FakeTensor)

        def __subclasscheck__(cls, x: Any) -> bool:
            return _ours(1) and issubclass(x, FakeTensor)

    def overridden(args: Any) -> bool:  # less the modes that trace
        plain = (torch.Tensor, torch.nn.Parameter, FakeTensor)
        return any(type(a) not in plain and getattr(type(a), "__torch_function__", None) is not torch._C._disabled_torch_function_impl for a in args if isinstance(a, torch.Tensor))

    leaves = torch.utils._pytree.tree_leaves

    def each(function: Callable[..., Any], tree: Any, *others: Any) -> Any:  # less a result that is not there (_native_multi_head_attention's weights)
        for row in zip(leaves(tree), *map(leaves, others)):
            if None not in row[1:]:
                function(*row)
        return tree

    with contextlib.ExitStack() as stack:
        for owner, name, to in [
            (torch.compiler, "is_compiling", _no(torch.compiler.is_compiling)),
            (torch.compiler, "is_exporting", _no(torch.compiler.is_exporting)),
            (torch.nn.modules.activation, "_is_make_fx_tracing", lambda: False),
            (torch.overrides, "has_torch_function", overridden),
            (torch._subclasses, "FakeTensor", Hidden("FakeTensor", (), {})),
            # what is found out of results with values, and a check of their sizes: both fail on operators that give None
            (sys.modules["torch._subclasses.fake_tensor"], "tree_map_", each),
            (FakeTensorMode, "_maybe_infer_fake_kernel_from_pytree_out", lambda *_: None),
        ]:
            if hasattr(owner, name):
                stack.enter_context(mock.patch.object(owner, name, to))
        yield


def _without_tests(graph: Any) -> None:
    """Leaves out what tracing adds to eager's operators: assertions, and the comparison that it makes of a tensor taken for a bool
    (torch/fx/experimental/proxy_tensor.py, is_nonzero)."""
    import torch

    aten = torch.ops.aten
    asserts = {aten._assert_scalar.default, aten._assert_tensor_metadata.default, aten.sym_constrain_range_for_size.default, aten.sym_constrain_range.default}
    for node in reversed(list(graph.nodes)):
        if node.op != "call_function" or node.users:
            continue
        truth = node.target is aten.ne.Scalar and node.args[1] == 0 and node.meta.get("memspec_truth")
        number = not isinstance(node.target, torch._ops.OpOverload)
        if node.target is aten.item.default and node.args[0].target is aten.ne.Scalar:
            node.args[0].meta["memspec_truth"] = True
        if node.target in asserts or number or truth or node.target is aten.item.default:
            graph.erase_node(node)
