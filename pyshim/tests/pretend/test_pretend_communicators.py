"""What NCCL takes of a device for its communicators, by formula."""

import pytest

from memshim.pretend import communicators as nccl
from memshim.pretend.communicators import GATHERS, MIB, RING, SUMS, Communicator, Variables

ONE_NODE = Communicator(0, ranks=8, local=8, nodes=1, channels=0, shared=0, operations=0, met=0, made=1, ended=0)
FIXED = {"NCCL_MAX_NCHANNELS": "24", "NCCL_MIN_NCHANNELS": "24", "NCCL_NVLS_ENABLE": "0"}


def span(*found, capability=9, nvlink=True, **environ):
    return nccl.span(found, capability, nvlink, environ)[:2]


def test_the_sizes_of_connections():
    """What an allocation log of 8 H100 shows: 10,485,760 B where a rank receives, 2,097,152 B where it
    sends (NVIDIA/nccl issue 1685)."""
    v = Variables({})
    assert v.local_pairs() == (10485760 + 2097152, 10485760 + 2097152)
    assert v.net_pair() == 2 * 10485760
    assert Variables({"NCCL_BUFFSIZE": str(8 * MIB)}).local_pairs() == (16 * MIB, 16 * MIB)
    assert nccl.LL == 524288 and nccl.LL128 == 4915200


@pytest.mark.parametrize(
    "environ, least, most",
    [
        ({}, 0, nccl.CHANNELS),
        ({"MAX_NCHANNELS": "1"}, 0, 1),
        ({"MAX_NCHANNELS": "0"}, 0, 1),  # one in any case
        ({"MAX_NCHANNELS": "2", "MAX_CTAS": "8", "MIN_CTAS": "3"}, 3, 2),
        ({"MAX_NRINGS": "5", "MIN_NRINGS": "4", "MIN_CTAS": "2"}, 4, 5),  # by their earlier names
        ({"MAX_NRINGS": "5", "MAX_NCHANNELS": "6", "MIN_NRINGS": "4", "MIN_NCHANNELS": "3"}, 3, 6),
        ({"MAX_NCHANNELS": str(nccl.CHANNELS + 1), "MIN_CTAS": "-1"}, 0, nccl.CHANNELS),
        ({"MAX_NCHANNELS": "many", "MAX_CTAS": "7"}, 0, 7),
    ],
)
def test_how_many_channels_are_stated(environ, least, most):
    v = Variables({f"NCCL_{name}": value for name, value in environ.items()})
    assert (v.least, v.most) == (least, most)


def test_nvlink_sharp():
    """8 H100: 16 channels of two buffers of 1 MiB for each of 8 heads are 256 MiB."""
    assert Variables({}).nvls_buffers(16, 9, 8) == 256 * MIB
    used = ONE_NODE._replace(operations=GATHERS)
    assert span(used)[1] - span(used, NCCL_NVLS_ENABLE="0")[1] == (256 + 2 + 16 * 2) * MIB
    assert span(used, capability=8) == span(used, NCCL_NVLS_ENABLE="0"), "no card before the H100 has it"


