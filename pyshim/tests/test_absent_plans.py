"""What absent ranks would say of a checkpoint, and which numbers of a flat parameter they have."""

import dataclasses
import io
import types

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.distributed_c10d")
from memshim.pretend.absent import checkpoints, flat_states, objects  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Plan:
    items: tuple


class SavePlan(Plan):
    pass


class LoadPlan(Plan):
    pass


@dataclasses.dataclass(frozen=True)
class WriteResult:
    index: str
    size_in_bytes: int
    storage_data: object


@dataclasses.dataclass(frozen=True)
class Place:
    relative_path: str
    offset: int
    length: int


class Group:
    def rank(self):
        return 1

    def size(self):
        return 3


class DTensor:
    def __init__(self, mesh):
        self.device_mesh = mesh


def made(where, *more):
    """A plan of what lies where: of each mesh the coordinate."""
    return SavePlan((*(tuple(t.device_mesh._coordinate_on_dim) for t in where.values() if type(t) is DTensor), *more))


MODULE = types.SimpleNamespace(
    SavePlan=SavePlan,
    LoadPlan=LoadPlan,
    DTensor=DTensor,
    create_default_local_save_plan=lambda state, first: made(state, "first" if first else ""),
    create_default_local_load_plan=lambda state, metadata, strict: made(state, metadata, strict),
)


def mesh(numbers, own, root=None):
    found = types.SimpleNamespace(mesh=torch.tensor(numbers), _coordinate_on_dim=own)
    found._get_root_mesh = lambda: root or found
    return found


@pytest.fixture
def of(monkeypatch):
    monkeypatch.setattr(checkpoints.dist, "get_process_group_ranks", lambda group: [0, 2, 4])
    gathered = {}
    return types.SimpleNamespace(scattered=[], gathered=gathered, earlier_gathered=lambda group, own: gathered)


def said(of, own, **planner):
    return checkpoints.said(of, MODULE, types.SimpleNamespace(**planner), Group(), own)


LINE = [0, 1, 2, 3, 4, 5]


def test_each_ranks_plan_follows_from_where_its_shards_lie(of):
    one = mesh(LINE, [2])
    plans = said(of, SavePlan(((2,), "")), state_dict={"a": DTensor(one), "b": 3})
    assert [p.items for p in plans] == [((0,), "first"), ((2,), ""), ((4,), "")]
    assert one._coordinate_on_dim == [2], "as it was"


def test_what_a_rank_loads(of):
    state = {"a": DTensor(mesh(LINE, [2]))}
    own = LoadPlan(((2,), "meta", True))
    assert [p.items for p in said(of, own, state_dict=state, metadata="meta")] == [
        ((0,), "meta", True),
        ((2,), "meta", True),
        ((4,), "meta", True),
    ]
    own = LoadPlan(((2,), "meta", False))
    plans = said(of, own, state_dict=state, metadata="meta", allow_partial_load=True)
    assert plans[2].items == ((4,), "meta", False) and type(plans[2]) is LoadPlan


def test_a_plan_that_does_not_follow_is_each_ranks(of):
    own = SavePlan(("another",))
    assert said(of, own, state_dict={"a": DTensor(mesh(LINE, [2]))}) == [own] * 3


def test_what_a_rank_said_in_its_run_is_what_it_says(of):
    of.gathered[2] = "said"
    plans = said(of, SavePlan(((2,), "")), state_dict={"a": DTensor(mesh(LINE, [2]))})
    assert (plans[0].items, plans[2]) == (((0,), "first"), "said")


def test_what_is_no_plan_is_not_known(of):
    assert said(of, "else") is None and said(of, []) is None and said(of, [1]) is None
    assert said(of, [WriteResult("a", 1, None)]) is None, "nobody was given a part of the plan"


def item(index, shape=None, size=0):
    dtype = types.SimpleNamespace(dtype=torch.float32)
    data = shape and types.SimpleNamespace(
        chunk=types.SimpleNamespace(sizes=torch.Size(shape)), properties=dtype, size=torch.Size(shape)
    )
    return types.SimpleNamespace(index=index, tensor_data=data or None, bytes=size)


