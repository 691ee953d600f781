"""What a file was made from, so that it can be told when it is stale: the source and what it imported of the project, the model's parameters,
versions, and the command that makes the file again (engine/recording/FORMAT.md, "made")."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from memshim.run.frames import OWN

MOST = 10_000  # files
_INSTALLED = ("site-packages", "dist-packages")


def made(beside: str | os.PathLike, source: str, folder: str, model: Any, command: list[str]) -> dict[str, Any]:
    """Of a file that is to lie at beside. source: as a case has it, relative to folder; its module is imported. model: a module, or None."""
    import torch

    file = source.rpartition(":")[0]
    first = os.path.abspath(os.path.join(folder, file)) if file.endswith(".py") else getattr(sys.modules.get(file), "__file__", None)
    found = imported(root(os.path.dirname(first) if first else folder, folder), first)
    base = os.path.dirname(os.path.abspath(beside))
    files = sorted(({"path": os.path.relpath(f, base).replace(os.sep, "/"), "sha256": digest(f)} for f in found), key=lambda f: f["path"])
    return {"files": files[:MOST], "parameters": parameters(model),
            "versions": versions(torch.__version__), "command": command}


def versions(torch: str) -> dict[str, str]:
    """Of what takes part."""
    return {"memshim": version(), "python": platform.python_version(), "torch": str(torch)}


def differences(file: str | os.PathLike, told: dict[str, Any], model: Any) -> list[str]:
    """What is not so any more of what a file says it was made from: of files of the project, and of the parameters of the live model."""
    base, out = os.path.dirname(os.path.abspath(file)), []
    for f in told["files"]:
        path = os.path.join(base, f["path"])
        if not os.path.isfile(path):
            out.append(f"{f['path']} is gone")
        elif digest(path) != f["sha256"]:
            out.append(f"{f['path']} has changed")
    now, then = {n: (d, s) for n, d, s in parameters(model)}, {n: (d, s) for n, d, s in told["parameters"]}
    for name in [*then, *(n for n in now if n not in then)]:
        if then.get(name) != now.get(name):
            out.append(f"{name} {_is(now.get(name), 'is')}, {_is(then.get(name), 'was')}")
    return out


def _is(told: tuple[str, list[int]] | None, word: str) -> str:
    return f"{word} {told[0]}[{','.join(map(str, told[1]))}]" if told else f"{word} not there"


def parameters(model: Any) -> list[list]:
    """Name, dtype and sizes of parameters and buffers."""
    if not hasattr(model, "state_dict"):
        return []
    import torch

    state = model.state_dict(keep_vars=True)
    return [[n, str(t.dtype).removeprefix("torch."), list(t.shape)] for n, t in state.items() if isinstance(t, torch.Tensor)]


def version() -> str:
    try:
        return metadata.version("memshim")
    except metadata.PackageNotFoundError:
        return ""


def root(start: str, folder: str) -> str:
    """The project's: the nearest folder upwards that holds .git, else the memspec.yaml's, else the source's."""
    at = Path(start).resolve()
    for p in (at, *at.parents):
        if (p / ".git").exists():
            return str(p)
    spec = Path(folder).resolve()
    return str(spec) if at.is_relative_to(spec) else str(at)


def imported(project: str, first: str | None) -> set[str]:
    """The files of modules that are the project's own; first is among them in any event."""
    out = {first} if first else set()
    for m in list(sys.modules.values()):
        file = getattr(m, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and os.path.isfile(file):
            path = os.path.abspath(file)
            if path.startswith(project + os.sep) and not path.startswith(OWN) and not any(f"{os.sep}{p}{os.sep}" in path for p in _INSTALLED):
                out.add(path)
    return out


def digest(file: str | os.PathLike) -> str:
    r"""SHA-256 of a file with every \r\n read as \n: a checkout on Windows is the same."""
    return hashlib.sha256(Path(file).read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def modules(model: Any) -> list[str]:
    """The modules that hold tensors, parents first, in the order in which they are moved to a device; [] where a program tells it: one names parameters before
    buffers, and so has no place for a module of buffers alone."""
    own = [(name, m) for name, m in model.named_modules() if name and any(t is not None for t in [*m._parameters.values(), *m._buffers.values()])]
    alone = any(next(m.parameters(), None) is None for _, m in own)
    return [name for name, _ in own] if alone else []
