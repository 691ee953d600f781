"""cuDNN's public backend API through ctypes: what a convolution's plan needs on a described device.

Since 9.8 cuDNN answers its heuristics and finalises plans for a device that is only described (a
device-property descriptor filled from JSON), with no GPU and no driver. The order of asking is that
of PyTorch's Conv_v8.cpp. Numbers are the enumerators of cudnn_graph.h.

The library may crash or hang on a device that it does not know well: use it in a separate process
(query.py).
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

OLDEST = (9, 8, 0)  # the first release that answers for a described device

# cudnnBackendDescriptorType_t
CONVOLUTION, ENGINE, ENGINECFG, ENGINEHEUR, EXECUTION_PLAN = 1, 2, 3, 4, 5
OPERATION_GRAPH, TENSOR, DEVICEPROP = 15, 17, 38

# cudnnBackendAttributeType_t
TYPE_DATA, TYPE_INT64, TYPE_FLOAT, TYPE_DOUBLE = 1, 3, 4, 5
TYPE_CONVMODE, TYPE_HEURMODE, TYPE_NOTE, TYPE_DESCRIPTOR, TYPE_CHAR = 7, 8, 11, 15, 24

# cudnnDataType_t by PyTorch's names: the dtypes that its convolutions hand to cuDNN
DTYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}

# cudnnBackendHeurMode_t
INSTANT, FALLBACK = 0, 2

# cudnnBackendNumericalNote_t
TENSOR_CORE, DOWN_CONVERT_INPUTS, NONDETERMINISTIC, NOTES = 0, 1, 4, 10

ALIGNMENT = 32  # getAlignment of Conv_v8.cpp goes no further; blocks of the caching allocator are aligned to 512
CROSS_CORRELATION = 1


@dataclass(frozen=True)
class Operation:
    """One direction of a convolution: its descriptor, and the attributes of alpha, beta,
    convolution, w, x and y."""

    descriptor: int
    alpha: int


# forward, the gradient of the input ("dgrad", also transposed convolutions) and of the weight
# ("wgrad")
OPERATIONS = {"forward": Operation(10, 700), "wgrad": Operation(11, 712), "dgrad": Operation(12, 706)}


class Refused(Exception):
    """cuDNN returned a status other than success."""

    def __init__(self, what: str, status: int):
        super().__init__(f"{what}: cudnnStatus_t {status}")
        self.status = status


class Library:
    """A loaded libcudnn, after what it loads itself where PyTorch has put it
    (torchwheel.beside)."""

    def __init__(self, folder: str, beside: Iterable[str] = ()):
        for path in beside:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        lib = ctypes.CDLL(os.path.join(folder, "libcudnn.so.9"), mode=ctypes.RTLD_GLOBAL)
        lib.cudnnGetVersion.restype = ctypes.c_size_t
        lib.cudnnGetCudartVersion.restype = ctypes.c_size_t
        self._use(lib)

    @classmethod
    def of(cls, lib: ctypes.CDLL) -> Library:
        """One that is loaded already."""
        made = cls.__new__(cls)
        made._use(lib)
        return made

    def _use(self, lib: ctypes.CDLL) -> None:
        self._lib = lib
        pointer, i64, enum = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
        lib.cudnnBackendCreateDescriptor.argtypes = [enum, ctypes.POINTER(pointer)]
        lib.cudnnBackendDestroyDescriptor.argtypes = [pointer]
        lib.cudnnBackendFinalize.argtypes = [pointer]
        lib.cudnnBackendSetAttribute.argtypes = [pointer, enum, enum, i64, pointer]
        lib.cudnnBackendGetAttribute.argtypes = [pointer, enum, enum, i64, ctypes.POINTER(i64), pointer]
        self._live: list[ctypes.c_void_p] = []

    @property
    def version(self) -> tuple[int, int, int]:
        n = self._lib.cudnnGetVersion()  # CUDNN_VERSION: major*10000 + minor*100 + patch
        return n // 10000, n // 100 % 100, n % 100

    @property
    def cuda(self) -> int:
        """The major release of CUDA that it was built for."""
        return int(self._lib.cudnnGetCudartVersion()) // 1000

    # Descriptors live until release() of an earlier mark.

    def mark(self) -> int:
        return len(self._live)

    def release(self, mark: int) -> None:
        while len(self._live) > mark:
            self._lib.cudnnBackendDestroyDescriptor(self._live.pop())

    def _check(self, what: str, status: int) -> None:
        if status:
            raise Refused(what, status)

    def _create(self, kind: int) -> ctypes.c_void_p:
        d = ctypes.c_void_p()
        self._check(f"creating descriptor {kind}", self._lib.cudnnBackendCreateDescriptor(kind, ctypes.byref(d)))
        self._live.append(d)
        return d

    def _set(self, d: ctypes.c_void_p, attribute: int, kind: int, values: Sequence[Any], ctype: type[Any]) -> None:
        array = (ctype * len(values))(*values)
        self._check(
            f"setting attribute {attribute}", self._lib.cudnnBackendSetAttribute(d, attribute, kind, len(values), array)
        )

    def _set_descriptor(self, d: ctypes.c_void_p, attribute: int, value: ctypes.c_void_p) -> None:
        self._set(d, attribute, TYPE_DESCRIPTOR, [value.value], ctypes.c_void_p)

    def _get(self, d: ctypes.c_void_p, attribute: int, kind: int, most: int, ctype: type[Any]) -> list[int]:
        array, count = (ctype * most)(), ctypes.c_int64()
        status = self._lib.cudnnBackendGetAttribute(d, attribute, kind, most, ctypes.byref(count), array)
        self._check(f"getting attribute {attribute}", status)
        return list(array[: min(count.value, most)])

    def _finalize(self, d: ctypes.c_void_p, what: str) -> ctypes.c_void_p:
        self._check(f"finalising the {what}", self._lib.cudnnBackendFinalize(d))
        return d

    # What a convolution is asked with.

    def device(self, properties: dict[str, Any]) -> ctypes.c_void_p:
        d, text = self._create(DEVICEPROP), json.dumps(properties).encode()
        status = self._lib.cudnnBackendSetAttribute(d, 2702, TYPE_CHAR, len(text), ctypes.c_char_p(text))
        self._check("describing the device", status)
        return self._finalize(d, "device's description")

    def _tensor(self, name: str, sizes: list[int], strides: list[int], dtype: str) -> ctypes.c_void_p:
        d = self._create(TENSOR)
        self._set(d, 900, TYPE_INT64, [ALIGNMENT], ctypes.c_int64)
        self._set(d, 901, TYPE_DATA, [DTYPES[dtype]], ctypes.c_int)
        self._set(d, 902, TYPE_INT64, sizes, ctypes.c_int64)
        self._set(d, 903, TYPE_INT64, strides, ctypes.c_int64)
        self._set(d, 906, TYPE_INT64, [ord(name)], ctypes.c_int64)
        return self._finalize(d, f"tensor {name}")

    def graph(self, call: dict[str, Any]) -> ctypes.c_void_p:
        """The operation graph of one convolution, a call in the words of a workspace profile."""
        dtype = call["dtype"]
        double = dtype == "float64"
        conv = self._create(CONVOLUTION)
        self._set(conv, 100, TYPE_DATA, [DTYPES["float64" if double else "float32"]], ctypes.c_int)
        self._set(conv, 101, TYPE_CONVMODE, [CROSS_CORRELATION], ctypes.c_int)
        for attribute, name in ((102, "dilation"), (103, "stride"), (104, "padding"), (105, "padding")):
            self._set(conv, attribute, TYPE_INT64, call[name], ctypes.c_int64)
        self._set(conv, 106, TYPE_INT64, [len(call["stride"])], ctypes.c_int64)
        self._finalize(conv, "convolution")
        y = output(call)
        tensors = [
            self._tensor("w", call["weight"], call["weight_strides"], dtype),
            self._tensor("x", call["input"], call["input_strides"], dtype),
            self._tensor("y", y, strides(y, channels_last(call)), dtype),
        ]
        kind = OPERATIONS[call["direction"]]
        op = self._create(kind.descriptor)
        for attribute, value in ((kind.alpha, 1.0), (kind.alpha + 1, 0.0)):
            if double:
                self._set(op, attribute, TYPE_DOUBLE, [value], ctypes.c_double)
            else:
                self._set(op, attribute, TYPE_FLOAT, [value], ctypes.c_float)
        for i, d in enumerate([conv, *tensors]):
            self._set_descriptor(op, kind.alpha + 2 + i, d)
        self._finalize(op, "operation")
        graph = self._create(OPERATION_GRAPH)
        self._set_descriptor(graph, 801, op)
        return self._finalize(graph, "operation graph")

    def configurations(self, graph: ctypes.c_void_p, device: ctypes.c_void_p, mode: int) -> list[ctypes.c_void_p]:
        """The engine configurations of the heuristics, best first."""
        heuristics = self._create(ENGINEHEUR)
        self._set_descriptor(heuristics, 201, graph)
        self._set(heuristics, 200, TYPE_HEURMODE, [mode], ctypes.c_int)
        self._set_descriptor(heuristics, 204, device)
        self._finalize(heuristics, "heuristics")
        count = ctypes.c_int64()
        status = self._lib.cudnnBackendGetAttribute(heuristics, 202, TYPE_DESCRIPTOR, 0, ctypes.byref(count), None)
        self._check("counting configurations", status)
        if not count.value:
            return []
        found = [self._create(ENGINECFG) for _ in range(count.value)]
        array = (ctypes.c_void_p * len(found))(*[d.value for d in found])
        status = self._lib.cudnnBackendGetAttribute(
            heuristics, 202, TYPE_DESCRIPTOR, len(found), ctypes.byref(count), array
        )
        self._check("getting configurations", status)
        return found[: count.value]

    def engine(self, configuration: ctypes.c_void_p) -> tuple[int, set[int]]:
        """The id of a configuration's engine and its numerical notes."""
        engine = self._create(ENGINE)
        array, count = (ctypes.c_void_p * 1)(engine.value), ctypes.c_int64()
        status = self._lib.cudnnBackendGetAttribute(configuration, 300, TYPE_DESCRIPTOR, 1, ctypes.byref(count), array)
        self._check("getting the engine", status)
        return self._get(engine, 1301, TYPE_INT64, 1, ctypes.c_int64)[0], set(
            self._get(engine, 1303, TYPE_NOTE, NOTES, ctypes.c_int)
        )

    def workspace(self, configuration: ctypes.c_void_p, device: ctypes.c_void_p) -> int:
        """The bytes that the finalised plan of a configuration asks for."""
        plan = self._create(EXECUTION_PLAN)
        self._set_descriptor(plan, 401, configuration)
        self._set_descriptor(plan, 407, device)
        self._finalize(plan, "plan")
        return self._get(plan, 402, TYPE_INT64, 1, ctypes.c_int64)[0]

    def plans(self, call: dict[str, Any], device: ctypes.c_void_p) -> Iterator[tuple[int, int]]:
        """Engine id and workspace of every plan that builds, in PyTorch's order of trying: the
        heuristics' list, then the fallbacks.

        PyTorch drops configurations before it tries them: those that convert their inputs down
        always, nondeterministic ones if asked to be deterministic, tensor cores for float32 if TF32
        is not allowed (Conv_v8.cpp filterEngineConfigs).
        """
        graph, refused, tried = self.graph(call), None, False
        for mode in (INSTANT, FALLBACK):
            try:
                found = self.configurations(graph, device, mode)
            except Refused as e:  # cudnn_frontend goes on to the next list
                refused = e
                continue
            for c in found:
                engine, notes = self.engine(c)
                if (
                    DOWN_CONVERT_INPUTS in notes
                    or (call.get("deterministic") and NONDETERMINISTIC in notes)
                    or (call["dtype"] == "float32" and not call.get("allow_tf32") and TENSOR_CORE in notes)
                ):
                    continue
                try:
                    size = self.workspace(c, device)
                except Refused as e:
                    refused = e
                    continue
                tried = True
                yield engine, size
        if not tried:
            raise refused or Refused("asking for configurations (there are none)", 3000)

    def answer(self, call: dict[str, Any], device: ctypes.c_void_p) -> dict[str, Any]:
        """What PyTorch takes for the call: the first plan's workspace and engine. With benchmark
        also the largest workspace of all plans, which it takes once while it times them."""
        mark = self.mark()
        try:
            plans = self.plans(call, device)
            engine, size = next(plans)
            if not call.get("benchmark"):
                return {"bytes": size, "engine": engine}
            return {"bytes": size, "engine": engine, "most": max([size, *(s for _, s in plans)])}
        finally:
            self.release(mark)


def output(call: dict[str, Any]) -> list[int]:
    """The sizes of y, from x and w."""
    x, w = call["input"], call["weight"]
    places = [
        (x[i + 2] + 2 * p - d * (w[i + 2] - 1) - 1) // s + 1
        for i, (p, s, d) in enumerate(zip(call["padding"], call["stride"], call["dilation"]))
    ]
    return [x[0], w[0], *places]


def strides(sizes: list[int], last: bool) -> list[int]:
    """The strides of a dense tensor, contiguous or channels last; those of dimensions of one
    element too (fixSizeOneDimStride)."""
    order = [*range(len(sizes) - 1, -1, -1)]
    if last:
        order = [1, *range(len(sizes) - 1, 1, -1), 0]
    out, step = [0] * len(sizes), 1
    for i in order:
        out[i] = step
        step *= sizes[i]
    return out


def channels_last(call: dict[str, Any]) -> bool:
    """Whether the call's tensors lie channels last: one that is not contiguous shows it."""
    return any(call[n + "_strides"] != strides(call[n], False) for n in ("input", "weight"))