def test_what_a_rank_wrote_follows_from_its_part_of_the_plan(of, monkeypatch):
    parts = [[item(f"b{r}", (r + 2,)), item(f"a{r}", (r + 1,)), item(f"o{r}", size=7)] for r in range(3)]
    monkeypatch.setattr(objects, "unpickled", lambda number: types.SimpleNamespace(items=parts[number]))
    monkeypatch.setattr(checkpoints, "saved", lambda shape, dtype: 10 * shape.numel())
    of.scattered = [0, 1, 2]

    def results(rank):
        sizes = [(f"o{rank}", 7), (f"a{rank}", 10 * (rank + 1)), (f"b{rank}", 10 * (rank + 2))]
        at = [0, 7, 7 + sizes[1][1]]
        path = f"__{rank}_0.distcp"
        return [WriteResult(n, size, Place(path, begin, size)) for (n, size), begin in zip(sizes, at)]

    def resolve(item):
        return types.SimpleNamespace(getbuffer=lambda: bytes(item.bytes))

    assert said(of, results(1), resolve_data=resolve) == [results(0), results(1), results(2)]
    of.scattered = [0, 1]
    assert said(of, results(1), resolve_data=resolve) is None


def test_the_size_of_a_tensor_in_a_file_is_what_torch_writes():
    file = io.BytesIO()
    torch.save(torch.empty(300, dtype=torch.float32), file)
    assert checkpoints.saved(torch.Size([300]), torch.float32) == len(file.getvalue())


def test_a_file_holds_objects_first_then_the_smallest_tensors():
    assert [checkpoints._place(i) for i in (item("o"), item("a", (3,)), item("b", (0,)))] == [-1, 12, 0]


WHOLE = mesh([[0, 1, 2], [3, 4, 5]], [1, 1])


@pytest.mark.parametrize(
    "numbers, own, rank, found",
    [
        ([[0, 1, 2], [3, 4, 5]], (1, 1), 2, (0, 2)),
        ([3, 4, 5], (1,), 2, (2,)),  # a row: another row's rank lies at its place in it
        ([1, 4], (1,), 3, (1,)),
        ([3, 4, 5], (1,), 9, (1,)),  # no rank of the mesh
        ([3, 4, 5], None, 2, None),
    ],
)
def test_where_a_rank_lies_in_a_part_of_a_mesh(numbers, own, rank, found):
    assert checkpoints.coordinate(mesh(numbers, own, WHOLE), rank, own) == found


def flat(sizes, needs=None, shards=True, parts=(2, 3)):
    """A flat parameter of these numbers; parts: how many of each lie between two places."""

    def metadata(begin, end):
        return [types.SimpleNamespace(numel_in_shard=n) for n in (begin, end, None)]

    parameter = types.SimpleNamespace(_numels=sizes, _sharded_size=torch.Size(parts))
    handle = types.SimpleNamespace(flat_param=parameter, uses_sharded_strategy=shards, _get_shard_metadata=metadata)
    return types.SimpleNamespace(
        param_indices={"a": 0, "b": 1, "c": 2},
        param_requires_grad=needs or [True] * 3,
        handle=handle,
        state=types.SimpleNamespace(world_size=4),
    )


@pytest.mark.parametrize("rank, begin, end", [(0, 0, 5), (1, 6, 11), (3, 18, 23), (5, 6, 11)])
def test_a_rank_has_the_numbers_of_its_part(rank, begin, end):
    info = flat([10, 20, 30])
    assert (flat_states.held(info, "a", rank), flat_states.held(info, "b", rank)) == (begin, end)
    assert flat_states.held(info, "c", rank) == 0


def test_each_rank_has_all_of_what_is_not_sharded():
    assert flat_states.held(flat([10, 20, 30], shards=False), "b", 3) == 20
    assert flat_states.held(flat([10, 20, 30], [True, False, True], shards=False), "b", 3) == 0
