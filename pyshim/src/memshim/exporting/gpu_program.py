"""The program that a live model runs on a GPU, where not all of its results lie there.

A program that was exported on the host does not say which results eager execution keeps on the
host when the model is on a GPU. So the model is exported once more, on tensors of a GPU without
data: its nodes record the device of each result.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from memshim.exporting import eager_program
from memshim.exporting.live_model import buffers_kept, dispatched, unnoticed


def find(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, read: list[Any] | None = None
) -> tuple[Any, list[list[str]]] | None:
    """The program and when Python released its results, as find_program.find gives them; None
    where the live model on a GPU runs another one.

    Tests on tensor data go the way that they go on the host, or, of a model without data, as recorded
    (read).
    """
    from torch._subclasses.fake_tensor import FakeTensor

    if read is None:
        with buffers_kept(model):
            _, read = dispatched(model, args, kwargs)
    mode, moved, args, kwargs = on_gpu(model, args, kwargs)
    with answered(read), constants_apart():
        program, releases = eager_program.export(moved, args, kwargs, dynamic_shapes)
    live, exported = (
        _placed(mode, module, args, kwargs, read) for module in (moved, program.module(check_guards=False))
    )
    if live != exported:
        return None
    # what is tied is saved as one
    for name, t in [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]:
        for held in (program.state_dict, program.constants):
            if name in held and type(t) is not FakeTensor:
                held[name] = t
    return program, releases


def apart(program: Any) -> bool:
    """Whether a program is of a GPU and its weights are on the host."""
    on_gpu = any(getattr(n.meta.get("val"), "is_cuda", False) for n in program.graph.nodes if n.op == "placeholder")
    return on_gpu and any(t.device.type == "cpu" for t in program.state_dict.values())


@contextlib.contextmanager
def weights_as_in_graph(program: Any) -> Iterator[None]:
    """A program is saved with its weights on the devices that the graph has them on, wherever they
    are."""
    from torch.export.pt2_archive import _package as package

    _package: Any = package
    describe, at, nodes = (
        _package.serialize_tensor_meta,
        {},
        {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"},
    )
    for spec in program.graph_signature.input_specs:
        weight: Any = program.state_dict.get(spec.target, program.constants.get(spec.target)) if spec.target else None
        if hasattr(weight, "data_ptr") and hasattr(nodes.get(spec.arg.name), "device"):
            at[weight.data_ptr()] = nodes[spec.arg.name].device

    def described(t: Any) -> Any:
        meta = describe(t)
        if (d := at.get(t.data_ptr(), t.device)) != t.device:
            meta.device = type(meta.device)(type=d.type, index=d.index)
        return meta

    with mock.patch.object(_package, "serialize_tensor_meta", described):
        yield


def on_gpu(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]]:
    """The mode of tensors without data, and the model and its inputs on a GPU as such. What is tied
    stays so."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode, fakes = FakeTensorMode(allow_non_fake_inputs=True), {}

    def fake(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        if id(t) not in fakes:
            with mode:
                made = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="cuda")
            fakes[id(t)] = torch.nn.Parameter(made, t.requires_grad) if isinstance(t, torch.nn.Parameter) else made
        return fakes[id(t)]

    tensors = {id(t): fake(t) for t in [*model.parameters(), *model.buffers()]}
    args, kwargs = torch.utils._pytree.tree_map(fake, (args, kwargs))
    return mode, copy.deepcopy(model, tensors), args, kwargs


@contextlib.contextmanager
def answered(read: list[Any]) -> Iterator[None]:
    """What is asked of a tensor without data is answered as before, in order."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    answers = list(read)

    def answer(name: str) -> Any:
        real = getattr(torch.Tensor, name)
        kinds: dict[str, Callable[[Any], Any]] = {"__bool__": bool, "__int__": int, "__float__": float}
        to = kinds.get(name, lambda x: x)
        return lambda t: to(answers.pop(0)) if type(t) is FakeTensor and answers else real(t)

    with contextlib.ExitStack() as stack:
        for name in ("__bool__", "__int__", "__float__", "__index__", "item"):
            stack.enter_context(mock.patch.object(torch.Tensor, name, answer(name)))
        yield


@contextlib.contextmanager
def constants_apart() -> Iterator[None]:
    """Numbers that a model puts on the GPU are not computed with ahead: there is none that
    could."""
    from torch.fx.experimental import proxy_tensor

    with mock.patch.object(proxy_tensor, "CONSTANT_NUMEL_LIMIT", -1):
        yield


def _placed(mode: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read: list[Any]) -> list[str]:
    """The operators that a module on a GPU dispatches, with the device of each result."""
    with mode, unnoticed(), answered(read):
        return dispatched(module, args, kwargs, places=True)[0]
