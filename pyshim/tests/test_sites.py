"""Whose each allocation is, from events of an allocator and the marks that were made meanwhile."""

import types

import pytest

from memshim.allocator.events import Event
from memshim.attribution import forward_lines, sites
from memshim.attribution.sites import Mark, Owned, Owner, Reading
from memshim.frames import Stacks

LINE, CALLER = ("train.py", 3, "step"), ("train.py", 9, "<module>")
ADD, LIBRARY = ("a.so", 0, "at::add"), ("b.so", 0, "cublas::workspace")


class Marks:
    """What Attribution has at the end."""

    def __init__(self, phases=(), modules=(), owned=(), saved=(), cleared=()):
        self.phases, self.modules = [Mark(*p) for p in phases], modules
        self.cleared, self._owned, self._saved = cleared, owned, saved

    def owned(self):
        return [Owned(*o) for o in self._owned]

    def saved(self):
        return self._saved


@pytest.fixture
def stacks():
    return Stacks()


@pytest.fixture(autouse=True)
def operators(monkeypatch):
    """The operator of a stack is the name of its innermost function."""
    monkeypatch.setattr(sites, "operator", lambda frames: frames[0].function if frames else "")
    monkeypatch.setattr(sites, "makes", lambda op: op in ("", "zeros"))


def alloc(key, stack=-1, **more):
    return Event("alloc", key, 8, stack=stack, **more)


def free(key, completed=True):
    return [Event("free_requested", key, 8), Event("free_completed", key, 8)][: 2 if completed else 1]


def reading(events, marks=None, start=0, owners=None, program=False, stacks=None):
    region = types.SimpleNamespace(events=events, stacks=stacks or Stacks())
    return Reading(region, marks or Marks(), start, owners or {}, program)


def found(*arguments, **more):
    return [s and (s.category, s.module) for s in reading(*arguments, **more).sites()]


def test_a_mark_lies_between_two_events():
    """What completes a free belongs to it; counts are those of allocations and of frees that are asked for."""
    r = reading([alloc(1), *free(1), Event("segment_free", 0, 8), alloc(2), Event("segment_map", 0, 8)], start=5)
    assert [r.index(count) for count in (4, 5, 6, 7, 8, 9)] == [0, 0, 1, 4, 5, 6]


def test_a_phase_goes_on_until_another_begins():
    r = reading([alloc(1), alloc(2), alloc(3)], Marks(phases=[(1, "backward"), (2, "step")]))
    assert r.phases() == [(1, "backward"), (2, "step")]
    assert [r.phase_at(r.phases(), at) for at in range(3)] == ["forward", "backward", "step"]


def test_the_last_of_two_phases_at_a_moment_counts():
    r = reading([alloc(1), alloc(2)], Marks(phases=[(1, "step"), (1, "backward")]))
    assert r.phase_at(r.phases(), 1) == "backward"


def test_an_allocation_is_of_the_module_that_runs():
    marks = Marks(modules=[(1, "layer"), (2, "layer.fc"), (3, None)])
    events = [alloc(1), alloc(2), alloc(3), alloc(4)]
    assert [reading(events, marks).module_at(at) for at in range(4)] == [None, "layer", "layer.fc", None]
    assert [m for _, m in found(events, marks)] == ["", "layer", "layer.fc", ""]


def test_what_a_free_releases_is_of_its_allocations_site():
    events = [alloc(1), *free(1), Event("segment_free", 1, 8), *free(7), Event("snapshot", 0, 0)]
    (made, asked, done, *others) = reading(events, Marks(modules=[(0, "m")])).sites()
    assert made is asked is done and made.module == "m"
    assert others == [None] * 4


def test_memory_that_ran_out_has_the_site_of_what_asked_for_it():
    assert found([Event("oom", 0, 8)], Marks(modules=[(0, "m")])) == [("activation", "m")]


def test_what_goes_before_another_line_asks_is_temporary(stacks):
    one, other = stacks.add([LINE]), stacks.add([CALLER])
    temporary = [alloc(1, one), alloc(2, one), *free(1), *free(2)]
    assert [c for c, _ in found(temporary, stacks=stacks)] == ["temporary"] * 6
    kept = [alloc(1, one), alloc(2, other), *free(1)]
    assert [c for c, _ in found(kept, stacks=stacks)] == ["activation"] * 4
    later = [alloc(1, one), *free(1), alloc(2, other)]
    assert [c for c, _ in found(later, stacks=stacks)] == ["temporary"] * 3 + ["activation"]


