"""Finds, for each tensor of an architecture, the expression over the config that says in which layers it is."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

from probes import IRRELEVANT, Built

RowKey = tuple[str, tuple[str, ...], str]
PERIODS = re.compile(r"period|step|interval|pattern|freq|every|offset|stride|group_size")


@dataclasses.dataclass(frozen=True)
class Rule:
    """One row: the tensors of a name, in how many layers' range, how often in each, and under which condition."""

    name: str
    dims: tuple[str, ...]
    dtype: str
    layers: str  # the number of layers in its stack; "" outside one
    times: str  # in each layer
    condition: str  # "" is always


class Unknown(Exception):
    """No expression was found."""


class Point(dict[str, Any]):
    """A config, and a layer: what an expression is evaluated over."""


def namespace(fields: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in fields.items():
        *path, last = name.split(".")
        if not path:
            out[last] = value
            continue
        at = out.setdefault(path[0], types.SimpleNamespace())
        for part in path[1:]:
            if not hasattr(at, part):
                setattr(at, part, types.SimpleNamespace())
            at = getattr(at, part)
        setattr(at, last, value)
    return out


CODES: dict[str, Any] = {}


def evaluate(text: str, names: dict[str, Any]) -> Any:
    """The value of an expression; None where it has none."""
    if text not in CODES:
        CODES[text] = compile(text, "expression", "eval")
    try:
        return eval(CODES[text], {"__builtins__": {"int": int, "len": len}}, names)
    except (TypeError, ZeroDivisionError, IndexError, AttributeError, KeyError, NameError):
        return None


class Learner:
    """The training configs of one architecture, and what is true of them."""

    def __init__(self, probes: list[Built]) -> None:
        self.probes = probes
        self.names = [namespace(p.fields) for p in probes]
        self.fields = sorted({f for p in probes for f in p.fields if not IRRELEVANT.search(f.split(".")[-1])})
        self.ints = [f for f in self.fields if any(is_int(p.fields.get(f)) for p in probes)]
        self.memo: dict[str, int] = {}
        self.per_layer: dict[tuple[str, ...], tuple[list[tuple[int, int]], list[tuple[str, int]]]] = {}

    def layer_count(self, prefix: str) -> str:
        """The expression of the number of layers of a stack."""
        counts = [p.counts.get(prefix) for p in self.probes]
        known = [(n, c) for n, c in zip(self.names, counts, strict=True) if c is not None]
        order = sorted(self.ints, key=lambda f: ("layer" not in f, len(f)))
        tries = (
            order
            + [f"{a} + {b}" for a in order for b in ("1", *order)]
            + [f"{a} - {b}" for a in order for b in ("1", *order)]
        )
        listed = [f for f in self.fields if any(isinstance(p.fields.get(f), list) for p in self.probes)]
        tries += [f"len({f})" for f in listed]
        tries += [str(c) for c in {c for _, c in known}]
        for text in tries:
            if all(evaluate(text, n) == c for n, c in known):
                return text
        raise Unknown(f"the number of {prefix}")

    def points(self, layers: str, only: list[bool] | None = None) -> list[tuple[int, int]]:
        out = []
        for k, names in enumerate(self.names):
            if only is not None and not only[k]:
                continue
            n = evaluate(layers, names) if layers else 1
            out += [(k, i) for i in range(n or 0)]
        return out

    def atoms(self, layers: str, without: str) -> Iterator[str]:
        """Conditions that a model's code may test, the plainer ones first."""
        for f in self.fields:
            if f == without:
                continue
            values = [p.fields.get(f) for p in self.probes]
            if any(isinstance(v, bool) for v in values):
                yield from (f, f"not {f}")
            for word in sorted({v for v in values if isinstance(v, str)}):
                yield from (f"{f} == {word!r}", f"{f} != {word!r}")
            if layers and any(isinstance(v, list) and v and isinstance(v[0], str) for v in values):
                for word in sorted({w for v in values if isinstance(v, list) for w in v if isinstance(w, str)}):
                    yield from (f"{f}[i] == {word!r}", f"{f}[i] != {word!r}")
            if layers and any(isinstance(v, list) and all(is_int(w) or isinstance(w, bool) for w in v) for v in values):
                if any(v is None for v in values):
                    yield f"{f} is None or i not in {f}"
                yield from (f"i in {f}", f"i not in {f}", f"{f}[i]", f"not {f}[i]")
            if any(v is None for v in values) and any(v is not None for v in values):
                yield from (f"{f} is None", f"{f} is not None")
            if any(v == 0 and is_int(v) for v in values):
                yield from (f"{f} > 0", f"{f} == 0")
            if any(v == 1 and is_int(v) for v in values):
                yield from (f"{f} > 1", f"{f} <= 1")
        small = [
            f
            for f in self.ints
            if all((p.fields.get(f) or 0) <= 64 for p in self.probes if not isinstance(p.fields.get(f), list))
        ]
        if layers:
            yield from ("i == 0", "i > 0", f"i < {layers} - 1", f"i == {layers} - 1", "i % 2 == 0", "i % 2 == 1")
            yield from (f"(i + 1) % {k} == 0" for k in range(3, 9))
            for f in small:
                if f == layers:
                    continue
                yield from (f"i < {f}", f"i >= {f}", f"i < {layers} - {f}", f"i >= {layers} - {f}")
            periods = [f for f in small if PERIODS.search(f)]
            for f in periods:
                for shift in ("i", "(i + 1)"):
                    yield from (f"{shift} % {f} == 0", f"{shift} % {f} != 0")
                for g in periods:
                    if f != g:
                        yield from (
                            f"i % {f} == {g}",
                            f"i % {f} != {g}",
                            f"(i - {g}) % {f} == 0",
                            f"(i - {g}) % {f} != 0",
                        )
            for start in [f for f in small if "start" in f]:
                for end in [f for f in small if "end" in f]:
                    yield from (f"i >= {start} and i <= {end}", f"i < {start} or i > {end}")
        for f, g in itertools.combinations(self.ints, 2):
            same = [p.fields.get(f) == p.fields.get(g) for p in self.probes]
            if any(same) and not all(same):
                yield from (f"{f} == {g}", f"{f} != {g}")

    def table(
        self, layers: str, where: tuple[int, ...] | None, without: str
    ) -> tuple[list[tuple[int, int]], list[tuple[str, int]]]:
        """The points of a stack, and the atoms with the points where they hold as bits."""
        key = (layers, str(where), without)
        if key not in self.per_layer:
            points = self.points(layers, None if where is None else [k in where for k in range(len(self.probes))])
            found: dict[int, str] = {}
            for text in self.atoms(layers, without):
                bits = 0
                for at, (k, i) in enumerate(points):
                    if evaluate(text, self.names[k] | {"i": i}):
                        bits |= 1 << at
                found.setdefault(bits, text)
            self.per_layer[key] = points, [(t, b) for b, t in found.items()]
        return self.per_layer[key]

    def condition(
        self, layers: str, present: set[tuple[int, int]], where: tuple[int, ...] | None = None, without: str = ""
    ) -> str:
        """The plainest condition that holds at exactly these points."""
        points, atoms = self.table(layers, where, without)
        full = (1 << len(points)) - 1
        target = sum(1 << at for at, point in enumerate(points) if point in present)
        if target == full:
            return ""
        return search(target, full, atoms)

    def choice(self, field: str, layers: str, values: dict[int, list[Any]]) -> str:
        """The expression of a field that some configs leave out: of its i-th item where layers counts them."""
        texts = sorted({w for v in values.values() for w in v}, key=lambda t: (len(t), t))
        parts = []
        for text in texts[:-1]:
            at = {(k, i) for k, v in values.items() for i, w in enumerate(v) if w == text}
            parts.append(f"{text} if {self.condition(layers, at, tuple(values), field)} else ")
        return "".join(parts) + texts[-1]


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def search(target: int, full: int, atoms: list[tuple[str, int]]) -> str:
    """One atom, two or three of them joined by and, or two by or; raises Unknown where none fits."""
    for text, bits in atoms:
        if bits == target:
            return text
    over = [(t, b) for t, b in atoms if b & target == target]
    under = [(t, b) for t, b in atoms if b & ~target & full == 0 and b]
    for (s, a), (t, b) in itertools.combinations(over, 2):
        if a & b == target:
            return f"{operand(s)} and {operand(t)}"
    for (s, a), (t, b) in itertools.combinations(under, 2):
        if a | b == target:
            return f"{operand(s)} or {operand(t)}"
    for (s, a), (t, b), (u, c) in itertools.islice(itertools.combinations(over, 3), 30_000):
        if a & b & c == target:
            return f"{operand(s)} and {operand(t)} and {operand(u)}"
    for (s, a), (t, b), (u, c) in itertools.islice(itertools.combinations(under, 3), 30_000):
        if a | b | c == target:
            return f"{operand(s)} or {operand(t)} or {operand(u)}"
    for s, a in over[:12]:  # an atom, and one of two others
        for (t, b), (u, c) in itertools.islice(itertools.combinations(atoms, 2), 4_000):
            if a & (b | c) == target:
                return f"{operand(s)} and ({operand(t)} or {operand(u)})"
    either = [(f"{operand(s)} or {operand(t)}", a | b) for (s, a), (t, b) in itertools.combinations(atoms[:300], 2)]
    for tries in (over, over + [(t, b) for t, b in either if b & target == target and b != full]):
        if (text := narrowed(target, full, tries)) is not None:
            return text
    raise Unknown("no condition")


MOST_JOINED = 5


def narrowed(target: int, full: int, over: list[tuple[str, int]]) -> str | None:
    """Some of these joined by and, that which excludes most first; None where that does not end at the target."""
    holds, texts = full, []
    while holds != target:
        text, bits = min(over, key=lambda atom: (holds & atom[1]).bit_count(), default=("", full))
        if len(texts) == MOST_JOINED or holds & bits == holds:
            return None
        holds &= bits
        texts.append(text)
    return " and ".join(operand(t) for t in texts)


def operand(text: str) -> str:
    return f"({text})" if " and " in text or " or " in text else text


def sub_expressions(texts: Iterable[str]) -> list[str]:
    """Every part of expressions that is a number, the shorter first."""
    out = set()
    for text in texts:
        for node in ast.walk(ast.parse(text, mode="eval")):
            if isinstance(node, ast.IfExp | ast.BinOp | ast.Name | ast.Attribute | ast.Subscript | ast.Call):
                out.add(ast.unparse(node))
    return sorted(out, key=lambda t: (len(t), t))
