"""The kernel that every operator passes: CUDA's own first, then small results once more on the
CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch._C as C

from memshim.pretend.values import choices, counts, kinds, modes
from memshim.pretend.values.arguments import (
    NUMBERS,
    PLAIN,
    TENSORS,
    collect,
    defined,
    of_floats,
    to_host,
    trained,
    with_number,
)
from memshim.pretend.values.attention import PLANNED, alike
from memshim.pretend.values.initialise import skipped
from memshim.pretend.values.keys import (
    ABOVE,
    CHOSEN_LIMIT,
    INTEGER_LIMIT,
    KNOWN_LIMIT,
    OWN,
    PRODUCT_LIMIT,
    UNKNOWN_LIMIT,
    OnCPU,
)
from memshim.pretend.values.memory import CHOSEN, KNOWN, UNKNOWN, host
from memshim.pretend.values.reading import Reading

if TYPE_CHECKING:
    from memshim.pretend.values.hook import Values

MOST_CALLS = 4096  # of an operator, that are remembered to give zeros of zeros


class Operator(Reading):
    """What is known of one overload, and its kernel."""

    def __init__(self, op: torch._ops.OpOverload, values: Values):
        schema = op._schema
        self.op, self.values, self.name = op, values, schema.name
        self.redispatch = op._handle.redispatch_boxed if self.name.startswith("aten::") else op.redispatch
        self.overloads: dict[int, torch._ops.OpOverload] = {}
        self.stay_zero: set[Any] = set()  # calls that give zeros of zeros
        self.places = {a.name: (i, a.default_value) for i, a in enumerate(schema.arguments)}
        self.numbers = [
            i for i, a in enumerate(schema.arguments) if isinstance(a.type, torch.TensorType) and not a.kwarg_only
        ]
        self.takes_numbers = self.name.partition("::")[2].rstrip("_") in kinds.TAKE_NUMBERS
        own = C._dispatch_has_kernel_for_dispatch_key(op.name(), "CUDA")
        # A number may become a tensor of the device inside (pow), which Python cannot be given:
        # what such a kernel calls does not come here.
        self.alone = (
            own
            and (self.name in kinds.WHOLE or self.name in kinds.PRODUCTS)
            or own
            and any(isinstance(a.type, torch.NumberType) and not a.kwarg_only for a in schema.arguments)
        )
        writes = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
        if "batch_norm" in self.name and not writes and "backward" not in self.name:
            writes = [(i, a) for i, a in enumerate(schema.arguments) if a.name in kinds.RUNNING]
        self.writes = [(i, a.name) for i, a in writes]
        self.pure = {a.name for _, a in writes if a.kwarg_only}  # out=
        if self.name in kinds.OVERWRITES:
            self.pure.add("self")
        self.in_place = bool(writes) and self.name not in kinds.OVERWRITES
        self.beta = next((i for i, a in enumerate(schema.arguments) if a.name == "beta"), None)
        self.random = torch.Tag.nondeterministic_seeded in op.tags
        base = self.name.partition("::")[2]
        self.on_host = (
            C._dispatch_has_computed_kernel_for_dispatch_key(op.name(), "CPU")
            and "convolution" not in base
            and self.name not in kinds.PARTLY
            and self.name not in kinds.UNCHECKED
        )
        self.product = self.name in kinds.PRODUCTS
        self.over_itself = base in kinds.OVER_ITSELF
        self.known_only = self.product or base.startswith(kinds.LAYERS) or "backward" in base
        self.follows = self.on_host and not self.random and not self.known_only
        self.counting = torch.Tag.pointwise in op.tags or self.name in kinds.COUNTING
        aliases = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        if self.name.startswith("symm_mem::"):
            self.kernel: Callable[..., Any] = self.anywhere
        elif self.name.startswith(kinds.COLLECTIVES):
            # native/nccl.c says what they write; they wait for other processes, and must not run
            # twice
            self.kernel = self.forward
        elif self.name == "aten::_local_scalar_dense":
            self.kernel = self.scalar
        elif self.name == "aten::_linalg_check_errors":
            self.kernel = self.checking
        elif self.name == "aten::copy_":
            self.kernel = self.copy
        elif self.name in counts.OF:
            self.kernel = self.counted
        elif self.name == "aten::mode" and own:
            self.kernel = self.of_runs
        elif self.name == "aten::isin" and isinstance(schema.arguments[0].type, torch.NumberType):
            self.kernel = self.of_one
        elif torch.Tag.data_dependent_output in op.tags and not any(
            isinstance(r.type, torch.TensorType) for r in schema.returns
        ):
            self.kernel = self.asked
        elif self.name == "aten::zero_":
            self.kernel = self.zero
        elif not own and writes:
            self.kernel = self.composed
        elif not own:
            self.kernel = self.forward  # made of others, which come here themselves
        elif (aliases and not writes) or base.startswith(kinds.MEMORY_ONLY):
            self.kernel = self.forward  # no kernel runs, or what it writes is not meant to be read
        elif self.known_only or self.random or not self.on_host:
            self.kernel = self.layer
            self.alone = self.alone or base.startswith(kinds.LAYERS) and not base.startswith("linalg_")
        else:
            self.kernel = self.counter if self.over_itself else self.default
        self.own_kernel = self.kernel
        if self.name in choices.OF and own:
            self.kernel = partial(self.choosing, self.kernel)
        if self.name in PLANNED:
            self.kernel = values.unplanned.guarded(self.name, self.kernel)
        if any(isinstance(r.type, torch.ListType) for r in schema.returns):
            self.kernel = partial(self.listed, self.kernel)

    # ---- running CUDA's kernel ----

    def overload(self, args: tuple[Any, ...]) -> torch._ops.OpOverload:
        """What takes these arguments. PyTorch makes a tensor of a number that is added, and it
        comes to Python as a number again: then it is the overload with a number in that place,
        which makes another tensor of it; or this one, where PyTorch allows it (add, mul)."""
        for i in self.numbers:
            if i < len(args) and type(args[i]) in NUMBERS:
                found = self.overloads.get(i)
                if found is None:
                    found = self.overloads[i] = with_number(self.op, i)
                return found
        return self.op

    def tensors(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Numbers where neither this nor another overload takes one are the tensors again that they
        were (equal, of a traced graph's constants)."""
        if self.takes_numbers or self.overload(args) is not self.op:
            return args
        return tuple(
            torch.scalar_tensor(a, dtype=TENSORS[type(a)]) if i in self.numbers and type(a) in NUMBERS else a
            for i, a in enumerate(args)
        )

    def forward(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for i in self.numbers:
            if i < len(args) and type(args[i]) in NUMBERS:
                with C._ExcludeDispatchKeyGuard(ABOVE):
                    return self.overload(args)(*self.tensors(args), **kwargs)
        if self.alone:
            with C._ExcludeDispatchKeyGuard(OWN):
                return self.redispatch(keyset, *args, **kwargs)
        return self.redispatch(keyset, *args, **kwargs)

    def listed(
        self, kernel: Callable[..., Any], keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a kernel returns with lists in it. PyTorch takes no None in a list from Python: there an
        undefined tensor becomes one without elements. FlashAttention 3 has such for parts that it did
        not split off."""
        result = kernel(keyset, args, kwargs)
        with C._ExcludeDispatchKeyGuard(ABOVE):
            return defined(result)

    def anywhere(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an operator that writes to memory of other processes: nothing is known after it."""
        try:
            return self.forward(keyset, args, kwargs)
        finally:
            self.values.library.track(1, 0)

    def composed(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an operator that is made of others, which come here themselves, and may launch a
        kernel besides (mode): then nothing is known after it."""
        operators = self.values.library.operators()
        before, operators.value = operators.value, -1
        try:
            return self.forward(keyset, args, kwargs)
        finally:
            operators.value = before

    def inside(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As forward; the library knows that an operator runs, whose writes it knows."""
        operators = self.values.library.operators()
        before, operators.value = operators.value, 1
        try:
            for i in self.numbers:
                if i < len(args) and type(args[i]) in NUMBERS:
                    return self.forward(keyset, args, kwargs)
            if self.alone:
                with C._ExcludeDispatchKeyGuard(OWN):
                    return self.redispatch(keyset, *args, **kwargs)
            return self.redispatch(keyset, *args, **kwargs)
        finally:
            operators.value = before

    def noted(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As inside; what CUDA's kernel reads of values that are not known is noted."""
        before = (reads := self.values.library.reads()).count
        out = self.inside(keyset, args, kwargs)
        if reads.count != before:
            self.values.reads.note(self.name, reads.bytes, varied=False)
            reads.count = before
        return out

    # ---- and computing ----

    def default(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors: list[torch.Tensor] = []
        if not collect(args, tensors) or kwargs and not collect(kwargs.values(), tensors):
            return self.inside(keyset, args, kwargs)  # of a kind that is not followed
        largest, there = 0, False
        for t in tensors:
            there = there or t.is_cuda
            if (n := t.numel()) > largest:
                largest = n
        limit = KNOWN_LIMIT if largest <= KNOWN_LIMIT or not self.lengths(tensors) else INTEGER_LIMIT
        if not there:
            nothing = self.writes and tensors and skipped(self.name, args)
            return args[0] if nothing else self.forward(keyset, args, kwargs)
        if largest > limit and not self.writes and self.beta is None and self.unknown(tensors):
            return self.fresh(keyset, args, kwargs)
        known = computed = self.on_host and not self.random and largest <= limit
        value, zeros, training = KNOWN, None, False
        known = known and self.known(args, kwargs, tensors)
        if not known:
            value = UNKNOWN
            if self.follows and largest <= CHOSEN_LIMIT and self.chosen(args, kwargs, tensors):
                value, computed, training = CHOSEN, True, trained(tensors)
                if self.name in choices.EQUALITIES:
                    self.values.expect(args)
            elif computed:
                training = trained(tensors)
                computed = not self.known_only and largest <= UNKNOWN_LIMIT and not (training and self.in_place)
                if computed and not training:
                    zeros = self.of_zeros(args, kwargs, tensors)
                    computed = zeros not in self.stay_zero
        kept = self.keep(args, kwargs) if computed and self.in_place and not self.over_itself else None
        out = self.noted(keyset, args, kwargs)
        if computed and not (training and of_floats(out)):
            self.compute(args, kwargs, out, kept, value, zeros)
        elif self.writes:
            self.forget(args, kwargs)
        if value == UNKNOWN:
            self.flag(args, kwargs, out, computed, zeros)
        return out

    def lengths(self, tensors: list[torch.Tensor]) -> bool:
        """Whether numbers of rows may be counted here: integers, element by element or added up."""
        return self.counting and all(modes.kind(t.dtype) == "int" for t in tensors)

    def unknown(self, tensors: list[torch.Tensor]) -> bool:
        """Whether something that is read lies dense and is not chosen: then the result is not known."""
        chosen = self.values.library.chosen
        for t in tensors:
            if t.is_cuda and t.is_contiguous():
                return bool(chosen(t.data_ptr(), t.nbytes) <= 0)
        return False

    def fresh(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an operator that writes to nothing that was there, of more than is computed: its results are not
        known as they are, except for booleans, which are chosen."""
        out = self.noted(keyset, args, kwargs)
        if type(out) in PLAIN and out.dtype is torch.bool:
            self.flag(args, kwargs, out, False, None)
        return out

    def choosing(
        self, kernel: Callable[..., Any], keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Of an operator that gives indices: those of unknown scores are chosen."""
        out = kernel(keyset, args, kwargs)
        read: list[torch.Tensor] = []
        results: list[torch.Tensor] = []
        if not collect(args, read) or not collect([out], results) or not all(t.is_cuda for t in results):
            return out
        memory = self.values.memory
        if (
            not self.random
            and all(map(memory.chosen, results if self.writes else read))
            or torch.cuda.is_current_stream_capturing()
        ):
            return out
        self.values.turn += 1
        spread = self.values.by_score if self.name in choices.BY_SCORES else self.values.spread
        with OnCPU():
            for t, indices in choices.OF[self.name](self, spread, args, kwargs, out):
                if 0 < t.numel() <= CHOSEN_LIMIT:
                    host(t).copy_(indices)
                    memory.wrote(t, CHOSEN)
        return out

    def argument(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        if name not in self.places:
            return None
        place, default = self.places[name]
        return args[place] if place < len(args) else kwargs.get(name, default)

    def flag(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, computed: bool, zeros: Any) -> None:
        """Booleans that follow from unknown values are chosen: in mode balanced they are what zeros
        give."""
        if not self.writes and not (type(out) in PLAIN and out.dtype is torch.bool):
            return
        for t in self.written(args, kwargs) if self.writes else [out]:
            if (
                t.dtype is torch.bool
                and t.is_cuda
                and 0 < t.numel() <= CHOSEN_LIMIT
                and not torch.cuda.is_current_stream_capturing()
            ):
                self.values.flag(t, not computed and zeros is None and self.at_zero(args, kwargs))

    def at_zero(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """What an operator that works element by element gives of zeros."""
        if not self.follows or self.writes or torch.Tag.pointwise not in self.op.tags:
            return False
        with OnCPU():
            try:
                zero = [
                    torch.zeros((1,) * a.dim(), dtype=a.dtype, device="cpu") if type(a) in PLAIN else a for a in args
                ]
                return bool(self.overload(args)(*zero, **kwargs).any())
            except Exception:
                return False

    def of_zeros(self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> Any:
        """What the result depends on where all that is read is zero, as nobody wrote there: None
        where somebody did."""
        untouched = self.values.memory.untouched
        for t in tensors:
            if not untouched(t):
                return None
        try:
            call = alike(args), alike(tuple(kwargs.items())) if kwargs else None
            hash(call)
        except TypeError:
            return None
        return call

    def counter(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A known number counted on, as every batch norm does."""
        t = args[0]
        if (
            len(args) != 2
            or kwargs
            or type(args[1]) not in NUMBERS
            or type(t) not in PLAIN
            or t.numel() != 1
            or not t.is_cuda
            or not self.values.memory.known(t)
            or torch.cuda.is_current_stream_capturing()
        ):
            return self.default(keyset, args, kwargs)
        out = self.inside(keyset, args, kwargs)
        with OnCPU():
            self.op(host(t), args[1])
        return out

    def layer(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an operator that is computed at most where all is known: the first tensor that it
        reads reports, mostly."""
        first: Any = args[1 if self.beta is not None and len(args) > 1 else 0] if args else None
        if type(first) is list and first:
            first = first[0]
        values = self.values
        if (
            type(first) not in PLAIN
            or not first.is_cuda
            or first.layout is not torch.strided
            or self.on_host
            and not self.random
            and values.memory.known(first)
        ):
            return self.default(keyset, args, kwargs)
        out = self.noted(keyset, args, kwargs)
        if self.writes:
            self.forget(args, kwargs)
        return out

    def known(self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> bool:
        """Whether all that the result depends on is known."""
        return self.all_read(args, kwargs, tensors, self.values.memory.known)

    def chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> bool:
        """Whether all that the result depends on is chosen or known, and not all of it known."""
        memory = self.values.memory
        return self.all_read(args, kwargs, tensors, memory.chosen) and not self.all_read(
            args, kwargs, tensors, memory.known
        )

    def all_read(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor], such: Callable[..., Any]
    ) -> bool:
        ignored = [id(kwargs[name]) for name in self.pure if name in kwargs] if self.pure else []
        if args and (
            "self" in self.pure
            or self.beta is not None
            and (args[self.beta] if self.beta < len(args) else kwargs.get("beta", 1)) == 0
        ):
            ignored.append(id(args[0]))  # 0 times what was there
        return all(id(t) in ignored or such(t) for t in tensors) if ignored else all(map(such, tensors))

    def keep(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """What is written, as it was before: operators that CUDA's kernel is made of may compute
        the same into it."""
        with OnCPU():
            return [host(t).clone() for t in self.written(args, kwargs)]

    def written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        found: list[torch.Tensor] = []
        for i, name in self.writes:
            collect([args[i] if i < len(args) else kwargs.get(name)], found)
        return found

    def forget(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What is written from values that are not known is not known. A fresh result is not known
        as it is."""
        for t in self.written(args, kwargs) if self.writes else ():
            self.values.memory.unknown(t)

    def compute(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        kept: list[torch.Tensor] | None,
        value: int,
        zeros: Any = None,
    ) -> None:
        written = self.written(args, kwargs) if self.writes else []
        fresh: list[torch.Tensor] = []
        if not written and not collect([out], fresh):
            return
        results = written or fresh
        known_limit = INTEGER_LIMIT if self.lengths(results) else KNOWN_LIMIT
        limit = {KNOWN: known_limit, CHOSEN: CHOSEN_LIMIT}.get(value, UNKNOWN_LIMIT)
        layer = self.product and self.multiplications(args, results) > PRODUCT_LIMIT
        if layer or any(t.numel() > limit for t in results) or torch.cuda.is_current_stream_capturing():
            self.forget(args, kwargs)
            return
        memory = self.values.memory
        with OnCPU():
            try:
                for t, was in zip(written, kept or ()):
                    if t.shape == was.shape:
                        host(t).copy_(was)
                own = self.on_cpu(self.tensors(args), kwargs)
                if not written:
                    copies: list[torch.Tensor] = []
                    collect([own], copies)
                    for there, here in zip(fresh, copies):
                        if there.is_cuda and there.numel():
                            host(there).copy_(here)
                full = zeros is None or len(self.stay_zero) >= MOST_CALLS
                if not full and not any(bool(host(t).any()) for t in results):
                    self.stay_zero.add(zeros)
                for t in results:
                    if t.is_cuda:
                        if value != KNOWN and t.dtype.is_floating_point:
                            host(t).nan_to_num_(0.0, 0.0, 0.0)  # 0/0 of zeros that are none says nothing
                        memory.wrote(t, value)
            except Exception:
                self.forget(args, kwargs)

    def on_cpu(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same call on the CPU."""
        here = [to_host(a) for a in args]
        if self.name == "aten::histc" and not here[0].is_floating_point():  # of integers on CUDA only
            return self.op(here[0].double(), *here[1:], **kwargs).to(here[0].dtype)
        return self.overload(args)(*here, **{k: to_host(v) for k, v in kwargs.items()})

    def multiplications(self, args: tuple[Any, ...], results: list[torch.Tensor]) -> int:
        factor: torch.Tensor = args[1 if "add" in self.name else 0]  # the first of the product's
        return results[0].numel() * factor.shape[-1] * (factor.shape[0] if self.name == "aten::addbmm" else 1)

    def zero(self, keyset: C.DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = self.inside(keyset, args, kwargs)
        if (
            type(args[0]) in PLAIN
            and args[0].is_cuda
            and args[0].layout is torch.strided
            and not torch.cuda.is_current_stream_capturing()
        ):
            self.values.memory.zero(args[0])
        return out
