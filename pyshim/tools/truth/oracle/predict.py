"""What memspec predicts for the runs: a memspec.yaml for each model, cuDNN asked for its
convolutions, and the report of every case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oracle.configuration import PREDICTIONS, Prediction, Run

from memshim import binary
from memshim.pretend import convolutions, support


def describe(value: Any, channels_last: bool) -> Any:
    """An input as memspec.yaml has it."""
    import record_case

    if channels_last and hasattr(value, "dim") and value.dim() == 4:
        return {
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "memory_format": "channels_last",
        }
    return record_case.describe(value)


def spec(model: Any, runs: Iterable[Run], archives: Path, kinds: Iterable[str]) -> dict:
    """memspec.yaml of one model; a case's name is the prediction's and the run's."""
    models: dict[str, Any] = {}
    for p in PREDICTIONS:
        path = archives / f"{model.name}.{p.artifact}.pt"
        if p.artifact not in kinds:
            continue
        cases = []
        for run in runs:
            if run.run != p.run():
                continue
            case = {
                "name": f"{p.artifact} {p.runtime} {run.key()}",
                "device": run.device,
                "runtime": p.runtime,
                "inputs": [describe(x, run.setting == "channels_last") for x in model.inputs(run.batch)],
            }
            cases.append(case | ({"autocast": "float16"} if run.setting == "autocast" else {}))
        if cases:
            models[f"{p.artifact} {p.runtime}"] = {
                "artifact": os.path.relpath(path, archives.parent / "specs" / model.name),
                "cases": cases,
            }
    return {
        "version": 1,
        "defaults": {"torch": ".".join(map(str, support.torch_here().release)), "budget": {"allocated": "1024TiB"}},
        "models": models,
    }


def reports(model: Any, runs: Iterable[Run], cache: Path, kinds: Iterable[str]) -> dict[tuple[Prediction, Run], dict]:
    """Every prediction's account, or its error under the key error."""
    runs = list(runs)
    folder = cache / "specs" / model.name
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(spec(model, runs, cache / "archives", kinds), indent=1)
    path = folder / "memspec.yaml"
    if json.loads(text)["models"] == {}:
        return {}
    if not path.exists() or path.read_text() != text or not (folder / "asked").exists():
        path.write_text(text)
        command = [sys.executable, "-m", "memshim", "workspace", "--jobs", "2", "--cache", str(cache / "cudnn")]
        if named := os.environ.get(convolutions.FOLDER):
            command += ["--cudnn", named]
        asked = subprocess.run([*command, str(path)], capture_output=True, text=True)
        (folder / "asked").write_text(asked.stdout + asked.stderr)
    p = subprocess.run([binary.find(), "check", "--format", "json", str(path)], capture_output=True, text=True)
    if p.returncode not in (0, 1, 2, 3) or not p.stdout:
        raise RuntimeError(f"{model.name}: memspec check: {p.stderr.strip()[-300:]}")
    by_name = {c["name"]: c for c in json.loads(p.stdout)["cases"]}
    out = {}
    for p_ in PREDICTIONS:
        for run in runs:
            if (case := by_name.get(f"{p_.artifact} {p_.runtime} {run.key()}")) is not None:
                out[p_, run] = case.get("report") or {"error": case.get("error") or "no report"}
    return out
