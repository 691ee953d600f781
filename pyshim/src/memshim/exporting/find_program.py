"""The program that a live model runs, which stands in the sidecar where torch.export gives another
one."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import subprocess
import tempfile
from typing import Any

from memshim import binary
from memshim.exporting import compare_operators, eager_program, gpu_program


def find(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, of: Any = None
) -> tuple[Any, list[list[str]]] | None:
    """The program that eager runs, as export gives it; None where there is none that the live model
    agrees with, or where it leaves fewer sizes open than the program that it stands beside (of).
    Where the host's is not what a GPU runs, it is the GPU's (memshim.exporting.gpu_program)."""

    def on_host() -> tuple[Any, list[list[str]]] | None:
        found = eager_program.export(model, args, kwargs, dynamic_shapes)
        return found if compare_operators.compare(model, found[0], args, kwargs)["same"] else None

    for attempt in (on_host, lambda: gpu_program.find(model, args, kwargs, dynamic_shapes)):
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # what torch.export logs of an attempt
                found = attempt()
        except Exception:  # whatever the user's module or tracing it raises: the artifact itself is made
            continue
        if found and (of is None or open_sizes(of) <= open_sizes(found[0])):
            return found
    return None


def pack(found: tuple[Any, list[list[str]]] | None) -> dict[str, Any]:
    """What the sidecar says of it: {"eager": {"program": BASE64, "releases": […]}}, the program
    without weights."""
    import torch

    if found is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "eager.pt2")
        with gpu_program.weights_as_in_graph(found[0]) if gpu_program.apart(found[0]) else contextlib.nullcontext():
            torch.export.save(found[0], file)
        with open(stripped(file, folder), "rb") as f:
            return {"eager": {"program": base64.b64encode(f.read()).decode(), "releases": found[1]}}


def stripped(file: str, folder: str) -> str:
    """A copy of an archive without its weights."""
    out = os.path.join(folder, "stripped")
    p = subprocess.run([binary.find(), "strip", file, "-o", out], capture_output=True, text=True)
    if p.returncode:
        raise StripError(
            p.stderr.strip().replace(file, os.path.basename(file)) or f"memspec strip ended with {p.returncode}"
        )
    return out


class StripError(Exception):
    """An archive cannot be written without weights. The text is for the user."""


def open_sizes(program: Any) -> set[tuple[str, int]]:
    """The inputs' dimensions that a program leaves open."""
    inputs = set(program.graph_signature.user_inputs)
    out = set()
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and node.name in inputs and hasattr(value, "shape"):
            out |= {(node.name, i) for i, n in enumerate(value.shape) if not isinstance(n, int)}
    return out
