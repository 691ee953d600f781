"""Rows of measured figures, each run on a pretend GPU in a fork of one process a card, so that
imports are paid once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Row = dict[str, str]


def serve(run: Callable[[Row], dict[str, Any]]) -> int:
    """A row a line on standard input, what run gives for it a line on standard output."""
    for line in sys.stdin:
        sys.stdout.flush()
        if child := os.fork():
            if os.waitpid(child, 0)[1]:
                print(json.dumps({"error": "the process ended"}), flush=True)
            continue
        try:
            found = run(json.loads(line))
        except Exception as e:
            found = {"error": f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:160]}
        print(json.dumps(found), flush=True)
        os._exit(0)
    return 0


def environment(gpu: str, without: Iterable[str], values: bool = True) -> dict[str, str]:
    """The variables of a process on the GPU, as they are where those of without are not set: what
    they name is loaded into the process by other variables. values: whether values are followed."""
    from memshim import pretend

    kept = {n: os.environ.pop(n) for n in without if n in os.environ}
    try:
        return os.environ | pretend.environment(gpu, values=values)
    finally:
        os.environ.update(kept)


def results(
    file: str,
    rows: Iterable[Row],
    without: Iterable[str] = (),
    arguments: Iterable[str] = (),
    values: bool = True,
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Each row with its result; file --serve, with these arguments, serves them. A row's gpu is a
    device of memspec."""
    rows = list(rows)
    for gpu in dict.fromkeys(r["gpu"] for r in rows):
        p = subprocess.Popen(
            [sys.executable, file, "--serve", *arguments],
            env=environment(gpu, without, values),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert p.stdin and p.stdout
        for r in (r for r in rows if r["gpu"] == gpu):
            p.stdin.write(json.dumps(r) + "\n")
            p.stdin.flush()
            line = p.stdout.readline()
            yield r, json.loads(line) if line else {"error": "no answer"}
        p.stdin.close()
        p.wait()
