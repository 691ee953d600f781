"""python -m memshim workspace: ask cuDNN itself how much workspace the convolutions of a
memspec.yaml take.

memspec says which library calls the cases make; the cuDNN that belongs to their torch answers them
for described devices, in processes that may crash or hang without harm; the answers go to a
workspace profile beside memspec.yaml. No GPU, no driver, no torch.
"""

from __future__ import annotations

import argparse
import collections
import functools
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memshim import binary
from memshim.printed import say
from memshim.progress import Progress
from memshim.workspace import cudnn, query, torchwheel
from memshim.workspace.profiles import Answerer, Profile, ProfileError, key, load

FILE = "memspec.workspace.json"
DEFAULT_SPEC = "memspec.yaml"
# A device class is given up after so many children lost one after the other, without an answer
# between them, and so many seconds lost with them.
PATIENCE, WASTE = 5, 20.0
ANSWER = 60.0  # seconds for one call; 4 ms are usual

OK, DIFFERS, USAGE, UNSURE, INTERRUPTED = 0, 1, 2, 3, 130


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m memshim workspace",
        description="Query cuDNN, without a GPU, for the workspace of the convolutions of a memspec.yaml, and write a "
        "workspace profile to keep beside it. Exit codes: 0 all is known, 1 --check found a difference, 2 wrong "
        "usage or no library, 3 some calls have no answer.",
    )
    p.add_argument("spec", nargs="?", default=DEFAULT_SPEC, metavar="memspec.yaml")
    p.add_argument(
        "-o", "--output", metavar="FILE", help=f"the profile to write or add to (default: {FILE} beside memspec.yaml)"
    )
    p.add_argument("--torch", metavar="RELEASE", help="of this release, whatever the cases say")
    p.add_argument(
        "--device", action="append", default=[], metavar="NAME", help="for this device, whatever the cases say; repeats"
    )
    p.add_argument(
        "--cudnn", action="append", default=[], metavar="DIR", help="a folder with libcudnn.so.9 or its wheel; repeats"
    )
    p.add_argument(
        "--jobs",
        type=int,
        default=min(os.cpu_count() or 1, 4),
        metavar="N",
        help="processes that ask (default: %(default)s)",
    )
    p.add_argument("--fresh", action="store_true", help="ask everything again: no cache, no entries of the file")
    p.add_argument("--prune", action="store_true", help="drop what the cases do not need")
    p.add_argument(
        "--check",
        action="store_true",
        help="write nothing; query everything again and compare with the file; with --prune, list what no case needs",
    )
    p.add_argument(
        "--installed",
        action="store_true",
        help="ask only the libraries that are here; with --check, the entries of the others "
        "have to be there and are not asked again",
    )
    p.add_argument("--cache", metavar="DIR", help="where answers are kept (default: ~/.cache/memspec)")
    return p


class GivenUp(Exception):
    """The call was not asked: too many processes were lost before it."""


@dataclass
class Group:
    """What the cases need of one answerer, and what became of it."""

    wanted: dict[str, Any]  # as memspec says it
    calls: list[dict[str, Any]]
    by: Answerer  # who answers; another version than wanted where one stands in
    found: torchwheel.Found
    failures: list[tuple[dict[str, Any], Exception]] = field(default_factory=list)


Start = Callable[[], query.Process]


