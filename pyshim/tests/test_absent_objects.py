"""PyTorch's functions that send objects, beside ranks that do not run: what arrives, and when PyTorch's own runs."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.pretend.absent import objects  # noqa: E402


class Group:
    """Of four ranks of the world, from the second; this is its rank number `own`."""

    def __init__(self, own=1, cpu=True):
        self.own, self.cpu = own, cpu

    def rank(self):
        return self.own

    def size(self):
        return 4


def coded(*values):
    return [f"<{v}>".encode() for v in values]


@pytest.fixture
def world(monkeypatch):
    """PyTorch's functions are stubs that are listed; found is what an absent rank sent."""
    w = SimpleNamespace(ran=[], sent=[], expected=[], wanted=[], found=None, ended=0, outside=False)

    class Objects:
        def __init__(self, rank):
            self.gathered, self.scattered, self.own = None, [], []
            self.library = SimpleNamespace(expect=lambda *a: w.expected.append(a), expect_end=self.end)
            w.objects = self

        def end(self):
            w.ended += 1

        def expect(self, *messages):
            w.expected.append(messages)

        def send(self, kind, group, source, target, sent):
            w.sent.append((kind, source, target, list(sent)))
            self.own.append(SimpleNamespace(pickles=coded(*sent)))

        def receive(self, kind, group, source, target):
            w.wanted.append((kind, source, target))
            return w.found

        def awaited(self, kind, source, group):
            return objects.NothingSent(f"{kind} {source}")

    def original(name):
        def call(*args, **kwargs):
            w.ran.append((args, kwargs))
            return "ran"

        call.__name__ = name
        return call

    names = ("broadcast_object_list", "send_object_list", "recv_object_list", "scatter_object_list",
             "all_gather_object", "gather_object")  # fmt: skip
    c10d = SimpleNamespace(
        _rank_not_in_group=lambda group: w.outside,
        _get_object_coll_device=lambda group: "cpu" if group.cpu else "cuda",
        get_group_rank=lambda group, at: at - 1,
        **{name: original(name) for name in names},
    )
    dist = SimpleNamespace(
        group=SimpleNamespace(WORLD=Group()), get_process_group_ranks=lambda group: [1, 2, 3, 4], ProcessGroup=Group
    )
    monkeypatch.setattr(objects, "Objects", Objects)
    monkeypatch.setattr(objects, "c10d", c10d)
    monkeypatch.setattr(objects, "dist", dist)
    monkeypatch.setattr(objects, "once_imported", lambda name, do: None)
    monkeypatch.setattr(objects, "pickled", lambda v: f"<{v}>".encode())
    monkeypatch.setattr(objects, "unpickled", lambda data: data.decode()[1:-1])
    objects.watch(None)
    assert all(getattr(c10d, name) is getattr(dist, name) for name in names)
    w.c = c10d
    return w


def test_the_source_of_a_broadcast_sends(world):
    group = Group(own=2)
    world.c.broadcast_object_list([1, 2], src=3, group=group)
    assert world.sent == [("broadcast", 2, -1, [1, 2])] and not world.wanted
    assert world.ran == [(([1, 2],), {"src": 3, "group": group, "device": None})]
    world.c.broadcast_object_list([1], group_src=2, group=group)
    assert world.ran[1][1] == {"src": None, "group": group, "device": None, "group_src": 2}
    world.outside = True
    world.c.broadcast_object_list([1], src=3, group=group)
    assert len(world.ran) == 3 and len(world.sent) == 2, "of a group of others"


@pytest.mark.parametrize("cpu, device, here", [(True, None, True), (False, None, False), (False, "cpu", True)])
def test_what_a_broadcast_gives(world, cpu, device, here):
    world.found = coded("a", "bcd")
    into = [None, None]
    world.c.broadcast_object_list(into, src=4, group=Group(cpu=cpu), device=device)
    assert world.wanted == [("broadcast", 3, -1)]
    if here:
        assert into == ["a", "bcd"] and not world.ran and not world.expected
    else:
        lengths = (3).to_bytes(8, "little") + (5).to_bytes(8, "little")
        assert world.expected == [(lengths, b"<a><bcd>")] and len(world.ran) == 1 and world.ended == 1


@pytest.mark.parametrize("into, raises", [([None, None], True), ([None, 3], False)])
def test_a_broadcast_that_no_run_sent(world, into, raises):
    before = list(into)
    if raises:
        with pytest.raises(objects.NothingSent, match="^broadcast_object_list 0$"):
            world.c.broadcast_object_list(into, src=1)
    else:
        assert world.c.broadcast_object_list(into, src=1) is None and into == before
    assert not world.ran and world.wanted == [("broadcast", 0, -1)]


def test_without_a_source_it_is_the_first_of_the_group(world):
    world.found = coded("a")
    world.c.broadcast_object_list([None], group_src=3)
    world.c.broadcast_object_list([None])
    assert world.wanted == [("broadcast", 3, -1), ("broadcast", -1, -1)], "rank 0 of the world is in no group here"


def test_what_is_sent_to_one_rank(world):
    group = Group(own=1)
    world.c.send_object_list([5], dst=4, group=group)
    world.c.send_object_list([6], group_dst=2)
    assert world.sent == [("send", 1, 3, [5]), ("send", 1, 2, [6])]
    assert world.ran[0] == (([5],), {"dst": 4, "group": group, "device": None})
    assert world.ran[1][1] == {"dst": None, "group": None, "device": None, "group_dst": 2}