def test_what_goes_goes_when_its_free_is_asked_for(stacks):
    asked, completed = free(1)
    events = [alloc(1, stacks.add([LINE])), asked, alloc(2, stacks.add([CALLER])), completed]
    assert found(events, stacks=stacks)[0] == ("temporary", "")


def test_what_no_tensor_asked_for_is_workspace(stacks):
    events = [alloc(1, stacks.add([LIBRARY, LINE])), alloc(2, stacks.add([ADD, LINE]))]
    assert [c for c, _ in found(events, stacks=stacks)] == ["workspace"] * 2
    tensor = stacks.add([("c.so", 0, "at::detail::empty_generic"), ADD, LINE])
    assert found([alloc(1, tensor)], stacks=stacks) == [("activation", "")]


def test_outside_of_the_forward_everything_is_temporary():
    assert found([alloc(1), alloc(2)], Marks(phases=[(1, "backward")])) == [("activation", ""), ("temporary", "")]


def test_of_a_program_what_outlives_a_phase_is_not_known():
    marks = Marks(phases=[(0, "backward"), (3, "step")])
    events = [alloc(1), alloc(2), *free(1), alloc(3), *free(2)]
    kinds = [s[0] if s else None for s in found(events, marks, program=True)]
    assert kinds[:2] == ["temporary", "untraced"]
    assert kinds[4] == "untraced", "it is there at the end"
    kinds = [s[0] for s in found([alloc(1), *free(1)], Marks(phases=[(0, "step")]), program=True)]
    assert kinds == ["temporary"] * 3, "the last phase lasts to the end"


def test_of_a_program_what_no_module_made_may_be_anything(stacks):
    one, other = stacks.add([("zeros.so", 0, "zeros"), LINE]), stacks.add([("add.so", 0, "add"), LINE])
    events = [alloc(1, one), alloc(2, other)]
    assert [c for c, _ in found(events, program=True, stacks=stacks)] == ["untraced", "activation"]
    assert [c for c, _ in found(events, program=False, stacks=stacks)] == ["activation", "activation"]
    ours = Reading(types.SimpleNamespace(events=events, stacks=stacks), Marks(), 0, {})
    assert [s.category for s in ours.sites()] == ["activation", "activation"], "unless it is said to be one"
    marks = Marks(modules=[(0, "m")])
    assert [c for c, _ in found(events, marks, program=True, stacks=stacks)] == ["activation", "activation"]


def test_what_is_there_at_the_end_is_its_owners():
    owners = {1: Owner("optimizer_state", "fc"), 2: Owner("gradient"), 3: Owner("parameter", "fc")}
    events = [alloc(1), alloc(2), alloc(3), *free(3)]
    marks = Marks(modules=[(0, "m")])
    assert found(events, marks, owners=owners)[:3] == [
        ("optimizer_state", "fc"),
        ("gradient", "m"),
        ("temporary", "m"),  # what lay there is gone
    ]


def test_what_was_seen_to_be_something_is_that():
    marks = Marks(modules=[(0, "m")], owned=[(1, 1, "gradient", "fc"), (2, 2, "parameter")])
    owners = {1: Owner("activation", "x")}
    assert found([alloc(1), alloc(2)], marks, owners=owners) == [("gradient", "fc"), ("parameter", "m")]


@pytest.mark.parametrize(
    "seen, category, module",
    [
        ([("parameter", "a"), ("buffer", "b")], "parameter", "a"),  # what was seen first
        ([("parameter", "a"), ("gradient", "b")], "gradient", "b"),
        ([("input", "a"), ("parameter", "b")], "parameter", "b"),
        ([("parameter", "b"), ("input", "a")], "parameter", "b"),
        ([("input", None)], "input", None),
        ([("parameter", None), ("parameter", "b")], "parameter", "b"),
        ([("parameter", None), ("buffer", "b")], "parameter", None),
        ([("parameter", "a"), ("parameter", "b")], "parameter", "a"),
    ],
    ids=str,
)
def test_a_storage_that_is_seen_more_than_once(seen, category, module):
    r = reading([alloc(1)], Marks(owned=[(1, 1, *s) for s in seen]))
    assert [(o.category, o.module) for o in r.owned().values()] == [(category, module)]


def test_an_input_that_a_module_made_is_none():
    marks = Marks(modules=[(1, "m")], owned=[(2, 1, "input"), (2, 2, "input")])
    assert list(reading([alloc(1), alloc(2)], marks).owned()) == [0]


