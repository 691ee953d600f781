"""A case whose model is a program: `memshim run` runs it as memspec.yaml states it, and keeps its
recording."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from memshim.allocator import recording
from memshim.case.errors import CaseError, ModelError
from memshim.files import write_whole
from memshim.origin.dependencies import Depends
from memshim.pretend.device import Device, of_case

RANKS = ".ranks.json"  # the file that lists the recordings of a case's ranks (engine/recording/FORMAT.md)
OF_CASE = "--of-case"  # of memshim run and memshim serve: a file with a case, as memspec cases states it
LINES = 3  # of the program's last words, where it fails


class ProgramCase(NamedTuple):
    """A case as memshim run takes it."""

    case: dict[str, Any]
    path: str  # where the recording is to lie

    @property
    def device(self) -> Device:
        return of_case(self.case["device"])

    @property
    def assume(self) -> dict[str, Any]:
        return {a["place"]: a.get("values") or a["size"] for a in self.case["assume"]}

    def enter(self) -> None:
        """Set this process's environment as the case states it."""
        for name, value in variables(self.case).items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        # where the program finds memshim, whatever PYTHONPATH the case states
        own = str(Path(__file__).parents[2])
        paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != own]
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, own])

    def wanted(self) -> dict[str, Any]:
        """What each process of the program is given of the case (program/observe.py)."""
        of = Depends.of(self.case)
        return {
            "record": self.path,
            "command": self.case["command"],
            "case": self.case["name"],
            "dir": os.path.abspath(self.case["dir"]),
            # its variables are stated in memspec.yaml: the caller's own do not count
            "depends": of._replace(ignore=(*of.ignore, *(f"${name}" for name in variables(self.case)))),
        }


def variables(case: dict[str, Any]) -> dict[str, str | None]:
    """The variables that a case sets, None for those that it removes."""
    workspace = case["cublas_workspace"]
    return {**({"CUBLAS_WORKSPACE_CONFIG": workspace} if workspace else {}), **case["program"]["env"]}


def read(file: str) -> ProgramCase:
    """The case of --of-case."""
    with open(file, encoding="utf-8") as f:
        return ProgramCase(**json.load(f))


def words(case: dict[str, Any]) -> list[str]:
    """The program's command: a script's path is as its working folder has it."""
    program = case["program"]
    first, *rest = program["words"]
    if first == "-m" or program["serve"] and not first.endswith(".py"):
        return list(program["words"])
    script = os.path.abspath(os.path.join(case["dir"], first))
    return [os.path.relpath(script, os.path.abspath(program["cwd"])), *rest]


def capture(case: dict[str, Any], path: str, timeout: float) -> int:
    """Write the recording of one case; its size. Errors: MeasureError."""
    program = case["program"]
    if not os.path.isdir(program["cwd"]):
        raise CaseError(f"{program['cwd']}: no such folder")
    with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
        at = Path(folder)
        (at / "case.json").write_text(json.dumps({"case": case, "path": os.path.abspath(path)}), encoding="utf-8")
        if program["serve"]:
            return _capture_engine(case, path, at, timeout)
        command = [
            sys.executable,
            "-m",
            "memshim",
            "run",
            "--on",
            case["device"]["name"],
            OF_CASE,
            str(at / "case.json"),
        ]
        command += [*options(program), "--record", str(at / "out.rec"), "--json", str(at / "report.json"), "--"]
        said = _run([*command, *words(case)], program["cwd"], at / "said", timeout)
        report = _report(at / "report.json")
        if program["ranks"] and report:
            ranks = _of_ranks(at)
            if any(map(_cut_short, report["ranks"])) or any(r["rank"] not in ranks for r in report["ranks"]):
                raise _failed_rank(report, ranks, said)
            return _keep_ranks(report, ranks, path)
        found = sorted(at.glob("out*.rec"))
        if len(found) == 1 and not program["ranks"]:
            data = found[0].read_bytes()
            recording.write(data, path)
            return len(data)
        raise _failed(report, len(found), said)


def _capture_engine(case: dict[str, Any], path: str, at: Path, timeout: float) -> int:
    """Write the recording of an engine's start; its size. Errors: MeasureError."""
    command = [sys.executable, "-m", "memshim", "serve", "--on", case["device"]["name"], OF_CASE, str(at / "case.json")]
    said = _run([*command, "-o", str(at / "out.rec"), "--", *words(case)], case["program"]["cwd"], at / "said", timeout)
    if not (at / "out.rec").exists():
        lines = [line.removeprefix("memshim serve: ") for line in said]
        raise ModelError("; ".join(lines[:1] + lines[1:][-LINES:]) or "memshim serve left no recording")
    data = (at / "out.rec").read_bytes()
    recording.write(data, path)
    return len(data)


