"""Any program on a pretend GPU, unmodified, and then what it took.

    python -m memshim run --on a100-sxm-80gb [--memory 40GiB] [--count 2] [--json FILE] -- train.py --epochs 1

The program keeps its standard streams, its signals and its exit code; the report goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memshim import binary, pretend, sizes
from memshim.run import rec
from memshim.run.observe import WANTED

SCHEMA = 1
USAGE = 2
STARTUP = str(Path(__file__).resolve().parent / "startup")


class Unusable(ValueError):
    """What is asked for cannot be run. The text is for the user."""


def command(words: list[str]) -> list[str]:
    """The program as a command: a script, -m and a module, -c and code run by this Python; anything else that can be run is run."""
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


def run(words: list[str], environ: dict[str, str]) -> tuple[int, int]:
    """Run a command to its end, whatever signals come: they are its own. Its process id and its exit code, as a shell would tell it."""
    p = subprocess.Popen(words, env=environ)

    def forward(number: int, frame: Any) -> None:
        if number != signal.SIGINT:  # a terminal sends that one to both
            p.send_signal(number)

    before = {n: signal.signal(n, forward) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        status = p.wait()
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
    return p.pid, 128 - status if status < 0 else status


def keep(folder: Path, to: str, pid: int) -> list[str]:
    """Move the recordings of the processes to where they are wanted, the program's own first."""
    files = sorted(folder.glob("*.rec"), key=lambda f: (int(f.name.split(".")[0]) != pid, [int(n) for n in f.name.split(".")[:2]]))
    names = [to] if len(files) == 1 else [f"{to.removesuffix('.rec')}.{i}.rec" for i in range(len(files))]
    return [str(rec.write(f.read_bytes(), name)) for f, name in zip(files, names)]


def report(pid: int, code: int, processes: list[dict[str, Any]], words: list[str], on: list[str]) -> dict[str, Any]:
    """What --json writes. The first process is the program itself, where it told anything."""
    processes = sorted(processes, key=lambda p: (p["pid"] != pid, p["pid"]))
    used = [p for p in processes if p["devices"]]
    oom = next((p["out_of_memory"] for p in processes if p["out_of_memory"]), "")
    fits = False if oom else True if used and code == 0 else None
    return {"schema": SCHEMA, "where": "pretend", "on": on, "program": words, "exit": code, "fits": fits, "out_of_memory": oom,
            "exact": all(p["exact"] for p in used), "processes": processes}


def text(found: dict[str, Any], name: str) -> str:
    """The report for people."""
    used = [p for p in found["processes"] if p["devices"]]
    if not used:
        why = "" if found["processes"] else ": torch was never imported, or it ended without a word, as after os._exit or by a signal"
        return "\n".join([f"memshim: {name} took nothing of the pretend GPU{why}", *_missing(found)])
    out = []
    for p in used:
        who = name if len(used) == 1 else f"{name}, process {p['pid']} ({' '.join(p['arguments'][:2])})"
        for d in p["devices"]:
            out += _device(who, p, d, found["exit"])
        out += _notes(p)
    return "\n".join(out + _missing(found))


def _missing(found: dict[str, Any]) -> list[str]:
    """What ended a process and can be installed: last, below PyTorch's own pages about it."""
    return [f"memshim: {said}" for said in dict.fromkeys(p["missing"] for p in found["processes"]) if said]


def _device(who: str, process: dict[str, Any], d: dict[str, Any], code: int) -> list[str]:
    at = d["name"] + (f" {d['index']}" if d["index"] or len(process["devices"]) > 1 else "")
    if process["out_of_memory"] and d["ooms"]:
        verdict = f"does not fit: {process['out_of_memory']}"
    else:
        verdict = f"total {sizes.show(d['total'])} of {sizes.show(d['memory'])}"
        verdict = ("fits: " if code == 0 else f"ended with {code}: ") + verdict
        if d["ooms"]:
            verdict += f"; memory ran out {d['ooms']} time{'s'[:d['ooms'] != 1]} and the program went on"
    out = [f"memshim: {who} on a pretend {at}: {verdict}", f"  peak             {_sizes(d)}, total {sizes.show(d['total'])}"
           f" (of it {sizes.show(d['context'])} outside of PyTorch's allocator)"]
    steps = d["iterations"]
    if steps:
        out.append(f"  first iteration  {_sizes(steps[0])}")
    if steps[1:]:
        most = {m: max(s[m] for s in steps[1:]) for m in ("allocated", "reserved")}
        out.append(f"  steady           {_sizes(most)} (the most of {len(steps) - 1} iteration{'s'[:len(steps) != 2]})")
    return out + ["  " + line for line in d["table"].splitlines()]


