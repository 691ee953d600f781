"""While PyTorch traces (torch.compile, torch.export, make_fx), tensors are fake and operators are
resolved in Python, which does not know our key: it is left out there. Tensors that hold memory come
through it all the same when the traced code runs."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch._C as C


def exclude_while_tracing(own: C.DispatchKeySet) -> None:
    """In the place of the two doors by which PyTorch enters that state."""
    enable = C._EnablePythonDispatcher

    class EnablePythonDispatcher:
        def __enter__(self) -> None:
            self.stack = contextlib.ExitStack()
            self.stack.enter_context(C._ExcludeDispatchKeyGuard(own))
            self.stack.enter_context(enable())

        def __exit__(self, *error: Any) -> None:
            self.stack.close()

    replace("enable_python_dispatcher", enable, EnablePythonDispatcher)

    from torch._subclasses import fake_tensor

    inside = fake_tensor.in_kernel_invocation_manager

    @contextlib.contextmanager
    def in_kernel_invocation_manager(mode: Any) -> Iterator[None]:
        with C._ExcludeDispatchKeyGuard(own), inside(mode):
            yield

    replace("in_kernel_invocation_manager", inside, in_kernel_invocation_manager)


def follow_folding(key: C.DispatchKey, joint_graph: ModuleType) -> None:
    """After torch._inductor.fx_passes.joint_graph is imported. Inductor computes constants of one
    value by running their operators on the device, and reads them: what a sum or a product with one
    leaves out depends on that. These tensors are no fake ones: they are followed."""
    folder = joint_graph.UniformValueConstantFolder
    deduce, replaced = folder._deduce_value, folder.add_node_replacement

    def followed(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any) -> Any:
            with C._DisablePythonDispatcher(), C._SetExcludeDispatchKeyGuard(key, False):
                return method(self, *args)

        return call

    folder._deduce_value, folder.add_node_replacement = followed(deduce), followed(replaced)


def replace(name: str, old: Any, new: Any) -> None:
    """In every module of PyTorch's that has taken it by name already; the others take it from where
    it is defined."""
    for module in [m for n, m in list(sys.modules.items()) if n.partition(".")[0] == "torch" and m is not None]:
        if vars(module).get(name) is old:
            setattr(module, name, new)
