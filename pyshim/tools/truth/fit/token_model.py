"""What the finders train: layers over tokens, of which a T4 holds some hundred rows."""

from __future__ import annotations

import torch

TOKENS, WIDTH, LAYERS, WORDS = 512, 1024, 6, 1000


def make() -> torch.nn.Module:
    layers = [m for _ in range(LAYERS) for m in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]
    return torch.nn.Sequential(torch.nn.Embedding(WORDS, WIDTH), *layers)


class Rows(torch.utils.data.Dataset[torch.Tensor]):
    """So many rows, all the same."""

    def __init__(self, count: int) -> None:
        self._count, self._row = count, torch.zeros(TOKENS, dtype=torch.int64)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, _: int) -> torch.Tensor:
        return self._row
