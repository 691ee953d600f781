"""Inputs in the grammar of memspec --input, dims bound: read into values, and made into tensors.

x=float32[8,3,224,224] channels_last    lengths=[int64[4], int64[4]]    flag=true    opts={k: 1.5,
s: 'text'}
"""

from __future__ import annotations

import ast
import math
import mmap
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memshim.gpu.where import pretended

if TYPE_CHECKING:
    import torch

FORMATS = ("contiguous", "channels_last", "channels_last_3d")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*=")
_TOKEN = re.compile(
    r"""\s*(?:(?P<tensor>[A-Za-z_]\w*)\[(?P<sizes>[^\]]*)\](?P<words>(?:\s+(?:contiguous|channels_last_3d|channels_last|cpu)\b)*)
    |(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<word>[A-Za-z_~][\w.]*)
    |(?P<number>[+-]?[\d.](?:[\w.]|(?<=[eE])[+-])*)
    |(?P<mark>[\[\](){},:]))""",
    re.X,
)
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "~": None}


class InputError(ValueError):
    """A text that is no input, or no value for a dim. The text is for the user."""


@dataclass(frozen=True)
class TensorSpec:
    dtype: str
    sizes: tuple[int, ...]
    memory_format: str = "contiguous"
    device: str = ""  # "cpu" keeps it on the host

    def __str__(self) -> str:
        words = [w for w in (self.memory_format if self.memory_format != "contiguous" else "", self.device) if w]
        return " ".join([f"{self.dtype}[{','.join(map(str, self.sizes))}]", *words])


def parse(text: str, dims: dict[str, int] | None = None) -> tuple[str, Any]:
    """The name ("" where it is given by position) and the value of one input."""
    m = _NAMED.match(text)
    name, rest = (m.group(1), text[m.end() :]) if m else ("", text)
    reader = _Reader(rest, dims or {})
    value = reader.value()
    reader.end()
    return name, value


def parse_dims(texts: list[str]) -> dict[str, int]:
    """B=8, from --dim."""
    dims = {}
    for text in texts:
        m = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+)\s*", text)
        if not m:
            raise InputError(f"got dim {text!r}, want NAME=SIZE such as B=8")
        dims[m.group(1)] = int(m.group(2))
    return dims


def parse_lengths(texts: list[str]) -> dict[str, list[int]]:
    """T=128,120,128, from --lengths: a size for each iteration, as many of each dim."""
    lengths: dict[str, list[int]] = {}
    for text in texts:
        m = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+(?:\s*,\s*\d+)+)\s*", text)
        if not m:
            raise InputError(f"got lengths {text!r}, want NAME=SIZE,SIZE,… such as T=128,120,128")
        lengths[m.group(1)] = [int(n) for n in m.group(2).split(",")]
    counts = {name: len(sizes) for name, sizes in lengths.items()}
    if len(set(counts.values())) > 1:
        raise InputError(
            f"got {', '.join(f'{n} lengths of {name}' for name, n in counts.items())}, want as many of each"
        )
    return lengths


def bound(texts: list[str], dims: dict[str, int]) -> list[str]:
    """Inputs whose sizes are numbers."""
    out = []
    for text in texts:
        name, value = parse(text, dims)
        out.append(f"{name}={show(value)}" if name else show(value))
    return out


