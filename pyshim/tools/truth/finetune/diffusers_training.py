"""A step as diffusers' scripts train: a LoRA of peft on a denoiser in half precision, or the whole
U-Net with gradient checkpointing and the average of its weights."""

import sys

import diffusers
import peft
import torch
import torch.nn.functional as F
from diffusers.training_utils import EMAModel, cast_training_params

unet = diffusers.UNet2DConditionModel(
    sample_size=32,
    block_out_channels=(32, 64),
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=8,
    cross_attention_dim=32,
)
average = None
if sys.argv[1] == "lora":
    unet.requires_grad_(False)
    unet.to("cuda", dtype=torch.float16)
    unet.add_adapter(peft.LoraConfig(r=4, target_modules=["to_k", "to_q", "to_v", "to_out.0"]))
    cast_training_params(unet, dtype=torch.float32)
else:
    unet.to("cuda").enable_gradient_checkpointing()
    average = EMAModel(unet.parameters(), model_cls=type(unet), model_config=unet.config)
    average.to("cuda")
trained = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
scheduler = diffusers.DDPMScheduler()
for _ in range(3):
    latents = torch.randn(4, 4, 32, 32, device="cuda")
    noise = torch.randn_like(latents)
    times = torch.randint(0, scheduler.config.num_train_timesteps, (4,), device="cuda").long()
    noisy = scheduler.add_noise(latents, noise, times)
    states = torch.randn(4, 77, 32, device="cuda", dtype=torch.float16)
    with torch.autocast("cuda", dtype=torch.float16):
        found = unet(noisy, times, states).sample
    scaler.scale(F.mse_loss(found.float(), noise.float())).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if average:
        average.step(unet.parameters())
print(torch.cuda.max_memory_allocated())
