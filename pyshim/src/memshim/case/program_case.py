"""A case whose model is a program: `memshim run` runs it as memspec.yaml states it, and keeps its
recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from memshim.allocator import recording
from memshim.case.errors import CaseError, ModelError
from memshim.origin.dependencies import Depends
from memshim.pretend.device import Device, of_case

OF_CASE = "--of-case"  # of memshim run: a file with a case, as memspec cases states it
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
    if first == "-m":
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
        command += ["--check-values", "--record", str(at / "out.rec"), "--json", str(at / "report.json"), "--"]
        said = _run([*command, *words(case)], program["cwd"], at / "said", timeout)
        found = sorted(at.glob("out*.rec"))
        if len(found) == 1:
            data = found[0].read_bytes()
            recording.write(data, path)
            return len(data)
        report = at / "report.json"
        raise _failed(json.loads(report.read_text(encoding="utf-8")) if report.exists() else None, len(found), said)


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
    own = [line for line in said if not line.startswith(("memshim", "  "))][-LINES:]
    if report is None:
        told = [line.removeprefix("memshim run: ") for line in said if line.startswith("memshim run: ")]
        return CaseError(told[-1] if told else " ".join(own) or "memshim run left no report")
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


__all__ = ["OF_CASE", "ProgramCase", "capture", "read", "variables", "words"]
