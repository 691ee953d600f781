"""In TorchScript's interpreter optional tensors and lists leave the stack with the operator's C++ arguments, plain tensors after them. Indices
that are a list of tensors go to an operator of the interpreter's own, which releases its arguments in their order."""

from typing import List, Optional

import torch
from torch import Tensor, nn

kinds = ("script",)


class Model(nn.Module):
    def forward(self, x: Tensor, i: Tensor) -> Tensor:
        # the input is a plain tensor, minimum and maximum are optional: all three are used for the last time
        y = torch.clamp(x + 1, x * 2, x * 3)
        # a plain tensor, a list of optional tensors, a plain tensor
        places: List[Optional[Tensor]] = [i + 1]
        z = torch.index_put(y + 1, places, y[0] * 2)
        # a plain tensor, a list of tensors, a plain tensor
        w = torch.index_put(z + 1, [i + 2], z[0] * 2)
        # a plain tensor, and two optional ones behind it
        return nn.functional.layer_norm(w + y, [16], w[0] + 1, y[0] + 2)


def inputs() -> tuple[Tensor, Tensor]:
    return torch.rand(8, 16), torch.zeros(4, dtype=torch.int64)