def _sizes(peaks: dict[str, int]) -> str:
    return f"allocated {sizes.show(peaks['allocated'])}, reserved {sizes.show(peaks['reserved'])}"


def _notes(process: dict[str, Any]) -> list[str]:
    """What makes the numbers less than exact."""
    from memshim.run.frames import shorten

    out = []
    for r in process["reads"]:
        place = f"{shorten(r['file'])}:{r['line']} ({r['function']})" if r["file"] else r["function"]
        if r["inner"] and r["inner"] != f"{r['file']}:{r['line']}":  # a library's, several of which may be behind one line
            place += f", in {shorten(r['inner'])}"
        given = f"read as {r['given'] or 'zero'}" if r["assumed"] is None else f"assumed to be {r['assumed']}"
        out.append(f"  value-read: {place}: {r['op']} read {r['count']} value{'s'[:r['count'] != 1]} that no kernel computed, {given}")
    for t in process["timed"]:
        place = f"{shorten(t['file'])}:{t['line']}: " if t["file"] else ""
        out.append(f"  timing-decides: {place}on a card a measured time decides {t['what']} (×{t['count']})")
    for kind, what in (("refused", "is not stood in for, and failed"), ("unsized", "is stood in for, but what it takes of the device is not known")):
        out += [f"  {kind}: {c['name']} {what} ({c['count']} call{'s'[:c['count'] != 1]})" for c in process[kind]]
    return out


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(prog="python -m memshim run", description="Run any program on a pretend GPU and tell what it took. The program's "
                                "output and exit code are its own; the report goes to standard error.", usage="python -m memshim run --on DEVICE "
                                "[--memory SIZE] [--count N] [--top N] [--json FILE] [--record FILE] -- (train.py | -m module | command) ARGUMENTS")
    p.add_argument("--on", required=True, action="append", metavar="DEVICE", help="a device of memspec devices; repeats, for unlike ones")
    p.add_argument("--memory", metavar="SIZE", help="another size of memory, such as 40GiB")
    p.add_argument("--count", type=int, default=1, metavar="N", help="so many of it (1)")
    p.add_argument("--top", type=int, default=20, metavar="N", help="source lines shown (20), 0 for all")
    p.add_argument("--json", metavar="FILE", help="write the figures there as well")
    p.add_argument("--record", metavar="FILE.rec", help="keep what the allocator did as an artifact that memspec reads; with several processes or GPUs "
                   "FILE.0.rec, FILE.1.rec, …")
    p.add_argument("program", nargs=argparse.REMAINDER, help="after --")
    a = p.parse_args(arguments)
    try:
        words = command(a.program[1:] if a.program[:1] == ["--"] else a.program)
        if a.top < 0:
            raise Unusable(f"got --top {a.top}, want 0 or more")
        environ = pretend.environment(a.on, count=a.count, memory=a.memory)
        if a.json:
            open(a.json, "w").close()  # before anything is run for it
        if a.record and not a.record.endswith(".rec"):
            raise Unusable(f"got --record {a.record}, want a name that ends with .rec")
        if a.record:
            open(a.record, "w").close()
            os.remove(a.record)
    except (ValueError, pretend.Unsupported, pretend.BuildError, binary.BinaryError, OSError) as e:
        print(f"memshim run: {e}", file=sys.stderr)
        return USAGE
    with tempfile.TemporaryDirectory(prefix="memshim-run-") as folder:
        environ = {**os.environ, **environ, WANTED: json.dumps({"folder": folder, "top": a.top or None, "record": bool(a.record)})}
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, environ.get("PYTHONPATH", "")]))
        pid, code = run(words, environ)
        processes = [json.loads(f.read_text(encoding="utf-8")) for f in Path(folder).glob("*.json")]
        kept = keep(Path(folder), a.record, pid) if a.record else []
    found = report(pid, code, processes, a.program, a.on)
    sys.stdout.flush()
    print("\n".join([text(found, _name(words)), *(f"  recording        {f}" for f in kept)]), file=sys.stderr)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(found, f, indent=2)
            f.write("\n")
    return code


def _name(words: list[str]) -> str:
    """What people call the program."""
    rest = words[1:] if words[0] == sys.executable else words
    return {"-m": " ".join(rest[:2]), "-c": "python -c"}.get(rest[0], rest[0])
