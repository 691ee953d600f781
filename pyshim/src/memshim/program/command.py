"""Any program on a pretend GPU, unmodified, and then what it took.

    python -m memshim run --on a100-sxm-80gb [--memory 40GiB] [--count 2] [--json FILE] -- train.py --epochs 1

The program keeps its standard streams, its signals and its exit code; the report goes to standard
error.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from memshim import binary, pretend, sizes
from memshim.allocator import recording
from memshim.case import compare_values, program_case
from memshim.files import check_writable, temporary_folder, write_whole
from memshim.pretend.activate import as_devices
from memshim.printed import say
from memshim.program import page, ranks, sandbox
from memshim.program.once import Program, with_ends
from memshim.program.ranks import Unusable
from memshim.program.report import cut_short, name_of, text, undecided

BROKEN, USAGE, UNDECIDED = 1, 2, 3  # where the program itself ends with 0


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


class Parser(argparse.ArgumentParser):
    """Of the arguments of memshim run; what is wrong with them is an exception."""

    def error(self, message: str) -> NoReturn:
        raise Unusable(message)


def parser(kind: type[argparse.ArgumentParser] = argparse.ArgumentParser) -> argparse.ArgumentParser:
    p = kind(
        prog="python -m memshim run",
        description="Run any program on a pretend GPU and report what it took. The program's "
        "output and exit code are its own; the report goes to standard error.",
        usage="python -m memshim run --on DEVICE "
        "[--memory SIZE] [--count N | --world-size N [--nproc-per-node M] [--rank RANKS] [--jobs N]] [--steps N]"
        " [--nccl SIZE]"
        " [--top N] [--json FILE] [--record FILE] [--html FILE] [--values WHICH] [--check-values]"
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
    p.add_argument("--steps", type=int, default=0, metavar="N", help="end the program after N steps of its optimizers")
    ranks.add_arguments(p)
    p.add_argument("--nccl", metavar="SIZE", help="what NCCL takes of a device, where it is known; else by formula")
    p.add_argument("--top", type=int, default=20, metavar="N", help="source lines shown (20), 0 for all")
    p.add_argument("--json", metavar="FILE", help="write the figures there as well")
    p.add_argument(
        "--record",
        metavar="FILE.rec",
        help="keep what the allocator did as an artifact that memspec reads; with several processes or GPUs "
        "FILE.0.rec, FILE.1.rec, …",
    )
    p.add_argument(
        "--html",
        metavar="FILE.html",
        help="write a page with the memory over the run, who holds it after each event, and the segments; "
        "several ranks, processes or GPUs stand side by side",
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
    return p


FAILURES = (ValueError, pretend.Unsupported, pretend.BuildError, binary.BinaryError, OSError)


def prepared(a: argparse.Namespace, arguments: Sequence[str]) -> tuple[Program, ranks.Wanted | None]:
    """The program of the command line, and which ranks of a world are wanted. Errors: FAILURES."""
    case = program_case.read(a.of_case) if a.of_case else None
    if case:
        case.enter()
    wanted = ranks.wanted(a)
    words = command(a.program[1:] if a.program[:1] == ["--"] else a.program)
    if a.top < 0:
        raise Unusable(f"got --top {a.top}, want 0 or more")
    nccl = sizes.parse(a.nccl) if a.nccl else None
    cards = as_devices(case.device if case else a.on, wanted.nproc_per_node if wanted else a.count, a.memory)
    assume = case.assume if case else None
    pretend.environment(cards, assume=assume)
    if a.json:
        check_writable(a.json)  # before anything is run for it
    if a.record and not a.record.endswith(".rec"):
        raise Unusable(f"got --record {a.record}, want a name that ends with .rec")
    if a.record:
        check_writable(a.record)
    if a.html:
        page.check(a.html)
        check_writable(a.html)
        binary.find()
    return Program(
        words,
        a.program,
        cards,
        a.on,
        top=a.top or None,
        record=a.record or a.html or "",
        command=("python", "-m", "memshim", "run", *arguments),
        steps=a.steps,
        values=a.values,
        check_values=a.check_values,
        nccl=nccl,
        allow_writes=a.allow_writes or a.sandbox,
        send=a.allow_writes,
        assume=assume,
        of_case=case.wanted() if case else {},
    ), wanted


def main(arguments: list[str]) -> int:
    a = parser().parse_args(arguments)
    try:
        program, wanted = prepared(a, arguments)
    except FAILURES as e:
        say(f"memshim run: {e}", file=sys.stderr)
        return USAGE
    if wanted:
        return ranks.main(program, wanted, a.json, a.record or "", a.html or "")
    return _run(program, a, name_of(program.words))


def _run(program: Program, a: argparse.Namespace, name: str) -> int:
    """Run the program and report; the exit code."""
    words = program.words
    with temporary_folder("memshim-run-") as folder:
        if a.sandbox:
            scratch = folder / "sandbox"
            scratch.mkdir()
            try:
                words = sandbox.command(words, scratch)
            except sandbox.Unavailable as e:
                say(f"memshim run: {e}", file=sys.stderr)
                return USAGE
        try:
            found, data = with_ends(program, words, program.environment(folder), folder)
        except OSError as e:
            say(f"memshim run: {e}", file=sys.stderr)
            return USAGE
        code: int = found["exit"]
        sys.stdout.flush()
        say(text(found, name), file=sys.stderr)
        if a.sandbox:
            say(
                f"  thrown away      {len(sandbox.written(scratch))} files that it wrote into its working folder",
                file=sys.stderr,
            )
        if data and cut_short(found):
            for what, to in (("recording", a.record), ("page", a.html)):
                if to:
                    say(f"  {what:<17}none: {to} is not written, as the program did not end well", file=sys.stderr)
            data = []
        elif a.html:
            say(f"  page             {page.write(page.named(data, name), a.html, program.record)}", file=sys.stderr)
        try:
            for f in keep(data, a.record) if data and a.record else []:
                say(f"  recording        {f}", file=sys.stderr)
            if a.json:
                write_whole(a.json, (json.dumps(found, indent=2) + "\n").encode())
        except OSError as e:
            say(f"memshim run: {e}", file=sys.stderr)
            return code or USAGE
    return code or (BROKEN if found["fits"] is False else UNDECIDED if undecided(found) else 0)
