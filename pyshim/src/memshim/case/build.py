"""A case's runnable model: from its source, or from its artifact. It is made on the CPU, then
placed on the device as its runtime does."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import io
import os
import sys
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from memshim import workdir
from memshim.case import pickles

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

STRIPPED = ".memspec/stripped.json"  # the record that memspec strip leaves


class BuildError(Exception):
    """The case cannot be built as it says. The text is for the user."""


class NothingToRun(BuildError):
    """The case says nothing that could be run: not a mistake, but no measurement either."""


class Made(NamedTuple):
    """A model before it is on the device."""

    model: Any  # a module, or an exported program
    runtime: str
    how: str  # from what, in words
    weights: int  # of parameters' and buffers' storages


class Built(NamedTuple):
    model: Any  # callable
    state: list[Any]  # parameters and buffers, in the order they are moved to the device


def load_source(source: str, folder: str = ".") -> Any:
    """models/zoo.py:resnet50 or package.module:resnet50: what that name holds; a function or a
    class that is no module is called."""
    import torch

    value = load(source, folder)
    if not isinstance(value, torch.nn.Module):
        raise BuildError(f"{source}: {source.rpartition(':')[2]} gives {type(value).__name__}, want a torch.nn.Module")
    return value


_kept: dict[tuple[str, str], tuple[Any, Any]] = {}  # models that are made, and the random numbers after


def keep(source: str, folder: str, model: Any) -> None:
    """Have load give this model, which the source has just given, the next time."""
    import torch

    _kept[source, folder] = model, torch.get_rng_state()


def load(source: str, folder: str = ".") -> Any:
    """As load_source, whatever it gives."""
    import torch

    if there := _kept.pop((source, folder), None):
        torch.set_rng_state(there[1])
        return there[0]
    value = named(source, folder)
    return value() if not isinstance(value, torch.nn.Module) and callable(value) else value


def named(source: str, folder: str = ".") -> Any:
    """What that name holds."""
    workdir.show()
    where, _, name = source.rpartition(":")
    if not where or not name:
        raise BuildError(f"got source {source!r}, want FILE.py:NAME or package.module:NAME")
    value = module = _from_file(where, folder) if where.endswith(".py") else _from_package(where, folder)
    for part in name.split("."):
        if not hasattr(value, part):
            file = (
                os.path.normpath(os.path.join(folder, where))
                if where.endswith(".py")
                else getattr(module, "__file__", None) or where
            )
            raise BuildError(f"{file}: got no {name}")
        value = getattr(value, part)
    return value


def _from_file(file: str, folder: str) -> Any:
    """The module of a file: as a part of its package where it lies in one, so that it may import
    its neighbours."""
    path = os.path.abspath(os.path.join(folder, file))
    if not os.path.isfile(path):
        raise BuildError(f"{os.path.normpath(os.path.join(folder, file))}: no such file")
    at, name = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    while os.path.isfile(os.path.join(at, "__init__.py")):
        at, name = os.path.dirname(at), f"{os.path.basename(at)}.{name}"
    _first_on_path(at)
    there = sys.modules.get(name)
    if there is not None and getattr(there, "__file__", None) == path:
        return there
    if there is not None or importlib.util.find_spec(name.partition(".")[0]) is None or _origin(name) != path:
        # another module has its name
        name = f"{os.path.splitext(os.path.basename(path))[0]}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # of a .py file
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(name)


def _origin(name: str) -> str | None:
    """The file that importing a module would run."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return os.path.abspath(spec.origin) if spec and spec.origin else None


def _from_package(name: str, folder: str) -> Any:
    _first_on_path(os.path.abspath(folder))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name and (name == e.name or name.startswith(e.name + ".")):
            raise BuildError(f"got source {name!r}, and Python finds no module {e.name}") from None
        raise


def _first_on_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def make(case: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> Made:
    """The model as the case's runtime has it, on the CPU and of the case's dtype. args and kwargs
    are what it will be called with."""
    if case["mode"] != "inference":
        raise NothingToRun(f"got mode {case['mode']}, want inference: a training step is not measured yet")
    runtime = case["runtime"] or "eager"
    return {"eager": _eager, "torchscript": _torchscript, "export": _export}[runtime](case, args, kwargs)


def place(made: Made, device: str) -> Built:
    """Move a model to the device in the order, and with the sizes, that its runtime does."""
    if made.runtime == "torchscript":
        model = _load_script(made.model, device)
    elif made.runtime == "export":
        program = on_device(made.model, device)
        model = program.module()
        return Built(_by_name(program, model), in_order(model))
    else:
        model = made.model.to(device)
    return Built(model, in_order(model))


def on_device(program: ExportedProgram, device: str) -> ExportedProgram:
    """An exported program whose state is there, and whose graph says so."""
    program.example_inputs = None  # which would go along
    if device == "cpu":
        return program
    from torch.export.passes import move_to_device_pass

    return move_to_device_pass(program, device)


def load_artifact(path: str, device: str) -> Any:
    """The module of an archive with its weights, which is run by PyTorch itself; an exported
    program's is on the device."""
    import torch

    runtime = _runtime_of(path)
    if any(n.endswith(STRIPPED) for n in _records(path)):
        raise BuildError(f"{path} is stripped: want the archive with its weights, or its source")
    return (
        on_device(_program(path), device).module() if runtime == "export" else torch.jit.load(path, map_location="cpu")
    )


def _program(path: str) -> ExportedProgram:
    try:
        program: ExportedProgram = pickles.load_program(path)
    except pickles.Unsafe as e:
        raise BuildError(str(e)) from None
    return program


def _by_name(program: ExportedProgram, model: Any) -> Any:
    """An exported program takes an argument by position or by name as it was exported; a case may
    name any."""
    names = program.module_call_graph[0].signature.forward_arg_names or []
    positional = names[: program.call_spec.in_spec.child(0).num_children]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(positional, args)) | kwargs
        if len(args) > len(positional) or not set(positional) <= set(given):
            return model(*args, **kwargs)  # which says what is missing
        return model(*[given.pop(name) for name in positional], **given)

    return call


