"""Export the models of the conformance tables of torch.export programs: python pyshim/tools/export_models.py OUT [NAME…]

Needs torch 2.15, torchvision, transformers 5, timm 1 and torchao 0.18. Weights are random or fake; configurations are small where the kinds of layers are what counts.
Each model becomes OUT/NAME.pt2, exported with open batch and sequence sizes where it has them.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memshim

if "--device" in sys.argv:  # before torch
    memshim.pretend(sys.argv[sys.argv.index("--device") + 1])

import torch
from torch import nn
from torch.export import Dim

from export_small import portable
from memshim.exporting import compare_operators, find_program, gpu_program, live_model
from memshim.exporting.releases import Releases

AUTO = Dim.AUTO


class Model:
    """A model with the arguments and open sizes that it is exported with."""

    def __init__(self, module: nn.Module, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, dynamic: Any = None, reads: str = "") -> None:
        self.module, self.args, self.kwargs, self.dynamic = module.eval(), args, kwargs or {}, dynamic
        self.reads = reads  # the model with data that reads what this one, without, would read


class Only(nn.Module):
    """The first tensor of what a transformers model gives: its output class is no matter here."""

    def __init__(self, model: nn.Module, field: str | int = 0, **fixed: Any) -> None:
        super().__init__()
        self.model, self.field, self.fixed = model, field, fixed

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        out = self.model(**inputs, **self.fixed)
        return out[self.field]


def config(name: str, **settings: Any) -> Any:
    return getattr(importlib.import_module("transformers"), name + "Config")(**settings)


def hub(name: str, kind: str, **settings: Any) -> nn.Module:
    """A model of transformers with random weights."""
    cls = getattr(importlib.import_module("transformers"), name + kind)
    settings = {"attn_implementation": "sdpa"} | settings
    return cls._from_config(config(name, **settings))


def tokens(batch: int = 2, length: int = 24, **more: Any) -> dict[str, Any]:
    return {"input_ids": torch.ones(batch, length, dtype=torch.int64), **more}


OPEN = {"input_ids": {0: AUTO, 1: AUTO}}
MASK = {"attention_mask": {0: AUTO, 1: AUTO}}


def decoder(name: str, kind: str = "ForCausalLM", **settings: Any) -> Callable[[], Model]:
    def make() -> Model:
        small = {"vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 128} | settings
        return Model(Only(hub(name, kind, **small), use_cache=False), kwargs=tokens(), dynamic={"inputs": OPEN})

    return make


def encoder(name: str, kind: str = "Model", **settings: Any) -> Callable[[], Model]:
    def make() -> Model:
        small = {"vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128} | settings
        mask = torch.ones(2, 24, dtype=torch.int64)
        return Model(Only(hub(name, kind, **small)), kwargs=tokens(attention_mask=mask), dynamic={"inputs": OPEN | MASK})

    return make


def half(make: Callable[[], Model], dtype: torch.dtype = torch.bfloat16) -> Callable[[], Model]:
    """The same in 16 bits."""

    def model() -> Model:
        m = make()
        m.module = m.module.to(dtype)
        cast = torch.utils._pytree.tree_map(lambda x: x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x, (m.args, m.kwargs))
        m.args, m.kwargs = cast
        return m

    return model


LLAMA = {"intermediate_size": 128, "num_key_value_heads": 2}


def images(make: Callable[[], nn.Module], size: int = 224, **inputs: Any) -> Callable[[], Model]:
    def model() -> Model:
        return Model(make(), (torch.randn(2, 3, size, size),), dynamic=({0: AUTO},))

    return model


def pixels(name: str, kind: str, size: int, **settings: Any) -> Callable[[], Model]:
    def make() -> Model:
        return Model(Only(hub(name, kind, **settings)), kwargs={"pixel_values": torch.randn(2, 3, size, size)}, dynamic={"inputs": {"pixel_values": {0: AUTO}}})

    return make


def vision(name: str) -> Callable[[], nn.Module]:
    return lambda: getattr(importlib.import_module("torchvision.models"), name)()


def timm(name: str) -> Callable[[], nn.Module]:
    return lambda: importlib.import_module("timm").create_model(name, pretrained=False)


def seq2seq(name: str, **settings: Any) -> Callable[[], Model]:
    def make() -> Model:
        ids = torch.ones(2, 24, dtype=torch.int64)
        inputs = {"input_ids": ids, "decoder_input_ids": ids[:, :12].clone()}
        opened = {"input_ids": {0: AUTO, 1: AUTO}, "decoder_input_ids": {0: AUTO, 1: AUTO}}
        return Model(Only(hub(name, "ForConditionalGeneration", **settings), use_cache=False), kwargs=inputs, dynamic={"inputs": opened})

    return make


def whisper() -> Model:
    m = hub("Whisper", "ForConditionalGeneration", d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,
            decoder_ffn_dim=128, vocab_size=512, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, num_mel_bins=80, max_source_positions=100)
    inputs = {"input_features": torch.randn(2, 80, 200), "decoder_input_ids": torch.ones(2, 12, dtype=torch.int64)}
    return Model(Only(m, use_cache=False), kwargs=inputs, dynamic={"inputs": {"input_features": {0: AUTO}, "decoder_input_ids": {0: AUTO, 1: AUTO}}})


def clip() -> Model:
    text = {"vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "projection_dim": 32}
    image = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64, "patch_size": 16, "projection_dim": 32}
    m = hub("CLIP", "Model", text_config=text, vision_config=image, projection_dim=32)
    inputs = tokens(attention_mask=torch.ones(2, 24, dtype=torch.int64), pixel_values=torch.randn(2, 3, 64, 64))
    return Model(Only(m), kwargs=inputs, dynamic={"inputs": OPEN | MASK | {"pixel_values": {0: AUTO}}})


class CachedDecoder(nn.Module):
    """A decoder that writes its keys and values into a static cache held in buffers."""

    def __init__(self, model: nn.Module, length: int, batch: int) -> None:
        super().__init__()
        from transformers import StaticCache

        self.model = model
        cfg = model.config
        self.cache = StaticCache(config=cfg, max_cache_len=length)
        heads = getattr(cfg, "num_key_value_heads", cfg.num_attention_heads)
        size = getattr(cfg, "head_dim", None) or cfg.hidden_size // cfg.num_attention_heads
        self.cache.early_initialization(batch, heads, size, torch.float32, torch.device("cpu"))
        for i, layer in enumerate(self.cache.layers):
            self.register_buffer(f"keys_{i}", layer.keys, persistent=False)
            self.register_buffer(f"values_{i}", layer.values, persistent=False)

    def forward(self, input_ids: torch.Tensor, cache_position: torch.Tensor) -> torch.Tensor:
        out = self.model(input_ids=input_ids, position_ids=cache_position.unsqueeze(0), past_key_values=self.cache, use_cache=True)
        return out.logits


def static_decode() -> Model:
    m = hub("Llama", "ForCausalLM", vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=128, **LLAMA)
    return Model(CachedDecoder(m.eval(), 64, 1), kwargs={"input_ids": torch.ones(1, 1, dtype=torch.int64), "cache_position": torch.tensor([5])})


class DynamicDecoder(nn.Module):
    """A decoder whose cache is given as tensors, and returned a token longer."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, cache: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        from transformers import DynamicCache

        past = DynamicCache(config=self.model.config)
        for i, (k, v) in enumerate(cache):
            past.update(k, v, i)
        out = self.model(input_ids=input_ids, past_key_values=past, use_cache=True)
        return out.logits, [(layer.keys, layer.values) for layer in out.past_key_values.layers]


