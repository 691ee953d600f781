"""What the library is passed before a group of NCCL is split: how many ranks the part has, and where."""

import types

import pytest

torch = pytest.importorskip("torch")

from torch._C import _distributed_c10d as c10d  # noqa: E402
from torch.distributed import distributed_c10d  # noqa: E402

from memshim.pretend import process_groups  # noqa: E402


@pytest.fixture
def splits(monkeypatch):
    """The calls of the library and of the groups' own methods, in order. Eight ranks lie on two nodes."""
    calls = []

    def spread(ranks, environ):
        return len({r // 4 for r in ranks}), max((sum(r // 4 == n for r in ranks) for n in (0, 1)), default=0)

    def group(method):
        def split(self, *args, **kwargs):
            calls.append((method, args, kwargs))
            if "fails" in kwargs:
                raise RuntimeError("NCCL's")
            return method

        return type("Group", (), {method: split})

    monkeypatch.setattr(process_groups.communicators, "spread", spread)
    monkeypatch.setattr(process_groups, "Library", lambda: types.SimpleNamespace(split=lambda *a: calls.append(a)))
    monkeypatch.setattr(c10d, "ProcessGroup", group("split_group"), raising=False)
    monkeypatch.setattr(c10d, "ProcessGroupNCCL2", group("split"), raising=False)
    monkeypatch.setattr(c10d, "ProcessGroupNCCLLazy", type("WithoutSplit", (), {}), raising=False)
    monkeypatch.setattr(distributed_c10d, "_process_group_color", lambda ranks: 1000 + len(ranks))
    process_groups.watch()
    return calls


OF_123 = [(1, 3, 1, 3), (-1, 3, 1, 3)]  # by its colour, and by any
NONE = (-1, 0, 0, 0)


@pytest.mark.parametrize(
    "group, method, args, kwargs",
    [
        ("ProcessGroup", "split_group", ([1, 2, 3], 5), {}),
        ("ProcessGroup", "split_group", (), {"ranks": [1, 2, 3]}),
        ("ProcessGroupNCCL2", "split", ("store", [1, 2, 3]), {"timeout": 5}),
        ("ProcessGroupNCCL2", "split", ("store",), {"ranks": [1, 2, 3]}),
    ],
)
def test_the_ranks_of_a_part_are_passed_before_the_split_and_taken_back(splits, group, method, args, kwargs):
    assert getattr(getattr(c10d, group)(), method)(*args, **kwargs) == method
    assert splits == [*OF_123, (method, args, kwargs), NONE]


def test_they_are_taken_back_where_the_split_fails(splits):
    with pytest.raises(RuntimeError, match="NCCL's"):
        c10d.ProcessGroup().split_group([1, 2, 3], fails=True)
    assert splits[-1] == NONE and len(splits) == 4


def test_a_group_that_has_no_split_has_none(splits):
    assert not hasattr(c10d.ProcessGroupNCCLLazy, "split")


def test_the_ranks_of_a_colour_are_passed_with_it(splits):
    assert distributed_c10d._process_group_color([0, 4, 5, 6]) == 1004 and splits == [(1004, 4, 2, 3)]


def test_a_torch_without_distributed_is_left_alone(monkeypatch):
    before = distributed_c10d._process_group_color
    monkeypatch.setattr(torch.distributed, "is_available", lambda: False)
    process_groups.watch()
    assert distributed_c10d._process_group_color is before
