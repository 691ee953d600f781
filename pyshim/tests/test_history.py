"""What was alive at a moment of a region, and by which line; how often iterations are looked at."""

import pytest

from memshim.allocator import history, steady
from memshim.allocator.blocks import MIB, Settings
from memshim.allocator.events import Event
from memshim.frames import Stacks
from memshim.gpu import where

STACKS = Stacks()
LINE = [STACKS.add([("train.py", n, "step"), ("train.py", 99, "main")]) for n in range(1, 5)]


def alloc(key, size, line=0, **more):
    return Event("alloc", key, size, stack=LINE[line], **more)


def free(key, size):
    return Event("free_completed", key, size)


class Host:
    """A region of CPU tensors."""

    where, lost, stacks = "cpu", "", STACKS

    def __init__(self, *events, before=None):
        self.events, self.before = list(events), before or {}


class Card(Host):
    """A region of a GPU, whose allocator counted so much at its peak."""

    where, settings = "cuda", Settings()

    def __init__(self, *events, before=None, peak=0):
        super().__init__(*events, before=before)
        blocks = [{"size": 20 * MIB, "state": "active_allocated"}] if before else []
        self.segments = [{"address": 0, "segment_type": "large", "blocks": blocks}] if before else []
        self.peak = peak

    def peaks(self):
        return {"allocated": self.peak}


def changes(region):
    return [(c.index, c.bytes, c.of_before) for c in history.replay(region)]


def test_storages_count_as_they_are():
    region = Host(alloc(1, 10), free(7, 5), free(1, 10), Event("oom", 0, 9), free(7, 5), before={7: 5})
    assert changes(region) == [(0, 10, False), (1, -5, True), (2, -10, False), (4, -5, False)]


def test_a_gpus_allocations_count_as_blocks_until_their_free_is_asked_for():
    region = Card(
        Event("segment_alloc", 32 * MIB, 2 * MIB),
        alloc(32 * MIB, 100),
        Event("free_requested", 32 * MIB, 100),
        free(32 * MIB, 100),
        alloc(32 * MIB, 2 * MIB),
        Event("free_requested", 0, 20 * MIB),
        free(0, 20 * MIB),
        Event("free_requested", 99 * MIB, 100),
        before={0: 20 * MIB},
    )
    assert changes(region) == [
        (1, 512, False),
        (2, -512, False),
        (4, 2 * MIB, False),
        (5, -20 * MIB, True),
        (7, -512, False),
    ]


def test_a_block_that_is_not_cut_is_whole_each_time_it_is_had():
    region = Card(
        Event("segment_alloc", 32 * MIB, 20 * MIB),
        alloc(32 * MIB, 19 * MIB + 1),
        Event("free_requested", 32 * MIB, 19 * MIB + 1),
        free(32 * MIB, 19 * MIB + 1),
        alloc(32 * MIB, 19 * MIB + 5),
    )
    assert changes(region) == [(1, 20 * MIB, False), (2, -20 * MIB, False), (4, 20 * MIB, False)]


def moment(region, at=None, since=0):
    m = history.moment(region, history.replay(region), at, since)
    return m.at, m.total, m.before, [(h.event.key, h.block, h.born) for h in m.held]


def test_what_is_alive_when_most_is():
    region = Host(alloc(1, 10), alloc(2, 20), free(7, 5), free(1, 10), alloc(3, 11), before={7: 5, 8: 1})
    assert moment(region) == (1, 36, [5, 1], [(1, 10, 0), (2, 20, 1)]), "for the first time"
    assert moment(region, since=3) == (4, 32, [1], [(2, 20, 1), (3, 11, 4)])
    assert moment(region, at=0) == (0, 16, [5, 1], [(1, 10, 0)])
    assert moment(region, at=-1) == (-1, 6, [5, 1], [])
    assert moment(region, at=2) == (2, 31, [1], [(1, 10, 0), (2, 20, 1)])


def test_where_it_only_falls_the_most_was_at_the_beginning():
    region = Host(free(7, 5), alloc(1, 5), before={7: 5})
    assert moment(region)[:2] == (-1, 5)
    assert moment(Host(alloc(1, 9), free(1, 9), alloc(2, 3)), since=2)[:2] == (2, 3)
    assert moment(Host(alloc(1, 9), free(1, 4), free(2, 4)), since=2)[0] == 1, "the event before"


