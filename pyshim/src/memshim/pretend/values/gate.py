"""Operators that have nothing to do in Python pass by in C (native/gate.c), each by a rule that is
made here from what operators.py knows of it.

What the library reads of C++'s objects is compared with Python's view of the same arguments. Where
anything differs, or this PyTorch has another form, the gate stays closed: all operators come to
Python, and only time is lost.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch._C as C

from memshim.pretend import library
from memshim.pretend.values import choices, initialise
from memshim.pretend.values.attention import PLANNED
from memshim.pretend.values.keys import BELOW, KEY, UNKNOWN_LIMIT
from memshim.pretend.values.memory import span

if TYPE_CHECKING:
    from memshim.pretend.values.operators import Operator

FORWARD, HOST, LAYER, SMALL = 1, 2, 3, 4  # native/gate.c
MOST_ARGUMENTS = 32
TENSOR = ("Tensor", "Optional[Tensor]")
LISTS = ("List[Tensor]", "List[Optional[Tensor]]")
# Their results are floats where their first tensor is of floats, of the type that they are asked for aside.
FLOATS = {
    f"aten::{n}"
    for n in """
        add sub rsub mul div neg abs exp log sqrt rsqrt reciprocal pow square sin cos erf tanh sigmoid relu gelu silu
        mish hardtanh hardswish hardsigmoid leaky_relu elu softplus clamp_min clamp_max lerp addcmul addcdiv sum mean
        var std var_mean norm linalg_vector_norm _softmax _log_softmax nll_loss_forward nll_loss2d_forward mse_loss
        huber_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits cat gather index_select index
        masked_fill masked_fill_ scatter_add scatter_add_ index_add index_add_ add_ sub_ mul_ div_ copy_ addcmul_
        addcdiv_ lerp_ sqrt_ neg_ tril triu flip roll cumsum max_pool2d_with_indices avg_pool2d upsample_nearest2d
        upsample_bilinear2d _adaptive_avg_pool2d
    """.split()
}
# Of these the kernel calls the second, which is looked after in Python.
CALLS = {
    "aten::_scaled_dot_product_cudnn_attention": "aten::_cudnn_attention_forward",
    "aten::_scaled_dot_product_cudnn_attention_backward": "aten::_cudnn_attention_backward",
}


class Rule(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_void_p),
        *((name, ctypes.c_uint32) for name in ("tensors", "lists", "written", "unread", "absent")),
        *((name, ctypes.c_int32) for name in ("kind", "arguments", "first", "alone", "follows", "fills", "several")),
    ]


class Seen(ctypes.Structure):
    """A tensor as the library reads it."""

    _fields_ = [
        ("at", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("elements", ctypes.c_int64),
        ("device", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("dense", ctypes.c_bool),
        ("wants_gradient", ctypes.c_bool),
    ]


def bits(places: Any) -> int:
    return sum(1 << i for i in set(places))


def kind_of(operator: Operator, kernel: Any) -> int:
    """Which of the library's ways stands for a kernel; 0 for none."""
    if operator.name in choices.OF or operator.name in PLANNED and operator.name not in CALLS:
        return 0
    if operator.name in CALLS and not C._dispatch_has_kernel(CALLS[operator.name]):
        return 0
    if kernel == operator.forward:
        return FORWARD
    if kernel in (operator.scalar, operator.asked, operator.counted):
        return HOST
    if kernel == operator.layer:
        return LAYER
    return SMALL if kernel in (operator.default, operator.counter, operator.copy) and operator.name in FLOATS else 0


def rule(operator: Operator) -> Rule | None:
    """None where Python has to look at every call."""
    kernel = operator.own_kernel
    arguments = operator.op._schema.arguments
    kind = kind_of(operator, kernel) if operator.name.startswith("aten::") else 0
    types = [str(a.type) for a in arguments]
    if not kind or len(arguments) > MOST_ARGUMENTS or any("Tensor" in t and t not in TENSOR + LISTS for t in types):
        return None
    if any(a.kwarg_only and a.name in operator.pure for a in arguments) and kind != FORWARD:
        return None
    unread = kind == SMALL and ("self" in operator.pure or operator.beta is not None)
    return Rule(
        op=None,
        tensors=bits(i for i, t in enumerate(types) if t in TENSOR),
        lists=bits(i for i, t in enumerate(types) if t in LISTS),
        written=bits(i for i, _ in operator.writes),
        unread=int(unread),
        absent=bits(i for i, a in enumerate(arguments) if a.name == "dtype") if kind == SMALL else 0,
        kind=kind,
        arguments=len(arguments),
        first=int(operator.beta is not None and kind == LAYER),
        alone=operator.alone,
        follows=operator.on_host and not operator.random and (kind == LAYER or not operator.known_only),
        fills=operator.name in initialise.FILLS or operator.name in initialise.CONSTANTS,
        several=2 if kernel == operator.counter else 0,
    )


