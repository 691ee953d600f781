"""The sizes of blocks, by the rules of PyTorch's allocator, where they are decided by one byte."""

import pytest

from memshim.allocator.blocks import MIB, Blocks, Settings


@pytest.mark.parametrize(
    "size, block", [(19 * MIB, 20 * MIB), (19 * MIB - 512, 19 * MIB - 512), (19 * MIB + 512, 20 * MIB)]
)
def test_a_large_block_is_cut_for_a_rest_of_more_than_1_mib(size, block):
    """kSmallSize, by should_split: `remaining > kSmallSize`."""
    blocks = Blocks([])
    blocks.segment_event("segment_alloc", 0, 20 * MIB)
    assert (blocks.alloc(0, size), blocks.astray) == (block, 0)


@pytest.mark.parametrize("settings, segment", [(Settings(), 2 * MIB), (Settings(expandable=True), 20 * MIB)])
def test_other_blocks_are_cut_for_a_rest_of_512_bytes(settings, segment):
    blocks = Blocks([], settings)
    blocks.segment_event("segment_alloc", 0, segment)
    assert blocks.alloc(0, segment - 512) == segment - 512
    blocks.freed(0)
    assert blocks.alloc(0, segment) == segment and blocks.astray == 0


@pytest.mark.parametrize(
    "given, settings",
    [
        ({}, Settings()),
        ({"max_split_size": -1, "expandable_segments": False}, Settings()),
        ({"max_split_size": 20 * MIB, "expandable_segments": True}, Settings(20 * MIB, True)),
        ({"roundup_power2_divisions": {"2": 0, "1": 0}}, Settings()),
        ({"roundup_power2_divisions": {"10": 8, "2": 4, "1": 0}}, Settings(divisions=(0, 4, 8))),
    ],
)
def test_settings_of_a_snapshot(given, settings):
    assert Settings.of(given) == settings


@pytest.mark.parametrize(
    "size, block", [(1, 512), (511, 512), (512, 512), (513, 1024), (1024, 1024), (MIB + 1, MIB + 512)]
)
def test_a_size_is_rounded_to_512_bytes(size, block):
    assert Settings().rounded(size) == block


