"""Compiled models read from their wrappers against PyTorch on pretend GPUs: python pyshim/tools/truth_compiled.py [--training] [--device NAME …] [--kept DIR] [--list] [MODEL …]

Each model is compiled by torch.compile on a pretend GPU in a process for the device, in float32, and called three times: the third call is the truth. With
--training a call is the forward and the backward pass from gradients that the caller holds; else inference. The wrappers, the texts that inductor wrote, are
what memspec reads, with cuDNN's answers for the convolutions (python -m memshim workspace). A line a model and device: events of the call that agree of all,
what memspec's peak over the arguments is more or less, the same of inductor's own estimate. What PyTorch wrote and took stays in DIR where one is named, and
is not made again. The exit code is 1 where one differs. Models of timm and transformers need these packages, which memspec itself does not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from compiled_models import DEVICES, INFERENCE, TRAINING, calls, place

from memshim import binary


def ask(*arguments: str, cwd: Path) -> str:
    return subprocess.run(list(arguments), cwd=cwd, capture_output=True, text=True).stdout


def row(folder: Path, device: str, training: bool) -> tuple[str, bool]:
    if not (folder / "call.json").exists():
        failed = folder / "failed"
        return f"failed: {failed.read_text()[:150] if failed.exists() else '?'}", False
    truth = json.loads((folder / "call.json").read_text())
    if truth["graphs"] != 1 + training:
        return f"{truth['graphs']} graphs", False
    mode = "training" if training else "inference"
    (folder / "memspec.yaml").write_text(f"version: 1\ndefaults: {{device: {device}, torch: 2.15, mode: {mode}}}\nmodels:\n  m: {{artifact: wrapper, budget: {{reserved: 100%}}}}\n")
    subprocess.run([sys.executable, "-m", "memshim", "workspace"], cwd=folder, capture_output=True)
    profile = ["--workspace", "memspec.workspace.json"] if (folder / "memspec.workspace.json").exists() else []
    run = ["wrapper", "--device", device, "--torch", "2.15", *profile, "--format", "json"]
    said = ask(binary.find(), "estimate", *run, cwd=folder)
    if not said:
        return "memspec: " + subprocess.run([binary.find(), "estimate", *run], cwd=folder, capture_output=True, text=True).stderr.strip()[:150], False
    report = json.loads(said)
    born: dict[int, int] = {}
    got = []
    for e in json.loads(ask(binary.find(), "dump", *run, "--stage", "trace", cwd=folder))["events"]:
        if e["pass"] != 1 or not e["size"]:
            continue
        if e["action"] == "alloc":
            born[e["storage"]] = len(born)
            got.append(f"+{e['size']}")
        elif e["action"] == "free_requested" and e["storage"] in born:
            got.append(f"-{born[e['storage']]}")
    peak = report["passes"][-1]["peak"]["allocated"] - report["baseline"]["allocated"]  # of a later call, as the truth is
    same = next((i for i, (a, b) in enumerate(zip(got, truth["events"])) if a != b), min(len(got), len(truth["events"])))
    line = f"{same}/{len(truth['events'])} events, peak {peak - truth['delta']:+d} of {truth['delta']}, {report['quality']}"
    if truth["inductor"]:
        line += f"; inductor's estimate {(truth['inductor'] - truth['delta']) / truth['delta']:+.1%}"
    return line, got == truth["events"] and peak == truth["delta"]


def main() -> int:
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("--device", action="append")
    p.add_argument("--training", action="store_true")
    p.add_argument("--kept", type=Path)
    p.add_argument("--list", action="store_true")
    p.add_argument("--call", type=Path)
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    names = a.names or (TRAINING if a.training else INFERENCE)
    if a.list:
        print("\n".join(names))
        return 0
    if a.call:
        calls(names, a.device[0], a.call, a.training)
        return 0
    apart = 0
    with tempfile.TemporaryDirectory() as scratch:
        kept = a.kept or Path(scratch)
        for device in a.device or DEVICES:
            mode = ["--training"] if a.training else []
            wanting = [name for name in names if not (place(kept, name, device, a.training) / "call.json").exists()]
            if wanting:
                subprocess.run([sys.executable, __file__, "--call", str(kept), *mode, "--device", device, *wanting], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in names:
                line, same = row(place(kept, name, device, a.training), device, a.training)
                apart += not same
                print(f"{name} {device}: {line}", flush=True)
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
