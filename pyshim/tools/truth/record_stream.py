"""The stream of one run, and the text form in which a model's streams are kept
(testdata/conformance/README.md)."""

import dataclasses

HEADER = "conformance 1"
SCALAR = 8


@dataclasses.dataclass(frozen=True)
class Event:
    """A birth (size and site) or the death of the storage that was born as number index."""

    index: int
    size: int = 0
    op: str = ""
    line: str = ""

    @property
    def birth(self) -> bool:
        return self.op != ""


@dataclasses.dataclass
class Stream:
    name: str  # live.eager, script.torchscript, trace.torchscript
    artifact: str = ""
    events: list[Event] = dataclasses.field(default_factory=list)
    end: list[int] = dataclasses.field(default_factory=list)  # deaths when the result is dropped, in order
    kept: list[int] = dataclasses.field(default_factory=list)  # alive even then
    zero: int = 0
    host: int = 0
    remapped: int = 0
    on_cpu: str = ""  # what the run on CPU tensors reported
    failed: str = ""
    ops: set[str] = dataclasses.field(default_factory=set)  # all that were dispatched, not written

    def births(self) -> int:
        return sum(e.birth for e in self.events)

    def peak(self, block: int = 1) -> int:
        """The largest sum of live storages, each rounded up to the block."""
        sizes: dict[int, int] = {}
        live = most = 0
        for e in self.events:
            if e.birth:
                sizes[e.index] = -(-e.size // block) * block
                live += sizes[e.index]
                most = max(most, live)
            else:
                live -= sizes[e.index]
        return most

    def against(self, recorded: list[tuple[int, int]]) -> str:
        """Compares with the second test: as strong a statement as holds.

        Storages of one number are set apart on both sides: a CPU run makes one of each Python
        scalar.
        """
        here = _without_scalars([(e.index, e.size) for e in self.events])
        there = _without_scalars(recorded)
        if here == there:
            return "same events"
        other = Stream("", events=[Event(i, size, "?" if size else "") for i, size in there])
        loose = "same but for the order of deaths, " if _between(here) == _between(there) else ""
        return f"{loose}births {other.births()} peak {other.peak()}"

    def shape(self) -> list[tuple]:
        """What two streams must share to be the same: all but the source lines."""
        return [(e.index, e.size, e.op) for e in self.events] + [("end", *self.end), ("kept", *self.kept)]


def _without_scalars(recorded: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leaves births of at most SCALAR bytes and their deaths out, and numbers the rest anew."""
    numbers: dict[int, int] = {}
    out: list[tuple[int, int]] = []
    for index, size in recorded:
        if size > SCALAR:
            numbers[index] = len(numbers)
            out.append((numbers[index], size))
        elif size == 0 and index in numbers:
            out.append((numbers[index], 0))
    return out


def _between(recorded: list[tuple[int, int]]) -> list[tuple[int, set[int]]]:
    """Each birth's size and the set of deaths that follow it."""
    out: list[tuple[int, set[int]]] = []
    for index, size in recorded:
        if size:
            out.append((size, set()))
        else:
            out[-1][1].add(index)
    return out


def write(model: str, versions: list[str], inputs: list[str], streams: list[Stream]) -> str:
    """Writes the streams of one model. Streams with the same events are written once."""
    sites: dict[tuple[str, str], int] = {}
    body: list[str] = []
    done: list[Stream] = []
    for s in streams:
        body += ["", f"stream {s.name}"]
        if s.artifact:
            body.append(f"artifact {s.artifact}")
        if s.failed:
            body.append(f"failed {s.failed}")
            continue
        body += [
            f"births {s.births()}",
            f"peak {s.peak()}",
            f"peak512 {s.peak(512)}",
            f"zero {s.zero}",
            f"host {s.host}",
        ]
        if s.remapped:
            body.append(f"remapped {s.remapped}")
        if s.on_cpu:
            body.append(f"cpu {s.on_cpu}")
        twin = next((d for d in done if d.shape() == s.shape()), None)
        if twin:
            body.append(f"same {twin.name}")
            continue
        done.append(s)
        body.append("events")
        body += _lines(s, sites)
        body.append(" ".join(["end"] + [f"-{i}" for i in s.end]))
        if s.kept:
            body.append(" ".join(["kept"] + [str(i) for i in s.kept]))
    head = [HEADER, f"model {model}", *versions, *(f"input {i}" for i in inputs), ""]
    head += [" ".join(filter(None, ["site", str(n), op, line])) for (op, line), n in sites.items()]
    return "\n".join(head + body) + "\n"


def _lines(s: Stream, sites: dict[tuple[str, str], int]) -> list[str]:
    """One line a birth, the deaths that follow it on the same line."""
    lines: list[str] = []
    for e in s.events:
        if e.birth:
            site = sites.setdefault((e.op, e.line), len(sites))
            lines.append(f"+{e.size}@{site}")
        else:
            lines[-1] += f" -{e.index}"
    return lines


def first_difference(old: str, new: str) -> str:
    """Says where two texts part; empty when they are the same."""
    a, b = old.splitlines(), new.splitlines()
    for n, (x, y) in enumerate(zip(a, b), 1):
        if x != y:
            return f"line {n}: got {y!r}, want {x!r}"
    if len(a) != len(b):
        return f"got {len(b)} lines, want {len(a)}"
    return ""
