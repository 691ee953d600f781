"""Ask cuDNN about every size that a command of memspec looks at, as far as no workspace profile has
the answer.

The command lists the calls without an answer (--missing), cuDNN answers them where it is installed,
and the command runs again with the answers (--answers), which may lead it to other sizes. Answers
are kept in the user's cache; no file beside memspec.yaml is written.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from memshim import binary
from memshim.printed import say
from memshim.workspace import command, torchwheel
from memshim.workspace.profiles import Answerer, Profile, ProfileError, key

ROUNDS = 12  # a search that looks at new sizes so often is not settled
PER_PROCESS = 128  # calls for which a further process that loads cuDNN is worth its start
T = TypeVar("T")


class Queried:
    """The answers of one command's runs, or of several's. A context manager: its files are gone at
    its end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="memshim-queried-")
        self._answers, self._missing = Path(self._folder.name, "answers.json"), Path(self._folder.name, "missing.json")
        self._cache = command.cache_folder(None)
        self._probe = functools.cache(torchwheel.probe)
        self._profile = Profile()
        self._tried: set[tuple[str, str, str, str]] = set()
        self._absent: dict[str, set[str]] = {}  # releases of torch by the version of cuDNN that is not here
        self._without = 0  # calls that nobody answered
        self._unsettled = False
        self._said: set[str] = set()

    def __enter__(self) -> Queried:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._folder.cleanup()

    @property
    def count(self) -> int:
        """How many calls were answered."""
        return len(self._profile)

    @property
    def arguments(self) -> list[str]:
        """What memspec takes the answers by; nothing where there are none."""
        return ["--answers", str(self._answers)] if len(self._profile) else []

    def settle(self, run: Callable[[list[str]], T]) -> T:
        """What run gives once it has every answer that can be had. It runs memspec with the
        arguments that it is given, and is run again as long as calls are missing that cuDNN
        answers: such a run of memspec writes nothing else."""
        for _ in range(ROUNDS):
            self._missing.unlink(missing_ok=True)
            got = run([*self.arguments, "--missing", str(self._missing)])
            if not self._missing.exists():
                return got
            if not self._query(self._wanted()["groups"]):
                break
        else:
            self._unsettled = True
        return run(self.arguments)

    def _wanted(self) -> dict[str, Any]:
        """What memspec listed as missing."""
        return dict(json.loads(self._missing.read_text(encoding="utf-8")))

    def unrecorded(self) -> list[dict[str, Any]]:
        """The cases that the run of memspec before lacks a fresh recording of, each once. The list
        is taken away."""
        if not self._missing.exists():
            return []
        cases = {c["recording"]: c for c in self._wanted().get("cases", [])}
        if cases:
            self._missing.unlink()
        return list(cases.values())

    def lines(self) -> list[str]:
        """What is to be said of calls that have no answer, each line once."""
        out = []
        if self._absent:
            versions = ", ".join(f"{v} (torch {', '.join(sorted(torch))})" for v, torch in sorted(self._absent.items()))
            out.append(
                f"cuDNN {versions} is not installed here, or does not answer without a device: its workspace "
                f"is by formula; "
                "python -m memshim workspace says which wheel has it"
            )
        if self._without:
            out.append(
                f"cuDNN has no answer to {self._without} call{'s'[: self._without != 1]}: their workspace is by formula"
            )
        if self._unsettled:
            out.append(
                f"other sizes were looked at {ROUNDS} times over as cuDNN answered: the last of them are by formula"
            )
        new = [line for line in out if line not in self._said]
        self._said.update(new)
        return new

    def _query(self, wanted: list[dict[str, Any]]) -> bool:
        """Ask for what was not tried yet; whether there are new answers."""
        before = len(self._profile)
        for w in wanted:
            by = (w["library"], w["version"], w["class"])
            calls = [c for c in w["calls"] if (*by, key(c)) not in self._tried]
            self._tried.update((*by, key(c)) for c in calls)
            calls = self._remembered(by, calls)
            if calls:
                self._ask(w, calls)
        if len(self._profile) == before:
            return False
        try:
            self._profile.write(self._answers)
        except ProfileError as e:
            raise binary.BinaryError(str(e)) from None
        return True

    def _remembered(self, by: Answerer, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take answers from the cache, without the library; the calls that have none there."""
        known = command.cached(self._cache, by)
        hits = [(c, known.get(by, c)) for c in calls]
        for c, hit in hits:
            if hit:
                self._profile.add(by, c, hit)
        return [c for c, hit in hits if not hit]

    def _ask(self, wanted: dict[str, Any], calls: list[dict[str, Any]]) -> None:
        try:
            found = torchwheel.find(wanted, (), self._cache, self._probe)
        except (torchwheel.NotFound, ValueError):
            self._absent.setdefault(wanted["version"], set()).update(wanted["torch"])
            return
        group = command.Group(wanted, calls, (wanted["library"], found.text, wanted["class"]), found)
        options = command.parser().parse_args([])
        options.jobs = min(options.jobs, 1 + len(calls) // PER_PROCESS)
        command.answer(group, self._profile, options, self._cache)
        self._without += len(group.failures)


def passed(name: str, arguments: list[str]) -> int:
    """Run a command of memspec in the place of this one, with cuDNN's answers; its exit code."""
    helped = any(a in ("-h", "--help") for a in arguments)
    try:
        with Queried() as queried:
            if helped:
                code = subprocess.run([binary.find(), name, *arguments]).returncode
                say(
                    f"\npython -m memshim {name} is memspec {name}, and queries cuDNN for the workspace of "
                    f"convolutions at every size, where the "
                    "cuDNN of the release of torch is installed."
                )
                return code
            code = queried.settle(lambda more: subprocess.run([binary.find(), name, *more, *arguments]).returncode)
            for line in queried.lines():
                say(f"memshim: {line}", file=sys.stderr)
            return code
    except binary.BinaryError as e:
        say(f"memshim: {e}", file=sys.stderr)
        return command.USAGE


def init(arguments: list[str]) -> int:
    return passed("init", arguments)
