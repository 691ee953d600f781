"""What a file was made from, so that it is known when it is stale: the source and what it imported
of the project, what the run read (dependencies.py), the model's parameters, versions, and the
command that makes the file again (engine/recording/FORMAT.md, "made")."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from memshim.frames import OWN
from memshim.origin import dependencies
from memshim.origin.dependencies import Depends, digest
from memshim.origin.reads import Reads

MOST = 10_000  # files
_INSTALLED = ("site-packages", "dist-packages")


def made(
    beside: str | os.PathLike[str],
    source: str,
    folder: str,
    model: Any,
    command: list[str],
    reads: Reads | None = None,
    of: Depends = Depends(),
) -> dict[str, Any]:
    """Of a file that is to lie at beside. source: as a case has it, relative to folder; its module
    is imported. model: a module, or None. reads: what the run read; of: what the case says of that.
    """
    import torch

    file = source.rpartition(":")[0]
    first = (
        os.path.abspath(os.path.join(folder, file))
        if file.endswith(".py")
        else getattr(sys.modules.get(file), "__file__", None)
    )
    project = root(os.path.dirname(first) if first else folder, folder)
    found = imported(project, first)
    base = os.path.dirname(os.path.abspath(beside))
    files = sorted(
        ({"path": os.path.relpath(f, base).replace(os.sep, "/"), "sha256": digest(f)} for f in found),
        key=lambda f: f["path"],
    )
    read = dependencies.of(reads.end(), project, base, folder, found, of) if reads else {}
    return {
        "files": files[:MOST],
        **read,
        "parameters": parameters(model),
        "versions": versions(torch.__version__),
        "command": command,
    }


def versions(torch: str) -> dict[str, str]:
    """Of what takes part."""
    return {"memshim": version(), "python": platform.python_version(), "torch": str(torch)}


def differences(
    file: str | os.PathLike[str], recorded: dict[str, Any], model: Any, folder: str = ".", of: Depends = Depends()
) -> list[str]:
    """What is not so any more of what a file says it was made from: of what the run read, and of
    the parameters of the live model. folder: of the memspec.yaml; of: what its case says."""
    out = dependencies.differences(os.path.dirname(os.path.abspath(file)), recorded, folder, of)
    now, then = {n: (d, s) for n, d, s in parameters(model)}, {n: (d, s) for n, d, s in recorded["parameters"]}
    for name in [*then, *(n for n in now if n not in then)]:
        if then.get(name) != now.get(name):
            out.append(f"{name} {_is(now.get(name), 'is')}, {_is(then.get(name), 'was')}")
    return out


def _is(recorded: tuple[str, list[int]] | None, word: str) -> str:
    return f"{word} {recorded[0]}[{','.join(map(str, recorded[1]))}]" if recorded else f"{word} not there"


def parameters(model: Any) -> list[list[Any]]:
    """Name, dtype and sizes of parameters and buffers."""
    if not hasattr(model, "state_dict"):
        return []
    import torch

    state = model.state_dict(keep_vars=True)
    return [
        [n, str(t.dtype).removeprefix("torch."), list(t.shape)] for n, t in state.items() if isinstance(t, torch.Tensor)
    ]


def version() -> str:
    try:
        return metadata.version("memshim")
    except metadata.PackageNotFoundError:
        return ""


def root(start: str, folder: str) -> str:
    """The project's: the nearest folder upwards that holds .git, else the memspec.yaml's, else the
    source's."""
    at = Path(start).resolve()
    for p in (at, *at.parents):
        if (p / ".git").exists():
            return str(p)
    spec = Path(folder).resolve()
    return str(spec) if at.is_relative_to(spec) else str(at)


def of_project(file: str, folder: str) -> bool:
    """Whether a file is of the project that folder is in, and not of an installed package."""
    at = os.path.abspath(file)
    return bool(file) and at.startswith(root(folder, folder) + os.sep) and not _installed(at)


def _installed(path: str) -> bool:
    return any(f"{os.sep}{p}{os.sep}" in path for p in _INSTALLED)


def imported(project: str, first: str | None) -> set[str]:
    """The files of modules that are the project's own; first is among them in any event."""
    out = {first} if first else set()
    for m in list(sys.modules.values()):
        file = getattr(m, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and os.path.isfile(file):
            path = os.path.abspath(file)
            if path.startswith(project + os.sep) and not path.startswith(OWN) and not _installed(path):
                out.add(path)
    return out


def modules(model: Any) -> list[str]:
    """The modules that hold tensors, parents first, in the order in which they are moved to a
    device; [] where a program states it: one names parameters before buffers, and so has no place
    for a module of buffers alone."""
    own = [
        (name, m)
        for name, m in model.named_modules()
        if name and any(t is not None for t in [*m._parameters.values(), *m._buffers.values()])
    ]
    alone = any(next(m.parameters(), None) is None for _, m in own)
    return [name for name, _ in own] if alone else []
