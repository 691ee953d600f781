"""What PyTorch reports of compiling, release by release."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from memshim.case.compiled_iterations import CALLBACKS, Compiling

GRAPHS, INDUCTOR = "torch._inductor.cudagraph_trees", "torch._inductor.compile_fx"


class Handler:
    def __init__(self):
        self.start_callbacks = []
        self.register_start_callback = self.start_callbacks.append
        self.remove_start_callback = self.start_callbacks.remove


class Manager:
    def record_function(self, inputs):
        return inputs + 1


@pytest.fixture
def release(monkeypatch):
    """The modules of a release: of 2.8 where newer, else of one before it."""

    def make(newer):
        modules = {name: ModuleType(name) for name in (CALLBACKS, GRAPHS, INDUCTOR)}
        modules[CALLBACKS].callback_handler = Handler()
        if newer:
            modules[CALLBACKS].CallbackTrigger = object
        modules[GRAPHS].CUDAGraphTreeManager = type("CUDAGraphTreeManager", (Manager,), {})
        modules[INDUCTOR]._compile_fx_inner = lambda graph: graph + 2
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return SimpleNamespace(
            handler=modules[CALLBACKS].callback_handler,
            record=lambda: modules[GRAPHS].CUDAGraphTreeManager().record_function(1),
            backward=lambda: modules[INDUCTOR]._compile_fx_inner(1),
        )

    return make


@pytest.mark.parametrize(
    ("newer", "does", "result", "seen"),
    [
        (False, "record", 2, True),
        (False, "backward", 3, True),
        (True, "record", 2, False),  # its own callback reports it
        (True, "backward", 3, False),
    ],
)
def test_before_2_8_what_no_callback_reports_is_seen(release, newer, does, result, seen):
    torch = release(newer)
    compiling = Compiling()
    assert getattr(torch, does)() == result and compiling.seen is seen
    compiling.restart()
    compiling.close()
    assert getattr(torch, does)() == result and not compiling.seen


def test_a_callback_is_seen_until_the_end(release):
    handler = release(newer=True).handler
    compiling = Compiling()
    handler.start_callbacks[0]()
    assert compiling.seen
    compiling.close()
    assert not handler.start_callbacks


def test_what_is_never_imported_is_awaited_until_the_end(monkeypatch):
    monkeypatch.delitem(sys.modules, CALLBACKS, raising=False)
    finders = list(sys.meta_path)
    compiling = Compiling()
    assert len(sys.meta_path) == len(finders) + 1
    compiling.close()
    assert sys.meta_path == finders
