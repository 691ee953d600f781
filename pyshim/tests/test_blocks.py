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