@pytest.mark.parametrize(
    "size, block",
    [
        (2048, 2048),  # no more than 512 bytes a division
        (2049, 2560),
        (2560, 2560),
        (2561, 3072),
        (MIB + 1, MIB + MIB // 4),
        (2 * MIB, 2 * MIB),
        (2 * MIB + 1, 2 * MIB + 512),  # of sizes of 2 MiB there is one division, which is none
        (5 * MIB, 5 * MIB),
        (5 * MIB + 1, 5 * MIB + MIB // 2),
        (64 * MIB + 1, 72 * MIB),  # the last for all beyond
    ],
)
def test_a_size_is_rounded_to_parts_of_a_power_of_two(size, block):
    assert Settings(divisions=(4, 1, 8)).rounded(size) == block


@pytest.mark.parametrize(
    "limit, size, block", [(4 * MIB, 4 * MIB, 20 * MIB), (4 * MIB, 3 * MIB, 3 * MIB), (0, MIB, MIB)]
)
def test_a_block_of_at_least_the_limit_is_not_cut(limit, size, block):
    blocks = Blocks([], Settings(limit))
    blocks.segment_event("segment_alloc", 0, 20 * MIB)
    assert blocks.alloc(0, size) == block


def of_snapshot(*blocks, kind="large"):
    """The blocks of a segment at 100 MiB: (MiB, state)."""
    return Blocks(
        [
            {
                "address": 100 * MIB,
                "segment_type": kind,
                "blocks": [{"size": size * MIB, "state": state} for size, state in blocks],
            }
        ]
    )


USED, FREE = "active_allocated", "inactive"


def sizes(blocks):
    """What is where, in MiB: used blocks, and free ones below zero."""
    return {a // MIB: b.size // MIB * (-1 if b.free else 1) for a, b in sorted(blocks._at.items())}


def test_a_snapshots_blocks_are_there():
    blocks = of_snapshot((4, USED), (8, FREE), (2, "active_pending_free"))
    assert blocks.used() == {100 * MIB: 4 * MIB, 112 * MIB: 2 * MIB}
    assert (blocks.size_of(100 * MIB), blocks.size_of(104 * MIB), blocks.size_of(7)) == (4 * MIB, 0, 0)
    assert sizes(blocks) == {100: 4, 104: -8, 112: 2}


@pytest.mark.parametrize(
    "states, freed, left",
    [
        ((USED, USED, USED), 1, {100: 1, 101: -1, 102: 1}),
        ((FREE, USED, USED), 1, {100: -2, 102: 1}),
        ((USED, USED, FREE), 1, {100: 1, 101: -2}),
        ((FREE, USED, FREE), 1, {100: -3}),
        ((USED, USED, FREE), 0, {100: -1, 101: 1, 102: -1}),
    ],
)
def test_free_neighbours_join(states, freed, left):
    blocks = of_snapshot(*((1, s) for s in states))
    blocks.freed((100 + freed) * MIB)
    assert sizes(blocks) == left and blocks.astray == 0


def test_neighbours_of_what_joined_are_known():
    blocks = of_snapshot(*[(1, USED)] * 5)
    for at in (101, 103, 102, 104, 100):
        blocks.freed(at * MIB)
    assert sizes(blocks) == {100: -5} and blocks.astray == 0


def test_the_rest_of_a_block_that_is_cut_joins_again():
    blocks = of_snapshot((8, FREE), (1, USED))
    assert blocks.alloc(100 * MIB, 2 * MIB) == 2 * MIB and blocks.alloc(102 * MIB, 2 * MIB) == 2 * MIB
    assert sizes(blocks) == {100: 2, 102: 2, 104: -4, 108: 1}
    for at in (108, 100, 102):
        blocks.freed(at * MIB)
    assert sizes(blocks) == {100: -9} and blocks.astray == 0


def test_what_the_blocks_do_not_allow_is_as_large_as_the_request_rounded():
    blocks = of_snapshot((1, USED), (1, FREE))
    found = [blocks.alloc(at, 600) for at in (5, 100 * MIB)] + [blocks.alloc(101 * MIB, 2 * MIB)]
    assert found == [1024, 1024, 2 * MIB] and blocks.astray == 3
    assert blocks.used() == {100 * MIB: 1024, 5: 1024, 101 * MIB: 2 * MIB}
    assert blocks.size_of(5) == 1024
    blocks.freed(5)
    assert blocks.astray == 3 and blocks.size_of(5) == 0
    blocks.freed(5)
    blocks.freed(7)
    assert blocks.astray == 5


def test_a_segment_that_is_freed_is_one_free_block():
    blocks = of_snapshot((2, FREE))
    blocks.segment_event("segment_free", 100 * MIB, 2 * MIB)
    assert (sizes(blocks), blocks.astray) == ({}, 0)
    for wrong in ([(2, USED)], [(1, FREE), (1, USED)]):
        blocks = of_snapshot(*wrong)
        blocks.segment_event("segment_free", 100 * MIB, 2 * MIB)
        assert blocks.astray == 1
    blocks = of_snapshot((1, USED), (1, FREE))
    blocks.segment_event("segment_free", 101 * MIB, MIB)
    blocks.segment_event("segment_free", 7, MIB)
    assert blocks.astray == 2


def test_other_events_change_no_block():
    blocks = of_snapshot((2, FREE))
    blocks.segment_event("snapshot", 100 * MIB, 2 * MIB)
    assert sizes(blocks) == {100: -2}


@pytest.mark.parametrize("size, small", [(2 * MIB, True), (20 * MIB, False)])
def test_the_small_pools_segments_are_known_by_their_size(size, small):
    blocks = Blocks([])
    blocks.segment_event("segment_alloc", 0, size)
    assert blocks._at[0].small is small
    assert of_snapshot((1, FREE), kind="small")._at[100 * MIB].small is True


def mapped(*events):
    blocks = Blocks([], Settings(expandable=True))
    for action, at, size in events:
        if action == "alloc":
            assert blocks.alloc(at * MIB, size * MIB) == size * MIB
        elif action == "freed":
            blocks.freed(at * MIB)
        else:
            blocks.segment_event(f"segment_{action}", at * MIB, size * MIB)
    return blocks


def test_pages_beside_mapped_ones_join_them():
    assert sizes(mapped(("map", 0, 2), ("map", 2, 2))) == {0: -4}
    assert sizes(mapped(("map", 2, 2), ("map", 0, 2))) == {0: -4}
    assert sizes(mapped(("map", 0, 2), ("map", 4, 2), ("map", 2, 2))) == {0: -6}
    assert sizes(mapped(("map", 0, 2), ("map", 6, 2))) == {0: -2, 6: -2}


def test_pages_beside_used_ones_join_them_when_these_are_freed():
    first = ("map", 0, 2), ("alloc", 0, 2), ("map", 2, 2)
    assert sizes(mapped(*first)) == {0: 2, 2: -2}
    assert sizes(mapped(*first, ("freed", 0, 0))) == {0: -4}
    last = ("map", 2, 2), ("alloc", 2, 2), ("map", 0, 2)
    assert sizes(mapped(*last)) == {0: -2, 2: 2}
    assert sizes(mapped(*last, ("freed", 2, 0))) == {0: -4}


@pytest.mark.parametrize(
    "at, size, left",
    [(0, 8, {}), (0, 2, {2: -6}), (6, 2, {0: -6}), (2, 2, {0: -2, 4: -4})],
)
def test_pages_of_a_free_block_go(at, size, left):
    blocks = mapped(("map", 0, 8), ("unmap", at, size))
    assert sizes(blocks) == left and blocks.astray == 0
    blocks.segment_event("segment_map", at * MIB, size * MIB)
    assert sizes(blocks) == {0: -8}, "and come again"


def test_neighbours_of_pages_that_go_stay_apart():
    blocks = mapped(("map", 0, 8), ("alloc", 0, 2), ("alloc", 2, 4), ("alloc", 6, 2), ("freed", 2, 0), ("unmap", 3, 2))
    assert sizes(blocks) == {0: 2, 2: -1, 5: -1, 6: 2}
    for at in (0, 6):
        blocks.freed(at * MIB)
    assert sizes(blocks) == {0: -3, 5: -3} and blocks.astray == 0


def test_all_pages_between_two_blocks_go():
    blocks = mapped(("map", 0, 6), ("alloc", 0, 2), ("alloc", 2, 2), ("alloc", 4, 2), ("freed", 2, 0), ("unmap", 2, 2))
    for at in (0, 4):
        blocks.freed(at * MIB)
    assert sizes(blocks) == {0: -2, 4: -2} and blocks.astray == 0


@pytest.mark.parametrize("at, size", [(6, 4), (-2, 4), (20, 2)])
def test_pages_that_are_not_free_do_not_go(at, size):
    blocks = mapped(("map", 0, 8), ("unmap", at, size))
    assert (sizes(blocks), blocks.astray) == ({0: -8}, 1)
    blocks = mapped(("map", 0, 8), ("alloc", 0, 8), ("unmap", 0, 8))
    assert (sizes(blocks), blocks.astray) == ({0: 8}, 1)
