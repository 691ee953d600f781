"""The module that has a parameter or a buffer, by the tensor. Nothing is held."""

from __future__ import annotations

import weakref
from typing import Any


class TensorModules:
    """Of tensors that modules have registered."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[weakref.ref[Any], str]] = {}  # by id, which may come twice

    def name(self, tensor: Any, module: str) -> None:
        if self.of(tensor) != module:
            self._of[id(tensor)] = weakref.ref(tensor), module

    def name_all(self, root: Any) -> None:
        """Name what a module and those in it have. Of a tensor that several have, the first counts."""
        for name, module in root.named_modules():
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is not None and self.of(tensor) is None:
                    self.name(tensor, name)

    def of(self, tensor: Any) -> str | None:
        """None where no module is known that has it."""
        held, name = self._of.get(id(tensor), (None, None))
        return name if held is not None and held() is tensor else None
