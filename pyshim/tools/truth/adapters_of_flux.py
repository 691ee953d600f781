"""FLUX.2-klein-base-4B fine-tuned by methods of PEFT, as PEFT's own comparison of methods does it
(method_comparison/image-gen of its repository): images of 512 × 512, two a step, bfloat16 with
adapters in float32, gradient checkpointing, AdamW, gradients clipped.

The frozen vision model that the comparison loads before training stays on the device, as it does
there. Text and image encoders are gone when training begins, but what they gave lies where they
left space in the cache. Prompts are padded to 512 tokens, so that nothing depends on the images or
the words. No value is known that a step computes with: none decides a size, and the run is shorter.
After every 100th of its 750 steps the comparison evaluates and empties the cache; STEPS steps are
run here in the place of 100.
"""

from __future__ import annotations

from typing import Any

IMAGES = 14  # of 20, two for validation and four for a test
STEPS = 3  # between two evaluations, in the place of PERIOD
PERIOD = 100  # eval_steps there
LATER = {"lokr"}  # measured since the model comes to the device after the encoders ran
PERIODS = 3  # of 7.5; the published mean of what is allocated is that of the third
TARGETS = """
to_q to_k to_v to_out.0 add_q_proj add_k_proj add_v_proj to_add_out linear_in linear_out to_qkv_mlp_proj
""".split()

# The settings of each run that are not PEFT's defaults: adapter_config.json there. Of the methods of published.csv.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "adalora": (
        "ADALORA",
        {"lora_alpha": 32, "target_r": 8, "init_r": 32, "tinit": 100, "tfinal": 200, "total_step": 750},
    ),
    "boft": ("BOFT", {"boft_n_butterfly_factor": 2}),
    "c3a": ("C3A", {}),
    "deft": ("DEFT", {"r": 32, "decomposition_method": "qr"}),
    "deft-para": ("DEFT", {"r": 32, "decomposition_method": "qr", "para": True}),
    "delora": ("DELORA", {"r": 32}),
    "dora-rank64": ("LORA", {"r": 64, "lora_alpha": 64, "use_dora": True}),
    "fourierft": ("FOURIERFT", {"n_frequency": 2000}),
    "frod": ("FROD", {"runtime_offload_base_weight": True}),
    "glora": ("GLORA", {"r": 32}),
    "gralora": ("GRALORA", {"alpha": 32}),
    "hra": ("HRA", {"r": 32}),
    "ia3": ("IA3", {"feedforward_modules": TARGETS}),
    "lily": ("LILY", {"r": 32}),
    "ln_tuning": ("LN_TUNING", {"target_modules": ["norm_q", "norm_k"]}),
    "loha": ("LOHA", {"r": 32, "alpha": 32}),
    "lokr": ("LOKR", {"r": 32, "alpha": 32}),
    "lora": ("LORA", {"r": 32, "lora_alpha": 32}),
    "lora-rank64": ("LORA", {"r": 64, "lora_alpha": 64}),
    "miss": ("MISS", {"r": 32}),
    "oft": ("OFT", {}),
    "peanut": ("PEANUT", {"r": 32}),
    "psoft": ("PSOFT", {}),
    "pvera": ("PVERA", {"r": 32}),
    "randlora": ("RANDLORA", {"r": 32}),
    "road": ("ROAD", {}),
    "shira": ("SHIRA", {"r": 32}),
    "vblora": ("VBLORA", {"r": 32}),
    "vera": ("VERA", {"r": 32}),
    "waveft": ("WAVEFT", {}),
}


def number(step: int) -> int:
    """The number of a step there, counted from 1, of one here, counted from 0."""
    return step // STEPS * PERIOD + step % STEPS + 1


def mask_on_host(layer: Any, rank: int, **_: Any) -> Any:
    """SHiRA's mask of a layer, on the host, where the comparison makes it too: with as many ones. Where
    they lie decides nothing."""
    import torch

    out, into = layer.weight.shape
    mask = torch.zeros(out * into, dtype=torch.bool)
    mask[: rank * (out + into)] = True
    return mask.view(out, into)


def transformer(method: str) -> Any:
    """The model to train, on the device."""
    import diffusers
    import peft
    import torch

    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = diffusers.Flux2Transformer2DModel(
            in_channels=128,
            num_layers=5,
            num_single_layers=20,
            num_attention_heads=24,
            joint_attention_dim=7680,
            guidance_embeds=False,
        )
    torch.set_default_dtype(torch.float32)
    model.enable_gradient_checkpointing()
    if method == "full":
        return model.requires_grad_(True).train()
    kind, settings = SETTINGS[method]
    config = peft.PEFT_TYPE_TO_CONFIG_MAPPING[kind](**{"target_modules": TARGETS} | settings)
    if method == "shira":
        config.mask_fn = mask_on_host
    return peft.get_peft_model(model, config).train()