def options(program: dict[str, Any]) -> list[str]:
    """How memshim run runs a case's program."""
    steps = ["--steps", str(program["steps"])] if program["steps"] else []
    steps.append("--check-values")
    if not (ranks := program["ranks"]):
        return steps
    node = ["--nproc-per-node", str(ranks["nproc_per_node"])] if ranks["nproc_per_node"] else []
    which = ["--rank", ",".join(ranks["run"])] if ranks["run"] else []
    return [*steps, "--world-size", str(ranks["world_size"]), *node, *which]


def files(path: str) -> list[str]:
    """The recordings of a case: its one, or those of the ranks that its list has. Errors: OSError,
    ValueError, KeyError."""
    if not path.endswith(RANKS):
        return [path]
    found = json.loads(Path(path).read_text(encoding="utf-8"))["ranks"]
    return [_file_of(path, r["rank"]) for r in found]


def _file_of(path: str, rank: int) -> str:
    return f"{path.removesuffix(RANKS)}.rank{rank}.rec"


def _report(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _of_ranks(at: Path) -> dict[int, Path]:
    """The recordings that memshim run left, by rank."""
    return {int(f.name.removeprefix("out.rank").removesuffix(".rec")): f for f in at.glob("out.rank*.rec")}


def _keep_ranks(report: dict[str, Any], found: dict[int, Path], path: str) -> int:
    """Keep the recordings of ranks, and then their list; the bytes of all."""
    rows, size = [], 0
    for r in report["ranks"]:
        data = found[r["rank"]].read_bytes()
        recording.write(data, _file_of(path, r["rank"]))
        rows.append({"rank": r["rank"], "place": place(r), "sha256": hashlib.sha256(data).hexdigest()})
        size += len(data)
    summary = {"world_size": report["world_size"], "ranks": rows, "not_run": report["not_run"]}
    write_whole(path, (json.dumps(summary, indent=1) + "\n").encode())
    stem = Path(path.removesuffix(RANKS))
    for old in stem.parent.glob(f"{stem.name}.rank*.rec"):
        if str(old) not in {_file_of(path, r["rank"]) for r in rows}:
            old.unlink()  # of ranks that an earlier run had
    return size


def place(row: dict[str, Any]) -> str:
    """dp 0 of 2, tp 1 of 2, stage 3."""
    dims = [f"{d['name']} {d['index']} of {d['size']}" for d in row["place"] if d["size"] > 1]
    stages = row["stages"]
    return ", ".join([*dims, *([f"stage{'s'[: len(stages) > 1]} {' and '.join(map(str, stages))}"] if stages else [])])


def _cut_short(row: dict[str, Any]) -> bool:
    """Whether a rank failed for another reason than memory: its recording is of a part of the run."""
    return not row["out_of_memory"] and bool(row["exit"] or any(p["failed"] for p in row["processes"]))


def _failed_rank(report: dict[str, Any], found: dict[int, Path], said: list[str]) -> ModelError:
    """Why there is not a recording of each rank."""
    bad = next(filter(_cut_short, report["ranks"]), None)
    if bad is not None:
        own = _own(said)
        return ModelError(f"rank {bad['rank']} ended with {bad['exit']}" + (f": {own[-1]}" if own else ""))
    lost = next(r["rank"] for r in report["ranks"] if r["rank"] not in found)
    return ModelError(f"rank {lost} took nothing of the pretend GPU")


def _own(said: list[str]) -> list[str]:
    """The program's last words."""
    return [line for line in said if not line.startswith(("memshim", "  "))][-LINES:]


def _run(command: list[str], folder: str, said: Path, timeout: float) -> list[str]:
    """Run memshim run to its end; the last lines of its standard error."""
    from memshim.case import process

    with open(said, "wb") as to:
        p = process._start(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=to)
        try:
            p.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ModelError(f"not done after {timeout:g} s") from None
        finally:
            process.end(p)
    text = said.read_text(encoding="utf-8", errors="replace")
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _failed(report: dict[str, Any] | None, recordings: int, said: list[str]) -> ModelError | CaseError:
    """Why there is not one recording."""
    own = _own(said)
    if report is None:
        printed = [line.removeprefix("memshim run: ") for line in said if line.startswith("memshim run: ")]
        return CaseError(printed[-1] if printed else " ".join(own) or "memshim run left no report")
    if report["exit"]:
        last = own[-1] if own else ""
        return ModelError(f"the program ended with {report['exit']}" + (f": {last}" if last else ""))
    if recordings > 1:
        return ModelError(
            f"got recordings of {recordings} processes or GPUs, want one: memshim run --record keeps each"
        )
    bad = [p for p in report["processes"] if p["failed"]]
    if bad:
        return ModelError(f"its process {' '.join(bad[0]['arguments'][:2])} failed")
    return ModelError("the program took nothing of the pretend GPU")


__all__ = ["OF_CASE", "ProgramCase", "capture", "files", "options", "place", "read", "variables", "words"]
