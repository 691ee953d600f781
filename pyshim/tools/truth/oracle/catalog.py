"""The models that predictions are held against PyTorch with: of torchvision, timm and transformers,
each with the inputs of a batch."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn


class Model(NamedTuple):
    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple]  # CPU tensors, lists of them; given by position
    layouts: bool = True  # whether there is an image to lay out channels last


def quick_init() -> None:
    """Constructors leave large weights as they come: an account does not read them, and nothing is
    written to memory."""
    for name in ("uniform_", "normal_", "erfinv_", "exponential_"):
        kept = getattr(torch.Tensor, name)

        @functools.wraps(kept)
        def draw(tensor, *args, kept=kept, **kwargs):
            return tensor if tensor.numel() > 64 else kept(tensor, *args, **kwargs)

        setattr(torch.Tensor, name, draw)
    for name in (
        "orthogonal_",
        "trunc_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "xavier_uniform_",
        "xavier_normal_",
    ):
        setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)


def image(side: int, batch: int) -> tuple:
    return (torch.zeros(batch, 3, side, side),)


def images(side: int, batch: int) -> tuple:
    return ([torch.zeros(3, side, side) for _ in range(batch)],)


def clip(frames: int, side: int, batch: int) -> tuple:
    return (torch.zeros(batch, 3, frames, side, side),)


def pair(side: int, batch: int) -> tuple:
    return (torch.zeros(batch, 3, side, side), torch.zeros(batch, 3, side, side))


def _vision(name: str) -> nn.Module:
    import torchvision

    extra: dict[str, Any] = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    if name.startswith(
        ("fcn", "deeplab", "lraspp", "fasterrcnn", "retinanet", "ssd", "fcos", "maskrcnn", "keypointrcnn")
    ):
        extra["weights_backbone"] = None
    return torchvision.models.get_model(name, weights=None, **extra)


def torchvision_models() -> Iterator[Model]:
    from torchvision import models

    made = functools.partial
    for name in models.list_models(module=models):
        yield Model(name, made(_vision, name), made(image, 299 if name == "inception_v3" else 224))
    for name in models.list_models(module=models.segmentation):
        yield Model(name, made(_vision, name), made(image, 224))
    for name in models.list_models(module=models.video):
        frames, side = (16, 224) if name.startswith(("mvit", "swin")) else (16, 224) if name == "s3d" else (8, 112)
        yield Model(name, made(_vision, name), made(clip, frames, side), layouts=False)
    for name in models.list_models(module=models.optical_flow):
        yield Model(name, made(_vision, name), made(pair, 128))


def detection_models() -> Iterator[Model]:
    from torchvision import models

    for name in models.list_models(module=models.detection):
        yield Model(name, functools.partial(_vision, name), functools.partial(images, 320), layouts=False)


# Of each family a small one.
TIMM = """
    vit_tiny_patch16_224 regnetx_002 mobilenetv3_small_050 deit_tiny_patch16_224 efficientnet_lite0 ghostnet_100 convnext_atto lcnet_050
    tinynet_e mixer_s32_224 gmlp_ti16_224 resmlp_12_224 pit_ti_224 levit_128s xcit_nano_12_p16_224 crossvit_tiny_240 coat_lite_tiny
    edgenext_xx_small mobilevit_xxs mobileone_s0 repvgg_a0 hardcorenas_a semnasnet_050 spnasnet_100 fbnetc_100 poolformer_s12 pvt_v2_b0
    swin_tiny_patch4_window7_224 twins_pcpvt_small cait_xxs24_224 visformer_tiny res2net50_14w_8s resnet18 seresnet18 skresnet18 dla34
    vovnet39a densenet121 dpn48b inception_v4 rexnet_100 tf_efficientnet_b0 efficientvit_b0 fastvit_t8 repvit_m0_9 starnet_s1 mambaout_femto
    nextvit_small tiny_vit_5m_224 convmixer_768_32 volo_d1_224 beit_base_patch16_224 eva02_tiny_patch14_224 bat_resnext26ts botnet26t_256
    caformer_s18 coatnet_nano_cc_224 convit_small convnext_nano cpubone_nano cs3darknet_focus_s cspnext_s davit_small
    deit3_small_patch16_224 eca_resnext26ts ecaresnet26t edgenext_small efficientnet_b0_g8_gn eva02_small_patch14_224 fasternet_s
    flexivit_small gcvit_small hgnet_small hiera_small_224 hrnet_w18_small iformer_s inception_next_small lcnetv2_small legacy_seresnet18
    lowformer_b0 mobilevit_s mvitv2_small nest_small rdnet_small resnetv2_18 sequencer2d_s swiftformer_s swinv2_cr_small_224
    swinv2_small_window8_256 vit_relpos_small_patch16_224 vitamin_small_224 resnext50_32x4d resnest14d wide_resnet50_2 gernet_s
    mnasnet_small mobilenetv2_050 mobilenetv4_conv_small xception41 selecsls42 regnety_002 efficientformer_l1 maxvit_rmlp_pico_rw_256
""".split()


def timm_models() -> Iterator[Model]:
    timm = importlib.import_module("timm")
    for name in TIMM:
        side = timm.get_pretrained_cfg_value(name, "input_size")
        yield Model(
            f"timm.{name}",
            functools.partial(timm.create_model, name, pretrained=False),
            functools.partial(image, side[-1] if side else 224),
        )


class First(nn.Module):
    """A model of transformers, its arguments by position, its result's first tensor."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], fixed: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, inputs)), **self.fixed)[0]


