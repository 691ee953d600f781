"""Compiled models read from their wrapper against PyTorch on pretend GPUs: python pyshim/tools/truth_compiled.py [--device NAME …] [--list] [MODEL …]

Each model is compiled by torch.compile on a pretend GPU in a process of its own, for inference in float32, and called three times: the third call is the
truth. Its wrapper, the text that inductor wrote, is what memspec reads, with cuDNN's answers for the convolutions (python -m memshim workspace). A
line a model and device: events of the call that agree of all, what memspec's peak over the arguments is more or less, the same of inductor's own estimate.
The exit code is 1 where one differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import memshim
from memshim import binary

VISION = ["alexnet", "vgg11", "squeezenet1_1", "resnet18", "resnet50", "wide_resnet50_2", "resnext50_32x4d", "densenet121", "googlenet", "inception_v3",
          "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "mnasnet1_0", "shufflenet_v2_x1_0", "efficientnet_b0", "efficientnet_v2_s",
          "regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t", "maxvit_t"]
LANGUAGE = ["gpt2", "bert", "t5_encoder", "llama", "qwen2", "distilbert", "roberta", "opt"]  # of transformers, small
DEVICES = ["t4", "a100-sxm-80gb", "h100-sxm-80gb"]


def build(name: str) -> tuple[Any, tuple[Any, ...]]:
    import torch

    if name in VISION:
        import torchvision

        options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
        side = 299 if name == "inception_v3" else 224
        return getattr(torchvision.models, name)(**options), (torch.zeros(1, 3, side, side),)
    import transformers as t

    sizes: dict[str, Any] = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512, "vocab_size": 1000}
    made = {
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(n_embd=256, n_layer=2, n_head=4, vocab_size=1000, use_cache=False)),
        "bert": lambda: t.BertModel(t.BertConfig(**sizes)),
        "t5_encoder": lambda: t.T5EncoderModel(t.T5Config(d_model=256, d_kv=64, d_ff=512, num_layers=2, num_heads=4, vocab_size=1000)),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**sizes, num_key_value_heads=2, use_cache=False)),
        "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**sizes, num_key_value_heads=2, use_cache=False)),
        "distilbert": lambda: t.DistilBertModel(t.DistilBertConfig(dim=256, n_layers=2, n_heads=4, hidden_dim=512, vocab_size=1000)),
        "roberta": lambda: t.RobertaModel(t.RobertaConfig(**sizes)),
        "opt": lambda: t.OPTForCausalLM(t.OPTConfig(hidden_size=256, num_hidden_layers=2, num_attention_heads=4, ffn_dim=512, vocab_size=1000, word_embed_proj_dim=256,
                                                    use_cache=False)),
    }
    return made[name](), (torch.zeros(1, 64, dtype=torch.int64),)


def call(name: str, device: str, out: Path) -> None:
    """Compiles and calls a model: OUT/wrapper, and what the third call takes in OUT/call.json."""
    memshim.pretend(device)
    import torch
    import torch._inductor.memory as memory
    from torch._inductor.graph import GraphLowering

    sys.path.insert(0, str(Path(__file__).parent))
    from record_exported import events

    written: list[str] = []
    estimates: list[int] = []
    GraphLowering.save_output_code = staticmethod(written.append)
    estimate = memory.estimate_peak_memory

    def told(*args: Any, **kwargs: Any) -> Any:
        result = estimate(*args, **kwargs)
        estimates.append(result[0])
        return result

    memory.estimate_peak_memory = told
    module, inputs = build(name)
    module = module.cuda().eval()
    moved = [x.cuda() for x in inputs]
    compiled = torch.compile(module)
    with torch.no_grad():
        compiled(*moved)
        compiled(*moved)
        before = torch.cuda.memory_stats()["allocated_bytes.all.current"]
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.memory._record_memory_history(context=None, stacks="python", max_entries=1_000_000)
        result = compiled(*moved)
        kept = events(torch, 0)
        took = torch.cuda.memory_stats()["allocated_bytes.all.peak"] - before
        del result
    (out / "wrapper").write_text(written[0] if written else "")
    (out / "call.json").write_text(json.dumps({"events": kept, "delta": took, "graphs": len(written), "inductor": estimates[-1] if estimates else None}))


def ask(*arguments: str, cwd: Path) -> str:
    return subprocess.run(list(arguments), cwd=cwd, capture_output=True, text=True).stdout


def row(name: str, device: str, folder: Path) -> tuple[str, bool]:
    p = subprocess.run([sys.executable, __file__, "--call", str(folder), "--device", device, name], capture_output=True, text=True)
    if p.returncode:
        return f"failed: {(p.stderr.strip().splitlines() or ['?'])[-1][:150]}", False
    truth = json.loads((folder / "call.json").read_text())
    if truth["graphs"] != 1:
        return f"{truth['graphs']} graphs", False
    (folder / "memspec.yaml").write_text(f"version: 1\ndefaults: {{device: {device}, torch: 2.15}}\nmodels:\n  m: {{artifact: wrapper, budget: {{reserved: 100%}}}}\n")
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
    same = next((i for i, (a, b) in enumerate(zip(got, truth["events"])) if a != b), min(len(got), len(truth["events"])))
    line = f"{same}/{len(truth['events'])} events, peak {report['delta'] - truth['delta']:+d} of {truth['delta']}, {report['quality']}"
    if truth["inductor"]:
        line += f"; inductor's estimate {(truth['inductor'] - truth['delta']) / truth['delta']:+.1%}"
    return line, got == truth["events"] and report["delta"] == truth["delta"]


def main() -> int:
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("--device", action="append")
    p.add_argument("--list", action="store_true")
    p.add_argument("--call", type=Path)
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if a.list:
        print("\n".join([*VISION, *LANGUAGE]))
        return 0
    if a.call:
        call(a.names[0], a.device[0], a.call)
        return 0
    apart = 0
    for name in a.names or [*VISION, *LANGUAGE]:
        for device in a.device or DEVICES:
            with tempfile.TemporaryDirectory() as folder:
                line, same = row(name, device, Path(folder))
            apart += not same
            print(f"{name} {device}: {line}", flush=True)
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
