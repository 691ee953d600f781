"""Kernels of operators by which values come to the host: as a number, as a copy, as the size of a
result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch._C as C

from memshim.pretend.values import counts, modes
from memshim.pretend.values.arguments import NUMBERS, PLAIN, collect, to_host
from memshim.pretend.values.keys import CHOSEN_LIMIT, INTEGER_LIMIT, KNOWN_LIMIT, UNKNOWN_LIMIT, OnCPU
from memshim.pretend.values.memory import CHOSEN, KNOWN, UNKNOWN, host

if TYPE_CHECKING:
    from memshim.pretend.values.hook import Values

LONGEST_OF_ONE_KERNEL = 2048  # of mode, native/cuda/TensorModeKernel.cpp: two elements for each thread of a block


class Reading:
    """The part of an Operator that reads."""

    op: torch._ops.OpOverload
    name: str
    values: Values
    redispatch: Callable[..., Any]
    forward: Callable[..., Any]
    inside: Callable[..., Any]
    default: Callable[..., Any]
    argument: Callable[..., Any]
    on_cpu: Callable[..., Any]
    tensors: Callable[..., Any]

    def scalar(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """.item(), bool(), int(), float(): a number of the device's goes to the host."""
        t = args[0]
        if type(t) in NUMBERS:
            return self.inside(keyset, args, kwargs)
        if not t.is_cuda:
            return self.redispatch(keyset, t)
        if type(t) not in PLAIN or self.values.memory.known(t):
            return self.inside(keyset, args, kwargs)
        value, state = self.unnoted(keyset, args, kwargs), self.values.state
        if state.count is not None:
            return type(value)(state.count)
        if state.asked:
            return value
        if isinstance(value, complex):
            self.values.reads.note(self.name, t.element_size(), kind="float", varied=False)
            return value
        return self.values.reading(self.name, t, value)

    def unnoted(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As inside; what it reads is noted by the caller, not again by an operator around it."""
        before = (reads := self.values.library.reads()).count
        try:
            return self.inside(keyset, args, kwargs)
        finally:
            reads.count = before

    def checking(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an operator that raises an error where a number of the device's is not zero: it is
        zero in every mode."""
        state = self.values.state
        state.checking += 1
        try:
            return self.forward(keyset, args, kwargs)
        finally:
            state.checking -= 1

    def asked(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operator that answers Python: are these equal? CUDA's kernel runs, and the CPU
        answers."""
        tensors: list[torch.Tensor] = []
        if not collect((*args, *kwargs.values()), tensors) or not any(t.is_cuda for t in tensors):
            return self.forward(keyset, args, kwargs)
        state, memory = self.values.state, self.values.memory
        known = all(map(memory.known, tensors))
        followed = known or all(map(memory.chosen, tensors))
        state.asked += 1
        try:
            answer = self.unnoted(keyset, args, kwargs)
        finally:
            state.asked -= 1
        if all(t.numel() <= (INTEGER_LIMIT if followed else UNKNOWN_LIMIT) for t in tensors):
            with OnCPU():
                answer = self.op(*map(to_host, self.tensors(args)), **{k: to_host(v) for k, v in kwargs.items()})
        return answer if known else self.values.reading(self.name, None, answer, followed)

    def copy(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        to, of = args[0], args[1]
        if type(to) not in PLAIN or type(of) not in PLAIN or not (to.is_cuda or of.is_cuda):
            return self.forward(keyset, args, kwargs)
        if to.is_cuda:
            out = self.default(keyset, args, kwargs)
            if (
                not of.is_cuda
                and KNOWN_LIMIT < to.numel() <= INTEGER_LIMIT
                and not of.dtype.is_floating_point
                and not of.dtype.is_complex
                and not self.values.memory.known(to)
            ):
                with OnCPU():
                    host(to).copy_(of)
                self.values.memory.wrote(to, KNOWN)
            return out
        before = (reads := self.values.library.reads()).count
        out = self.inside(keyset, args, kwargs)
        if reads.count == before:
            return out
        reads.count = before
        self.copied(to, of, reads.bytes)
        return out

    def copied(self, to: torch.Tensor, of: torch.Tensor, size: int) -> None:
        """Values that are not known came to the host."""
        values, kind = self.values, modes.kind(of.dtype)
        chosen, assumed, mode = values.memory.chosen(of), values.reads.assumed(), values.mode
        fill, varied = assumed, True
        with OnCPU():
            if assumed is None and chosen and to.nbytes <= 8 * CHOSEN_LIMIT:
                to.copy_(host(of))
            elif assumed is None and mode != modes.BALANCED and not values.state.checking:
                if varied := to.numel() <= CHOSEN_LIMIT and not of.dtype.is_complex:
                    fill = modes.everywhere(mode, of.dtype)
            if fill is not None:
                to.fill_(fill)
            given = value = None
            if to.numel() == 1 and not of.dtype.is_complex:
                given = value = to.view(1).tolist()[0]
        values.reads.note(
            self.name,
            size,
            assumed,
            modes.given(mode, given, chosen),
            kind,
            value,
            bounded=chosen or kind != "int" or assumed is not None,
            varied=varied,
        )

    def of_one(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """isin of a number that is sorted: PyTorch reads how many different ones that is, which is
        one, and how many the others are."""
        tests, memory = args[1], self.values.memory
        self.values.library.answer(1)
        if type(tests) in PLAIN and tests.is_cuda and tests.numel() <= KNOWN_LIMIT and memory.known(tests):
            with OnCPU():
                self.values.library.answer(host(tests).unique().numel())
        try:
            return self.default(keyset, args, kwargs)
        finally:
            self.values.library.answers_end()

    def of_runs(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """mode. Of each row that is too long for one kernel PyTorch reads how many different values it
        has, by which it allocates, how often the most frequent one comes, which one that is, and
        where it lies."""
        x, values, memory = args[0], self.values, self.values.memory
        dim = self.argument(args, kwargs, "dim")
        n = x.shape[dim] if -x.dim() <= dim < x.dim() else 1
        if type(x) not in PLAIN or not x.is_cuda or n <= LONGEST_OF_ONE_KERNEL:
            return self.default(keyset, args, kwargs)
        known = memory.known(x)
        followed = known or memory.chosen(x)
        assumed = None if known else values.reads.assumed()
        own, limit = None, KNOWN_LIMIT if followed else UNKNOWN_LIMIT
        with OnCPU():
            if assumed is not None:
                runs = [(min(max(int(assumed), 1), n), 1)] * (x.numel() // n)
            elif x.numel() <= limit and (followed or values.mode == modes.BALANCED):
                rows = host(x).movedim(dim, -1).reshape(-1, n)
                runs = [different(row) for row in rows]
                own = self.on_cpu(args, kwargs)
            else:
                one = values.mode in (modes.BALANCED, modes.LEAST)
                runs = [(1, n) if one else (n, 1)] * (x.numel() // n)
        if not known:
            most = max((count for count, _ in runs), default=0)
            values.reads.note(self.name, 4, assumed, modes.given(values.mode, most, followed), "count", most)
        for count, often in runs:
            for bits in answers_of(count, often, x.dtype):
                values.library.answer(bits)
        try:
            out = self.inside(keyset, args, kwargs)
        finally:
            values.library.answers_end()
        with OnCPU():
            for there, here in zip(out, own or (None, None)):
                if own is not None:
                    host(there).copy_(here)
                    memory.wrote(there, KNOWN if known else CHOSEN if followed else UNKNOWN)
                else:
                    memory.unknown(there)
        return out

    def counted(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operator whose result has a size that depends on values: CUDA's kernel reads it from
        the device."""
        tensors: list[torch.Tensor] = []
        if not collect((*args, *kwargs.values()), tensors) or not any(t.is_cuda for t in tensors):
            return self.forward(keyset, args, kwargs)
        values, memory, state = self.values, self.values.memory, self.values.state
        known = all(map(memory.known, tensors))
        followed = known or all(map(memory.chosen, tensors))
        own = count = None
        if state.count is None:
            with OnCPU():
                own, count = self.count(args, kwargs, tensors, followed)
                known = known and own is not None
        assumed, given = None, ""
        if state.count is not None:
            count = state.count  # an operator around this one knows it
        elif not known:
            assumed = values.reads.assumed()
            if assumed is not None:
                own, count = None, int(assumed)
            given = modes.given(values.mode, count or 0, followed)
            values.reads.note(self.name, 8, assumed, given, "count", count or 0)
        if count is None:
            return self.unnoted(keyset, args, kwargs)
        outer, state.count = state.count, count
        values.library.answer(count)
        try:
            out = self.inside(keyset, args, kwargs)
        finally:
            state.count = outer
            values.library.answers_end()
        fresh: list[torch.Tensor] = []
        if own is not None and collect([out], fresh):
            copies: list[torch.Tensor] = []
            collect([own], copies)
            with OnCPU():
                for there, here in zip(fresh, copies):
                    if there.is_cuda and there.shape == here.shape and there.numel():
                        host(there).copy_(here)
                        memory.wrote(there, KNOWN if known else CHOSEN)
        return out

    def count(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor], followed: bool
    ) -> tuple[Any, int | None]:
        """The operator's result on the CPU, of what lies there or of what the mode chooses; and its
        number of rows."""
        most = max(t.numel() for t in tensors)
        first, ends = args[0], None
        if not followed:
            ends = counts.chosen(self.values.mode, self.name, first.shape)
            if ends is not None and most > CHOSEN_LIMIT:
                return None, counts.upper(self.values.mode, first.shape)
        if most > (INTEGER_LIMIT if followed or ends is not None else UNKNOWN_LIMIT):
            return None, None
        try:
            rest = [to_host(a) if ends is None else zeros(a) for a in args[1:]]
            own = self.op(
                to_host(first) if ends is None else ends,
                *rest,
                **{k: to_host(v) for k, v in kwargs.items() if k != "out"},
            )
            return own, counts.OF[self.name](own)
        except Exception:
            return None, None


def different(row: torch.Tensor) -> tuple[int, int]:
    """How many different values there are, and how often the most frequent one comes."""
    _, often = row.unique(return_counts=True)
    return often.numel(), int(often.max())


def answers_of(count: int, often: int, dtype: torch.dtype) -> list[int]:
    """What mode reads of a row (native/cuda/TensorModeKernel.cu): how many neighbours differ once it is
    sorted; how many values there are; the largest number of one and its place; the value; that it was
    found, and where; its place before. Of booleans: how many are true; that one was found, and where."""
    if dtype is torch.bool:
        return [often, 1, 0]
    return [count - 1, count, often, 0, 0, 1, 0, 0]


def zeros(a: Any) -> Any:
    """Zeros on the host in the place of a tensor."""
    return torch.zeros(a.shape, dtype=torch.float32, device="cpu") if type(a) in PLAIN else a
