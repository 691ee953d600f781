"""The image classifiers of torchvision, each with one image of the size it was made for."""

import functools

import torch
import torchvision
from record_case import Case

# Not kept in the repository, for the size of their archives alone: each has a sister of the same
# code that is. To record them elsewhere: --artifacts, --conformance and their names.
LEFT_OUT = frozenset(
    """
    convnext_small convnext_base convnext_large densenet161 densenet169 densenet201 efficientnet_b2 efficientnet_b3
    efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_m efficientnet_v2_l mnasnet0_75
    mnasnet1_3 regnet_x_3_2gf regnet_x_8gf regnet_x_16gf regnet_x_32gf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf
    regnet_y_16gf regnet_y_32gf regnet_y_128gf resnet152 resnext101_64x4d swin_b swin_v2_s swin_v2_b vit_h_14 vit_l_32
    wide_resnet101_2
""".split()
)
IMAGE = {"inception_v3": 299}


def _build(name: str) -> torch.nn.Module:
    extra = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **extra)


def _inputs(side: int) -> tuple:
    return (torch.zeros(1, 3, side, side),)


def cases() -> list[Case]:
    names = torchvision.models.list_models(module=torchvision.models)
    return [
        Case(name, "torchvision", functools.partial(_build, name), functools.partial(_inputs, IMAGE.get(name, 224)))
        for name in names
    ]


def versions() -> list[str]:
    return [f"torchvision {torchvision.__version__}"]
