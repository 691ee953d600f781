"""A recipe of the torchtune in the folder that SOURCE names, unmodified: RECIPE --config CONFIG, and what
else torchtune's own command line takes. The configuration names its components, and these take the place of three: a
checkpointer whose weights nobody wrote, a tokenizer, and text of made-up words."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

SAMPLES = 64


class Checkpointer:
    """Weights of a model, which `model` names by its builder, in bfloat16."""

    def __init__(self, model: str, **_: Any) -> None:
        module, _, name = model.rpartition(".")
        self.build = getattr(importlib.import_module(module), name)

    def load_checkpoint(self) -> dict[str, Any]:
        with torch.device("meta"):
            made = self.build().state_dict()
        return {"model": {k: torch.empty(v.shape, dtype=torch.bfloat16) for k, v in made.items()}}

    def save_checkpoint(self, *_: Any, **__: Any) -> None:
        """Nothing is written."""


class Tokenizer:
    pad_id = 0

    def __init__(self, max_seq_len: int, **_: Any) -> None:
        self.max_seq_len = max_seq_len


class Tokens(Dataset):
    """Samples of 128 tokens, as many as fill SAMPLES whole lengths."""

    def __init__(self, length: int) -> None:
        self.count = SAMPLES * length // 128

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> dict[str, list[int]]:
        if i >= self.count:
            raise IndexError(i)
        return {"tokens": list(range(1, 129)), "labels": list(range(1, 129))}


def packed_text(tokenizer: Tokenizer, packed: bool, **_: Any) -> Dataset:
    from torchtune.datasets import PackedDataset

    assert packed
    return PackedDataset(Tokens(tokenizer.max_seq_len), max_seq_len=tokenizer.max_seq_len)


def with_a_kernel_of_flex_attention() -> None:
    """torch 2.6.0 leaves out each kernel of 8 warps for flex attention's backward pass
    (pytorch/pytorch#141603), and so the only one that it has for heads of 128. One of 4 warps takes its
    place: that decides time and no memory."""
    from torch._inductor.kernel import flex_attention

    default = flex_attention._get_default_config_bwd

    def of_four_warps(query: Any) -> tuple[int, int, int, int]:
        rows, columns, _, stages = default(query)
        return rows, columns, 4, stages

    flex_attention._get_default_config_bwd = of_four_warps


if __name__ == "__main__":
    sys.path.insert(0, os.environ["SOURCE"])
    from torchtune._cli.tune import main

    here = Path(__file__).stem
    sys.path.insert(0, str(Path(__file__).parent))
    components = {
        "checkpointer._component_": f"{here}.Checkpointer",
        "tokenizer._component_": f"{here}.Tokenizer",
        "dataset._component_": f"{here}.packed_text",
        "metric_logger._component_": "torchtune.training.metric_logging.StdoutLogger",
        "output_dir": ".",
    }
    given = [f"{k}={v}" for k, v in components.items()]
    with_a_kernel_of_flex_attention()
    sys.argv = ["tune", "run", *sys.argv[1:], *given]
    sys.exit(main())
