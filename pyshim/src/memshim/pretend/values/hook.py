"""The hook of a process: PyTorch calls it for every operator, and it calls what operators.py knows
of that one."""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch._C as C

from memshim.pretend.after_import import After
from memshim.pretend.library import Library
from memshim.pretend.value_reads import ROUTING, Reads, within
from memshim.pretend.values import choices, kinds, modes, threads, unsigned
from memshim.pretend.values.arguments import PLAIN
from memshim.pretend.values.attention import Unplanned
from memshim.pretend.values.gate import Gate
from memshim.pretend.values.keys import BELOW, KEY, KEY_NAME, OWN, OnCPU
from memshim.pretend.values.memory import CHOSEN, Memory, host
from memshim.pretend.values.operators import Operator
from memshim.pretend.values.tracing import exclude_while_tracing, follow_folding


class State(threading.local):
    """Of the operators that a thread is inside of."""

    count: int | None = None  # what it will read from the device as the size of its result
    asked = 0  # inside of one that the CPU answers for
    checking = 0  # inside of one that checks for an error


class Values:
    """The hook, for this process."""

    def __init__(self) -> None:
        self.library = Library()
        self.memory = Memory(self.library)
        self.reads = Reads()
        self.state = State()
        self.unplanned = Unplanned()
        self.operators: dict[Any, Operator] = {}
        self.gate = Gate(self.reads.note)
        self.libraries: dict[str, Any] = {}
        self.direct: set[str] = set()
        self.chosen_mode = modes.BALANCED
        self.turn = 0  # how often indices were chosen
        self.routes = 0  # among how many things scores chose last: experts
        self.expected: list[int] = []  # numbers that chosen integers were compared with

    def choose(self, mode: str) -> None:
        """From here on, unknown values read as the mode says. ValueError for a mode that does not
        exist."""
        self.chosen_mode, self.turn, self.expected = modes.checked(mode), 0, []

    @property
    def mode(self) -> str:
        """Of the line that is running: what assume says of it, else what was chosen."""
        return self.reads.stated() or self.chosen_mode

    @property
    def routing(self) -> str:
        """Of indices that come from unknown scores."""
        return str(self.reads.assume.get(ROUTING) or self.mode)

    def spread(self, rows: int, k: int, n: int) -> torch.Tensor:
        """rows x k indices below n, as the mode has them."""
        return modes.spread(self.routing, self.turn, rows, k, n)

    def by_score(self, rows: int, k: int, n: int) -> torch.Tensor:
        """As spread, of what scores choose. In mode least a program that waits for a number, such as the token
        that ends a text, soon finds it: one of the numbers that it compares with is drawn."""
        if self.routing == modes.LEAST and k < n and rows < n:
            if near := [e for e in self.expected if 0 <= e < n]:
                first = random.Random(self.turn).choice(near)
                beams = torch.arange(k, device="cpu") * (n // k)  # the scores of k beams, one after the other
                return ((first + beams) % n).expand(rows, k)
        if k < n:
            self.routes = n
            self.library.values(modes.MODES.index(self.routing))
        return modes.route(self.routing, self.turn, rows, k, n)

    def expect(self, args: tuple[Any, ...]) -> None:
        """Integers that were chosen are compared with what the host wrote."""
        found: list[int] = []
        for a in args:
            if type(a) is int:
                found.append(a)
            elif type(a) in PLAIN and a.numel() <= choices.MOST_EXPECTED and modes.kind(a.dtype) == "int":
                if self.memory.known(a):
                    with OnCPU():
                        found += host(a).reshape(-1).tolist()
        new = [e for e in found if e not in self.expected]
        self.expected += new[: choices.MOST_EXPECTED - len(self.expected)]

    def reading(self, op: str, t: torch.Tensor | None, value: modes.Number, chosen: bool = False) -> modes.Number:
        """What a read of one value gives that no kernel computed, and the record of it. value is
        what lies in memory."""
        reads, dtype = self.reads, t.dtype if t is not None else torch.bool
        size, kind = dtype.itemsize, modes.kind(dtype)
        if (assumed := reads.assumed()) is not None:
            value = type(value)(assumed)
            reads.note(op, size, assumed, kind=kind, value=value)
            return value
        if isinstance(value, bool) and within("distributions"):
            reads.note(op, size, given="true, a distribution's check", kind=kind, value=True)
            return True
        if (goes_on := reads.searching(type(value))) is not None:
            value = type(value)(goes_on)
            reads.note(op, size, given="what lets LBFGS search as far as it may", kind=kind, value=value)
            return value
        chosen = chosen or t is not None and self.memory.chosen(t)
        if self.state.checking:
            value = type(value)(0)  # no error, however many were asked about at once
        elif not chosen:
            value = modes.number(self.mode, value, dtype)
        read = reads.note(
            op,
            size,
            given=modes.given(self.mode, value, chosen),
            kind=kind,
            value=value,
            bounded=chosen or kind != "int" or bool(self.state.checking),
        )
        # what was chosen may differ from read to read: no loop waits there, but one over indices
        repeated = read.repeated(value)
        if (repeated if chosen else read.count) > modes.ENDLESS:
            read.endless = True
            read.value = value = modes.opposite(value, dtype, read.count, chosen)
        return value

    def flag(self, t: torch.Tensor, balanced: bool) -> None:
        """Booleans that no kernel computed: as they lie in memory and `balanced` says, or as the
        mode chooses."""
        memory = self.memory
        with OnCPU():
            if self.mode == modes.LEAST or self.mode == modes.BALANCED and not balanced and memory.untouched(t):
                if not memory.untouched(t):
                    host(t).fill_(False)
                memory.chose(t)
                return
            if self.mode == modes.MOST or balanced:
                host(t).fill_(self.mode != modes.SKEWED)
            elif self.mode == modes.SKEWED:
                host(t).logical_not_()
            memory.wrote(t, CHOSEN)

    def install(self) -> None:
        self.fallback = C._dispatch_library("IMPL", "_", KEY_NAME, __file__, 0)
        with self.gate.wrapping():
            self.fallback.fallback(KEY_NAME, self.call, True)
        self.register()
        self.follow_registrations()
        exclude_while_tracing(OWN)
        After("torch._inductor.fx_passes.joint_graph", partial(follow_folding, KEY))
        self.library.track(1, 0)
        threads.include(KEY)
        self.gate.open()
        unsigned.follow()

    def register(self) -> None:
        """Operators that have both a composite kernel and a backend's own: for our key PyTorch
        would take the composite one, before the fallback."""
        names = C._dispatch_get_registrations_for_dispatch_key
        composite = {n for key in kinds.COMPOSITES for n in names(key)}
        own = {n for key in kinds.BACKENDS for n in names(key)}
        passed_by = {
            name for name in (f"aten::{n}" for n in (*kinds.PASSED_BY, *kinds.COMPOSED)) if C._dispatch_has_kernel(name)
        }
        with self.gate.wrapping():
            self.take(composite & own | kinds.LEAVES | passed_by, passed_by)

    def register_one(self, name: str) -> None:
        """As register for one operator, which has a kernel more: libraries add hundreds while they
        are imported."""
        has = C._dispatch_has_kernel_for_dispatch_key
        if all(any(has(name, key) for key in keys) for keys in (kinds.COMPOSITES, kinds.BACKENDS)):
            with self.gate.wrapping():
                self.take({name}, set())

    def take(self, names: set[str], passed_by: set[str]) -> None:
        for name in sorted(names - self.direct):
            namespace, _, rest = name.partition("::")
            library: Any = self.libraries.get(namespace)
            if library is None:
                library = self.libraries[namespace] = C._dispatch_library("IMPL", namespace, KEY_NAME, __file__, 0)
            library.impl(
                rest,
                KEY_NAME,
                torch.library.fallthrough_kernel if name in passed_by else partial(self.named, name),
                True,
            )
            self.direct.add(name)

    def follow_registrations(self) -> None:
        """Kernels that the program registers later count too."""
        impl: Any = torch.library.Library.impl
        load: Any = torch.ops.load_library

        def impl_and_follow(library: Any, op_name: Any, *args: Any, **kwargs: Any) -> Any:
            out = impl(library, op_name, *args, **kwargs)
            name = op_name if isinstance(op_name, str) else op_name.name()
            self.register_one(f"{library.ns}::{name.rpartition('::')[2]}")
            return out

        def load_and_follow(path: str) -> None:
            load(path)
            self.register()

        torch.library.Library.impl = impl_and_follow  # type: ignore[assignment, method-assign]
        torch.ops.load_library = load_and_follow  # type: ignore[method-assign]
        # an extension registers its kernels as its library is loaded: import, or ctypes
        loader: Any = importlib.machinery.ExtensionFileLoader
        loader.create_module = self.followed(loader.create_module)
        ctypes.CDLL.__init__ = self.followed(ctypes.CDLL.__init__)  # type: ignore[method-assign]

    def followed(self, load: Callable[..., Any]) -> Callable[..., Any]:
        """A function that loads a library: kernels that this registers count."""

        @functools.wraps(load)
        def load_and_look(*args: Any, **kwargs: Any) -> Any:
            before = self.gate.registered()
            out = load(*args, **kwargs)
            if self.gate.registered() != before:
                self.register()
            return out

        return load_and_look

    def call(self, keyset: C.DispatchKeySet, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
        known = self.operators.get(op)
        if known is None:
            known = self.operators[op] = self.gate.learn(Operator(op, self))
        try:
            return known.kernel(keyset & BELOW, args, kwargs)
        except BaseException as e:
            del args, kwargs  # a program that catches this must not hold what a traceback through here would
            raise e.with_traceback(None)  # noqa: B904  it is the same error

    def named(self, name: str, keyset: C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        known = self.operators.get(name)
        if known is None:
            namespace, _, rest = name.partition("::")
            base, _, overload = rest.partition(".")
            op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
            known = self.operators[name] = self.gate.learn(Operator(op, self))
        try:
            return known.kernel(keyset & BELOW, args, kwargs)
        except BaseException as e:
            del args, kwargs
            raise e.with_traceback(None)  # noqa: B904  it is the same error