def ask(
    start: Start,
    calls: list[dict[str, Any]],
    jobs: int,
    answered: Callable[[dict[str, Any], dict[str, Any] | Exception], None],
) -> None:
    """Ask all calls with so many processes. A process that is lost costs the call it was lost on,
    and is started again; after PATIENCE losses in a row that took WASTE seconds the rest is given
    up. answered gets each call with its answer, or with why there is none."""
    work: queue.Queue[dict[str, Any]] = queue.Queue()
    for c in calls:
        work.put(c)
    lock = threading.Lock()
    lost: list[float] = []  # the seconds that each loss in a row took, of all processes
    unable: list[query.Unable] = []

    def report(call: dict[str, Any], answer: dict[str, Any] | Exception) -> None:
        with lock:
            answered(call, answer)

    def worker() -> None:
        process = None
        while True:
            try:
                call = work.get_nowait()
            except queue.Empty:
                break
            if unable or len(lost) >= PATIENCE and sum(lost) >= WASTE:
                report(call, unable[0] if unable else GivenUp())
                continue
            begin = time.monotonic()
            try:
                process = process or start()
                answer = process.ask(call, ANSWER)
                lost.clear()
                report(call, answer)
            except query.Unable as e:
                unable.append(e)
                report(call, e)
            except query.Refusal as e:
                lost.clear()
                report(call, e)
            except query.Lost as e:
                process = None
                lost.append(time.monotonic() - begin)
                report(call, e)
        if process:
            process.close()

    threads = [threading.Thread(target=worker, daemon=True) for _ in range(max(1, min(jobs, len(calls))))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def needed(a: argparse.Namespace, output: Path) -> tuple[list[dict[str, Any]], int]:
    """The calls of the cases by answerer, without those that the file has unless all are wanted;
    and memspec's exit code."""
    arguments = ["workspace", a.spec]
    if not (a.fresh or a.check or a.prune):
        arguments += ["--missing", "--workspace", str(output)]
    if a.torch:
        arguments += ["--torch", a.torch]
    for d in a.device:
        arguments += ["--device", d]
    answer = binary.ask(*arguments)
    if answer.err:
        say(answer.err, file=sys.stderr)
    return (answer.json["groups"] if answer.json else []), answer.code


def cache_folder(given: str | None) -> Path:
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memspec"


# cuDNN may choose otherwise without a driver; of older answers, without NVRTC
CACHE = "workspace-compiler" if query.driver() else "workspace"


def cache_file(cache: Path, by: Answerer) -> Path:
    return cache / CACHE / ("-".join(by) + ".json")


def cached(cache: Path, by: Answerer) -> Profile:
    """What was asked before; a cache that cannot be read is none."""
    try:
        return load(cache_file(cache, by))
    except ProfileError:
        return Profile()


def answer(group: Group, profile: Profile, a: argparse.Namespace, cache: Path) -> int:
    """Put the answers to a group's calls into the profile; how many were asked for now."""
    known = Profile() if a.fresh or a.check else cached(cache, group.by)
    open_calls = []
    for c in group.calls:
        if profile.get(group.by, c):
            continue
        if hit := known.get(group.by, c):
            profile.add(group.by, c, hit)
        else:
            open_calls.append(c)
    bar, fresh = Progress(len(open_calls)), Profile()

    def answered(call: dict[str, Any], got: dict[str, Any] | Exception) -> None:
        bar.start(f"{' '.join(group.by)} calls")
        if isinstance(got, Exception):
            group.failures.append((call, got))
        else:
            fresh.add(group.by, call, got)

    start = functools.partial(query.Process, group.found.folder, group.found.beside, group.by[2])
    try:
        with bar:
            ask(start, open_calls, a.jobs, answered)
    finally:  # what was answered before an interruption need not be asked again
        remember(fresh, group.by, cache)
    profile.merge(fresh)
    return len(open_calls)


def remember(fresh: Profile, by: Answerer, cache: Path) -> None:
    """Put new answers into the cache; they replace those that are there."""
    if not len(fresh):
        return
    merged = Profile()
    merged.merge(fresh)
    for e in cached(cache, by).entries(by):
        if not merged.get(by, e):
            merged.add(by, e, e)
    try:
        cache_file(cache, by).parent.mkdir(parents=True, exist_ok=True)
        merged.write(cache_file(cache, by))
    except (OSError, ProfileError) as e:
        say(f"memshim: the cache is not kept: {e}", file=sys.stderr)


def unneeded(old: Profile, wanted: list[dict[str, Any]]) -> list[str]:
    """The entries of the file that no case needs, one line each."""
    kept = Profile()
    keep(old, kept, wanted)
    return [
        f"{' '.join(by)}: {key(e)}: got {e['bytes']} B of engine {e['engine']} in the file, want nothing: no case "
        f"makes this call"
        for by in old.answerers()
        for e in old.entries(by)
        if not kept.get(by, e)
    ]


def unanswered(old: Profile, absent: list[dict[str, Any]]) -> list[str]:
    """The calls to libraries that are not here that the file has no answer to, one line each."""
    out = []
    for w in absent:
        by = (w["library"], w["version"], w["class"])
        others = (
            [o for o in old.answerers() if (o[0], o[2]) == (by[0], by[2])]
            if torchwheel.parse(w["version"]) < cudnn.OLDEST
            else [by]
        )
        out += [
            f"{' '.join(by)}: {key(c)}: got nothing in the file, want an answer"
            for c in w["calls"]
            if not any(old.get(o, c) for o in others)
        ]
    return out


def differences(old: Profile, groups: list[Group], new: Profile) -> list[str]:
    """How the file differs from what the library answers now, one line a call."""
    out = []
    for g in groups:
        for c in g.calls:
            was, now = old.get(g.by, c), new.get(g.by, c)
            if was != now and now:
                earlier = f"{was['bytes']} B of engine {was['engine']}" if was else "nothing"
                out.append(
                    f"{' '.join(g.by)}: {key(c)}: got {earlier} in the file, want {now['bytes']} B of engine "
                    f"{now['engine']}"
                )
    return out


def locate(
    wanted: list[dict[str, Any]], a: argparse.Namespace, cache: Path
) -> tuple[list[Group], list[dict[str, Any]], list[str]]:
    """The library for each group, the groups without one, and why; what cannot be found is reported and
    leaves the others."""
    groups, absent, errors = [], [], []
    for w in wanted:
        try:
            found = torchwheel.find(w, a.cudnn, cache)
        except (torchwheel.NotFound, ValueError) as e:
            absent.append(w)
            errors.append(str(e))
            continue
        by = (w["library"], found.text, w["class"])
        if found.text != w["version"]:
            nearest = (
                "" if found.version[:2] == cudnn.OLDEST[:2] else f"; nearer is {torchwheel.OLDEST_WHEEL}, see --cudnn"
            )
            say(
                f"memshim: cuDNN {w['version']} does not answer without a device, {found.text} "
                f"answers in its place{nearest}",
                file=sys.stderr,
            )
        groups.append(Group(w, w["calls"], by, found))
    return groups, absent, list(dict.fromkeys(errors))


def report_failures(groups: list[Group]) -> int:
    """Name every call that was lost with its process, and every refused one except many that share
    a reason; how many in all."""
    count = 0
    for g in groups:
        by = " ".join(g.by)
        count += len(g.failures)
        shared = collections.Counter(str(e) for _, e in g.failures if not isinstance(e, (query.Lost, GivenUp)))
        for c, e in sorted(g.failures, key=lambda f: key(f[0])):
            if not isinstance(e, GivenUp) and shared[str(e)] <= 1:
                say(f"memshim: no answer of {by} to {key(c)}: {e}", file=sys.stderr)
        if any("cublasLt" in str(e) for _, e in g.failures):
            say(
                f"memshim: {by} needs the libcublasLt of its CUDA generation: put the wheel of cuBLAS beside it, see "
                f"--cudnn",
                file=sys.stderr,
            )
        for why, n in shared.items():
            if n > 1:
                say(f"memshim: no answer of {by} to {n} calls: {why}", file=sys.stderr)
        if n := sum(isinstance(e, GivenUp) for _, e in g.failures):
            say(
                f"memshim: {n} more calls to {by} were not asked: too many processes were lost one after the other",
                file=sys.stderr,
            )
    return count


def main(arguments: list[str]) -> int:
    a = parser().parse_args(arguments)
    try:
        return run(a)
    except (binary.BinaryError, torchwheel.NotFound, ProfileError) as e:
        say(f"memshim: {e}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        say("memshim: interrupted; the answers so far are kept and will not be asked for again", file=sys.stderr)
        return INTERRUPTED


def run(a: argparse.Namespace) -> int:
    start = time.monotonic()
    if a.spec == DEFAULT_SPEC and not Path(a.spec).exists():
        say(
            f"memshim: got no {DEFAULT_SPEC} here, want the cases to ask for; memspec init writes one for an artifact",
            file=sys.stderr,
        )
        return USAGE
    output = Path(a.output) if a.output else Path(a.spec).parent / FILE
    old = load(output) if output.exists() else Profile()
    cache = cache_folder(a.cache)
    wanted, code = needed(a, output)
    if code == USAGE and not wanted:
        return USAGE
    groups, absent, errors = locate(wanted, a, cache)
    if a.installed:
        errors = []
        for w in absent:
            say(
                f"memshim: {w['library']} {w['version']} for {w['class']} is not here: {len(w['calls'])} calls are not "
                f"asked",
                file=sys.stderr,
            )
    for e in errors:
        say(f"memshim: {e}", file=sys.stderr)
    profile = Profile()
    if not (a.fresh or a.check):
        keep(old, profile, wanted if a.prune else None)
    asked = sum(answer(g, profile, a, cache) for g in groups)
    failed = report_failures(groups)
    if a.check:
        lines = differences(old, groups, profile) + unanswered(old, absent) + (unneeded(old, wanted) if a.prune else [])
        for line in lines:
            say(line)
        if lines:
            return DIFFERS
        if not errors:
            say(f"{output}: {asked} calls answered again, all as in the file")
    else:
        if a.fresh:
            keep(old, profile, wanted if a.prune else None)
        if not len(profile):
            if not failed and not errors and code == OK:
                say(f"{a.spec}: no library call to ask for")
        else:
            profile.write(output)
            say(f"{output}: {len(profile)} entries, {asked} calls asked in {time.monotonic() - start:.1f} s")
    if errors or code == USAGE:
        return USAGE
    return UNSURE if failed else OK


def keep(old: Profile, profile: Profile, wanted: list[dict[str, Any]] | None) -> None:
    """Keep the entries of the old file that are not there already: all, or only those that are
    wanted of who answered or whom it replaces."""
    for by in old.answerers():
        wants = [w for w in wanted or [] if (w["library"], w["class"]) == (by[0], by[2])]
        keys = {
            key(c)
            for w in wants
            if by[1] == w["version"] or torchwheel.parse(w["version"]) < cudnn.OLDEST
            for c in w["calls"]
        }
        for e in old.entries(by):
            if not profile.get(by, e) and (wanted is None or key(e) in keys):
                profile.add(by, e, e)
