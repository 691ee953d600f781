"""Any program on a pretend GPU, unmodified, and then what it took.

    python -m memshim run --on a100-sxm-80gb [--memory 40GiB] [--count 2] [--json FILE] -- train.py --epochs 1

The program keeps its standard streams, its signals and its exit code; the report goes to standard
error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from memshim import binary, pretend, sizes
from memshim.allocator import recording
from memshim.case import compare_values, program_case
from memshim.files import check_writable, temporary_folder, write_whole
from memshim.pretend import writes
from memshim.pretend.activate import as_devices
from memshim.printed import say
from memshim.program import launch, other_values, process_reports, sandbox
from memshim.program.observe import WANTED

SCHEMA = 1
BROKEN, USAGE, UNDECIDED = 1, 2, 3  # where the program itself ends with 0
STARTUP = str(Path(__file__).resolve().parent / "startup")


class Unusable(ValueError):
    """What is asked for cannot be run. The text is for the user."""


def command(words: list[str]) -> list[str]:
    """The program as a command: a script, -m and a module, -c and code run by this Python; anything
    else that can be run is run."""
    if not words:
        raise Unusable("got no program, want -- train.py …, -- -m module … or -- command …")
    if words[0] in ("-m", "-c"):
        if len(words) < 2:
            raise Unusable(f"got {words[0]} alone, want what it runs")
        return [sys.executable, *words]
    path = Path(words[0])
    if path.suffix == ".py" or path.is_dir() or path.is_file() and not os.access(path, os.X_OK):
        if not path.exists():
            raise Unusable(f"{path}: no such file")
        return [sys.executable, *words]
    if not shutil.which(words[0]):
        raise Unusable(f"{words[0]}: no such file, and no program of that name")
    return words


def keep(data: list[bytes], to: str) -> list[str]:
    """Write the recordings of the processes to where they are wanted, the program's own first."""
    names = [to] if len(data) == 1 else [f"{to.removesuffix('.rec')}.{i}.rec" for i in range(len(data))]
    return [str(recording.write(one, name)) for one, name in zip(data, names, strict=True)]


def report(code: int, processes: list[dict[str, Any]], words: list[str], on: list[str]) -> dict[str, Any]:
    """What --json writes. The first process is the program itself, where it reported anything."""
    used = [p for p in processes if p["devices"]]
    oom = next((p["out_of_memory"] for p in processes if p["out_of_memory"]), "")
    sure = all(d["total_range"]["high"] <= d["memory"] for p in used for d in p["devices"])
    fits = False if oom else True if used and code == 0 and sure and not any(p["failed"] for p in processes) else None
    return {
        "schema": SCHEMA,
        "where": "pretend",
        "on": on,
        "program": words,
        "exit": code,
        "fits": fits,
        "out_of_memory": oom,
        "exact": all(p["exact"] for p in used),
        "processes": processes,
    }


def cut_short(found: dict[str, Any]) -> bool:
    """Whether a process failed for another reason than memory, so that its recording is of a part of
    the run."""
    return not found["out_of_memory"] and bool(found["exit"] or any(p["failed"] for p in found["processes"]))


def undecided(found: dict[str, Any]) -> bool:
    """Whether nobody can say if it fits; what uses no GPU and does not fail is no question."""
    return found["fits"] is None and any(p["devices"] or p["failed"] for p in found["processes"])


def text(found: dict[str, Any], name: str) -> str:
    """The report for people."""
    used = [p for p in found["processes"] if p["devices"]]
    if not used:
        why = "" if found["processes"] else ": torch was never imported"
        return "\n".join(
            [f"memshim: {name} took nothing of the pretend GPU{why}", *_failed(found, name), *_missing(found)]
        )
    out = []
    for p in used:
        who = name if len(used) == 1 else f"{name}, process {p['pid']} ({' '.join(p['arguments'][:2])})"
        for d in p["devices"]:
            out += _device(who, p, d, any(q["failed"] or q["out_of_memory"] for q in found["processes"]))
        out += _notes(p)
    out += other_values.text(found)
    return "\n".join(out + _files(found) + _failed(found, name) + _missing(found))


