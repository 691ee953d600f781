"""Write sample calls of ATen operators and what PyTorch does with them on fake CUDA tensors.

    python -m truth samples testdata/aten [domain ...]

writes testdata/aten/<torch major.minor>/samples/<domain>.jsonl (format: testdata/aten/README.md).
Needs no GPU; needs the package expecttest, which PyTorch's own operator tests import.
"""

import gc
import importlib
import json
import logging
import pkgutil
import sys
import warnings
from pathlib import Path

import torchvision  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))

from dump_schemas import release
from samples import choose, cpu_calls, domains, host, host_calls, host_edges, written
from samples.harvest import harvest
from samples.record import Refused, record
from samples.resolve import Unresolved, overload

# Lines of one operator that come from PyTorch's own tests; written ones are kept all.
PER_OP, PER_OVERLOAD = 10, 3


def by_hand() -> dict[str, list]:
    """op → calls written in samples/written, in order."""
    out: dict[str, list] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(written.__path__)):
        for call in importlib.import_module(f"samples.written.{module}").CALLS:
            out.setdefault(call.op, []).append(call)
    return out


def dumped(line: dict) -> str:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def on_cpu() -> dict[str, list[str]]:
    """The lines that come from the TorchScript interpreter on CPU, by file."""
    most = [host.record(c) | {"most": True} for c in cpu_calls.MOST]
    less = [host.record(c) for c in cpu_calls.LESS]
    cpu = {"backend": "cpu"}
    return {
        "host": [dumped(host.record(c)) for c in host_calls.CALLS],
        "written_host": [dumped(host.record(c)) for c in host_edges.CALLS],
        "data": [dumped(line | cpu) for line in most + less + [host.record(c) for c in cpu_calls.DRIVER]],
        "quant": [dumped(host.record(c) | cpu) for c in cpu_calls.QUANT],
    }


class Dump:
    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.refused: dict[str, set[str]] = {}
        self.problems: list[str] = []

    def write_op(self, op: str, hand: list, found: list) -> None:
        """All calls of one operator."""
        seen: set[str] = set()
        for call in hand:
            try:
                self.add(op, call, seen)
            except (Refused, Unresolved) as e:
                self.problems.append(f"{op}: {e} {call.args} {call.kwargs}")
        room: dict[str, int] = {}
        ordered = choose.order([(c, overload(c)) for c in found])
        total = 0
        for call in ordered:
            name = overload(call)
            if total >= PER_OP and room.get(name, 0) >= PER_OVERLOAD:
                continue
            try:
                if self.add(op, call, seen):
                    room[name] = room.get(name, 0) + 1
                    total += 1
            except Refused as e:
                self.refused.setdefault(op, set()).add(str(e))

    def add(self, op: str, call, seen: set[str]) -> bool:
        line = record(call)
        text = dumped(line)
        if text in seen:
            return False
        seen.add(text)
        self.lines.setdefault(domains.domain(op), []).append(text)
        return True


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)  # fake tensors log each refused call with its stack
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "testdata/aten")
    only = set(sys.argv[2:])
    hand, found = by_hand(), harvest()
    gc.collect()
    gc.freeze()
    dump = Dump()
    for op in sorted(set(hand) | set(found)):
        if not only or domains.domain(op) in only:
            dump.write_op(op, hand.get(op, []), found.get(op, []))
    out = root / release() / "samples"
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in on_cpu().items():
        if not only or name in only:
            dump.lines[name] = [*dump.lines.get(name, []), *dict.fromkeys(lines)]
    for name in [*domains.NAMES, "host", "data", "written_host"]:
        if name in dump.lines:
            (out / f"{name}.jsonl").write_text("\n".join(dump.lines[name]) + "\n")
    report(dump, hand, found)
    sys.exit(1 if dump.problems else 0)


def report(dump: Dump, hand: dict, found: dict) -> None:
    """What is there and what is not, on stderr."""
    have = {json.loads(x)["op"] for lines in dump.lines.values() for x in lines}
    for name, lines in sorted(dump.lines.items()):
        print(f"{name}: {len(lines)} lines, {sum(len(x) + 1 for x in lines)} bytes", file=sys.stderr)
    for op in sorted(set(hand) | set(found)):
        if op not in have and dump.refused.get(op):
            print(f"none: {op}: {'; '.join(sorted(dump.refused[op]))}", file=sys.stderr)
    for text in dump.problems:
        print(f"problem: {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