def show(value: Any) -> str:
    """The text that parse reads back."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        for char, escape in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
            value = value.replace(char, escape)
        return f"'{value}'"
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(show, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k if k.isidentifier() else show(k)}: {show(v)}" for k, v in value.items()) + "}"
    return str(value)


class _Reader:
    def __init__(self, text: str, dims: dict[str, int]):
        self.text, self.dims, self.at = text, dims, 0

    def error(self, got: str, want: str) -> InputError:
        return InputError(f"input {self.text.strip()!r}: got {got}, want {want}")

    def token(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.at)

    def end(self) -> None:
        if self.text[self.at :].strip():
            raise self.error(repr(self.text[self.at :].strip()), "the end")

    def value(self) -> Any:
        m = self.token()
        if not m:
            raise self.error(
                repr(self.text[self.at :].strip()) if self.text[self.at :].strip() else "the end",
                "a value such as float32[8,3,224,224]",
            )
        self.at = m.end()
        if m["tensor"]:
            return self.tensor(m)
        if m["text"]:
            return re.sub(
                r"\\(.)",
                lambda e: {"n": "\n", "t": "\t", "r": "\r"}.get(e.group(1), e.group(1)),
                m["text"][1:-1],
                flags=re.S,
            )
        if m["word"]:
            if m["word"] not in _WORDS:
                raise self.error(repr(m["word"]), "a value such as float32[8,3,224,224]; a text stands in quotes")
            return _WORDS[m["word"]]
        if m["number"]:
            return self.number(m["number"])
        return self.group(m["mark"])

    def number(self, text: str) -> int | float:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        raise self.error(repr(text), "a number")

    def tensor(self, m: re.Match[str]) -> TensorSpec:
        words = m["words"].split()
        formats = [w for w in words if w != "cpu"]
        sizes = [s for s in m["sizes"].split(",") if s.strip()] if m["sizes"].strip() else []
        return TensorSpec(
            m["tensor"],
            tuple(self.size(s) for s in sizes),
            formats[-1] if formats else "contiguous",
            "cpu" if "cpu" in words else "",
        )

    _OPS: dict[type, Callable[[int, int], int]] = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.floordiv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
    }

    def size(self, text: str) -> int:
        """A number, a dim, or a sum or product of them."""
        try:
            n = self.evaluate(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ZeroDivisionError, KeyError) as e:
            what = f"the dim {e} without a value" if isinstance(e, KeyError) else repr(text.strip())
            raise self.error(what, "a size") from None
        if n < 0:
            raise self.error(f"size {n}", "0 or more")
        return n

    def evaluate(self, e: ast.expr) -> int:
        if isinstance(e, ast.Constant) and type(e.value) is int:
            return e.value
        if isinstance(e, ast.Name):
            return self.dims[e.id]
        if isinstance(e, ast.BinOp) and type(e.op) in self._OPS:
            return self._OPS[type(e.op)](self.evaluate(e.left), self.evaluate(e.right))
        raise self.error(repr(ast.unparse(e)), "a size")

    def group(self, opening: str) -> Any:
        closing = {"[": "]", "(": ")", "{": "}"}.get(opening)
        if not closing:
            raise self.error(repr(opening), "a value such as float32[8,3,224,224]")
        items, keys, comma = [], [], True
        while True:
            m = self.token()
            if m and m["mark"] == closing:
                self.at = m.end()
                break
            if not comma:
                raise self.error(repr(self.text[self.at :].strip()) or "the end", f", or {closing}")
            if opening == "{":
                keys.append(self.key())
            items.append(self.value())
            m = self.token()
            comma = bool(m and m["mark"] == ",")
            if m and comma:
                self.at = m.end()
        if opening == "{":
            return dict(zip(keys, items))
        if opening == "(":
            return tuple(items) if len(items) != 1 or comma else items[0]
        return items

    def key(self) -> str:
        m = self.token()
        if not m or not (m["text"] or m["word"]):
            raise self.error(repr(self.text[self.at :].strip()), "a key or }")
        self.at = m.end()
        key = m["text"][1:-1] if m["text"] else m["word"]
        m = self.token()
        if not m or m["mark"] != ":":
            raise self.error(repr(self.text[self.at :].strip()), f": after the key {key}")
        self.at = m.end()
        return key


def make(texts: list[str], dims: dict[str, int] | None = None, dtype: str = "") -> tuple[list[Any], dict[str, Any]]:
    """The positional and the named arguments, tensors made on the CPU. dtype is what floating
    tensors are cast to; empty: as they are.

    Integers are zeros (indices stay in range), floats are seeded noise (no value is special, none
    differs between two runs).
    """
    args, kwargs = [], {}
    for text in texts:
        name, value = parse(text, dims)
        value = fill(value, dtype)
        if name:
            kwargs[name] = value
        elif kwargs:
            raise InputError(f"input {text!r}: got an input without a name after named ones")
        else:
            args.append(value)
    return args, kwargs


def fill(value: Any, dtype: str = "") -> Any:
    """The value with every TensorSpec made into a tensor."""
    if isinstance(value, list):
        return [fill(v, dtype) for v in value]
    if isinstance(value, tuple):
        return tuple(fill(v, dtype) for v in value)
    if isinstance(value, dict):
        return {k: fill(v, dtype) for k, v in value.items()}
    return tensor(value, dtype) if isinstance(value, TensorSpec) else value


def tensor(spec: TensorSpec, dtype: str = "") -> torch.Tensor:
    import torch

    kind = getattr(torch, spec.dtype, None)
    if not isinstance(kind, torch.dtype):
        raise InputError(f"got dtype {spec.dtype!r}, want one of PyTorch's such as float32")
    if kind.is_floating_point and dtype:
        kind = getattr(torch, dtype)
    generator = torch.Generator().manual_seed(0)
    if _unread(spec, kind):
        form = {"contiguous": "contiguous_format"}.get(spec.memory_format, spec.memory_format)
        layout = torch.empty(spec.sizes, dtype=kind, memory_format=getattr(torch, form), device="meta")
        return _unbacked(layout.nbytes, kind).as_strided(layout.shape, layout.stride())
    if kind.is_floating_point or kind.is_complex:
        whole = torch.complex64 if kind.is_complex else torch.float32
        t = torch.randn(spec.sizes, generator=generator, dtype=whole).to(kind)
    else:
        t = torch.zeros(spec.sizes, dtype=kind)
    if spec.memory_format != "contiguous":
        t = t.to(memory_format=getattr(torch, spec.memory_format))
    return t


def _unbacked(size: int, kind: torch.dtype) -> torch.Tensor:
    """Host memory that nobody writes to: of any size, also of more than the machine has."""
    import torch

    without_reserve = 0x4000  # MAP_NORESERVE of Linux, which mmap has from Python 3.13 on
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | without_reserve)
    return torch.frombuffer(memory, dtype=kind)


LARGE = 1 << 20  # bytes: a pretend GPU keeps the values of copies up to this size (native/bytes.c, copy_limit)


def _unread(spec: TensorSpec, kind: torch.dtype) -> bool:
    """Whether nobody reads the values of a tensor: it is moved to a pretend GPU, where those of large
    floating tensors are not known."""
    return (
        pretended()
        and spec.device != "cpu"
        and (kind.is_floating_point or kind.is_complex)
        and math.prod(spec.sizes) * kind.itemsize > LARGE
    )


def of(value: Any) -> Any:
    """The TensorSpec of every tensor in a value: what an inputs sidecar records."""
    import torch

    if isinstance(value, torch.Tensor):
        memory_format = "contiguous"
        if not value.is_contiguous():
            for name in FORMATS[1:]:
                if value.dim() == {"channels_last": 4, "channels_last_3d": 5}[name] and value.is_contiguous(
                    memory_format=getattr(torch, name)
                ):
                    memory_format = name
        return TensorSpec(str(value.dtype).removeprefix("torch."), tuple(value.shape), memory_format)
    if isinstance(value, (list, tuple)):
        return type(value)(of(v) for v in value) if type(value) in (list, tuple) else tuple(of(v) for v in value)
    if isinstance(value, dict):
        return {k: of(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(
        f"got an input of {type(value).__name__}, want tensors, numbers, bools, texts, None, lists, tuples or dicts"
    )