@pytest.mark.parametrize(
    "change, low, high",
    [
        # of each channel three tables, of a communicator two, 2 MiB each; 24 channels are 32 for messages
        ({}, 0, (32 * 3 + 2) * 2),
        ({"operations": RING}, 24 * 12, (32 * 3 + 2) * 2 + 24 * 12),
        ({"operations": GATHERS}, 24 * 12, (32 * 3 + 2) * 2 + 24 * 12),
        ({"operations": SUMS}, 24 * 12, (32 * 3 + 2) * 2 + 24 * 12 * 3),  # a ring, or a chain of two
        ({"operations": SUMS, "ranks": 2, "local": 2}, 24 * 12, (32 * 3 + 2) * 2 + 24 * 12),  # one other rank
        ({"operations": GATHERS, "shared": 1}, 0, (32 * 3 + 2) * 2 + 24 * 12),
        ({"operations": GATHERS, "ranks": 1, "local": 1}, 0, (32 * 3 + 2) * 2),
        # messages with 7 ranks over 32 channels, a power of two
        ({"met": 7}, 0, (32 * 3 + 2) * 2 + 7 * 32 * 12),
        # over two nodes: the network's connections, for messages 32 channels x 16 x 256 KiB each direction, for
        # each rank of the node
        ({"operations": GATHERS, "local": 4, "nodes": 2}, 0, (32 * 3 + 2) * 2 + 24 * 20),
        ({"met": 7, "local": 4, "nodes": 2}, 0, (32 * 3 + 2) * 2 + 3 * 32 * 12 + 2 * 128 * 4),
        # one rank a node: also a ring and PAT's 2 x 3 others, of 7 that there are
        ({"operations": GATHERS, "local": 1, "nodes": 8}, 0, (32 * 3 + 2) * 2 + 24 * 20 * 7),
    ],
)
def test_a_communicator_whose_channels_are_stated(change, low, high):
    assert span(ONE_NODE._replace(**change), **FIXED) == (low * MIB, high * MIB)


def test_unknown_channels_are_a_range():
    """2 to 64, by the board: without NVLink connections may lie in the host's memory."""
    used = ONE_NODE._replace(operations=GATHERS)
    assert span(used, NCCL_NVLS_ENABLE="0") == (2 * 12 * MIB, ((64 * 3 + 2) * 2 + 64 * 12) * MIB)
    assert span(used, nvlink=False)[0] == span(used, NCCL_P2P_DISABLE="1")[0] == 0
    assert span(used, NCCL_MAX_NCHANNELS="4", NCCL_NVLS_ENABLE="0")[1] == ((4 * 3 + 2) * 2 + 4 * 12) * MIB
    assert span(used._replace(channels=4), NCCL_NVLS_ENABLE="0") == (24 * MIB, ((4 * 3 + 2) * 2 + 4 * 12) * MIB)


def test_measured_figures_lie_between_the_ends():
    """Of others (gigabytes of devices with NVLink): 4 A100, a group of two 544 MB, of four 688 MB (NVIDIA/nccl issue
    964); the first all-to-all of 8 H100 from 1.06 to 4.34 GB (issue 1685)."""
    for ranks, megabytes in ((2, 544), (4, 688)):
        low, high = span(ONE_NODE._replace(ranks=ranks, local=ranks, operations=SUMS), capability=8)
        assert low < megabytes * 10**6 < high
    without, with_ = (span(ONE_NODE._replace(operations=SUMS, met=n)) for n in (0, 7))
    assert 0 < (4.34 - 1.06) * 10**9 < with_[1] - without[1]


def test_communicators_that_are_there_at_a_time():
    used = ONE_NODE._replace(operations=GATHERS)
    one, two = span(used, **FIXED), span(used, used._replace(made=2), **FIXED)
    assert two == (2 * one[0], 2 * one[1])
    assert span(used._replace(ended=2), used._replace(made=3), **FIXED) == one
    assert nccl.span([], 9, True, {}) == (0, 0, 0)


@pytest.mark.parametrize(
    "environ, of_world, of_part",
    [
        ({}, (8, 1), (2, 1)),  # all ranks are processes of this machine
        ({"MEMSPEC_RANK": "{}", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}, (8, 1), (2, 1)),
        ({"MEMSPEC_RANK": "{}", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}, (4, 2), (0, 0)),
    ],
)
def test_on_which_nodes(environ, of_world, of_part):
    """Of a communicator that is no part of another NCCL's functions are not given its ranks."""
    unknown = ONE_NODE._replace(local=0, nodes=0)
    assert nccl.placed(unknown, environ)[2:4] == of_world
    assert nccl.placed(unknown._replace(ranks=2), environ)[2:4] == of_part
    assert nccl.placed(unknown._replace(ranks=2, local=1, nodes=2), environ)[2:4] == (1, 2)
    nodes = 1 if of_part[1] else 2
    assert nccl.spread([0, 4], environ) == (3 - nodes, nodes)
