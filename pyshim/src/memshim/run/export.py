"""Writes an artifact that memspec reads, and beside it the inputs it was made with (ARTIFACT.inputs.json).

    python -m memshim export models/zoo.py:resnet50 --input 'x=float32[1,3,224,224]' -o resnet50.pt [--kind trace] [--strip]
    python -m memshim export memspec.yaml                 every artifact of it that has a source
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from memshim import binary, cases
from memshim.run import inputs
from memshim.run.build import BuildError, load_source

KINDS = ("script", "trace", "export")
SIDECAR = ".inputs.json"


class ExportError(Exception):
    """The artifact cannot be written. The text is for the user."""


def export(model, path: str | os.PathLike, *args: Any, kind: str = "script", strip: bool = False, **kwargs: Any) -> Path:
    """Write model as an artifact; args and kwargs are the inputs to trace or export with, and are told in the sidecar.

    kind: script or trace for a TorchScript archive, export for an exported program. strip: without weights, small enough to commit. The model's
    training mode is as before after; it is written in evaluation mode. The file appears whole or not at all.
    """
    if kind not in KINDS:
        raise ExportError(f"got kind {kind!r}, want one of {', '.join(KINDS)}")
    if kind != "script" and not args and not kwargs:
        raise ExportError(f"kind {kind}: got no inputs, want those to run the model with")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    modes = {m: m.training for m in model.modules()}
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        made = os.path.join(folder, path.name)
        try:
            model.eval()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # torch.jit is deprecated, and still the commonest kind there is
                warnings.simplefilter("ignore", DeprecationWarning)
                _save(model, made, kind, args, kwargs)
        finally:
            for m, training in modes.items():
                m.training = training
        if strip:
            made = _strip(made, folder)
        texts = [inputs.show(inputs.of(v)) for v in args] + [f"{k}={inputs.show(inputs.of(v))}" for k, v in kwargs.items()]
        sidecar = os.path.join(folder, path.name + SIDECAR)
        with open(sidecar, "w", encoding="utf-8") as f:
            json.dump({"inputs": texts}, f, indent=2, ensure_ascii=False)
            f.write("\n")
        os.replace(made, path)
        if texts:
            os.replace(sidecar, str(path) + SIDECAR)
    return path


def _save(model, file: str, kind: str, args: tuple, kwargs: dict) -> None:
    import torch

    if kind == "export":
        torch.export.save(torch.export.export(model, args, kwargs), file)
        return
    with torch.no_grad():
        if kind == "script":
            made = torch.jit.script(model)
        elif kwargs:
            made = torch.jit.trace(model, example_inputs=None if not args else args, example_kwarg_inputs=kwargs)
        else:
            made = torch.jit.trace(model, args)
    made.save(file)


def _strip(file: str, folder: str) -> str:
    out = os.path.join(folder, "stripped")
    p = subprocess.run([binary.find(), "strip", file, "-o", out], capture_output=True, text=True)
    if p.returncode:
        raise ExportError(p.stderr.strip().replace(file, os.path.basename(file)) or f"memspec strip ended with {p.returncode}")
    return out


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(prog="python -m memshim export", description="Write artifacts that memspec reads, with their inputs beside them.")
    p.add_argument("source", help="FILE.py:NAME, or a memspec.yaml for every model of it that has source: and artifact:")
    p.add_argument("-o", "--output", metavar="FILE", help="the artifact to write")
    p.add_argument("--input", action="append", default=[], metavar="INPUT", help="such as 'x=float32[B,3,224,224]'; repeats, without a name in order")
    p.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="a dimension's value; repeats")
    p.add_argument("--case", action="append", default=[], metavar="NAME", help="of a memspec.yaml; repeats")
    p.add_argument("--kind", choices=KINDS, help="script (default), trace, or export for an exported program")
    p.add_argument("--strip", action="store_true", help="without weights, small enough to commit")
    a = p.parse_args(arguments)
    try:
        if a.source.endswith((".yaml", ".yml")):
            return _export_spec(a)
        if not a.output:
            p.error("got no -o FILE, want the artifact to write")
        _export_source(a)
        return 0
    except (BuildError, ExportError, inputs.InputError, cases.SpecError, binary.BinaryError) as e:
        print(f"memshim: {e}", file=sys.stderr)
        return 2


def _export_source(a: argparse.Namespace) -> None:
    args, kwargs = inputs.make(a.input, inputs.parse_dims(a.dim))
    if {"args", "kwargs", "model", "path", "kind", "strip"} & set(kwargs):
        raise ExportError(f"got an input named {min(kwargs)!r}: give it by position")
    kind = a.kind or ("export" if a.output.endswith(".pt2") else "script")
    print(export(load_source(a.source), a.output, *args, kind=kind, strip=a.strip, **kwargs))


def _export_spec(a: argparse.Namespace) -> int:
    if a.output or a.input or a.dim:
        raise ExportError("got -o, --input or --dim beside a memspec.yaml, want none: it says all of it")
    done = set()
    for case in cases.load(a.source, a.case):
        if not case["source"] or not case["artifact"] or case["artifact"] in done:
            continue
        done.add(case["artifact"])
        args, kwargs = inputs.make(case["inputs"], dtype=case["dtype"])
        kind = a.kind or ("export" if case["artifact"].endswith(".pt2") else "script")
        print(export(load_source(case["source"], case["dir"]), case["artifact"], *args, kind=kind, strip=a.strip, **kwargs))
    if not done:
        raise ExportError(f"{a.source}: got no model with both source: and artifact:")
    return 0