def test_a_storage_is_what_was_allocated_last_at_its_address():
    r = reading([alloc(1), *free(1), alloc(1), alloc(2)], start=10)
    assert [r._born(count, 1) for count in (10, 11, 12, 13, 14)] == [-1, 0, 0, 3, 3]
    assert r._born(15, 1) == -1, "of what is no longer recorded nothing is known"
    assert r._born(13, 2) == -1 and r._born(14, 2) == 4 and r._born(14, 3) == -1


def test_what_autograd_saved_is_the_first_nodes(stacks):
    label = f"MulBackward0\n{forward_lines.MODULE}:0:layer.fc\ntrain.py:3:step"
    marks = Marks(saved=[(1, 1, label), (1, 1, "AddBackward0\n"), (1, 5, label), (2, 2, "AddBackward0\n")])
    r = reading([alloc(1), alloc(2)], marks, stacks=stacks)
    node, module, stack = r.savers()[0]
    assert (node, module, [str(f) for f in stacks.of(stack)]) == ("MulBackward0", "layer.fc", ["train.py:3 (step)"])
    assert r.savers()[1] == ("AddBackward0", "", -1) and len(r.savers()) == 2
    assert [s.saver and s.saver[0] for s in r.sites()] == ["MulBackward0", "AddBackward0"]


def test_what_is_saved_and_no_activation_has_no_saver():
    marks = Marks(saved=[(1, 1, "AddBackward0\n")], owned=[(1, 1, "parameter")])
    assert reading([alloc(1)], marks).sites()[0].saver is None


def test_a_backward_operator_has_the_lines_and_the_module_of_its_forward(stacks):
    forward = stacks.add([(forward_lines.MODULE, 0, "layer.fc"), LINE])  # the first stack is one too
    own = stacks.add([ADD, CALLER])
    site = reading([alloc(1, own, forward=forward)], Marks(modules=[(0, "m")]), stacks=stacks).sites()[0]
    assert (site.op, site.module, [str(f) for f in stacks.of(site.stack)]) == (
        "at::add",
        "layer.fc",
        ["train.py:3 (step)"],
    )
    plain = stacks.add([LINE])
    assert reading([alloc(1, own, forward=plain)], Marks(modules=[(0, "m")]), stacks=stacks).sites()[0].module == "m"


def test_lines_are_pythons_and_the_users_below_what_inductor_wrote(stacks):
    written = (f"/tmp/c{'a' * 51}.py", 40, "call")
    r = reading([], stacks=stacks)
    shown = [
        stacks.of(r._python(stacks.add(frames))) for frames in ([ADD, written, LINE, CALLER], [("??", 0, "f"), written])
    ]
    assert [[str(f) for f in frames] for frames in shown] == [
        ["train.py:3 (step)", "train.py:9 (<module>)"],
        [f"{written[0]}:40 (call)"],
    ]


def test_the_first_line_of_a_file_is_a_line(stacks):
    r = reading([], stacks=stacks)
    first, none = ("-c", 1, "<module>"), ("x", 0, "f")
    assert [str(f) for f in stacks.of(r._python(stacks.add([none, first])))] == ["-c:1 (<module>)"]


def order(events):
    return [e.key for e in events if e.action == "free_requested"]


def test_what_autocast_releases_goes_in_the_order_of_its_birth():
    events = [alloc(1), alloc(2), alloc(3), *free(3), *free(9), *free(2), *free(1)]
    sites.in_order_of_birth(events, 3, 11)
    assert order(events) == [9, 1, 2, 3]
    assert [e.action for e in events[3:]] == ["free_requested", "free_completed"] * 4


def test_only_what_was_released_meanwhile_is_ordered():
    events = [alloc(1), alloc(2), *free(2), *free(1), alloc(3)]
    reading(events, Marks(cleared=[(2, 2)]))
    assert order(events) == [2, 1]
    reading(events, Marks(cleared=[(2, 4)]))
    assert order(events) == [1, 2] and events[-1].key == 3


@pytest.mark.parametrize(
    "events",
    [
        [*free(2), *free(1, completed=False)],
        [*free(2, completed=False), *free(1, completed=False)],
        [Event("free_requested", 2, 8), Event("free_completed", 1, 8), *free(1)],
        [*free(2), alloc(3), alloc(4)],
    ],
)
def test_frees_that_a_stream_delays_stay_in_their_order(events):
    events = [alloc(1), alloc(2), *events]
    before = [*events]
    sites.in_order_of_birth(events, 2, len(events))
    assert events == before