def test_without_a_beginning_the_most_counts_from_the_first_event():
    region = Host(free(7, 5), alloc(1, 5), before={7: 5})
    assert history.moment(region, history.replay(region)) == (-1, 5, [5], [])
    assert history.peak_of(region, history.replay(region)) == -1


def test_a_region_in_which_nothing_happened_holds_nothing():
    nothing = history.Line(None, 0, 0, 0)
    assert history.at_peak(Host()) == history.at_peak(Card()) == history.Peak(0, None, [], nothing)
    uncounted = Card()
    uncounted.peaks = dict
    assert history.at_peak(uncounted) == history.Peak(0, None, [], nothing)


@pytest.mark.parametrize(
    "at, want",
    [
        (where.Where("cuda", 1), ("cuda", 1, "python", True)),
        (where.Where("cpu"), ("cpu", None)),
    ],
)
def test_a_region_is_of_the_device_with_its_events_by_default(monkeypatch, at, want):
    monkeypatch.setattr(where, "of", lambda device: at)
    region = history.region("named")
    found = region.where, region.index, *((region.wants, region.keeps_events) if region.where == "cuda" else ())
    assert found == want


def test_what_takes_no_bytes_is_not_held():
    assert moment(Host(alloc(1, 10), alloc(2, 0), free(3, 0))) == (0, 10, [], [(1, 10, 0)])
    assert moment(Host(alloc(1, 10), alloc(2, 0), free(3, 0)), at=2) == (2, 10, [], [(1, 10, 0)])


IN_TORCH = STACKS.add([("/a/site-packages/torch/nn/linear.py", 7, "forward"), ("train.py", 1, "step")])


@pytest.mark.parametrize("every, line", [((), 1), ((False,), 1), ((True,), 7)])
def test_the_line_is_the_programs_unless_every_frame_counts(every, line):
    event = Event("alloc", 1, 10, stack=IN_TORCH)
    region, forward = Host(event), event._replace(stack=-1, forward=IN_TORCH)
    assert [history.line_of(STACKS, e, *every)[0].line for e in (event, forward)] == [line, line]
    peak = history.at_peak(region, *every)
    assert (peak.at.line, [x.frame.line for x in peak.lines]) == (line, [line])
    assert [x.frame.line for x in history.by_line(region, [history.Held(event, 10, 0)], *every)] == [line]


def test_the_first_stack_may_be_a_forwards():
    stacks = Stacks()
    first, other = (stacks.add([("train.py", n, "step")]) for n in (1, 2))
    assert history.line_of(stacks, Event("alloc", 1, 10, stack=other, forward=first)) == (stacks.line(first), True)
    assert history.line_of(stacks, Event("alloc", 1, 10, stack=other)) == (stacks.line(other), False)


def test_lines_that_hold_most_come_first():
    backward = STACKS.add([("model.py", 5, "forward")])
    events = [
        alloc(1, 1),
        alloc(2, 8, 1),
        alloc(3, 3),
        alloc(4, 4),
        alloc(5, 9, forward=backward),
        Event("alloc", 6, 2),
    ]
    region = Host(*events)
    held = history.moment(region, history.replay(region)).held
    found = [(x.frame and (x.frame.file, x.frame.line), *x[1:]) for x in history.by_line(region, held)]
    assert found == [
        (("model.py", 5), 9, 1, 9, True),
        (("train.py", 1), 8, 3, 3, False),
        (("train.py", 2), 8, 1, 8, False),
        (None, 2, 1, 2, False),
    ]


def test_what_was_loaded_is_one_line_without_a_place():
    region = Host(alloc(1, 3), alloc(2, 5), alloc(3, 6, 1), alloc(4, 2, 1), alloc(5, 7, 2))
    lines = history.lines_at(region, 3, 2)
    assert [(x.frame and x.frame.line, x.mem, x.count, x.median) for x in lines] == [(2, 8, 2, 4), (None, 8, 2, 4)]
    assert [x.mem for x in history.lines_at(region, 4, 0)] == [8, 8, 7]


def test_the_peak_of_a_gpu_is_what_its_allocator_counted():
    region = Card(
        Event("segment_alloc", 32 * MIB, 2 * MIB), alloc(32 * MIB, 1000, 1), before={0: 20 * MIB}, peak=21 * MIB
    )
    p = history.at_peak(region)
    assert (p.total, p.before.mem, p.rounding, p.unknown, p.churn) == (21 * MIB, 20 * MIB, 24, MIB - 1024, 1000)
    assert p.at.line == 2 and [x.mem for x in p.lines] == [1000] and p.oom is None
    assert p.untraced == 21 * MIB - 1000
    region.peak = 0
    assert history.at_peak(region).total == 20 * MIB + 1024
    region.peak, region.skipped = 30 * MIB, 7
    p = history.at_peak(region, since=1)
    assert (p.total, p.churn) == (20 * MIB + 1024, 1007), "the allocator counted from the beginning"


