"""The kernel that every operator passes: CUDA's own first, then small results once more on the CPU."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, Callable

import torch
import torch._C as C

from memshim.pretend.follow import After
from memshim.pretend.library import Library
from memshim.pretend.values import counts, kinds, threads
from memshim.pretend.values.arguments import NUMBERS, PLAIN, TENSORS, collect, of_floats, to_host, trained, with_number
from memshim.pretend.values.attention import PLANNED, Unplanned, alike
from memshim.pretend.values.initialise import skipped
from memshim.pretend.values.tracing import exclude_while_tracing, follow_folding
from memshim.pretend.values.memory import Memory, host
from memshim.pretend.places import Reads, within

KEY_NAME = "CustomRNGKeyId"
KEY = C._dispatch_key_parse(KEY_NAME)
OWN = C.DispatchKeySet(KEY)
BELOW = C._dispatch_keyset_full_after(KEY)  # the backends
ABOVE = C._dispatch_keyset_full() - BELOW - C.DispatchKeySet(C.DispatchKey.BackendSelect)  # it, autograd, autocast and all that

KNOWN_LIMIT = 1 << 20  # elements: what follows from known values is computed up to here
UNKNOWN_LIMIT = 1 << 17  # and what does not, so that checks of it (is it finite? a distribution?) go the usual way
MOST_CALLS = 4096  # of an operator, that are remembered to give zeros of zeros
PRODUCT_LIMIT = 1 << 24  # multiplications of a matrix product: milliseconds
INTEGER_LIMIT = 1 << 24  # copies of integers from the host: ids, masks and lengths decide, images do not


class Operator:
    """What is known of one overload, and its kernel."""

    def __init__(self, op: torch._ops.OpOverload, values: Values):
        schema = op._schema
        self.op, self.values, self.name = op, values, schema.name
        self.redispatch = op._handle.redispatch_boxed if self.name.startswith("aten::") else op.redispatch
        self.overloads: dict[int, torch._ops.OpOverload] = {}
        self.stay_zero: set[Any] = set()  # calls that give zeros of zeros
        self.numbers = [i for i, a in enumerate(schema.arguments) if isinstance(a.type, torch.TensorType) and not a.kwarg_only]
        self.takes_numbers = self.name.partition("::")[2].rstrip("_") in kinds.TAKE_NUMBERS
        own = C._dispatch_has_kernel_for_dispatch_key(op.name(), "CUDA")
        # A number may become a tensor of the device inside (pow), which Python cannot be given: what such a kernel calls does not come here.
        self.alone = own and (self.name in kinds.WHOLE or self.name in kinds.PRODUCTS) or own and any(isinstance(a.type, torch.NumberType) and not a.kwarg_only for a in schema.arguments)
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
        self.on_host = C._dispatch_has_computed_kernel_for_dispatch_key(op.name(), "CPU") and "convolution" not in base and self.name not in kinds.PARTLY
        self.product = self.name in kinds.PRODUCTS
        self.over_itself = base in kinds.OVER_ITSELF
        self.known_only = self.product or base.startswith(kinds.LAYERS) or "backward" in base
        aliases = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        if self.name.startswith("symm_mem::"):
            self.kernel: Callable = self.anywhere
        elif self.name.startswith(kinds.COLLECTIVES):
            self.kernel = self.forward  # native/nccl.c tells what they write; they wait for other processes, and must not run twice
        elif self.name == "aten::_local_scalar_dense":
            self.kernel = self.scalar
        elif self.name == "aten::copy_":
            self.kernel = self.copy
        elif self.name in counts.OF:
            self.kernel = self.counted
        elif self.name == "aten::isin" and isinstance(schema.arguments[0].type, torch.NumberType):
            self.kernel = self.of_one
        elif torch.Tag.data_dependent_output in op.tags and not any(isinstance(r.type, torch.TensorType) for r in schema.returns):
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
        if self.name in PLANNED:
            self.kernel = values.unplanned.guarded(self.name, self.kernel)

    # ---- running CUDA's kernel ----

    def overload(self, args: tuple) -> torch._ops.OpOverload:
        """What takes these arguments. PyTorch makes a tensor of a number that is added, and it comes to Python as a number again: then it is the
        overload with a number in that place, which makes another tensor of it; or this one, where PyTorch allows it (add, mul)."""
        for i in self.numbers:
            if i < len(args) and type(args[i]) in NUMBERS:
                found = self.overloads.get(i)
                if found is None:
                    found = self.overloads[i] = with_number(self.op, i)
                return found
        return self.op

    def tensors(self, args: tuple) -> tuple:
        """Numbers where neither this nor another overload takes one are the tensors again that they were (equal, of a traced graph's constants)."""
        if self.takes_numbers or self.overload(args) is not self.op:
            return args
        return tuple(torch.scalar_tensor(a, dtype=TENSORS[type(a)]) if i in self.numbers and type(a) in NUMBERS else a for i, a in enumerate(args))

    def forward(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        for i in self.numbers:
            if i < len(args) and type(args[i]) in NUMBERS:
                with C._ExcludeDispatchKeyGuard(ABOVE):
                    return self.overload(args)(*self.tensors(args), **kwargs)
        if self.alone:
            with C._ExcludeDispatchKeyGuard(OWN):
                return self.redispatch(keyset, *args, **kwargs)
        return self.redispatch(keyset, *args, **kwargs)

    def anywhere(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """Of an operator that writes to memory of other processes: nothing is known after it."""
        try:
            return self.forward(keyset, args, kwargs)
        finally:
            self.values.library.track(1, 0)

    def composed(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """Of an operator that is made of others, which come here themselves, and may launch a kernel besides (mode): then nothing is known after it."""
        operators = self.values.library.operators()
        before, operators.value = operators.value, -1
        try:
            return self.forward(keyset, args, kwargs)
        finally:
            operators.value = before

    def inside(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """As forward; the library knows that an operator runs, whose writes it is told of."""
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

    # ---- and computing ----

    def default(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        tensors: list[torch.Tensor] = []
        if not collect(args, tensors) or kwargs and not collect(kwargs.values(), tensors):
            return self.inside(keyset, args, kwargs)  # of a kind that is not followed
        if not any([t.is_cuda for t in tensors]):
            return args[0] if self.writes and tensors and skipped(self.name, args) else self.forward(keyset, args, kwargs)
        largest = max([t.numel() for t in tensors])
        known = computed = self.on_host and not self.random and largest <= KNOWN_LIMIT
        zeros, training = None, False
        if computed:
            known = self.known(args, kwargs, tensors)
            if not known:
                training = trained(tensors)
                computed = not self.known_only and largest <= UNKNOWN_LIMIT and not (training and self.in_place)
                if computed and not training:
                    zeros = self.of_zeros(args, kwargs, tensors)
                    computed = zeros not in self.stay_zero
        before = (reads := self.values.library.reads()).count
        kept = self.keep(args, kwargs) if computed and self.in_place and not self.over_itself else None
        out = self.inside(keyset, args, kwargs)
        if reads.count != before:
            self.values.reads.note(self.name, reads.bytes)
        if computed and not (training and of_floats(out)):
            self.compute(args, kwargs, out, kept, known, zeros)
        elif self.writes:
            self.forget(args, kwargs)
        return out

    def of_zeros(self, args: tuple, kwargs: dict, tensors: list[torch.Tensor]) -> Any:
        """What the result depends on where all that is read is zero, as nobody wrote there: None where somebody did."""
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

    def counter(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """A known number counted on, as every batch norm does."""
        t = args[0]
        if (len(args) != 2 or kwargs or type(args[1]) not in NUMBERS or type(t) not in PLAIN or t.numel() != 1 or not t.is_cuda or not self.values.memory.known(t)
                or torch.cuda.is_current_stream_capturing()):
            return self.default(keyset, args, kwargs)
        out = self.inside(keyset, args, kwargs)
        with C._ExcludeDispatchKeyGuard(ABOVE):
            self.op(host(t), args[1])
        return out

    def layer(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """Of an operator that is computed at most where all is known: the first tensor that it reads tells, mostly."""
        first = args[1 if self.beta is not None and len(args) > 1 else 0] if args else None
        if type(first) is list and first:
            first = first[0]
        values = self.values
        if type(first) not in PLAIN or not first.is_cuda or first.layout is not torch.strided or self.on_host and not self.random and values.memory.known(first):
            return self.default(keyset, args, kwargs)
        before = (reads := values.library.reads()).count
        out = self.inside(keyset, args, kwargs)
        if reads.count != before:
            values.reads.note(self.name, reads.bytes)
        if self.writes:
            self.forget(args, kwargs)
        return out

    def known(self, args: tuple, kwargs: dict, tensors: list[torch.Tensor]) -> bool:
        """Whether all that the result depends on is known."""
        ignored = {id(kwargs[name]) for name in self.pure if name in kwargs}
        if args and ("self" in self.pure or self.beta is not None and (args[self.beta] if self.beta < len(args) else kwargs.get("beta", 1)) == 0):
            ignored.add(id(args[0]))  # 0 times what was there
        return all(id(t) in ignored or self.values.memory.known(t) for t in tensors)

    def keep(self, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        """What is written, as it was before: operators that CUDA's kernel is made of may compute the same into it."""
        with C._ExcludeDispatchKeyGuard(ABOVE):
            return [host(t).clone() for t in self.written(args, kwargs)]

    def written(self, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        found: list[torch.Tensor] = []
        for i, name in self.writes:
            collect([args[i] if i < len(args) else kwargs.get(name)], found)
        return found

    def forget(self, args: tuple, kwargs: dict) -> None:
        """What is written from values that are not known is not known. A fresh result is not known as it is."""
        for t in self.written(args, kwargs) if self.writes else ():
            self.values.memory.unknown(t)

    def compute(self, args: tuple, kwargs: dict, out: Any, kept: list[torch.Tensor] | None, known: bool, zeros: Any = None) -> None:
        written = self.written(args, kwargs) if self.writes else []
        fresh: list[torch.Tensor] = []
        if not written and not collect([out], fresh):
            return
        results = written or fresh
        limit = KNOWN_LIMIT if known else UNKNOWN_LIMIT
        layer = self.product and self.multiplications(args, results) > PRODUCT_LIMIT
        if layer or any(t.numel() > limit for t in results) or torch.cuda.is_current_stream_capturing():
            self.forget(args, kwargs)
            return
        memory = self.values.memory
        with C._ExcludeDispatchKeyGuard(ABOVE):
            try:
                for t, was in zip(written, kept or ()):
                    if t.shape == was.shape:
                        host(t).copy_(was)
                own = self.overload(args)(*map(to_host, self.tensors(args)), **{k: to_host(v) for k, v in kwargs.items()})
                if not written:
                    copies: list[torch.Tensor] = []
                    collect([own], copies)
                    for there, here in zip(fresh, copies):
                        if there.is_cuda and there.numel():
                            host(there).copy_(here)
                if zeros is not None and not any(bool(host(t).any()) for t in results):
                    if len(self.stay_zero) < MOST_CALLS:
                        self.stay_zero.add(zeros)
                for t in results:
                    if t.is_cuda:
                        if not known and t.dtype.is_floating_point:
                            host(t).nan_to_num_(0.0, 0.0, 0.0)  # 0/0 of zeros that are none says nothing
                        memory.wrote(t, known)
            except Exception:  # noqa: BLE001 the CPU has no such kernel, or not for this dtype
                self.forget(args, kwargs)

    def multiplications(self, args: tuple, results: list[torch.Tensor]) -> int:
        factor = args[1 if "add" in self.name else 0]  # the first of the product's
        return results[0].numel() * factor.shape[-1] * (factor.shape[0] if self.name == "aten::addbmm" else 1)

    def zero(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        out = self.inside(keyset, args, kwargs)
        if type(args[0]) in PLAIN and args[0].is_cuda and args[0].layout is torch.strided and not torch.cuda.is_current_stream_capturing():
            self.values.memory.zero(args[0])
        return out

    # ---- reading ----

    def scalar(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """.item(), bool(), int(), float(): a number of the device's goes to the host."""
        t = args[0]
        if type(t) in NUMBERS:
            return self.inside(keyset, args, kwargs)
        if not t.is_cuda:
            return self.redispatch(keyset, t)
        if type(t) not in PLAIN or self.values.memory.known(t):
            return self.inside(keyset, args, kwargs)
        value = self.inside(keyset, args, kwargs)
        state = self.values.state
        if state.count is not None:
            return type(value)(state.count)
        if state.asked:
            return value
        reads, given = self.values.reads, ""
        if (assumed := reads.assumed()) is not None:
            value = type(value)(assumed)
        elif isinstance(value, bool) and within("distributions"):
            value, given = True, "true, a distribution's check"
        elif (goes_on := reads.searching(type(value))) is not None:
            value, given = type(value)(goes_on), "what lets LBFGS search as far as it may"
        reads.note(self.name, t.element_size(), assumed, given)
        return value

    def asked(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """An operator that answers Python: are these equal? CUDA's kernel runs, and the CPU answers."""
        tensors: list[torch.Tensor] = []
        if not collect((*args, *kwargs.values()), tensors) or not any(t.is_cuda for t in tensors):
            return self.forward(keyset, args, kwargs)
        state, known = self.values.state, all(map(self.values.memory.known, tensors))
        state.asked += 1
        try:
            answer = self.inside(keyset, args, kwargs)
        finally:
            state.asked -= 1
        assumed = None if known else self.values.reads.assumed()
        if not known:
            self.values.reads.note(self.name, 1, assumed)
        if assumed is not None:
            return type(answer)(assumed)
        if any(t.numel() > (INTEGER_LIMIT if known else UNKNOWN_LIMIT) for t in tensors):
            return answer
        with C._ExcludeDispatchKeyGuard(ABOVE):
            return self.op(*map(to_host, self.tensors(args)), **{k: to_host(v) for k, v in kwargs.items()})

    def copy(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        to, of = args[0], args[1]
        if type(to) not in PLAIN or type(of) not in PLAIN or not (to.is_cuda or of.is_cuda):
            return self.forward(keyset, args, kwargs)
        if to.is_cuda:
            out = self.default(keyset, args, kwargs)
            if not of.is_cuda and KNOWN_LIMIT < to.numel() <= INTEGER_LIMIT and not of.dtype.is_floating_point and not of.dtype.is_complex:
                with C._ExcludeDispatchKeyGuard(ABOVE):
                    host(to).copy_(of)
                self.values.memory.wrote(to, True)
            return out
        before = (reads := self.values.library.reads()).count
        out = self.inside(keyset, args, kwargs)
        if reads.count != before:
            assumed = self.values.reads.assumed()
            self.values.reads.note(self.name, reads.bytes, assumed)
            if assumed is not None:
                with C._ExcludeDispatchKeyGuard(ABOVE):
                    to.fill_(assumed)
        return out

    def of_one(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """isin of a number that is sorted: PyTorch reads how many different ones that is, which is one, and how many the others are."""
        tests, memory = args[1], self.values.memory
        self.values.library.answer(1)
        if type(tests) in PLAIN and tests.is_cuda and tests.numel() <= KNOWN_LIMIT and memory.known(tests):
            with C._ExcludeDispatchKeyGuard(ABOVE):
                self.values.library.answer(host(tests).unique().numel())
        try:
            return self.default(keyset, args, kwargs)
        finally:
            self.values.library.answers_end()

    def counted(self, keyset: C.DispatchKeySet, args: tuple, kwargs: dict) -> Any:
        """An operator whose result has a size that depends on values: how many there are is read from the device while it runs."""
        tensors: list[torch.Tensor] = []
        if not collect((*args, *kwargs.values()), tensors) or not any(t.is_cuda for t in tensors):
            return self.forward(keyset, args, kwargs)
        values, memory, state = self.values, self.values.memory, self.values.state
        known = all(memory.known(t) for t in tensors)
        own = count = None
        if state.count is None and all(t.numel() <= (INTEGER_LIMIT if known else UNKNOWN_LIMIT) for t in tensors):
            with C._ExcludeDispatchKeyGuard(ABOVE):
                try:
                    own = self.op(*map(to_host, args), **{k: to_host(v) for k, v in kwargs.items() if k != "out"})
                    count = counts.OF[self.name](own)
                except Exception:  # noqa: BLE001 the CPU has no such kernel, or not for this dtype
                    known = False
        assumed = None
        if state.count is not None:
            count = state.count  # an operator around this one knows it
        elif not known:
            assumed = values.reads.assumed()
            values.reads.note(self.name, 8, assumed)
            if assumed is not None:
                own, count = None, int(assumed)
        if count is None:
            return self.inside(keyset, args, kwargs)
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
            with C._ExcludeDispatchKeyGuard(ABOVE):
                for there, here in zip(fresh, copies):
                    if there.is_cuda and there.shape == here.shape and there.numel():
                        host(there).copy_(here)
                        memory.wrote(there, known)
        return out


class State(threading.local):
    """Of the operators that a thread is inside of."""

    count: int | None = None  # what it will read from the device as the size of its result
    asked = 0  # inside of one that the CPU answers for


class Values:
    """The hook, for this process."""

    def __init__(self) -> None:
        self.library = Library()
        self.memory = Memory(self.library)
        self.reads = Reads()
        self.state = State()
        self.unplanned = Unplanned()
        self.operators: dict[Any, Operator] = {}
        self.libraries: dict[str, Any] = {}
        self.direct: set[str] = set()

    def install(self) -> None:
        self.fallback = C._dispatch_library("IMPL", "_", KEY_NAME, __file__, 0)
        self.fallback.fallback(KEY_NAME, self.call, True)
        self.register()
        self.follow_registrations()
        exclude_while_tracing(OWN)
        After("torch._inductor.fx_passes.joint_graph", partial(follow_folding, KEY))
        self.library.track(1, 0)
        threads.include(KEY)

    def register(self) -> None:
        """Operators that have both a composite kernel and a backend's own: for our key PyTorch would take the composite one, before the fallback."""
        names = C._dispatch_get_registrations_for_dispatch_key
        composite = {n for key in kinds.COMPOSITES for n in names(key)}
        own = {n for key in kinds.BACKENDS for n in names(key)}
        passed_by = {name for name in (f"aten::{n}" for n in kinds.PASSED_BY) if C._dispatch_has_kernel(name)}
        for name in sorted((composite & own | kinds.LEAVES | passed_by) - self.direct):
            namespace, _, rest = name.partition("::")
            library = self.libraries.get(namespace)
            if library is None:
                library = self.libraries[namespace] = C._dispatch_library("IMPL", namespace, KEY_NAME, __file__, 0)
            library.impl(rest, KEY_NAME, torch.library.fallthrough_kernel if name in passed_by else partial(self.named, name), True)
            self.direct.add(name)

    def follow_registrations(self) -> None:
        """Kernels that the program registers later count too."""
        impl = torch.library.Library.impl
        load = torch.ops.load_library

        def impl_and_follow(library: Any, *args: Any, **kwargs: Any) -> Any:
            out = impl(library, *args, **kwargs)
            self.register()
            return out

        def load_and_follow(path: str) -> None:
            load(path)
            self.register()

        torch.library.Library.impl = impl_and_follow  # type: ignore[method-assign]
        torch.ops.load_library = load_and_follow  # type: ignore[method-assign]

    def call(self, keyset: C.DispatchKeySet, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
        known = self.operators.get(op)
        if known is None:
            known = self.operators[op] = Operator(op, self)
        try:
            return known.kernel(keyset & BELOW, args, kwargs)
        except BaseException as e:
            del args, kwargs  # a program that catches this must not hold what a traceback through here would
            raise e.with_traceback(None)

    def named(self, name: str, keyset: C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        known = self.operators.get(name)
        if known is None:
            namespace, _, rest = name.partition("::")
            base, _, overload = rest.partition(".")
            op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
            known = self.operators[name] = Operator(op, self)
        try:
            return known.kernel(keyset & BELOW, args, kwargs)
        except BaseException as e:
            del args, kwargs
            raise e.with_traceback(None)