class Words:
    """A tokenizer that knows no words: every prompt has 24 tokens, and is padded."""

    def apply_chat_template(self, *_: Any, **__: Any) -> str:
        return ""

    def __call__(self, _: str, max_length: int, **__: Any) -> dict[str, Any]:
        import torch

        tokens = torch.zeros(1, max_length, dtype=torch.int64)
        mask = tokens.clone()
        mask[:, :24] = 1
        return {"input_ids": tokens, "attention_mask": mask}


def encoded_prompts() -> tuple[Any, Any]:
    """The prompts' embeddings, and their places."""
    import diffusers
    import torch
    import transformers

    config = transformers.Qwen3Config(
        vocab_size=151936,
        hidden_size=2560,
        intermediate_size=9728,
        num_hidden_layers=36,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        max_position_embeddings=40960,
        tie_word_embeddings=True,
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        encoder = transformers.Qwen3ForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    prompts, places = [], []
    for _ in range(IMAGES):
        found = diffusers.Flux2KleinPipeline._get_qwen3_prompt_embeds(
            encoder, Words(), "", max_sequence_length=512, hidden_states_layers=[10, 20, 30]
        )
        prompts.append(found.repeat(1, 1, 1).view(1, 512, -1))
        places.append(diffusers.Flux2KleinPipeline._prepare_text_ids(found).to("cuda"))
    del encoder
    return torch.cat(prompts), torch.cat(places)


def encoded_images() -> Any:
    """The images' latents."""
    import diffusers
    import torch

    encoder = diffusers.AutoencoderKLFlux2().eval().to("cuda", torch.bfloat16)
    mean = encoder.bn.running_mean.view(1, -1, 1, 1)
    deviation = torch.sqrt(encoder.bn.running_var.view(1, -1, 1, 1) + encoder.config.batch_norm_eps)
    kept = []
    for _ in range(IMAGES // 2):
        images = torch.zeros(2, 3, 512, 512).to("cuda", torch.bfloat16)
        latents = encoder.encode(images).latent_dist.mode()
        latents = diffusers.Flux2KleinPipeline._patchify_latents(latents)
        latents = (latents - mean) / deviation
        kept.append(latents)
    del encoder
    return torch.cat(kept)


def train(method: str) -> tuple[int, list[int]]:
    """What is allocated at the end of the third period's last step, and the most reserved in each
    period, in bytes. What was reserved at the start is no part of either."""
    import diffusers
    import torch
    import transformers

    torch.nn.Linear(1, 1).to("cuda")  # what is reserved for it is subtracted from each figure
    start = torch.cuda.memory_reserved()
    # There the model has its adapter before it comes to the device, so that each tensor has a storage
    # that it fills, and they lie in the order of modules.
    model = transformer(method).to("cpu")
    torch.cuda.empty_cache()
    order = torch.arange(IMAGES, device="cuda").repeat(1000)
    config = transformers.Dinov2Config(image_size=518, patch_size=14)
    vision = transformers.Dinov2Model(config).eval().to("cuda")
    if method not in LATER:
        model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-4)
    pack = diffusers.Flux2KleinPipeline._pack_latents
    unpack = diffusers.Flux2KleinPipeline._unpack_latents_with_ids
    with torch.no_grad():
        every_prompt, every_text = encoded_prompts()
        every_latent = encoded_images()
    model.to("cuda")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held: list[int] = []
    reserved: list[int] = []
    kept = []
    for step in range(PERIODS * STEPS):
        chosen = order[2 * step : 2 * step + 2]
        latents = every_latent.index_select(0, chosen)
        prompts = every_prompt.index_select(0, chosen)
        text = every_text.index_select(0, chosen)
        places = diffusers.Flux2KleinPipeline._prepare_latent_ids(latents).to("cuda")
        noise = torch.randn_like(latents)
        times = torch.empty([2], device="cuda")
        sigmas = torch.empty([2, 1, 1, 1], dtype=torch.bfloat16, device="cuda")
        noisy = (1 - sigmas) * latents + sigmas * noise
        packed = pack(noisy)
        optimizer.zero_grad()
        found = model(
            hidden_states=packed,
            timestep=times / 1000,
            guidance=None,
            encoder_hidden_states=prompts,
            txt_ids=text,
            img_ids=places,
            return_dict=False,
        )[0]
        found = unpack(found[:, : packed.size(1)], places)
        weights = torch.ones_like(sigmas)
        target = noise - latents
        loss = torch.mean((weights.float() * (found.float() - target.float()) ** 2).reshape(2, -1), 1).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if method == "adalora":
            model.base_model.update_and_allocate(number(step))
        kept.append(loss)
        loss.item()
        if number(step + 1) % PERIOD == 1:
            held.append(torch.cuda.memory_allocated() - start)
            reserved.append(torch.cuda.max_memory_reserved() - start)
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    del vision
    return held[2], reserved
