"""An image made by a pipeline of diffusers, of a tiny config: sd, sdxl, sd3 or flux, with one of the
switches that save memory."""

import sys

import diffusers
import tiny
import torch
import transformers

family, how = sys.argv[1].split("-")


def words(projection=False):
    made = transformers.CLIPTextConfig(
        vocab_size=1000,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        projection_dim=32,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return (transformers.CLIPTextModelWithProjection if projection else transformers.CLIPTextModel)(made)


def t5(width):
    return transformers.T5EncoderModel(
        transformers.T5Config(vocab_size=1000, d_model=width, d_ff=64, d_kv=8, num_layers=2, num_heads=4)
    )


def vae(channels=4):
    return diffusers.AutoencoderKL(
        block_out_channels=[32, 64],
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        latent_channels=channels,
        sample_size=128,
        shift_factor=0.0,
    )


def tokenizer():
    made = tiny.tokenizer()
    made.model_max_length = 77
    return made


def unet(**more):
    return diffusers.UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(32, 64),
        layers_per_block=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
        **more,
    )


if family == "sd":
    pipe = diffusers.StableDiffusionPipeline(
        vae=vae(),
        text_encoder=words(),
        tokenizer=tokenizer(),
        unet=unet(cross_attention_dim=32),
        scheduler=diffusers.DDIMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
elif family == "sdxl":
    pipe = diffusers.StableDiffusionXLPipeline(
        vae=vae(),
        text_encoder=words(),
        text_encoder_2=words(projection=True),
        tokenizer=tokenizer(),
        tokenizer_2=tokenizer(),
        unet=unet(
            cross_attention_dim=64,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=8 * 6 + 32,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(),
    )
elif family == "sd3":
    pipe = diffusers.StableDiffusion3Pipeline(
        transformer=diffusers.SD3Transformer2DModel(
            sample_size=32,
            patch_size=2,
            in_channels=16,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=4,
            joint_attention_dim=64,
            caption_projection_dim=32,
            pooled_projection_dim=64,
            out_channels=16,
        ),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=vae(16),
        text_encoder=words(projection=True),
        text_encoder_2=words(projection=True),
        text_encoder_3=t5(64),
        tokenizer=tokenizer(),
        tokenizer_2=tokenizer(),
        tokenizer_3=tokenizer(),
    )
else:
    pipe = diffusers.FluxPipeline(
        transformer=diffusers.FluxTransformer2DModel(
            in_channels=64,
            num_layers=2,
            num_single_layers=2,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=[4, 4, 8],
        ),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=vae(16),
        text_encoder=words(),
        text_encoder_2=t5(32),
        tokenizer=tokenizer(),
        tokenizer_2=tokenizer(),
    )
pipe.to(dtype=torch.bfloat16)
if how == "model":
    pipe.enable_model_cpu_offload()
elif how == "sequential":
    pipe.enable_sequential_cpu_offload()
elif how == "group":
    pipe.enable_group_offload(
        onload_device=torch.device("cuda"),
        offload_device=torch.device("cpu"),
        offload_type="leaf_level",
        use_stream=True,
    )
else:
    pipe.to("cuda")
    if how == "slicing":
        pipe.enable_attention_slicing()
        pipe.vae.enable_slicing()
    elif how == "tiling":
        pipe.vae.enable_tiling()
pipe.set_progress_bar_config(disable=True)
pipe("a red cat", height=128, width=128, num_inference_steps=2, max_sequence_length=64) if family in (
    "sd3",
    "flux",
) else pipe("a red cat", height=128, width=128, num_inference_steps=2)
print(torch.cuda.max_memory_allocated())
