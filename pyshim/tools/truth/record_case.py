"""What is recorded: a case is a model that can be built, with the inputs of one call."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

KINDS = ("script", "trace")


@dataclasses.dataclass(frozen=True)
class Case:
    """One model. The folder is where its artifacts lie, under testdata/artifacts."""

    name: str
    folder: str
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[], tuple]  # CPU tensors of the wanted shape, ints, bools, lists, tuples, dicts
    kinds: tuple[str, ...] = KINDS

    def artifact(self, kind: str) -> str:
        return f"{self.folder}/{self.name}.{kind}.pt"


def describe(value: Any) -> str:
    """Writes an input in the grammar of `memspec --input`."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{','.join(map(str, value.shape))}]"
    if isinstance(value, list):
        return "[" + ", ".join(map(describe, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(describe, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {describe(v)}" for k, v in value.items()) + "}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def _zero(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    with torch.no_grad():
        return tensor.zero_()


def cheap_init() -> None:
    """Makes torch.nn.init write zeros where it would draw numbers: the account of a run does not
    read weights."""
    for name in (
        "uniform_",
        "normal_",
        "trunc_normal_",
        "orthogonal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "xavier_uniform_",
        "xavier_normal_",
    ):
        setattr(torch.nn.init, name, _zero)


def build(case: Case) -> torch.nn.Module:
    """Builds the module as every recording does: same seed, in eval mode, without gradients."""
    torch.manual_seed(0)
    cheap_init()
    module = case.build().eval()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module
