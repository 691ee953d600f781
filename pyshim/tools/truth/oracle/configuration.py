"""One run that is compared: a device, a batch, a setting, and how the model is run."""

from __future__ import annotations

from typing import NamedTuple

DEVICES = ("t4", "a10g", "rtx-4090", "h100-sxm-80gb")
BATCHES = (1, 4)
SETTINGS = ("float32", "autocast", "channels_last")


class Run(NamedTuple):
    model: str
    device: str
    batch: int
    setting: str
    run: str  # live: the module itself; script, trace: its archive in TorchScript's interpreter

    def key(self) -> str:
        return " ".join(map(str, self))


class Prediction(NamedTuple):
    """What is held against a run: of which archive, under which lifetimes."""

    artifact: str  # script; trace; sidecar: a traced archive with the sidecar of memshim export
    runtime: str

    def run(self) -> str:
        return "live" if self.runtime == "eager" else self.artifact


PREDICTIONS = (
    Prediction("script", "eager"),
    Prediction("script", "torchscript"),
    Prediction("trace", "eager"),
    Prediction("trace", "torchscript"),
    Prediction("sidecar", "eager"),
)