def _runtime_of(artifact: str) -> str:
    """What an archive is for."""
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


def _runnable(case: dict[str, Any], runtime: str) -> bool:
    """Whether there is an artifact of that runtime with its weights."""
    path = case["artifact"]
    return (
        bool(path)
        and os.path.isfile(path)
        and not any(n.endswith(STRIPPED) for n in _records(path))
        and _runtime_of(path) == runtime
    )


def _source(case: dict[str, Any]) -> Any:
    return load_source(case["source"], case["dir"]).eval()


def _refuse(case: dict[str, Any], what: str) -> NothingToRun:
    why = f"{case['artifact']} is stripped, not there or another kind" if case["artifact"] else "there is no artifact"
    return NothingToRun(f"{what}: {why}; give source: in memspec.yaml")


def _cast(model: Any, case: dict[str, Any]) -> Any:
    import torch

    return model.to(dtype=getattr(torch, case["dtype"])) if case["dtype"] else model


def accepts(model: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise a BuildError where the inputs are none that the module's forward takes."""
    signature = inspect.signature(model.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        given = ", ".join([*("one without a name" for _ in args), *kwargs]) or "none"
        raise BuildError(
            f"got inputs {given}; want those of "
            f"{type(model).__name__}.forward({', '.join(map(_parameter, signature.parameters.values()))})"
        ) from None


def _parameter(p: inspect.Parameter) -> str:
    return str(p.replace(annotation=p.empty, default=p.empty)) + ("" if p.default is p.empty else "=…")


def _eager(case: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> Made:
    if not case["source"]:
        raise NothingToRun(
            "runtime eager is measured on the live model: give source: in memspec.yaml (runtime: torchscript or export "
            "is measured "
            "on the artifact)"
        )
    model = _cast(_source(case), case)
    accepts(model, args, kwargs)
    return Made(model, "eager", "source", _nbytes(in_order(model)))


def _torchscript(case: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> Made:
    import torch

    if _runnable(case, "torchscript"):
        if not case["dtype"]:
            return Made(
                case["artifact"],
                "torchscript",
                "artifact",
                _nbytes(in_order(torch.jit.load(case["artifact"], map_location="cpu"))),
            )
        model, how = torch.jit.load(case["artifact"], map_location="cpu"), "artifact"
    elif not case["source"]:
        raise _refuse(case, "runtime torchscript is measured on the archive")
    else:
        source = _source(case)
        try:
            model, how = torch.jit.script(source), "source, scripted"
        except Exception:  # whatever scripting says of a model that it does not take
            example = {"example_kwarg_inputs": kwargs} if kwargs else {"example_inputs": tuple(args)}
            model, how = torch.jit.trace(source, **example), "source, traced"
    model = _cast(model, case)
    return Made(model, "torchscript", how, _nbytes(in_order(model)))


def _load_script(model: Any, device: str) -> Any:
    """As an archive is loaded: its tensors go to the device one by one, in the order of its
    data.pkl and of the dtype they are to have there."""
    import torch

    if isinstance(model, str):
        return torch.jit.load(model, map_location=device)
    if device == "cpu":
        return model
    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer, map_location=device)


def _export(case: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> Made:
    import torch

    if _runnable(case, "export"):
        program, how = _program(case["artifact"]), "artifact"
        if case["dtype"]:
            kind = getattr(torch, case["dtype"])
            for state in (program.state_dict, program.constants):
                for name, t in state.items():
                    if isinstance(t, torch.Tensor) and t.is_floating_point():
                        cast = t.detach().to(kind)
                        state[name] = (
                            torch.nn.Parameter(cast, t.requires_grad) if isinstance(t, torch.nn.Parameter) else cast
                        )
    elif case["source"]:
        program, how = torch.export.export(_cast(_source(case), case), tuple(args), kwargs), "source, exported"
    else:
        raise _refuse(case, "runtime export is measured on the exported program")
    return Made(
        program, "export", how, _nbytes([t for t in program.state_dict.values() if isinstance(t, torch.Tensor)])
    )


def _nbytes(tensors: list[Any]) -> int:
    from memshim.gpu.storages import nbytes

    return nbytes(tensors)


def in_order(model: torch.nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers as nn.Module._apply moves them: children first, then its own. Each
    storage once."""
    from memshim.gpu.storages import storages

    out: list[torch.Tensor] = []
    seen: set[int] = set()

    def visit(module: torch.nn.Module) -> None:
        for child in module.children():
            visit(child)
        for t in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
            keys = {s._cdata for s in storages(t)}
            if not keys or not keys <= seen:
                seen.update(keys)
                out.append(t)

    visit(model)
    return out