def dynamic_decode() -> Model:
    m = hub("Llama", "ForCausalLM", vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=128, **LLAMA)
    cache = [(torch.randn(2, 2, 9, 16), torch.randn(2, 2, 9, 16)) for _ in range(2)]
    opened = [({0: AUTO, 2: AUTO}, {0: AUTO, 2: AUTO}) for _ in range(2)]
    return Model(DynamicDecoder(m.eval()), (torch.ones(2, 1, dtype=torch.int64), cache), dynamic=({0: AUTO}, opened))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        y = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(y).view(b, h * w, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        return x + self.out(y).transpose(1, 2).view(b, c, h, w)


class Residual(nn.Module):
    def __init__(self, ins: int, outs: int, time_width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, ins), nn.GroupNorm(8, outs)
        self.conv1, self.conv2 = nn.Conv2d(ins, outs, 3, padding=1), nn.Conv2d(outs, outs, 3, padding=1)
        self.time = nn.Linear(time_width, outs)
        self.skip = nn.Conv2d(ins, outs, 1) if ins != outs else nn.Identity()

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        y = self.conv1(nn.functional.silu(self.norm1(x)))
        y = y + self.time(nn.functional.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(nn.functional.silu(self.norm2(y)))


class UNet(nn.Module):
    """A UNet as latent diffusion has it: residual blocks with a time embedding, attention, skip connections."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.width = width
        self.first = nn.Conv2d(4, width, 3, padding=1)
        self.down = nn.ModuleList([Residual(width, width, 4 * width), Residual(width, 2 * width, 4 * width)])
        self.smaller = nn.ModuleList([nn.Conv2d(width, width, 3, stride=2, padding=1), nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1)])
        self.middle = nn.ModuleList([Residual(2 * width, 2 * width, 4 * width), Attention(2 * width, 4), Residual(2 * width, 2 * width, 4 * width)])
        self.up = nn.ModuleList([Residual(4 * width, 2 * width, 4 * width), Residual(3 * width, width, 4 * width)])
        self.last = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        freqs = torch.exp(torch.arange(self.width // 2, device=x.device, dtype=torch.float32) * -0.5)
        angle = t[:, None].float() * freqs[None]
        emb = self.time(torch.cat([angle.sin(), angle.cos()], dim=1))
        x, skips = self.first(x), []
        for block, smaller in zip(self.down, self.smaller):
            x = block(x, emb)
            skips.append(x)
            x = smaller(x)
        x = self.middle[0](x, emb)
        x = self.middle[2](self.middle[1](x), emb)
        for block in self.up:
            x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, skips.pop()], dim=1), emb)
        return self.last(x)


def unet() -> Model:
    return Model(UNet(), (torch.randn(2, 4, 32, 32), torch.tensor([3, 7])), dynamic=({0: AUTO}, {0: AUTO}))


class DiTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, elementwise_affine=False), nn.LayerNorm(width, elementwise_affine=False)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.modulate = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        a, b, g, d, e, h = self.modulate(c).chunk(6, dim=1)
        y = self.norm1(x) * (1 + b.unsqueeze(1)) + a.unsqueeze(1)
        x = x + g.unsqueeze(1) * self.attn(y, y, y, need_weights=False)[0]
        y = self.norm2(x) * (1 + e.unsqueeze(1)) + d.unsqueeze(1)
        return x + h.unsqueeze(1) * self.mlp(y)


class DiT(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.patch = nn.Conv2d(4, width, 2, stride=2)
        self.pos = nn.Parameter(torch.randn(1, 256, width))
        self.label = nn.Embedding(10, width)
        self.blocks = nn.ModuleList([DiTBlock(width, 4) for _ in range(2)])
        self.last = nn.Linear(width, 16)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2) + self.pos
        c = self.label(y)
        for block in self.blocks:
            x = block(x, c)
        return self.last(x)


def dit() -> Model:
    return Model(DiT(), (torch.randn(2, 4, 32, 32), torch.tensor([3, 7])), dynamic=({0: AUTO}, {0: AUTO}))


def sam() -> Model:
    cls = importlib.import_module("transformers").SamVisionModel
    cfg = config("SamVision", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=128, window_size=4, global_attn_indexes=[1], mlp_dim=128, output_channels=32)
    return Model(Only(cls(cfg)), kwargs={"pixel_values": torch.randn(1, 3, 128, 128)})


def big_llama(layers: int) -> Model:
    """Llama 3 70B's sizes on fake tensors."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return Model(big_llama_on(layers), kwargs=tokens(1, 128), dynamic={"inputs": OPEN}, reads="llama_bf16")


BIG = {"llama70b": 80, "llama70b_2": 2}  # exported without data


def live(name: str) -> tuple[nn.Module, dict[str, Any]]:
    """One of BIG on the GPU, empty, with its inputs."""
    return big_llama_on(BIG[name], "meta").to_empty(device="cuda"), tokens(1, 128)


def big_llama_on(layers: int, device: str = "cpu") -> nn.Module:
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            m = hub("Llama", "ForCausalLM", vocab_size=128256, hidden_size=8192, intermediate_size=28672, num_hidden_layers=layers, num_attention_heads=64,
                    num_key_value_heads=8, max_position_embeddings=8192)
    finally:
        torch.set_default_dtype(torch.float32)
    return Only(m, use_cache=False).eval()


def gemma3() -> Model:
    transformers = importlib.import_module("transformers")
    cfg = transformers.Gemma3TextConfig(vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, head_dim=16, max_position_embeddings=128, sliding_window=16,
                                        attn_implementation="sdpa", **LLAMA)
    return Model(Only(transformers.Gemma3ForCausalLM._from_config(cfg), use_cache=False), kwargs=tokens(), dynamic={"inputs": OPEN})


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(256, 512), nn.Linear(512, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x).relu())


def quantised(name: str, device: str = "cpu", **settings: Any) -> Callable[[], Model]:
    """Two layers whose weights are torchao's tensors, packed on a device."""

    def make() -> Model:
        ao = importlib.import_module("torchao.quantization")
        net = TwoLayers().eval().to(device, torch.bfloat16)
        ao.quantize_(net, getattr(ao, name)(**settings))
        return Model(net, (torch.randn(4, 256, dtype=torch.bfloat16, device=device),), dynamic=({0: AUTO},))

    return make


VIT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64, "patch_size": 16}

