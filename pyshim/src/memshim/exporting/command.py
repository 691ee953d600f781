"""Writes an artifact that memspec reads, and beside it the inputs it was made with
(ARTIFACT.inputs.json).

    python -m memshim export models/zoo.py:resnet50 --input 'x=float32[1,3,224,224]' \
        -o resnet50.pt [--kind trace] [--strip]
    python -m memshim export memspec.yaml                 every artifact of it that has a source
    python -m memshim export memspec.yaml --check
        whether each is what its source would give now; exit 1 where one is stale
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from memshim import binary
from memshim.case import inputs, memspec_yaml
from memshim.case.build import BuildError, load_source
from memshim.exporting import compare_operators, find_program, other_dtypes
from memshim.exporting.releases import Releases
from memshim.files import write_whole
from memshim.gpu.failure import describe
from memshim.origin import provenance
from memshim.origin.dependencies import Depends
from memshim.origin.reads import Reads
from memshim.printed import say

KINDS = ("script", "trace", "export")
SIDECAR = ".inputs.json"


class ExportError(Exception):
    """The artifact cannot be written. The text is for the user."""


def export(
    model: Any,
    path: str | os.PathLike[str],
    *args: Any,
    kind: str = "script",
    strip: bool = False,
    dynamic_shapes: Any = None,
    **kwargs: Any,
) -> Path:
    """Write model as an artifact; args and kwargs are the inputs to trace or export with, and are
    reported in the sidecar.

    kind: script or trace for a TorchScript archive, export for an exported program. strip: without
    weights, small enough to commit. dynamic_shapes: the sizes that an exported program leaves open,
    as torch.export.export takes them. The model's training mode is as before after; it is written
    in evaluation mode. The file appears whole or not at all. Beside an exported program stands also
    when Python released its results, and whether the live model runs the same operators, or else,
    and beside a traced archive, the program that it runs: with that eager runs are known.
    """
    if kind not in KINDS:
        raise ExportError(f"got kind {kind!r}, want one of {', '.join(KINDS)}")
    if kind != "script" and not args and not kwargs:
        raise ExportError(f"kind {kind}: got no inputs, want those to run the model with")
    if args or kwargs:
        try:
            inspect.signature(model.forward).bind(*args, **kwargs)
        except TypeError as e:
            raise ExportError(
                f"{e}, want the inputs of {type(model).__name__}.forward{inspect.signature(model.forward)}"
            ) from None
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    modes = {m: m.training for m in model.modules()}
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        made = os.path.join(folder, path.name)
        try:
            model.eval()
            with warnings.catch_warnings():
                # torch.jit is deprecated, and still the commonest kind there is
                warnings.simplefilter("ignore", FutureWarning)
                warnings.simplefilter("ignore", DeprecationWarning)
                facts = _save(model, made, kind, args, kwargs, dynamic_shapes)
        finally:
            for m, training in modes.items():
                m.training = training
        if strip:
            made = find_program.stripped(made, folder)
        texts = [inputs.show(inputs.of(v)) for v in args] + [
            f"{k}={inputs.show(inputs.of(v))}" for k, v in kwargs.items()
        ]
        sidecar = os.path.join(folder, path.name + SIDECAR)
        with open(sidecar, "w", encoding="utf-8") as f:
            json.dump({"inputs": texts} | facts, f, indent=2 if not facts else None, ensure_ascii=False)
            f.write("\n")
        os.replace(made, path)
        if texts:
            os.replace(sidecar, str(path) + SIDECAR)
    return path


def report_made(path: str | os.PathLike[str], facts: dict[str, Any]) -> None:
    """Say in an artifact's sidecar what it was made from."""
    sidecar = Path(f"{path}{SIDECAR}")
    found = json.loads(sidecar.read_text(encoding="utf-8")) if sidecar.exists() else {"inputs": []}
    write_whole(sidecar, (json.dumps(found | {"made": facts}, indent=2, ensure_ascii=False) + "\n").encode())


def stale(path: str | os.PathLike[str], model: Any, folder: str = ".", of: Depends = Depends()) -> list[str]:
    """Why an artifact is not what its source gives now: what it was made from, and the parameters
    of the live model. ExportError: it does not say what it was made from."""
    try:
        facts = json.loads(Path(f"{path}{SIDECAR}").read_text(encoding="utf-8"))["made"]
        return provenance.differences(path, facts, model, folder, of)
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise ExportError(
            f"{path}{SIDECAR}: does not say what the artifact was made from ({type(e).__name__}): export it again"
        ) from None