def test_the_last_memory_that_ran_out_is_shown_with_what_was_held_then():
    oom = Event("oom", 64, 999, stack=LINE[2])
    region = Host(alloc(1, 10), Event("oom", 1, 1), alloc(2, 20, 1), free(2, 20), oom)
    found = history.at_peak(region).oom
    first, failed = STACKS.line(LINE[0]), STACKS.line(LINE[2])
    then = history.Peak(10, failed, [history.Line(first, 10, 1, 10)], history.Line(None, 0, 0, 0))
    assert found == (999, 64, failed, then)
    assert history.at_peak(Host(oom, before={7: 5})).oom.size == 999
    assert history.at_peak(Host(alloc(1, 10), oom, free(1, 10))).oom.size == 999
    region = Host(alloc(1, 10), alloc(2, 20, 1), oom)
    assert history.at_peak(region).oom.then is None, "what is held at the peak"


def test_the_median_of_sizes():
    assert (history.median([]), history.median([3]), history.median([1, 4])) == (0, 3, 2)


def state(peak, ooms=0, held=1, made=0):
    return steady.State({"allocated": peak}, ooms, [held], made, made)


def test_an_iteration_is_like_one_with_the_same_peaks_and_blocks():
    assert state(1, made=5).is_like(state(1, made=9))
    assert not state(1).is_like(None)
    for other in (state(2), state(1, ooms=1), state(1, held=2)):
        assert not state(1).is_like(other)


def test_iterations_are_looked_at_less_often_while_they_are_alike():
    interval = steady.Interval()
    assert [interval.is_over(n) for n in (7, 8, 9, 15, 16)] == [False, True, False, False, True]
    lengths = []
    for skipped, made in ((1, 10), (2, 20), (3, 30), (4, 40), (5, 50_040), (6, 100_041), (6, 100_042), (7, 150_042)):
        interval.looked(skipped, made)
        lengths.append(interval.length)
    assert lengths == [16, 32, 64, 64, 64, 64, 8, 16]
    interval.looked(8, 200_043)
    assert interval.length == 16, "of so many allocations more are not kept"


@pytest.mark.parametrize("made, length", [(50_000, 16), (50_001, 8)])
def test_the_first_look_counts_what_was_allocated_from_the_beginning(made, length):
    interval = steady.Interval()
    interval.looked(1, made)
    assert interval.length == length


@pytest.mark.parametrize(
    "snapshot, want",
    [
        (lambda mempool_id=None, include_traces=True: None, True),
        (lambda mempool_id=None: None, False),
    ],
)
def test_whether_pytorch_shows_what_is_held_alone(monkeypatch, snapshot, want):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "memory_snapshot", snapshot)
    assert steady.supported.__wrapped__() is want


def test_the_blocks_in_use_are_compared(monkeypatch):
    pytest.importorskip("torch")
    import torch

    block = {"address": 1, "size": 512, "requested_size": 8, "state": "active_allocated"}
    frames = [{"filename": "a.py", "line": 3, "name": "f"}]
    segments = [
        {
            "device": 0,
            "address": 1,
            "total_size": 2,
            "blocks": [block | {"frames": frames}, block | {"state": "inactive"}],
        },
        {"device": 0, "address": 9, "total_size": 4, "blocks": [block]},
        {"device": 1, "address": 5, "total_size": 4, "blocks": [block]},
    ]
    asked = []
    monkeypatch.setattr(
        torch._C, "_cuda_memorySnapshot", lambda how: asked.append(how) or {"segments": segments}, raising=False
    )
    stats = {"requested_bytes": {"all": {"allocated": 70}}, "allocation": {"all": {"allocated": 7}}}
    assert steady.state(0, {"allocated": 1}, stats) == (
        {"allocated": 1},
        0,
        [
            (1, 2, [(1, 512, 8, "active_allocated", [("a.py", 3)])]),
            (9, 4, [(1, 512, 8, "active_allocated", [])]),
        ],
        70,
        7,
    )
    assert steady.state(0, {}, stats | {"num_ooms": 2}).ooms == 2
    assert asked == [(0, 0, False)] * 2, "of every pool, without what was done"
