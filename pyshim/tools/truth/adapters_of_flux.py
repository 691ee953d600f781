"""FLUX.2-klein-base-4B fine-tuned by methods of PEFT, as PEFT's own comparison of methods does it
(method_comparison/image-gen of its repository): images of 512 × 512, two a step, bfloat16 with
adapters in float32, gradient checkpointing, AdamW, gradients clipped.

The frozen vision model that the comparison loads before training stays on the device, as it does
there; text and image encoders are gone when training begins. Prompts are padded to 512 tokens, so
that nothing depends on the images or the words.
"""

from __future__ import annotations

from typing import Any

IMAGES = 14  # of 20, two for validation and four for a test
STEPS = 4
FIRST = 201  # the number of the first of them, where a method asks: the published mean is of steps 201 to 300
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
    model = peft.get_peft_model(model, config).to("cuda").train()
    # There the model comes from the host to the device once it has its adapter, so that each tensor
    # has a storage that it fills, and is no part of what the adapter was made from.
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.untyped_storage().nbytes() != tensor.nbytes:
            tensor.data = tensor.data.clone()
    return model


def train(method: str) -> tuple[int, int]:
    """What is allocated at a step's end, and what was reserved at the start and is no part of any
    figure, in bytes. What is reserved is PyTorch's peak."""
    import diffusers
    import torch
    import transformers

    torch.nn.Linear(1, 1).to("cuda")  # what is reserved for it is subtracted from each figure
    start = torch.cuda.memory_reserved()
    model = transformer(method)
    with torch.device("cuda"):
        vision = transformers.Dinov2Model(transformers.Dinov2Config()).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-4)
    pack = diffusers.Flux2KleinPipeline._pack_latents
    unpack = diffusers.Flux2KleinPipeline._unpack_latents_with_ids
    every_prompt = torch.zeros(IMAGES, 512, 7680, dtype=torch.bfloat16, device="cuda")
    every_text = diffusers.Flux2KleinPipeline._prepare_text_ids(every_prompt).to("cuda")
    every_latent = torch.zeros(IMAGES, 128, 32, 32, dtype=torch.bfloat16, device="cuda")
    order = torch.arange(IMAGES, device="cuda").repeat(1000)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    kept = []
    for step in range(STEPS):
        chosen = order[2 * step : 2 * step + 2]
        latents = every_latent.index_select(0, chosen)
        prompts = every_prompt.index_select(0, chosen)
        text = every_text.index_select(0, chosen)
        places = diffusers.Flux2KleinPipeline._prepare_latent_ids(latents).to("cuda")
        noise = torch.randn_like(latents)
        times = torch.full([2], 500.0, device="cuda")
        sigmas = torch.full([2, 1, 1, 1], 0.5, dtype=torch.bfloat16, device="cuda")
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
            model.base_model.update_and_allocate(FIRST + step)
        kept.append(loss)
        loss.item()
    held = torch.cuda.memory_allocated() - start
    del vision
    return held, start
