"""A process on a pretend GPU: makes archives of models, or runs them. One line of JSON a task on
standard input, one a result on the last descriptor.

    python -m oracle.work DEVICE CATALOG CACHE make|sidecar|run|follow

    tasks: {"model": …} or {"model": …, "runs": [[batch, setting, run], …]}
    sidecar: writes beside a traced archive what memshim export does, the program that the live model runs
    follow: numbers that the host knows are computed, which traced archives ask sizes of

Kernels do nothing here: tracing and running a large model costs what PyTorch's own dispatch
costs.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import memshim

READ = ("detection", "transformers")  # catalogs whose models read masks, boxes and positions
UNCLEAN = 75  # the exit code of a process whose GPU could not be emptied: another is started for what is left


def main() -> int:
    device, catalog, cache, what = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    if what != "sidecar":  # that is done on the CPU, as a user does it
        memshim.pretend(device, values=what == "follow" or catalog in READ)
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # models print
    import torch
    from oracle.catalog import CATALOGS, quick_init

    torch.set_num_threads(1)
    torch._C._jit_set_texpr_fuser_enabled(False)  # fused kernels are not modelled
    models = {m.name: m for m in CATALOGS[catalog]()}
    quick_init()
    if what != "sidecar":
        torch.cuda.init()
    gc.collect()
    gc.freeze()  # what is imported stays: looking at it before every run would take longer than the run
    for line in sys.stdin:
        task = json.loads(line)
        for answer in {"make": make, "sidecar": sidecar}.get(what, run)(models[task["model"]], task, cache):
            out.write(json.dumps(answer) + "\n")
            out.flush()
        if what in ("run", "follow") and not empty():
            return UNCLEAN
    return 0


def built(model: Any) -> Any:
    import torch

    torch.manual_seed(0)
    return model.build().eval()


def why(e: BaseException) -> str:
    lines = [x.strip() for x in str(e).splitlines() if x.strip()]
    return f"{type(e).__name__}: {' '.join(lines[-2:])}"[:240]


def make(model: Any, task: dict, cache: Path):
    """Scripts and traces a model; archives lie stripped in the cache."""
    import record_archive
    import torch

    result: dict[str, Any] = {"model": model.name}
    for kind in ("script", "trace"):
        path = cache / "archives" / f"{model.name}.{kind}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        full = path.parent / "m.pt"  # the archive's root is named after it
        try:
            with torch.no_grad():
                module = built(model)
                if kind == "script":
                    torch.jit.save(torch.jit.script(module), full)
                else:
                    given = on(model.inputs(1), "cuda")
                    torch.jit.save(torch.jit.trace(module.cuda(), given, check_trace=False), full)
            path.write_bytes(record_archive.strip(str(full)))
            result[kind] = ""
        except Exception as e:
            result[kind] = why(e)
        finally:
            full.unlink(missing_ok=True)
            module = given = None
            gc.collect()
    yield result


def sidecar(model: Any, task: dict, cache: Path):
    """The traced archive again, with the sidecar that memshim export writes beside one."""
    from memshim.exporting import command, compare_operators

    trace, path = (cache / "archives" / f"{model.name}.{kind}.pt" for kind in ("trace", "sidecar"))
    result: dict[str, Any] = {"model": model.name, "sidecar": ""}
    try:
        module, given = built(model), model.inputs(2)  # a size of one would be taken for the only one
        found = command.trace_sidecar(module, given, {}, compare_operators.attributes(module))
        if not found:
            raise ValueError("torch.export gives no program that the live model agrees with")
        path.write_bytes(trace.read_bytes())
        path.with_name(path.name + command.SIDECAR).write_text(json.dumps({"inputs": []} | found))
    except Exception as e:
        result["sidecar"] = why(e)
    yield result


def on(value: Any, device: str, channels_last: bool = False) -> Any:
    import torch

    def move(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        if channels_last and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        return x.to(device)

    return torch.utils._pytree.tree_map(move, value)


def empty() -> bool:
    """Whether the GPU has nothing of a run before."""
    import torch

    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    stats = torch.cuda.memory_stats()
    return stats["allocated_bytes.all.current"] == 0 and stats["reserved_bytes.all.current"] == 0


def run(model: Any, task: dict, cache: Path):
    """The peaks of two passes, or why there are none."""
    import record_archive

    full: dict[str, Path] = {}
    try:
        for batch, setting, how in task["runs"]:
            result = {"model": model.name, "batch": batch, "setting": setting, "run": how}
            yield result | {"begun": True}  # who ends without another word was ended by this one
            try:
                if not empty():
                    sys.exit(UNCLEAN)
                if how != "live" and how not in full:
                    full[how] = cache / f"full.{os.getpid()}.{how}.pt"
                    record_archive.refill(str(cache / "archives" / f"{model.name}.{how}.pt"), str(full[how]))
                yield result | one(model, batch, setting, full.get(how), bool(task.get("events")))
            except Exception as e:
                yield result | {"failed": why(e)}
            # a traceback's frames hold tensors until here
    finally:
        for path in full.values():
            path.unlink(missing_ok=True)


def one(model: Any, batch: int, setting: str, archive: Path | None, events: bool) -> dict:
    import torch

    torch.cuda.reset_peak_memory_stats()
    module = torch.jit.load(archive, map_location="cuda") if archive else built(model).cuda()
    given = on(model.inputs(batch), "cuda", setting == "channels_last")
    gc.collect()
    stats = torch.cuda.memory_stats()
    figures: dict[str, Any] = {
        "baseline": [stats[f"{m}_bytes.all.current"] for m in ("requested", "allocated", "reserved")]
    }
    context = (lambda: torch.autocast("cuda", torch.float16)) if setting == "autocast" else contextlib.nullcontext
    gc.disable()
    try:
        with torch.no_grad():
            for name in ("first", "steady"):
                torch.cuda.reset_peak_memory_stats()
                if events and name == "first":
                    torch.cuda.memory._record_memory_history(max_entries=10_000_000, stacks="python")
                with context():
                    result = module(*given)
                if events and name == "first":
                    figures["events"] = stream(torch.cuda.memory._snapshot()["device_traces"][0])
                    torch.cuda.memory._record_memory_history(enabled=None)
                stats = torch.cuda.memory_stats()
                figures[name] = [stats[f"{m}_bytes.all.peak"] for m in ("requested", "allocated", "reserved")]
                del result
    finally:
        gc.enable()
    return figures


def stream(entries: list) -> list:
    """Births ([bytes, place]) and deaths (the birth's number, -1 of what was there before), in
    order."""
    out: list = []
    born: dict[int, int] = {}
    number = 0
    for e in entries:
        if e["action"] == "alloc":
            born[e["addr"]], number = number, number + 1
            frames = [
                f"{f['filename'].rpartition('/')[2]}:{f['line']} {f['name']}"
                for f in e.get("frames", ())
                if "/torch/" not in f["filename"]
            ]
            out.append([e["size"], frames[0] if frames else ""])
        elif e["action"] == "free_requested":
            out.append(born.pop(e["addr"], -1))
    return out


if __name__ == "__main__":
    sys.exit(main())
