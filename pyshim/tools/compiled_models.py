"""The models that truth_compiled compiles, and a call of one on a pretend GPU."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import memshim

VISION = ["alexnet", "vgg11", "squeezenet1_1", "resnet18", "resnet50", "wide_resnet50_2", "resnext50_32x4d", "mobilenet_v2", "mobilenet_v3_small",
          "mobilenet_v3_large", "mnasnet1_0", "shufflenet_v2_x1_0", "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t"]
TIMM = ["resnet10t", "vit_tiny_patch16_224", "deit_tiny_patch16_224", "mixer_s32_224", "resmlp_12_224", "mobilenetv3_small_050", "lcnet_050", "tinynet_e"]
LANGUAGE = ["gpt2", "bert", "t5_encoder", "llama", "qwen2", "distilbert", "roberta", "opt"]  # of transformers, small
INFERENCE = [*VISION, *TIMM, *LANGUAGE]
TRAINING = ["gpt2", "bert", "llama", "qwen2", "distilbert", "opt", "alexnet", "resnet18", "squeezenet1_1", "resnet10t", "vit_tiny_patch16_224", "mixer_s32_224"]
DEVICES = ["t4", "a100-sxm-80gb", "h100-sxm-80gb"]


def build(name: str) -> tuple[Any, tuple[Any, ...]]:
    import torch

    if name in VISION:
        import torchvision

        return getattr(torchvision.models, name)(), (torch.zeros(1, 3, 224, 224),)
    if name in TIMM:
        import timm

        return timm.create_model(name, pretrained=False), (torch.zeros(1, 3, *timm.models.get_pretrained_cfg(name).input_size[1:]),)
    return language(name), (torch.zeros(1, 64, dtype=torch.int64),)


def language(name: str) -> Any:
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
    return made[name]()


def calls(names: list[str], device: str, kept: Path, training: bool) -> None:
    """Compiles and calls models, one after the other in this process: wrappers, a backward pass after its forward pass, and what the third call takes."""
    memshim.pretend(device)
    import torch

    for name in names:
        folder = place(kept, name, device, training)
        if not (folder / "call.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                call(name, folder, training)
            except Exception as e:  # one model's; the others are told of
                (folder / "failed").write_text(f"{type(e).__name__}: {e}")
            torch._dynamo.reset()
            gc.collect()
            torch.cuda.empty_cache()  # what one left in the cache is split for the next


def place(kept: Path, name: str, device: str, training: bool) -> Path:
    """The folder of a model on a device."""
    return kept / f"{name}.{device}.{'training' if training else 'inference'}"


def call(name: str, out: Path, training: bool) -> None:
    import torch
    import torch._inductor.memory as memory
    from torch._inductor.graph import GraphLowering

    written: list[str] = []
    estimates: list[int] = []
    estimate = memory.estimate_peak_memory

    def told(*args: Any, **kwargs: Any) -> Any:
        result = estimate(*args, **kwargs)
        estimates.append(result[0])
        return result

    GraphLowering.save_output_code = staticmethod(written.append)
    memory.estimate_peak_memory = told
    try:
        kept, took = third(*build(name), training)
    finally:
        memory.estimate_peak_memory = estimate
        torch.cuda.memory._record_memory_history(enabled=None)
    (out / "wrapper").write_text(joined(written))
    (out / "call.json").write_text(json.dumps({"events": kept, "delta": took["allocated"], "requested": took["requested"], "graphs": len(written), "inductor": estimates[-1] if estimates else None}))


def joined(written: list[str]) -> str:
    """The wrappers of a model, a backward pass behind its forward pass."""
    return "\n".join(sorted(written, key=lambda text: "_backward'" in text[:200]))


def third(module: Any, inputs: tuple[Any, ...], training: bool) -> tuple[list[str], dict[str, int]]:
    """The events of a compiled model's third call, and what it adds to what is requested and allocated."""
    import torch
    from record_exported import events

    module = module.cuda().train(training)
    moved = [x.cuda() for x in inputs]
    compiled = torch.compile(module)
    gradients: list[Any] = []

    def step() -> Any:
        if not training:
            with torch.no_grad():
                return compiled(*moved)
        result = compiled(*moved)
        results = [x for x in tensors(result) if x.requires_grad]
        gradients.extend(torch.ones_like(x) for x in results[len(gradients):])
        torch.autograd.backward(results, gradients)
        return result

    for _ in range(2):
        step()
        module.zero_grad()
    before = torch.cuda.memory_stats()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory._record_memory_history(context=None, stacks="python", max_entries=1_000_000, clear_history=True)
    result = step()
    kept = events(torch, 0)
    after = torch.cuda.memory_stats()
    took = {k: after[f"{k}_bytes.all.peak"] - before[f"{k}_bytes.all.current"] for k in ("requested", "allocated")}
    del result
    return kept, took


def tensors(result: Any) -> list[Any]:
    """The tensors of a result, in order."""
    import torch

    if isinstance(result, torch.Tensor):
        return [result]
    items = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else ()
    return [x for item in items for x in tensors(item)]