SMALL = {
    "vocab_size": 1024,
    "hidden_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "max_position_embeddings": 512,
}
GROUPED = {"num_key_value_heads": 2}
VISION = {
    "hidden_size": 192,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 384,
    "image_size": 224,
    "patch_size": 16,
}
ENCODERS = {
    "Bert": {},
    "Roberta": {"max_position_embeddings": 514},
    "Electra": {"embedding_size": 128},
    "DistilBert": {"dim": 256, "n_layers": 3, "n_heads": 4, "hidden_dim": 512},
    "Albert": {"embedding_size": 128},
    "DebertaV2": {},
    "Deberta": {},
    "MPNet": {"max_position_embeddings": 514},
    "RoFormer": {"embedding_size": 256},
    "XLMRoberta": {"max_position_embeddings": 514},
    "ConvBert": {"embedding_size": 256},
    "FNet": {},
    "Nystromformer": {},
    "SqueezeBert": {"embedding_size": 256},
    "MobileBert": {},
    "Camembert": {"max_position_embeddings": 514},
    "Ernie": {},
    "MegatronBert": {},
    "ModernBert": {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
    "LayoutLM": {},
    "BigBird": {"attention_type": "original_full"},
    "Funnel": {
        "num_hidden_layers": None,
        "block_sizes": [1, 1, 1],
        "d_model": 256,
        "n_head": 4,
        "d_head": 64,
        "d_inner": 512,
    },
    "Longformer": {"attention_window": 64, "max_position_embeddings": 514},
    "XLNet": {"max_position_embeddings": None, "d_model": 256, "n_layer": 3, "n_head": 4, "d_inner": 512},
}
DECODERS = {
    "GPT2": {"n_positions": 512, "n_embd": 256, "n_layer": 3, "n_head": 4},
    "OPT": {"ffn_dim": 512, "word_embed_proj_dim": 256},
    "GPTNeoX": {},
    "Bloom": {"n_layer": 3, "n_head": 4},
    "Llama": GROUPED,
    "Mistral": GROUPED,
    "Qwen2": GROUPED,
    "Qwen3": GROUPED | {"head_dim": 64},
    "Gemma": GROUPED | {"head_dim": 64},
    "Gemma2": GROUPED | {"head_dim": 64},
    "Phi": {},
    "Phi3": GROUPED | {"pad_token_id": 0},
    "Falcon": {},
    "StableLm": GROUPED,
    "Olmo": GROUPED,
    "Olmo2": GROUPED,
    "Granite": GROUPED,
    "Cohere": GROUPED,
    "Starcoder2": GROUPED,
    "GPTNeo": {
        "num_hidden_layers": None,
        "attention_types": [[["global", "local"], 1]],
        "num_layers": 2,
        "num_heads": 4,
    },
    "CodeGen": {"n_embd": 256, "n_layer": 3, "n_head": 4, "rotary_dim": 32, "n_positions": 512},
    "Helium": GROUPED | {"head_dim": 64},
    "SmolLM3": GROUPED | {"pad_token_id": 0},
    "Glm": GROUPED | {"head_dim": 64, "pad_token_id": 0},
    "Nemotron": GROUPED | {"head_dim": 64},
}
PIXELS = {
    "ViT": VISION,
    "DeiT": VISION,
    "Beit": VISION,
    "Dinov2": VISION,
    "ConvNext": {},
    "ConvNextV2": {},
    "Swin": {},
    "Swinv2": {},
    "ResNet": {},
    "RegNet": {},
    "MobileViT": {},
    "PoolFormer": {},
    "Segformer": {},
    "Pvt": {},
    "Levit": {},
    "MobileNetV2": {},
    "EfficientNet": {},
    "Bit": {},
    "Cvt": {},
    "FocalNet": {},
    "ViTMSN": VISION,
    "Data2VecVision": VISION,
    "SiglipVision": VISION,
    "CLIPVision": VISION,
}


def _hub(name: str, kind: str, names: tuple[str, ...], fixed: dict[str, Any], settings: dict[str, Any]) -> nn.Module:
    transformers = importlib.import_module("transformers")
    # None: a setting that this one has not
    config = getattr(transformers, name + "Config")(**{k: v for k, v in settings.items() if v is not None})
    return First(getattr(transformers, name + kind)(config), names, fixed)


def tokens(mask: bool, length: int, batch: int) -> tuple:
    ids = torch.ones(batch, length, dtype=torch.int64)
    return (ids, torch.ones_like(ids)) if mask else (ids,)


def transformers_models() -> Iterator[Model]:
    part = functools.partial
    both = ("input_ids", "attention_mask")
    for name, settings in ENCODERS.items():
        yield Model(
            f"hf.{name}", part(_hub, name, "Model", both, {}, SMALL | settings), part(tokens, True, 128), layouts=False
        )
    for name, settings in DECODERS.items():
        kind = {"GPT2": "LMHeadModel"}.get(name, "ForCausalLM")
        yield Model(
            f"hf.{name}",
            part(_hub, name, kind, ("input_ids",), {"use_cache": False}, SMALL | settings),
            part(tokens, False, 128),
            layouts=False,
        )
    for name, settings in PIXELS.items():
        yield Model(f"hf.{name}", part(_hub, name, "Model", ("pixel_values",), {}, settings), part(image, 224))


CATALOGS = {
    "torchvision": torchvision_models,
    "detection": detection_models,
    "timm": timm_models,
    "transformers": transformers_models,
}
