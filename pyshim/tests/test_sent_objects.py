"""Objects that absent ranks would have sent, by what earlier ranks' runs sent."""

import collections

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.distributed_c10d")
from memshim.pretend.absent import objects  # noqa: E402
from memshim.pretend.absent.objects import Sent  # noqa: E402


class Group:
    """Ranks of the world; this process has the one given."""

    def __init__(self, *members, rank=0):
        self.members, self._rank = list(members), rank

    def rank(self):
        return self._rank

    def size(self):
        return len(self.members)


class Journal:
    def __init__(self, *sent):
        self.sent, self.added = sent, []

    def earlier(self):
        return [(0, [*self.sent[:1]]), (1, [*self.sent[1:]])]

    def add(self, entry):
        self.added.append(entry)


@pytest.fixture
def of(monkeypatch):
    """Objects of a rank in these groups, after other ranks have sent something."""
    monkeypatch.setattr(objects.dist, "get_process_group_ranks", lambda group: group.members)

    def make(groups, *sent):
        world = type("World", (), {"pg_group_ranks": dict.fromkeys(groups)})
        monkeypatch.setattr(objects.c10d, "_world", world)
        made = object.__new__(objects.Objects)
        made.journal, made.numbers, made.own = Journal(*sent), collections.Counter(), []
        made._earlier = made.derived = made.gathered = None
        made.scattered = []
        return made

    return make


WORLD = Group(0, 1, 2, 3, rank=2)


def test_an_object_that_is_pickled_comes_back():
    assert objects.unpickled(objects.pickled({"a": [1, 2]})) == {"a": [1, 2]}


def test_what_is_sent_is_numbered_and_kept(of):
    o = of([WORLD])
    o.send("send", WORLD, 2, 3, ["a", "b"])
    o.send("send", WORLD, 2, 3, ["c"])
    o.send("send", WORLD, 2, 1, ["d"])
    o.send("broadcast", WORLD, 2, 3, ["e"])
    assert [(s.kind, s.members, s.group, *s[3:6]) for s in o.journal.added] == [
        ("send", [0, 1, 2, 3], 0, 2, 3, 0),
        ("send", [0, 1, 2, 3], 0, 2, 3, 1),
        ("send", [0, 1, 2, 3], 0, 2, 1, 0),
        ("broadcast", [0, 1, 2, 3], 0, 2, 3, 0),
    ]
    assert [[objects.unpickled(p) for p in s.pickles] for s in o.own[:2]] == [["a", "b"], ["c"]]


def test_what_its_sender_sent_arrives_in_order(of):
    sent = [Sent("broadcast", [0, 1, 2, 3], 0, 0, -1, n, [b"%d" % n]) for n in range(2)]
    o = of([WORLD], *sent, Sent("scatter", [0, 1, 2, 3], 0, 0, -1, 0, [b"other"]))
    found = [o.receive("broadcast", WORLD, 0, -1) for _ in range(3)]
    assert found == [[b"0"], [b"1"], None]
    assert o.receive("broadcast", WORLD, 1, -1) is None


def test_what_a_group_of_the_same_kind_sent_stands_for_it(of):
    mine, other = Group(2, 3), Group(1, 2, 3)
    o = of([WORLD, mine], Sent("broadcast", [0, 1], 1, 0, -1, 0, [b"x"]))
    assert o.receive("broadcast", mine, 0, -1) == [b"x"]
    o = of([mine], Sent("broadcast", [0, 1], 1, 0, -1, 0, [b"x"]))
    assert o.receive("broadcast", mine, 0, -1) is None, "another of its groups"
    o = of([WORLD, other], Sent("broadcast", [0, 1], 1, 0, -1, 0, [b"x"]))
    assert o.receive("broadcast", other, 0, -1) is None, "of another size"


def test_the_group_itself_comes_before_one_of_its_kind(of):
    mine = Group(2, 3)
    sent = Sent("broadcast", [0, 1], 1, 0, -1, 0, [b"x"]), Sent("broadcast", [2, 3], 5, 0, -1, 0, [b"mine"])
    assert of([WORLD, mine], *sent).receive("broadcast", mine, 0, -1) == [b"mine"]


def test_a_neighbour_sends_what_any_sent_that_way(of):
    forward, back = Sent("send", [0, 1, 2, 3], 0, 0, 1, 0, [b"on"]), Sent("send", [0, 1, 2, 3], 0, 1, 0, 0, [b"back"])
    assert of([WORLD], forward, back).receive("send", WORLD, 1, 2) == [b"on"]
    assert of([WORLD], forward, back).receive("send", WORLD, 3, 2) == [b"back"]
    assert of([WORLD], forward, back).receive("send", WORLD, 0, 2) is None
    assert of([WORLD], forward._replace(number=1)).receive("send", WORLD, 1, 2) is None
    assert of([WORLD], forward._replace(kind="scatter")).receive("send", WORLD, 1, 2) is None
    assert of([WORLD], Sent("send", [0, 1, 2, 3], 0, 3, 0, 0, [b"round"])).receive("send", WORLD, 1, 2) == [b"round"]
    o = of([WORLD])
    o.send("send", WORLD, 2, 3, ["own"])
    assert o.receive("send", WORLD, 1, 2) == o.own[0].pickles


def test_what_a_later_stage_sends_is_derived_where_it_did_not_run(of):
    o = of([WORLD], Sent("send", [0, 1, 2, 3], 0, 0, 1, 0, [b"on"]))
    o.derived = [b"derived"]
    assert o.receive("send", WORLD, 1, 2) == [b"derived"]
    assert o.receive("broadcast", WORLD, 1, -1) is None


def test_what_others_gathered_is_of_the_same_gathering(of):
    sent = [Sent("gather", [0, 1, 2, 3], 0, r, -1, n, [objects.pickled((r, n))]) for r in (0, 1) for n in (0, 1)]
    o = of([WORLD], *sent, Sent("gather", [0, 1], 1, 0, -1, 0, [objects.pickled("part")]))
    assert o.earlier_gathered(WORLD, "mine") == {0: (0, 0), 1: (1, 0)}
    assert o.earlier_gathered(WORLD, "mine") == {0: (0, 1), 1: (1, 1)}
    assert o.earlier_gathered(WORLD, "mine") == {}


def test_arguments_that_were_given():
    assert objects.given(group_src=0, group_dst=None) == {"group_src": 0}