def handle(op: torch._ops.OpOverload) -> int:
    """The address by which PyTorch knows an operator: the first word of its c10::OperatorHandle, which
    pybind11 keeps behind the head of an object."""
    inside = ctypes.c_void_p.from_address(id(op._handle) + object.__basicsize__).value
    return ctypes.c_void_p.from_address(inside).value or 0 if inside else 0


class Gate:
    """Of this process."""

    def __init__(self, note: Any) -> None:
        lib = library.gate_functions()
        self.lib, self.note = lib, note
        self.names: dict[int, str] = {}
        self._noted = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)(self.read)  # it stays
        self.opened = False

    @contextlib.contextmanager
    def wrapping(self) -> Iterator[None]:
        """While kernels of ours are registered."""
        self.lib.memspec_pretend_gate_wrap(True)
        try:
            yield
        finally:
            self.lib.memspec_pretend_gate_wrap(False)

    def registered(self) -> int:
        """How many kernels others registered in this process so far."""
        return int(self.lib.memspec_pretend_gate_registered())

    def learn(self, operator: Operator) -> Operator:
        """Of an operator that is called for the first time, in its call."""
        at = self.lib.memspec_pretend_gate_current()
        found = rule(operator) if at and at == handle(operator.op) else None
        if found is not None:
            found.op = at
            self.names[at] = operator.name
            self.lib.memspec_pretend_gate_learn(ctypes.byref(found))
        return operator

    def read(self, op: int, size: int) -> None:
        """An operator that passed by has read what is not known."""
        self.note(self.names[op], size, varied=False)

    def open(self) -> None:
        lib = self.lib
        if not lib.memspec_pretend_gate_ready() or not self.agrees():
            return
        snapshot = C._dispatch_key_parse("PythonTLSSnapshot")
        self.opened = lib.memspec_pretend_gate_open(
            snapshot.value, KEY.value, BELOW.raw_repr(), UNKNOWN_LIMIT, self._noted
        )

    def close(self) -> None:
        """All operators come to Python."""
        self.lib.memspec_pretend_gate_close()
        self.opened = False

    def agrees(self) -> bool:
        """Whether the library reads operators, tensors and lists of the host as Python does."""
        cpu = partial(torch.ones, device="cpu")
        a, b, d = cpu((2, 3), dtype=torch.float32, requires_grad=True), cpu(9)[::2], cpu((3, 5))
        c = cpu((4, 6), dtype=torch.bfloat16)[::2, 1:5].t()
        calls: list[tuple[Any, tuple[Any, ...], list[torch.Tensor]]] = [
            (torch.ops.aten.mm.default, (a, d), [a, d]),
            (torch.ops.aten._foreach_mul.Scalar, ([a, b, c], 2.0), [a, b, c]),
            (torch.ops.aten.addmm.default, (b, a, d), [b, a, d]),
        ]
        try:
            return all(self.agrees_on(*call) for call in calls)
        except RuntimeError:
            return False

    def agrees_on(self, call: torch._ops.OpOverload, args: tuple[Any, ...], tensors: list[torch.Tensor]) -> bool:
        lib, op, seen = self.lib, ctypes.c_void_p(), Seen()
        call(*args)  # for the first time: its rule is learnt
        lib.memspec_pretend_gate_probe(True)
        try:
            call(*args)
        finally:
            lib.memspec_pretend_gate_probe(False)
        for i, t in enumerate(tensors):
            count = lib.memspec_pretend_gate_probed(ctypes.byref(op), i, ctypes.byref(seen))
            if op.value != handle(call) or count != len(tensors):
                return False
            own = t.data_ptr(), t.numel(), 0, t.is_contiguous(), t.requires_grad, span(t)
            if own != (seen.at, seen.elements, seen.device, seen.dense, seen.wants_gradient, seen.bytes):
                return False
        return True