FILES = 10  # that are named


def _files(found: dict[str, Any]) -> list[str]:
    """What the program wrote and would have sent: none of it holds computed values."""
    files = {f["path"]: f["bytes"] for p in found["processes"] for f in p["files"]}
    out = [
        f"  new file         {name} ({sizes.show(size)}); its tensors hold no computed values"
        for name, size in sorted(files.items())[:FILES]
    ]
    if len(files) > FILES:
        out.append(f"  new files        {len(files) - FILES} more; --json names all")
    held = [u for p in found["processes"] for u in p["kept_back"]]
    return out + (
        [f"  not pushed       {len(held)} calls to the Hub, the first: {held[0]}; --allow-writes sends them"]
        if held
        else []
    )


def _failed(found: dict[str, Any], name: str) -> list[str]:
    """The processes that failed beside a program that did not."""
    if found["exit"]:
        return []
    return [
        f"memshim: undecided: process {p['pid']} of {name} ({' '.join(p['arguments'][:2])}) {_ended(p)}"
        for p in found["processes"]
        if p["failed"]
    ]


def _ended(p: dict[str, Any]) -> str:
    """How a process ended."""
    if p["ended"] == "still running":
        return "is still running"
    by = f" by {p['ended']}" if p["ended"] else ""
    return f"ended{by}" + (f" with {p['code']}" if p["code"] and p["code"] < 128 else "")


def _missing(found: dict[str, Any]) -> list[str]:
    """What ended a process and can be installed: last, below PyTorch's own pages about it."""
    return [f"memshim: {said}" for said in dict.fromkeys(p["missing"] for p in found["processes"]) if said]


def _device(who: str, process: dict[str, Any], d: dict[str, Any], failed: bool) -> list[str]:
    at = d["name"] + (f" {d['index']}" if d["index"] or len(process["devices"]) > 1 else "")
    if process["out_of_memory"] and d["ooms"]:
        verdict = f"does not fit: {_two_sentences(process['out_of_memory'])}"
    else:
        verdict = f"total {_total(d)} of {sizes.show(d['memory'])}"
        fits = (
            "fits: "
            if d["total_range"]["high"] <= d["memory"]
            else "may not fit, as what the driver takes is not known: "
        )
        verdict = (
            f"{_ended(process)}: " if process["ended"] or process["failed"] else "undecided: " if failed else fits
        ) + verdict
        if d["ooms"]:
            verdict += f"; memory ran out {d['ooms']} time{'s'[: d['ooms'] != 1]} and the program went on"
    out = [
        f"memshim: {who} on a pretend {at}: {verdict}",
        f"  peak             {_sizes(d)}, total {_total(d)}"
        f" (of it {_span(d['context'], d['context'] + d['total_range']['high'] - d['total'])} outside of PyTorch's "
        f"allocator)",
    ]
    if d.get("managed"):
        out.append(
            f"  managed          {sizes.show(d['managed'])} (cudaMallocManaged; it moves between the card and the "
            f"host, and is no part of the total)"
        )
    if d["lines"] is None:
        out.append("  no lines: these figures are the pretend GPU's own")
    steps = d["iterations"]
    # up to the last that compiled something
    first = 1 + max((i for i, s in enumerate(steps) if s.get("compiled")), default=0)
    if steps:
        name = f"first {first}" if first > 1 else "first iteration"
        out.append(f"  {name:<15}  {_sizes(_most(steps[:first]))}")
    if steps[first:]:
        many = len(steps) - first
        out.append(
            f"  steady           {_sizes(_most(steps[first:]))} (the most of {many} iteration{'s'[: many != 1]})"
        )
    return out + ["  " + line for line in d["table"].splitlines()]


def _two_sentences(said: str) -> str:
    """What ran out and what was asked for. The rest of PyTorch's text stands in the program's own
    output."""
    return " ".join(re.split(r"(?<=\.) ", said)[:2])


def _most(steps: list[dict[str, int]]) -> dict[str, int]:
    return {m: max(s[m] for s in steps) for m in ("allocated", "reserved")}


