"""Where a rank lies among the others, and along which ranks memory differs, by what a program has."""

import types

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.distributed_c10d")
from memshim.program import places  # noqa: E402

dist = torch.distributed


@pytest.fixture(autouse=True)
def groups(monkeypatch):
    """A group is the list of its ranks."""
    monkeypatch.setattr(dist, "get_process_group_ranks", lambda group: list(group or range(4)))


class Mesh:
    def __init__(self, *shape):
        self.shape = shape

    def size(self, at):
        return self.shape[at]

    def get_group(self, at):
        return [10 * at + i for i in range(self.shape[at])]


def shard(dim):
    return types.SimpleNamespace(is_shard=lambda: dim is not None, dim=dim)


def parameter(shape, mesh, *dims):
    return types.SimpleNamespace(shape=shape, device_mesh=mesh, placements=[shard(d) for d in dims])


def stepped(*parameters, kind="Adam", **more):
    found = places.Places(0, 8)
    optimizer = type(kind, (), {"param_groups": [{"params": list(parameters)}], **more})()
    found.stepped(optimizer)
    found.stepped(optimizer)
    return found.groups


def test_shards_of_a_size_that_the_ranks_do_not_divide_differ():
    mesh = Mesh(4)
    assert stepped(parameter((8, 3), mesh, 0)) == {}
    assert stepped(parameter((10, 3), mesh, 0)) == {places.UNEVEN: [[0, 3]]}
    assert stepped(parameter((8, 10), mesh, 1)) == {places.UNEVEN: [[0, 3]]}
    assert stepped(parameter((10, 3), mesh, None)) == {}, "a replica"
    assert stepped(torch.zeros(10)) == {}, "of no mesh"


def test_each_dimension_of_a_mesh_counts():
    mesh = Mesh(2, 4)
    assert stepped(parameter((10, 3), mesh, None, 0)) == {places.UNEVEN: [[10, 13]]}
    assert stepped(parameter((5, 5), mesh, 0, 1)) == {places.UNEVEN: [[0, 1], [10, 12, 13]]}


def test_ranks_are_those_that_differ_in_any_parameter():
    mesh = Mesh(4)
    assert stepped(parameter((5,), mesh, 0), parameter((10,), mesh, 0)) == {places.UNEVEN: [[0, 2, 3]]}


def test_an_optimizer_of_shards_differs_on_each_rank():
    assert stepped(kind="ZeroRedundancyOptimizer", process_group=[0, 2]) == {places.ZERO: [[0, 2]]}


def test_alike_ranks_are_noted_once():
    found = places.Places(0, 8)
    for ranks in ([0, 1], [0, 1], [0], [], [0, 2]):
        found.differ("why", ranks)
    assert found.groups == {"why": [[0, 1], [0, 2]]}


@pytest.mark.parametrize("shape, outside", [((2, 4), False), ((2, 2), True), ((7,), True), ((9,), False)])
def test_a_rank_outside_of_a_mesh_goes_another_way(shape, outside):
    found = places.Places(0, 8)
    found.covers(shape)
    ((why, ranks),) = found.groups.items() if outside else (("", []),)
    n = shape[0] * shape[-1] if len(shape) > 1 else shape[0]
    assert ranks == ([[0, n]] if outside else [])
    assert not outside or why.startswith(f"outside of the mesh {shape} at test_places.py:") and f"has {n} of 8" in why


@pytest.fixture
def values(monkeypatch):
    from memshim.pretend import values

    found = types.SimpleNamespace(routes=4, routing="balanced")
    monkeypatch.setattr(values, "installed", lambda: found)
    return found


def sent(sizes, group=None):
    found = places.Places(0, 8)
    found.sends(sizes, group)
    return found.groups.get(places.EXPERTS)


def test_ranks_with_other_numbers_of_experts_differ(values):
    assert sent([4, 2, 2, 0]) == [[0, 1, 3]]
    assert sent([2, 2, 2, 2]) is None
    values.routing = "skewed"
    assert sent([5, 4, 4, 3]) == [[0, 1, 3]], "by the tokens themselves"
    values.routing = "balanced"
    assert sent([5, 4, 4, 3]) is None, "give or take one of so many experts"


def test_what_is_not_sent_to_each_rank_of_a_group_says_nothing(values, monkeypatch):
    for sizes in (None, [1.0, 2, 3, 4], "1234", [4, 2], [True, 1, 1, 0]):
        assert sent(sizes) is None
    assert sent([4, 2, 2, 0], group="name") is None
    from memshim.pretend import values as module

    monkeypatch.setattr(module, "installed", lambda: None)
    assert sent([4, 2, 2, 0]) is None


def mesh(shape, ranks, names):
    return shape, ranks, names


def test_a_rank_lies_in_the_mesh_that_says_most():
    found = places.Places(5, 8)
    assert found.place() == []
    found.meshes = [
        mesh([2], [0, 4], ["other"]),
        mesh([8], list(range(8)), ["all"]),
        mesh([2, 4], list(range(8)), ["pp", "dp"]),
        mesh([4], [4, 5, 6, 7], ["dp"]),
    ]
    assert found.place() == [{"name": "pp", "index": 1, "size": 2}, {"name": "dp", "index": 1, "size": 4}]
    found.rank = 2
    assert [d["index"] for d in found.place()] == [0, 2]


def test_the_report_of_a_rank():
    found = places.Places(1, 2)
    found.stages = [3, 1, 3]
    found.differ("a", [0, 1])
    found.differ("a", [0, 2])
    assert found.as_json() == {
        "rank": 1, "world_size": 2, "place": [], "stages": [1, 3],
        "differ": [{"why": "a", "ranks": [0, 1]}, {"why": "a", "ranks": [0, 2]}],
    }  # fmt: skip


@pytest.mark.parametrize(
    "sizes, ranks, first",
    [([8], 4, [0]), ([10], 4, [0, 3]), ([5], 4, [0, 2, 3]), ([3], 4, [0, 3]), ([0], 4, [0]), ([], 4, [0]),
     ([8, 10], 4, [0, 3]), ([5, 10], 4, [0, 2, 3]), ([7], 1, [0])],
)  # fmt: skip
def test_the_first_of_each_that_has_the_same_shards(sizes, ranks, first):
    assert places.first_of_each(sizes, ranks) == first


def test_how_many_experts_a_rank_has():
    assert places.experts_of([684, 341, 682, 341], 6) == [2, 1, 2, 1]
    assert places.experts_of([0, 0], 4) == [0, 0], "of no tokens"
    assert places.experts_of([1, 1], 3) == [2, 2], "a half is rounded up"


def test_sends_are_seen_and_go_on(monkeypatch):
    found, seen = places.Places(0, 8), []
    monkeypatch.setattr(found, "sends", lambda sizes, group: seen.append((sizes, group)))
    sending = found._sending(lambda *a, **k: (a, k))
    assert sending("x", [1], [2], "group", 5, tag="t") == (("x", [1], [2], "group", 5), {"tag": "t"})
    assert seen == [([2], "group")]
