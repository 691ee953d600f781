"""The memory behind a tensor: what it is made of that has its own bytes on a device. Importing
this imports torch."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_SPARSE = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def parts(t: torch.Tensor) -> Iterator[torch.Tensor]:
    """The plain tensors that a tensor is made of: itself; a sparse one's indices and values; what a
    subclass wraps, so of a sharded tensor what this process holds; nothing for one that has no
    bytes: fake, meta, lazy, functional."""
    if t.device.type == "meta" or isinstance(t, FakeTensor):
        return
    if (
        type(t) in _PLAIN
        and t.layout is torch.strided
        and not t.is_quantized
        and not torch._C._functorch.is_functorch_wrapped_tensor(t)
        and (not torch._is_functional_tensor(t))
    ):
        yield t
        return
    if torch._C._functorch.is_functorch_wrapped_tensor(t):  # vmap's and grad's
        yield from parts(torch._C._functorch.get_unwrapped(t))
    elif torch._is_functional_tensor(t):
        yield from parts(torch._from_functional_tensor(t))
    elif is_traceable_wrapper_subclass(t):
        for name in t.__tensor_flatten__()[0]:
            inner = getattr(t, name)
            if isinstance(inner, torch.Tensor):
                yield from parts(inner)
    elif t.layout in _SPARSE:
        with _disable_current_modes():
            inner = [getattr(t, name)() for name in _SPARSE[t.layout]]
        for part in inner:
            yield from parts(part)
    else:
        yield t
        if t.is_quantized and t.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams):
            yield t.q_per_channel_scales()
            yield t.q_per_channel_zero_points()


def storage_of(t: torch.Tensor) -> torch.UntypedStorage | None:
    """Of a plain tensor; None for one that keeps its bytes elsewhere (mkldnn's), or has none behind
    its storage."""
    try:
        storage = t.untyped_storage()
        if storage.nbytes() and storage.device.type != "meta" and not torch._C._is_cow_tensor(t):  # type: ignore[attr-defined]  # of PyTorch's own
            # raises where there is nothing: of a subclass that wraps others, of zeros that are not
            # stored
            storage.data_ptr()
        return storage
    except (NotImplementedError, RuntimeError):
        return None


def stored(t: torch.Tensor) -> list[tuple[torch.Tensor, torch.UntypedStorage]]:
    """The plain tensors behind a tensor, each with its storage. Nothing that a tensor may be makes
    it fail: whoever looks must not end the program."""
    try:
        with torch._C.DisableTorchFunctionSubclass():
            return [(p, s) for p in parts(t) if (s := storage_of(p)) is not None]
    except Exception:
        return []


def storages(t: torch.Tensor) -> list[torch.UntypedStorage]:
    """Those behind a tensor."""
    return [s for _, s in stored(t)]


def nbytes(tensors: Iterable[torch.Tensor]) -> int:
    """Of the storages behind tensors, each once."""
    return sum({s._cdata: s.nbytes() for t in tensors for s in storages(t)}.values())


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is asked of tensors in it is no part of the program: no mode and no autograd sees it."""
    with torch.no_grad(), _disable_current_modes(), torch._C.DisableTorchFunctionSubclass():
        yield


def reachable() -> list[torch.Tensor]:
    """Every tensor that Python can reach, gradients with it, once each. Those that wrap others
    stand beside them."""
    found, seen = [], set()
    with aside():
        pending = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)]
        while pending:
            t = pending.pop()
            if id(t) in seen:
                continue
            seen.add(id(t))
            found.append(t)
            if t.is_leaf and t.grad is not None:
                pending.append(t.grad)
    found.reverse()
    return found