MODELS: dict[str, Callable[[], Model]] = {
    "bert": encoder("Bert"),
    "bert12": encoder("Bert", num_hidden_layers=12),
    "distilbert": encoder("DistilBert", dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "roberta": encoder("Roberta"),
    "deberta": encoder("DebertaV2", attn_implementation="eager"),
    "albert": encoder("Albert", embedding_size=32),
    "gpt2": decoder("GPT2", "LMHeadModel", n_positions=128, n_embd=64, n_layer=2, n_head=4),
    "gpt_neo": decoder("GPTNeo", attention_types=[[["global", "local"], 1]], num_layers=2, num_heads=4, attn_implementation="eager"),
    "opt": decoder("OPT", ffn_dim=128, word_embed_proj_dim=64),
    "t5": seq2seq("T5", vocab_size=512, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, attn_implementation="eager"),
    "bart": seq2seq("Bart", vocab_size=512, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,
                    decoder_ffn_dim=128, max_position_embeddings=128),
    "vit": pixels("ViT", "Model", 64, **VIT),
    "clip": clip,
    "segformer": pixels("Segformer", "ForSemanticSegmentation", 64, attn_implementation="eager"),
    "whisper": whisper,
    "llama": decoder("Llama", **LLAMA),
    "mistral": decoder("Mistral", sliding_window=16, **LLAMA),
    "gemma2": decoder("Gemma2", head_dim=16, attn_implementation="eager", **LLAMA),
    "gemma3": gemma3,
    "qwen2": decoder("Qwen2", **LLAMA),
    "qwen3": decoder("Qwen3", head_dim=16, **LLAMA),
    "phi": decoder("Phi", intermediate_size=128),
    "olmo2": decoder("Olmo2", **LLAMA),
    "falcon": decoder("Falcon"),
    "stablelm": decoder("StableLm", **LLAMA),
    "mixtral": decoder("Mixtral", num_local_experts=4, num_experts_per_tok=2, **LLAMA),
    "qwen2_moe": decoder("Qwen2Moe", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64, shared_expert_intermediate_size=64, **LLAMA),
    "mamba": decoder("Mamba", state_size=16, attn_implementation="eager"),
    "llama_static": static_decode,
    "llama_dynamic": dynamic_decode,
    "unet": unet,
    "dit": dit,
    "sam": sam,
    "convnext": images(timm("convnext_tiny")),
    "efficientnet": images(timm("efficientnet_b0")),
    "swin": images(timm("swin_tiny_patch4_window7_224")),
    "vit_timm": images(timm("vit_tiny_patch16_224")),
    "resnet50": images(vision("resnet50")),
    "swin_v2_t": images(vision("swin_v2_t")),
    "llama_bf16": half(decoder("Llama", **LLAMA)),
    "qwen3_bf16": half(decoder("Qwen3", head_dim=16, **LLAMA)),
    "bert_bf16": half(encoder("Bert")),
    "vit_bf16": half(pixels("ViT", "Model", 64, **VIT)),
    "dit_bf16": half(dit),
    "whisper_bf16": half(whisper),
    "llama_f16": half(decoder("Llama", **LLAMA), torch.float16),
    "qwen3_f16": half(decoder("Qwen3", head_dim=16, **LLAMA), torch.float16),
    "bert_f16": half(encoder("Bert"), torch.float16),
    "gpt2_f16": half(decoder("GPT2", "LMHeadModel", n_positions=128, n_embd=64, n_layer=2, n_head=4), torch.float16),
    "t5_f16": half(seq2seq("T5", vocab_size=512, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, attn_implementation="eager"), torch.float16),
    "vit_f16": half(pixels("ViT", "Model", 64, **VIT), torch.float16),
    "dit_f16": half(dit, torch.float16),
    "whisper_f16": half(whisper, torch.float16),
    "ao_int8": quantised("Int8WeightOnlyConfig"),
    "ao_fp8": quantised("Float8WeightOnlyConfig"),
    "ao_int4": quantised("IntxWeightOnlyConfig", weight_dtype=torch.int4),
    "ao_int4_tiles": quantised("Int4WeightOnlyConfig", device="cuda", group_size=32, int4_packing_format="tile_packed_to_4d"),
} | {name: functools.partial(big_llama, layers) for name, layers in BIG.items()}  # of two layers: the same sizes and nodes, and a T4 holds it

def export(model: Model) -> torch.export.ExportedProgram:
    with torch.no_grad():
        return torch.export.export(model.module, model.args, model.kwargs, dynamic_shapes=model.dynamic, strict=False)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("out", type=Path)
    p.add_argument("names", nargs="*")
    p.add_argument("--decompose", action="store_true", help="functional core operators, as run_decompositions gives them: NAME_core.pt2")
    p.add_argument("--device", help="a pretend GPU to export on: ao_int4_tiles is packed on a GPU alone")
    o = p.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in o.names or MODELS:
        torch.manual_seed(0)
        begin = time.time()
        try:
            model, releases = MODELS[name](), Releases()
            gc.collect()
            with releases.watch():
                program = export(model)
            stated = releases.of(program)
            to = o.out / f"{name}.pt2"
            ran = {} if o.decompose else compare_operators.compare(model.module, program, model.args, model.kwargs)
            if o.decompose:
                program, to = program.run_decompositions(), o.out / f"{name}_core.pt2"
            found = None
            if ran and model.reads:
                sibling = MODELS[model.reads]()
                found = gpu_program.find(model.module, model.args, model.kwargs, model.dynamic, live_model.dispatched(sibling.module, sibling.args, sibling.kwargs)[1])
            elif ran and not ran["same"]:
                found = find_program.find(model.module, model.args, model.kwargs, model.dynamic, program)
            live = find_program.pack(found and (portable(found[0]), found[1]))
            torch.export.save(portable(program), to)
            if not o.decompose:
                Path(f"{to}.inputs.json").write_text(json.dumps({"inputs": [], "releases": stated, "operators": ran, "contiguous": compare_operators.asks_contiguous(model.module, model.args, model.kwargs)} | live) + "\n")
            print(f"{name}: {len(program.graph.nodes)} nodes, {to.stat().st_size} bytes, {time.time() - begin:.1f} s", flush=True)
        except Exception as e:
            failed += 1
            print(f"{name}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", flush=True)
            traceback.print_exc(limit=-4, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
