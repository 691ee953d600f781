"""Device tensors as memory: which bytes they lie in, whether these are known, and the same bytes as
a CPU tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import torch

from memshim.pretend.library import Library

UNKNOWN, KNOWN, CHOSEN = 0, 1, 2  # native/bytes.c
MOST_RUNS = 256  # of a tensor that does not lie dense: more are not followed


def span(t: torch.Tensor) -> int:
    """From its first byte to its last."""
    if t.is_contiguous():
        return t.nbytes
    return (sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1) * t.element_size() if t.numel() else 0


def runs(t: torch.Tensor) -> Iterator[tuple[int, int]] | None:
    """(address, bytes) of each stretch without gaps; None where there are too many."""
    size, item = span(t), t.element_size()
    at = t.data_ptr()
    if size == t.numel() * item or not size:
        return iter([(at, size)] if size else [])
    dims = sorted(((s, n) for n, s in zip(t.shape, t.stride()) if n > 1 and s), key=lambda d: d[0])
    length = 1  # elements of a run
    while dims and dims[0][0] == length:
        length *= dims.pop(0)[1]
    count = 1
    for _, n in dims:
        count *= n
    if count > MOST_RUNS:
        return None
    starts = [0]
    for stride, n in dims:
        starts = [a + i * stride for i in range(n) for a in starts]
    return iter((at + a * item, length * item) for a in starts)


class Memory:
    """What the library knows of tensors."""

    def __init__(self, library: Library):
        self.library, self.is_known = library, library.known

    def known(self, t: torch.Tensor) -> bool:
        """Whether its values are what a GPU would have."""
        return not t.is_cuda or self.all_in(t, self.is_known)

    def chosen(self, t: torch.Tensor) -> bool:
        """Whether its values are known, or follow from values that were chosen within their range
        (modes.py)."""
        return not t.is_cuda or self.all_in(t, self.library.chosen)

    def all_in(self, t: torch.Tensor, is_in: Callable[[int, int], int]) -> bool:
        contiguous = t.is_contiguous()
        found = is_in(t.data_ptr(), t.nbytes if contiguous else span(t))
        if found or contiguous:
            return found > 0
        stretches = runs(t)
        return stretches is not None and all(is_in(at, n) > 0 for at, n in stretches)

    def untouched(self, t: torch.Tensor) -> bool:
        """Nobody wrote where it lies: it is zero."""
        return t.is_cuda and self.library.untouched(t.data_ptr(), span(t))

    def wrote(self, t: torch.Tensor, known: int) -> None:
        """known is one of UNKNOWN, KNOWN and CHOSEN."""
        if t.is_cuda and t.is_contiguous():
            self.library.wrote(t.data_ptr(), t.nbytes, known)
            return
        stretches = runs(t) if t.is_cuda else None
        if stretches is None:
            self.unknown(t)
            return
        for at, n in stretches:
            self.library.wrote(at, n, known)

    def chose(self, t: torch.Tensor) -> None:
        """Its values were chosen as they lie there, at no cost."""
        for at, n in runs(t) or ():
            self.library.chose(at, n)

    def zero(self, t: torch.Tensor) -> None:
        """Zeros, which are known, at no cost."""
        stretches = runs(t)
        if stretches is None:
            self.unknown(t)
            return
        for at, n in stretches:
            self.library.zero(at, n)

    def unknown(self, t: torch.Tensor) -> None:
        if t.is_cuda:
            self.library.unknown(t.data_ptr(), span(t))


def host(t: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the bytes of a device tensor: device memory of a pretend GPU is host
    memory."""
    if not t.is_cuda:
        return t
    size = span(t)
    if not size:
        return torch.empty(t.shape, dtype=t.dtype)
    flat = torch.frombuffer((ctypes.c_char * size).from_address(t.data_ptr()), dtype=t.dtype)
    out = flat.as_strided(t.size(), t.stride())
    if t.is_neg():
        out = torch._neg_view(out)
    return out.conj() if t.is_conj() else out