def _save(
    model: Any, file: str, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> dict[str, Any]:
    """Writes the artifact and returns what the sidecar records besides the inputs."""
    import torch

    before = compare_operators.attributes(model)
    if kind == "export":
        releases = Releases()
        with torch.no_grad(), releases.watch():
            program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        facts = releases.of(program)
        torch.export.save(program, file)
        ran = compare_operators.compare(model, program, args, kwargs)
        if kept := compare_operators.keeps(before, model):
            ran = {"same": False, "first": kept}
        # what it kept by now hides what its first pass runs
        known = kept or ran["same"] or ran["first"].startswith("a second pass")
        found = None if known else find_program.find(model, args, kwargs, dynamic_shapes, program)
        return {
            "releases": facts,
            "operators": ran,
            "contiguous": compare_operators.asks_contiguous(model, args, kwargs),
            "modules": provenance.modules(model),
            "retyped": other_dtypes.compare(model, found[0] if found else program, args, kwargs),
        } | find_program.pack(found)
    with torch.no_grad():
        if kind == "script":
            archive = torch.jit.script(model)
        elif kwargs:
            archive = torch.jit.trace(model, example_inputs=args or None, example_kwarg_inputs=kwargs)
        else:
            archive = torch.jit.trace(model, args)
    archive.save(file)
    return {} if kind == "script" else trace_sidecar(model, args, kwargs, before)


def trace_sidecar(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], before: dict[str, str]) -> dict[str, Any]:
    """What the sidecar of a traced archive says of eager runs; nothing where no program is what
    the live model runs, or its passes differ. before: what its modules held before the first
    (operators.attributes)."""
    found = (
        None
        if compare_operators.keeps(before, model)
        else find_program.find(model, args, kwargs, _all_open(model, args, kwargs))
    )
    if not found or compare_operators.keeps(before, model):
        return {}
    return {
        "contiguous": compare_operators.asks_contiguous(model, args, kwargs),
        "modules": provenance.modules(model),
        "retyped": other_dtypes.compare(model, found[0], args, kwargs),
    } | find_program.pack(found)


