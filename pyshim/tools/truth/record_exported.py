"""What PyTorch allocates and frees for the exported models on a pretend GPU:
python -m truth exported DEVICE ARCHIVES OUT [NAME…] [attention=BACKEND]

ARCHIVES holds what export_models.py and export_small.py wrote, with weights. Each model runs in a
its own process, once as the exported program (torch.export.passes.move_to_device_pass where it
is not on a device, then ExportedProgram.module) and once as the live module (eager); two passes,
no_grad. OUT/NAME.txt keeps the baseline, the peaks of both passes and every event of the first, as
testdata/conformance/2.15-exported/README.md reports. With a backend, such as math,
scaled_dot_product_attention runs that one alone: OUT/NAME.BACKEND.txt.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import memshim


def events(torch: Any, begin: int) -> list[str]:
    """Births (+bytes asked for) and deaths (-number of the birth), in order."""
    out, born, number = [], {}, 0
    for e in torch.cuda.memory._snapshot()["device_traces"][0][begin:]:
        if e["action"] == "alloc":
            born[e["addr"]] = number
            number += 1
            out.append(f"+{e['size']}")
        elif e["action"] == "free_requested":
            out.append(f"-{born.pop(e['addr'])}" if e["addr"] in born else "-old")
    return out


def measure(torch: Any, module: Any, args: Any, kwargs: Any) -> list[str]:
    lines = []
    with torch.no_grad():
        stats = torch.cuda.memory_stats()
        lines.append(
            f"baseline {stats['requested_bytes.all.current']} {stats['allocated_bytes.all.current']} "
            f"{stats['reserved_bytes.all.current']}"
        )
        for n in (1, 2):
            torch.cuda.reset_peak_memory_stats()
            if n == 1:
                torch.cuda.memory._record_memory_history(context=None, stacks="python", max_entries=10_000_000)
            result = module(*args, **kwargs)
            if n == 1:
                kept = events(torch, 0)
                torch.cuda.memory._record_memory_history(enabled=None)
            stats = torch.cuda.memory_stats()
            lines.append(
                f"pass {stats['requested_bytes.all.peak']} {stats['allocated_bytes.all.peak']} "
                f"{stats['reserved_bytes.all.peak']}"
            )
            del result
    lines.append("events " + " ".join(kept))
    return lines


def moved(torch: Any, value: Any) -> Any:
    return torch.utils._pytree.tree_map(lambda x: x.cuda() if isinstance(x, torch.Tensor) else x, value)


def run(name: str, runtime: str, archives: Path, attention: str) -> list[str]:
    import export_models
    import export_small
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if name in export_models.BIG:
        module, kwargs = export_models.live(name)
        gc.collect()
        return measure(torch, module, (), moved(torch, kwargs))
    if name in export_models.MODELS:
        model = export_models.MODELS[name]()
        module, args, kwargs = model.module, model.args, model.kwargs
    else:
        module, args, kwargs, _ = export_small.models()[name.partition("_")[0]]
        module = module.eval()
    module = module.cpu() if runtime == "eager" else None
    model = None
    gc.collect()
    torch.cuda.empty_cache()  # what a model took that was made on the device
    if runtime == "export":
        from torch.export.passes import move_to_device_pass

        program = torch.export.load(archives / f"{name}.pt2")
        program._example_inputs = None  # the pass would move them too, and the program hold them
        if not all(getattr(t, "is_cuda", False) for t in program.state_dict.values()):
            program = move_to_device_pass(program, "cuda")
        module = program.module(check_guards=False)
    else:
        module = module.cuda()
    with sdpa_kernel([getattr(SDPBackend, attention.upper())]) if attention else contextlib.nullcontext():
        return measure(torch, module, moved(torch, args), moved(torch, kwargs))


def main() -> int:
    device, archives, out, names = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    attention = next((n.partition("=")[2] for n in names if n.startswith("attention=")), "")
    names = [n for n in names if "=" not in n]
    memshim.pretend(device)
    import torch

    sys.path.insert(0, str(Path(__file__).parent))
    import export_models
    import transformers  # noqa: F401

    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in names or sorted(p.stem for p in archives.glob("*.pt2")):
        lines = [
            "exported 1",
            f"torch {torch.__version__}",
            f"device {device}",
            f"model {name}",
            *([f"attention {attention}"] if attention else []),
        ]
        for runtime in ("eager",) if name in export_models.BIG else ("export", "eager"):
            read, write = os.pipe()
            if (child := os.fork()) == 0:
                os.close(read)
                try:
                    torch.manual_seed(0)
                    text = "\n".join(["", f"runtime {runtime}", *run(name, runtime, archives, attention)])
                except BaseException as e:
                    traceback.print_exc(limit=-3)
                    first = str(e).splitlines()[0][:200] if str(e) else ""
                    text = f"\nruntime {runtime}\nfailed {type(e).__name__}: {first}"
                os.write(write, text.encode()) if len(text) < 60000 else [
                    os.write(write, text.encode()[i : i + 60000]) for i in range(0, len(text.encode()), 60000)
                ]
                os._exit(0)
            os.close(write)
            with os.fdopen(read) as pipe:
                lines.append(pipe.read())
            os.waitpid(child, 0)
            failed += "failed" in lines[-1]
        (out / f"{name}{attention and '.' + attention}.txt").write_text("\n".join(lines) + "\n")
        print(name, *[x for x in "\n".join(lines).splitlines() if x.startswith(("failed", "pass"))], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