def _total(d: dict[str, Any]) -> str:
    return _span(d["total_range"]["low"], d["total_range"]["high"])


def _span(low: int, high: int) -> str:
    """11.83 GiB to 12.01 GiB."""
    return sizes.show(low) if low == high else f"{sizes.show(low)} to {sizes.show(high)}"


def _sizes(peaks: dict[str, int]) -> str:
    return f"allocated {sizes.show(peaks['allocated'])}, reserved {sizes.show(peaks['reserved'])}"


def _notes(process: dict[str, Any]) -> list[str]:
    """What makes the numbers less than exact."""
    from memshim.frames import shorten
    from memshim.pretend import gradients

    out = []
    for r in process["reads"]:
        place = f"{shorten(r['file'])}:{r['line']} ({r['function']})" if r["file"] else r["function"]
        # a library's, several of which may be behind one line
        if r["inner"] and r["inner"] != f"{r['file']}:{r['line']}":
            place += f", in {shorten(r['inner'])}"
        given = f"read as {r['given'] or 'zero'}" if r["assumed"] is None else f"assumed to be {r['assumed']}"
        out.append(
            f"  value-read: {place}: {r['op']} read {r['count']} value{'s'[: r['count'] != 1]} that no kernel "
            f"computed, {given}"
        )
    for t in process["timed"]:
        place = f"{shorten(t['file'])}:{t['line']}: " if t["file"] else ""
        out.append(f"  timing-decides: {place}on a card a measured time decides {t['what']} (×{t['count']})")
    if process.get("without_gradient"):
        out.append("  gradient-missing: " + gradients.Missing(**process["without_gradient"]).text())
    for kind, what in (
        ("refused", "is not emulated, and failed"),
        ("unsized", "is emulated, but what it takes of the device is not known"),
    ):
        out += [f"  {kind}: {c['name']} {what} ({c['count']} call{'s'[: c['count'] != 1]})" for c in process[kind]]
    out += [f"  {c['name']}" for c in process.get("estimated", ())]
    return out


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(
        prog="python -m memshim run",
        description="Run any program on a pretend GPU and report what it took. The program's "
        "output and exit code are its own; the report goes to standard error.",
        usage="python -m memshim run --on DEVICE "
        "[--memory SIZE] [--count N] [--top N] [--json FILE] [--record FILE] [--values WHICH] [--check-values]"
        " [--sandbox | --allow-writes] -- (train.py | -m module | command) ARGUMENTS",
    )
    p.add_argument(
        "--on",
        required=True,
        action="append",
        metavar="DEVICE",
        help="a device of memspec devices; repeats, for unlike ones",
    )
    p.add_argument("--memory", metavar="SIZE", help="another size of memory, such as 40GiB")
    p.add_argument("--count", type=int, default=1, metavar="N", help="so many of it (1)")
    p.add_argument("--top", type=int, default=20, metavar="N", help="source lines shown (20), 0 for all")
    p.add_argument("--json", metavar="FILE", help="write the figures there as well")
    p.add_argument(
        "--record",
        metavar="FILE.rec",
        help="keep what the allocator did as an artifact that memspec reads; with several processes or GPUs "
        "FILE.0.rec, FILE.1.rec, …",
    )
    p.add_argument(
        "--allow-writes",
        action="store_true",
        help="let the program change files that no pretend run wrote, and send to trackers and the Hub; "
        "what it saves holds no computed values",
    )
    p.add_argument(
        "--sandbox",
        action="store_true",
        help="run it in a copy-on-write view of the working folder: what it writes there is thrown away",
    )
    p.add_argument(
        "--values",
        choices=(compare_values.BALANCED, *compare_values.OTHERS),
        default="",
        help="what values that no kernel computed read as (balanced): least and most are "
        "the ends of their range, skewed gives all to one",
    )
    p.add_argument(
        "--check-values",
        action="store_true",
        help="where such values were read, run the program with the others too, without its output: "
        "what it takes at both ends",
    )
    p.add_argument(program_case.OF_CASE, metavar="FILE", help=argparse.SUPPRESS)
    p.add_argument("program", nargs=argparse.REMAINDER, help="after --")
    a = p.parse_args(arguments)
    try:
        case = program_case.read(a.of_case) if a.of_case else None
        if case:
            case.enter()
        words = command(a.program[1:] if a.program[:1] == ["--"] else a.program)
        name = _name(words)
        if a.top < 0:
            raise Unusable(f"got --top {a.top}, want 0 or more")
        cards = as_devices(case.device if case else a.on, a.count, a.memory)
        environ = pretend.environment(cards, assume=case.assume if case else None)
        if a.json:
            check_writable(a.json)  # before anything is run for it
        if a.record and not a.record.endswith(".rec"):
            raise Unusable(f"got --record {a.record}, want a name that ends with .rec")
        if a.record:
            check_writable(a.record)
    except (ValueError, pretend.Unsupported, pretend.BuildError, binary.BinaryError, OSError) as e:
        say(f"memshim run: {e}", file=sys.stderr)
        return USAGE
    with temporary_folder("memshim-run-") as folder:
        wanted: dict[str, Any] = {
            "folder": str(folder),
            "top": a.top or None,
            "record": os.path.abspath(a.record) if a.record else "",
            "command": ["python", "-m", "memshim", "run", *arguments],
            **(case.wanted() if case else {}),
        }
        environ = {
            **os.environ,
            **environ,
            WANTED: json.dumps(wanted),
            process_reports.FIGURES: str(folder),
            **other_values.chosen(os.environ, a.values),
        }
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, environ.get("PYTHONPATH", "")]))
        if a.allow_writes or a.sandbox:
            environ[writes.ALLOW] = "1"
        if not a.allow_writes:
            environ |= {k: v for k, v in writes.OFFLINE.items() if k not in os.environ}
        if a.sandbox:
            scratch = folder / "sandbox"
            scratch.mkdir()
            try:
                words = sandbox.command(words, scratch)
            except sandbox.Unavailable as e:
                say(f"memshim run: {e}", file=sys.stderr)
                return USAGE
        pid, statuses = launch.run(words, environ)
        code = 128 - statuses[pid] if statuses[pid] < 0 else statuses[pid]
        found = report(
            code, process_reports.ranges(process_reports.read(folder, pid, statuses), cards), a.program, a.on
        ) | {"values": environ[other_values.VALUES]}
        again = a.check_values and not code and other_values.lines(found)
        others = [v for v in (compare_values.BALANCED, *compare_values.OTHERS) if v != found["values"]] if again else []
        runs = [other_values.repeat(words, environ, v, cards, wanted["record"]) for v in others]
        other_values.judge(found, [end for end, _ in runs])
        if others:
            found["fits"] = other_values.verdict(found)
        sys.stdout.flush()
        say(text(found, name), file=sys.stderr)
        if a.sandbox:
            say(
                f"  thrown away      {len(sandbox.written(scratch))} files that it wrote into its working folder",
                file=sys.stderr,
            )
        try:
            data = [f.read_bytes() for f in other_values.recorded(folder, pid)] if a.record else []
            if data and cut_short(found):  # a budget would be judged by a part of the run
                say(
                    f"  recording        none: {a.record} is not written, as the program did not end well",
                    file=sys.stderr,
                )
                data = []
            for f in keep(other_values.merged(data, found, runs) if runs else data, a.record) if data else []:
                say(f"  recording        {f}", file=sys.stderr)
            if a.json:
                write_whole(a.json, (json.dumps(found, indent=2) + "\n").encode())
        except OSError as e:
            say(f"memshim run: {e}", file=sys.stderr)
            return code or USAGE
    return code or (BROKEN if found["fits"] is False else UNDECIDED if undecided(found) else 0)


def _name(words: list[str]) -> str:
    """What people call the program."""
    rest = words[1:] if words[0] == sys.executable else words
    return {"-m": " ".join(rest[:2]), "-c": "python -c"}.get(rest[0], rest[0])
