"""torchao's benchmark of low-bit optimizers, benchmark_low_bit_adam.py in the folder that SOURCE names,
unmodified. Its data set, of images of 224 x 224, has five batches of made-up ones; the model has no
pretrained weights, and nothing is sent to a service that draws curves."""

import os
import runpy
import sys
from types import ModuleType, SimpleNamespace

import timm
import torch
from PIL import Image

BATCHES = 5


class Images(torch.utils.data.Dataset):
    def __init__(self, count: int) -> None:
        self.count = count
        self.transform = None

    def select_columns(self, _: list[str]) -> "Images":
        return self

    def set_transform(self, transform) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> dict:
        if i >= self.count:
            raise IndexError(i)
        return self.transform({"image": Image.new("RGB", (256, 256)), "label": i % 45})


def stub(name: str, **what) -> None:
    module = ModuleType(name)
    vars(module).update(what)
    sys.modules[name] = module


batch = int(sys.argv[sys.argv.index("--batch_size") + 1])
stub("datasets", load_dataset=lambda *_, split: Images(batch * (BATCHES if split == "train" else 1)))
stub("wandb", init=lambda **_: SimpleNamespace(log=lambda *_, **__: None))
create = timm.create_model
timm.create_model = lambda name, pretrained, **more: create(name.removeprefix("timm/"), pretrained=False, **more)
sys.path.insert(0, os.environ["SOURCE"])
script = f"{os.environ['SOURCE']}/benchmarks/benchmark_low_bit_adam.py"
sys.argv[0] = script
runpy.run_path(script, run_name="__main__")
