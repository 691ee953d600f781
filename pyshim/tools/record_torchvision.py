"""The image classifiers of torchvision, each with one image of the size it was made for."""

import functools

import torch
import torchvision

from record_case import Case

# Left out for their size alone: each has a smaller sister of the same code in the list.
SKIP: frozenset[str] = frozenset()
IMAGE = {"inception_v3": 299}


def _build(name: str) -> torch.nn.Module:
    extra = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **extra)


def _inputs(side: int) -> tuple:
    return (torch.zeros(1, 3, side, side),)


def cases() -> list[Case]:
    names = torchvision.models.list_models(module=torchvision.models)
    return [Case(name, "torchvision", functools.partial(_build, name), functools.partial(_inputs, IMAGE.get(name, 224)))
            for name in names if name not in SKIP]


def versions() -> list[str]:
    return [f"torchvision {torchvision.__version__}"]