def test_what_one_rank_sent(world):
    world.found = coded("a")
    into = [None]
    assert world.c.recv_object_list(into, src=3) == 3 and into == ["a"] and world.wanted == [("send", 2, 1)]
    assert world.c.recv_object_list(into, group_src=0, group=Group(own=3, cpu=False)) == 1
    assert world.wanted[1] == ("send", 0, 3) and len(world.ran) == 1 and world.ended == 1
    world.found = None
    with pytest.raises(objects.NothingSent, match="^recv_object_list 2$"):
        world.c.recv_object_list(into, src=3)


@pytest.mark.parametrize("cpu", [True, False])
def test_the_source_of_a_scatter_has_its_own_part(world, cpu):
    into = [None]
    world.c.scatter_object_list(into, ["a", "b", "c", "d"], src=2, group=Group(own=1, cpu=cpu))
    assert world.sent == [("scatter", 1, -1, ["a", "b", "c", "d"])]
    assert world.objects.scattered == coded("a", "b", "c", "d")
    assert into == (["b"] if cpu else [None]) and len(world.ran) == (0 if cpu else 1)


@pytest.mark.parametrize("cpu", [True, False])
def test_each_rank_of_a_scatter_gets_its_part(world, cpu):
    world.found = coded("a", "b", "ccc", "d")
    into = [None]
    world.c.scatter_object_list(into, src=2, group=Group(own=2, cpu=cpu))
    assert world.objects.scattered == world.found and world.wanted == [("scatter", 1, -1)]
    if cpu:
        assert into == ["ccc"] and not world.ran
        return
    five = (5).to_bytes(8, "little")
    assert world.expected == [(five, b"<ccc>", five)] and len(world.ran) == 1 and world.ended == 1
    world.c.scatter_object_list(into, src=2, group=Group(own=3, cpu=False))
    assert world.expected[1] == (five, b"<d>\0\0", (3).to_bytes(8, "little"))


def test_a_scatter_that_no_run_sent(world):
    with pytest.raises(objects.NothingSent, match="^scatter_object_list 1$"):
        world.c.scatter_object_list([None], src=2, group=Group(own=2))
    world.outside = True
    world.c.scatter_object_list([None], src=2, group=Group(own=2))
    assert len(world.ran) == 1


@pytest.mark.parametrize(
    "name, at, named", [("all_gather_object", 0, "object_list"), ("gather_object", 1, "object_gather_list")]
)
@pytest.mark.parametrize("by_name", [True, False])
def test_what_is_gathered_on_the_host(world, name, at, named, by_name):
    into = ["", "", "", ""]
    gather, group = getattr(world.c, name), Group(own=1)

    def call(**more):
        if by_name:
            gather(**{named: into, "obj": "x", "group": group}, **more)
        else:
            gather(*([into, "x"] if at == 0 else ["x", into]), group)

    call()
    assert into == ["", "", "", ""] and len(world.ran) == 1, "PyTorch's own fills it"
    world.objects.gathered = ["a", "b", "c", "d"]
    call()
    assert into == ["a", "b", "c", "d"] and len(world.ran) == 2 and not world.expected
    world.outside = True
    call()
    assert len(world.ran) == 3


@pytest.mark.parametrize("known", [None, ["a", "bbb", "c", "d"]])
def test_what_is_gathered_on_the_device(world, known):
    world.objects.gathered = known
    group = Group(own=2, cpu=False)
    assert world.c.all_gather_object([None] * 4, "xy", group=group) == "ran"
    parts = [b"<a>\0\0", b"<bbb>", b"<c>\0\0", b"<d>\0\0"] if known else [b"<xy>"] * 4
    lengths = [3, 5, 3, 3] if known else [4] * 4
    counts = b"".join(n.to_bytes(8, "little") for n in lengths)
    data = b"".join(parts)
    assert world.expected == [(counts, 32, 8, 2), (data, len(data), 5 if known else 4, 2)]
    assert len(world.ran) == 1 and world.ended == 1


def test_a_group_may_be_given_by_its_place(world):
    world.c.gather_object("x", None, Group(own=3, cpu=False))
    assert world.expected[0][3] == 3 and world.expected[1][0] == b"<x>" * 4
    world.c.all_gather_object(None, "y", Group(own=3, cpu=False))
    assert world.expected[3][0] == b"<y>" * 4
    world.c.gather_object("x", None)
    assert len(world.ran) == 3, "the world's"


def test_without_a_source_a_scatter_is_of_the_first(world):
    world.found = coded("a", "b", "c", "d")
    world.c.scatter_object_list([None], group=Group(own=2))
    assert world.wanted == [("scatter", -1, -1)], "rank 0 of the world is in no group here"


@pytest.mark.parametrize("source, derived", [(0, False), (2, True), (1, False)])
@pytest.mark.parametrize("fails", [True, False])
def test_what_a_later_stage_would_send_back_is_derived(world, monkeypatch, source, derived, fails):
    found = []

    class PipelineStage:
        stage_index, _stage_meta = 1, SimpleNamespace(outputs="outputs")

        def _recv_meta(self, src):
            found.append(world.objects.derived)
            if fails:
                raise ValueError
            return src

    module = SimpleNamespace(PipelineStage=PipelineStage, _StageBackwardMeta=lambda backward_metas: backward_metas)
    monkeypatch.setitem(objects.sys.modules, "torch.distributed.pipelining.stage", module)
    objects._follow_stages(world.objects)
    assert "_recv_meta" in vars(PipelineStage), "a release that derives nothing"
    world.objects.derived = None
    module._derive_grad_metas = lambda outputs: f"like {outputs}"
    objects._follow_stages(world.objects)
    if fails:
        with pytest.raises(ValueError):
            PipelineStage()._recv_meta(source)
    else:
        assert PipelineStage()._recv_meta(source) == source
    assert found == [[b"<like outputs>"] if derived else None] and world.objects.derived is None
