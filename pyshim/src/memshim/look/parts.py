"""What a peak is made of, as values."""

from __future__ import annotations

from typing import NamedTuple


class Parts(NamedTuple):
    """They add up to the peak, in bytes."""

    weights: int  # parameters and buffers
    gradients: int
    optimizer_state: int
    activations: int  # what forward made and keeps, for the backward or for whoever holds it
    temporaries: int  # what an operator, a layer, the backward or a step makes for itself
    workspace: int  # memory of libraries, no tensor's
    inputs: int  # what the model is given
    other_models: int
    other: int  # tensors that are none of these: targets, data sets; and what no Python object says of
    rounding: int  # what blocks are larger than what was asked for

    def total(self) -> int:
        return sum(self)


class Row(NamedTuple):
    """Of the peak, what belongs to a layer; or to one of its tensors, where tensor is not empty."""

    layer: str
    type: str  # the layer's class, the tensor's dtype and shape
    tensor: str
    weights: int
    gradients: int
    optimizer_state: int
    activations: int

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        return self.weights, self.gradients, self.optimizer_state, self.activations


class Breakdown(NamedTuple):
    """phase: forward, backward, step or outside of them; where: the layer or the line that was at
    work."""

    peak: int
    cached: int | None  # reserved beside it at that moment; None on CPU tensors
    parts: Parts
    rows: list[Row]
    phase: str
    where: str
    lost: str = ""  # why it does not record all
