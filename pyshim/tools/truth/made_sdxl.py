"""Stable Diffusion XL with weights that nobody wrote, of the sizes of the published ones, for `python -m truth
measured sdxl`: an image of the pipeline as diffusers' documents make it, but for fewer steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

STEPS = 2
WORDS = {"vocab_size": 49408, "max_position_embeddings": 77, "bos_token_id": 0, "eos_token_id": 2}
SMALLER = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
LARGER = {"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 20}
UNET = {
    "sample_size": 128,
    "block_out_channels": (320, 640, 1280),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    "transformer_layers_per_block": (1, 2, 10),
    "attention_head_dim": (5, 10, 20),
    "cross_attention_dim": 2048,
    "use_linear_projection": True,
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256,
    "projection_class_embeddings_input_dim": 2816,
}
VAE = {
    "block_out_channels": (128, 256, 512, 512),
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "layers_per_block": 2,
    "sample_size": 1024,
    "scaling_factor": 0.13025,
    "force_upcast": True,
}


class Tokenizer:
    """77 tokens, whatever the words."""

    model_max_length = 77

    def tokenize(self, _: str) -> list[str]:
        return []

    def __call__(self, *_: Any, **__: Any) -> SimpleNamespace:
        import torch

        return SimpleNamespace(input_ids=torch.arange(self.model_max_length)[None])


def pipeline(dtype: Any) -> Any:
    import diffusers
    import torch
    import transformers

    with torch.device("meta"):
        parts = {
            "vae": diffusers.AutoencoderKL(**VAE),
            "unet": diffusers.UNet2DConditionModel(**UNET),
            "text_encoder": transformers.CLIPTextModel(
                transformers.CLIPTextConfig(**WORDS, **SMALLER, projection_dim=768)
            ),
            "text_encoder_2": transformers.CLIPTextModelWithProjection(
                transformers.CLIPTextConfig(**WORDS, **LARGER, projection_dim=1280, hidden_act="gelu")
            ),
        }
    for part in parts.values():
        part.to_empty(device="cpu").to(dtype)
        for name, buffer in part.named_buffers():
            if name.endswith("position_ids"):
                buffer.copy_(torch.arange(buffer.shape[-1])[None])
    return diffusers.StableDiffusionXLPipeline(
        **parts, tokenizer=Tokenizer(), tokenizer_2=Tokenizer(), scheduler=diffusers.EulerDiscreteScheduler()
    ).to("cuda")


def draw() -> None:
    import torch

    draws = pipeline(torch.float16)
    draws.set_progress_bar_config(disable=True)
    draws("", num_inference_steps=STEPS)
