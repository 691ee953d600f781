"""A case's runnable model: from its source, or from its artifact."""

from __future__ import annotations

import importlib.util
import os
import sys
import zipfile
from typing import Any, NamedTuple

STRIPPED = ".memspec/stripped.json"  # the record that memspec strip leaves


class BuildError(Exception):
    """The case cannot be built as it says. The text is for the user."""


class Built(NamedTuple):
    model: Any  # callable
    state: list  # parameters and buffers, in the order they are moved to the device
    runtime: str
    how: str  # in words


def load_source(source: str, folder: str = "."):
    """models/zoo.py:resnet50: what that name holds; a function that is no module is called."""
    import torch

    file, _, name = source.rpartition(":")
    path = os.path.normpath(os.path.join(folder, file))
    if not file.endswith(".py") or not name:
        raise BuildError(f"got source {source!r}, want FILE.py:NAME")
    if not os.path.isfile(path):
        raise BuildError(f"{path}: no such file")
    stem = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    value = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise BuildError(f"{path}: got no {name}")
        value = getattr(value, part)
    if not isinstance(value, torch.nn.Module) and callable(value):
        value = value()
    if not isinstance(value, torch.nn.Module):
        raise BuildError(f"{path}: {name} gives {type(value).__name__}, want a torch.nn.Module")
    return value


def build(case: dict, device: str, args: list, kwargs: dict) -> Built:
    """The model as the case's runtime has it, on the device. args and kwargs are what it will be called with, on the CPU."""
    import torch

    if case["mode"] != "inference":
        raise BuildError(f"got mode {case['mode']}, want inference: a training step is not measured yet")
    runtime = case["runtime"] or "eager"
    makers = {"eager": _eager, "torchscript": _torchscript, "export": _export}
    model, how = makers[runtime](case, device, args, kwargs)
    if case["dtype"]:
        model = model.to(dtype=getattr(torch, case["dtype"]))
    model = model.to(device)
    return Built(model, in_order(model), runtime, how)


def _runtime_of(artifact: str) -> str:
    """What an archive is for; eager where there is none."""
    if not artifact:
        return "eager"
    names = _records(artifact)
    if any(n.split("/", 1)[-1].startswith("code/") for n in names):
        return "torchscript"
    if any(n.endswith(("serialized_exported_program.json", "archive_format")) or "/models/" in n for n in names):
        return "export"
    raise BuildError(f"{artifact}: got neither a TorchScript archive nor an exported program")


def _records(artifact: str) -> list[str]:
    try:
        with zipfile.ZipFile(artifact) as z:
            return z.namelist()
    except FileNotFoundError:
        raise BuildError(f"{artifact}: no such file") from None
    except zipfile.BadZipFile:
        raise BuildError(f"{artifact}: not an archive of PyTorch") from None


def _runnable(case: dict, runtime: str) -> bool:
    """Whether there is an artifact of that runtime with its weights."""
    path = case["artifact"]
    return bool(path) and os.path.isfile(path) and not any(n.endswith(STRIPPED) for n in _records(path)) and _runtime_of(path) == runtime


def _source(case: dict):
    model = load_source(case["source"], case["dir"])
    return model.eval()


def _refuse(case: dict, what: str) -> BuildError:
    why = f"{case['artifact']} is stripped, not there or another kind" if case["artifact"] else "there is no artifact"
    return BuildError(f"{what}: {why}; give source: in memspec.yaml")


def _eager(case: dict, device: str, args: list, kwargs: dict):
    if not case["source"]:
        raise BuildError("runtime eager is measured on the live model: give source: in memspec.yaml (runtime: torchscript or export is measured on the artifact)")
    return _source(case), "source"


def _torchscript(case: dict, device: str, args: list, kwargs: dict):
    import torch

    if _runnable(case, "torchscript"):
        return torch.jit.load(case["artifact"], map_location=device), "artifact"
    if not case["source"]:
        raise _refuse(case, "runtime torchscript is measured on the archive")
    model = _source(case)
    try:
        return torch.jit.script(model), "source, scripted"
    except Exception:  # whatever scripting says of a model that it does not take
        return torch.jit.trace(model, example_inputs=tuple(args) or None, example_kwarg_inputs=kwargs or None), "source, traced"


def _export(case: dict, device: str, args: list, kwargs: dict):
    import torch

    if _runnable(case, "export"):
        program, how = torch.export.load(case["artifact"]), "artifact"
    elif case["source"]:
        program, how = torch.export.export(_source(case), tuple(args), kwargs), "source, exported"
    else:
        raise _refuse(case, "runtime export is measured on the exported program")
    if device != "cpu":  # the graph names devices
        from torch.export.passes import move_to_device_pass

        program = move_to_device_pass(program, device)
    return program.module(), how


def in_order(model) -> list:
    """Parameters and buffers as nn.Module._apply moves them: children first, then its own. Each storage once."""
    out, seen = [], set()

    def visit(module) -> None:
        for child in module.children():
            visit(child)
        for t in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
            if t.untyped_storage()._cdata not in seen:
                seen.add(t.untyped_storage()._cdata)
                out.append(t)

    visit(model)
    return out