def _all_open(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The sizes of inputs, each open if the model lets it: by parameter, as torch.export takes them
    of inputs by position, by name and of *args alike."""
    import torch
    from torch.export import Dim

    bound = inspect.signature(model.forward).bind(*args, **kwargs)
    sizes: dict[str, Any] = torch.utils._pytree.tree_map(
        lambda t: {i: Dim.AUTO for i in range(t.dim())} if isinstance(t, torch.Tensor) else None, dict(bound.arguments)
    )
    return sizes


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(
        prog="python -m memshim export",
        description="Write artifacts that memspec reads, with their inputs beside them. "
        "It runs the code that source: names: give it only code that you would run anyway.",
    )
    p.add_argument(
        "source", help="FILE.py:NAME, or a memspec.yaml for every model of it that has source: and artifact:"
    )
    p.add_argument("-o", "--output", metavar="FILE", help="the artifact to write")
    p.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="INPUT",
        help="such as 'x=float32[B,3,224,224]'; repeats, without a name in order",
    )
    p.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="a dimension's value; repeats")
    p.add_argument("--case", action="append", default=[], metavar="NAME", help="of a memspec.yaml; repeats")
    p.add_argument(
        "--kind",
        choices=KINDS,
        help="script (default; trace where that is refused), trace, or export for an exported program, the default of "
        "FILE.pt2",
    )
    p.add_argument("--strip", action="store_true", help="without weights, small enough to commit")
    p.add_argument(
        "--check", action="store_true", help="write nothing: exit 1 where an artifact is not what its source gives now"
    )
    a = p.parse_args(arguments)
    a.words = arguments
    try:
        if a.source.endswith((".yaml", ".yml")):
            return _export_spec(a)
        if not a.output:
            p.error("got no -o FILE, want the artifact to write")
        return _export_source(a)
    except (
        BuildError,
        ExportError,
        find_program.StripError,
        inputs.InputError,
        memspec_yaml.SpecError,
        binary.BinaryError,
    ) as e:
        say(f"memshim: {e}", file=sys.stderr)
        return 2


def _export_source(a: argparse.Namespace) -> int:
    reads = Reads().begin()
    model = load_source(a.source)
    if a.check:
        return _check(a.output, model)
    args, kwargs = inputs.make(a.input, inputs.parse_dims(a.dim))
    if {"args", "kwargs", "model", "path", "kind", "strip", "dynamic_shapes"} & set(kwargs):
        raise ExportError(f"got an input named {min(kwargs)!r}: give it by position")
    opened = None
    if _kind(a, a.output) == "export" and a.dim:
        # a size of 1 would be taken for fixed
        dims = {name: max(size, 2) for name, size in inputs.parse_dims(a.dim).items()}
        args, kwargs = inputs.make(a.input, dims)
        opened = _opened((args, kwargs), inputs.make(a.input, {name: size + 1 for name, size in dims.items()}))
    say(_write(a, model, a.output, args, kwargs, opened))
    report_made(
        a.output,
        provenance.made(a.output, a.source, ".", model, ["python", "-m", "memshim", "export", *a.words], reads),
    )
    return 0


def _kind(a: argparse.Namespace, path: str) -> str:
    return a.kind or ("export" if path.endswith(".pt2") else "script")


def _write(
    a: argparse.Namespace, model: Any, path: str, args: list[Any], kwargs: dict[str, Any], opened: Any = None
) -> Path:
    """The artifact of the kind that was asked for. Where none was, a model that torch.jit.script
    refuses is traced, which is said."""
    try:
        return export(model, path, *args, kind=_kind(a, path), strip=a.strip, dynamic_shapes=opened, **kwargs)
    except (ExportError, binary.BinaryError, OSError):
        raise
    except Exception as e:  # PyTorch refuses with errors of many kinds
        if a.kind or _kind(a, path) != "script" or not (args or kwargs):
            raise
        refused = describe(e).rstrip(":")
    say(
        f"memshim: torch.jit.script refuses it ({refused}): traced with these inputs, --kind script shows why",
        file=sys.stderr,
    )
    try:
        return export(model, path, *args, kind="trace", strip=a.strip, **kwargs)
    except (ExportError, binary.BinaryError, OSError):
        raise
    except Exception as e:
        raise ExportError(
            f"torch.jit.trace refuses it too ({describe(e).rstrip(':')}): want -o {Path(path).with_suffix('.pt2')}, an "
            f"exported program; "
            "or record a run of it: python -m memshim capture"
        ) from e


def _opened(
    inputs: tuple[list[Any], dict[str, Any]], others: tuple[list[Any], dict[str, Any]]
) -> dict[str, Any] | tuple[Any, ...]:
    """The sizes that --dim names: those in which the inputs differ from others, which were made
    with other ones."""
    import torch
    from torch.export import Dim

    def sizes(a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor):
            return {i: Dim.AUTO for i, (n, m) in enumerate(zip(a.shape, b.shape)) if n != m}
        if isinstance(a, dict):
            return {k: sizes(a[k], b[k]) for k in a}
        if isinstance(a, (list, tuple)):
            return type(a)(sizes(x, y) for x, y in zip(a, b))
        return None

    args, kwargs = sizes(inputs[0], others[0]), sizes(inputs[1], others[1])
    if kwargs and args:
        raise ExportError(
            "got inputs by position and by name, want all by position or all by name: torch.export takes the open "
            "sizes so"
        )
    return kwargs or tuple(args)


def _check(path: str, model: Any, folder: str = ".", of: Depends = Depends()) -> int:
    why = stale(path, model, folder, of)
    say(f"{path}: " + ("; ".join(["stale", *why]).replace(";", ":", 1) if why else "is what its source gives"))
    return 1 if why else 0


def _export_spec(a: argparse.Namespace) -> int:
    if a.output or a.input or a.dim:
        raise ExportError("got -o, --input or --dim beside a memspec.yaml, want none: it says all of it")
    done, code, reads = set(), 0, Reads()
    for case in memspec_yaml.load(a.source, a.case):
        if not case["source"] or not case["artifact"] or case["artifact"] in done:
            continue
        done.add(case["artifact"])
        reads.begin()
        model = load_source(case["source"], case["dir"])
        if a.check:
            code = max(code, _check(case["artifact"], model, case["dir"], Depends.of(case)))
            continue
        args, kwargs = inputs.make(case["inputs"], dtype=case["dtype"])
        say(_write(a, model, case["artifact"], args, kwargs))
        words = [
            os.path.basename(a.source),
            *(w for w, given in (("--strip", a.strip), ("--kind", a.kind), (a.kind, a.kind)) if given),
        ]
        command = ["python", "-m", "memshim", "export", *words]
        report_made(
            case["artifact"],
            provenance.made(case["artifact"], case["source"], case["dir"], model, command, reads, Depends.of(case)),
        )
    if not done:
        raise ExportError(f"{a.source}: got no model with both source: and artifact:")
    return code
