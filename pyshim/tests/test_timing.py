"""What a measured time decides on a card: the way that takes more memory is taken, and reported."""

import math
import types

import pytest

from memshim.pretend import timing

STACK = '  File "lib.py", line 3, in f\n    g()\n  File "train.py", line 12, in step\n    x @ y\n'


@pytest.fixture(autouse=True)
def found(monkeypatch):
    monkeypatch.setattr(timing, "_found", {})
    return timing.found


def test_each_line_is_counted_once_a_decision(found):
    timing.note("a", STACK)
    timing.note("a", STACK)
    timing.note("b", STACK)
    timing.note("a")
    assert found() == [("a", "train.py", 12, 2), ("b", "train.py", 12, 1), ("a", "", 0, 1)]


@pytest.mark.parametrize("trial, verdict", timing.PADS)
def test_operands_are_padded(found, trial, verdict):
    tried = []
    pad_mm = types.SimpleNamespace(
        **{trial: lambda match, *a, **k: tried.append((a, k)) or pad_mm.__dict__[verdict]("key", 1.0, 2.0)}
    )
    timing.padding(pad_mm)
    nodes = [types.SimpleNamespace(meta=meta) for meta in ({}, {"stack_trace": STACK}, {"stack_trace": "other"})]
    assert pad_mm.__dict__[trial](types.SimpleNamespace(nodes=nodes), 1, two=2) is True
    assert tried == [((1,), {"two": 2})]
    assert found() == [(timing.PADDING, "train.py", 12, 1)]
    assert pad_mm.get_cached_should_pad("key") is True
    assert pad_mm.get_cached_base_mm_benchmark_time("other") is None
    pad_mm.set_cached_base_mm_benchmark_time("other", 3.0)
    assert pad_mm.get_cached_base_mm_benchmark_time("other") == 3.0


NODE = types.SimpleNamespace(meta={"stack_trace": STACK})


class Library:
    pass


class Selector:
    """Of torch 2.8 and newer."""

    @classmethod
    def benchmark_choices(cls, times, **more):
        return times


class EarlierSelector:
    @classmethod
    def make_benchmark_fn(cls, name):
        return lambda times: times


def choose(times, early=False, node=NODE):
    """The times of the choices, of which those of the library come first."""
    base = EarlierSelector if early else Selector
    selector = type("Selector", (base,), {})
    graph = types.SimpleNamespace(current_node=node) if node else types.SimpleNamespace()
    timing.kernels(
        types.SimpleNamespace(
            AlgorithmSelectorCache=selector, ExternKernelCaller=Library, V=types.SimpleNamespace(graph=graph)
        )
    )
    return selector.make_benchmark_fn("x")(times) if early else selector.benchmark_choices(times)


@pytest.mark.parametrize("early", [False, True])
def test_the_librarys_kernel_is_the_fastest(found, early):
    library, times = Library(), {"triton": 2.0, "slow": 6.0}
    assert choose(times | {library: 8.0}, early) == times | {library: 1.0}
    assert found() == [(timing.KERNEL, "train.py", 12, 1)]


def test_a_kernel_that_did_not_run_is_no_choice(found):
    library = Library()
    assert choose({library: math.inf, "triton": 2.0}) == {library: math.inf, "triton": 2.0}
    assert choose({library: 4.0, "triton": math.inf})[library] == 2.0
    assert found() == [], "there was one choice"


def test_of_kernels_alone_any_is_taken(found):
    assert choose({"a": 2.0, "b": 1.0}, node=None) == {"a": 2.0, "b": 1.0}
    assert found() == [(timing.OTHER_KERNEL, "", 0, 1)]
    choose({"a": 2.0, "b": 1.0}, node=types.SimpleNamespace(meta={}))
    assert found() == [(timing.OTHER_KERNEL, "", 0, 2)]
