"""What NCCL takes of a device for its communicators, beside PyTorch's allocator: by formula.

The figures are those of NCCL 2.30.7 (github.com/NVIDIA/nccl, files below src/). How many channels a
communicator has, and over what its ranks are connected, follows from the machine's topology, which a
pretend GPU does not have. So there are two ends. The least counts what is certain on boards that
NVLink connects (SXM): two channels, with what was used. The most counts all channels that NCCL can
have, with every algorithm that it may choose for what was used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memshim.pretend.library import COMMUNICATOR, Library

MIB = 1 << 20
STEPS = 8  # NCCL_STEPS of include/device.h
LL = 512 * 8 * STEPS * 16  # NCCL_LL_MAX_NTHREADS, NCCL_LL_LINES_PER_THREAD, a line of 16 bytes: include/device.h
LL128 = 120 * 640 * STEPS * 8  # NCCL_LL128_ELEMS_PER_THREAD, NCCL_LL128_MAX_NTHREADS: include/device.h
SIMPLE = 4 * MIB  # DEFAULT_BUFFSIZE of init.cc
HEAD = 4096  # MEM_ALIGN of include/comm.h: ncclSendMem, ncclRecvMem
PAGE = 2 * MIB  # CUDA_IPC_MIN of include/comm.h, and the granularity of cuMemCreate
CHANNELS = 64  # MAXCHANNELS of include/device.h
LEAST_CHANNELS = 2  # one is searched, and doubled: ncclTopoPostset of graph/connect.cc
DEVICE_PEER = 608  # ncclDevChannelPeer of include/device.h: four ncclConnInfo
OF_CHANNEL, OF_NVLS_CHANNEL = 3, 1  # allocations of tables: initChannel and initNvlsChannel of channel.cc
OF_COMMUNICATOR = 2  # the same: devCommSetup of init.cc
TREE = 4  # up and NCCL_MAX_TREE_ARITY down: include/device.h
CHAIN = 2  # a tree within one node: ncclTopoPreset of graph/connect.cc
NVLS_CHANNELS = {9: 16, 10: 32}  # NVLS_NCHANNELS_SM90, NVLS_NCHANNELS_SM100 of transport/nvls.cc, by major capability
NVLS_CHUNKS = {9: 128 << 10, 10: 256 << 10}  # NCCL_NVLS_CHUNKSIZE, ncclNvlsTreeSm100Tuning: transport/nvls.cc
NVLS_HEADS = 32  # NCCL_MAX_NVLS_ARITY of include/device.h
SHARED_STEPS = 16  # NCCL_SHARED_STEPS of transport/net.cc
NET_CHUNK, NVLINK_CHUNK = 128 << 10, 512 << 10  # NCCL_P2P_NET_CHUNKSIZE, NCCL_P2P_NVL_CHUNKSIZE: init.cc
RING, GATHERS, SUMS = 1, 2, 4  # native/communicators.h

STATED = "MEMSPEC_NCCL"  # JSON: what memshim run knows: {"nvlink": [of each card], "stated": bytes or null}


class Communicator(NamedTuple):
    """One of NCCL's communicators, as native/communicators.c keeps it."""

    device: int
    ranks: int
    local: int  # the most of its ranks on one node; 0 where nobody knows
    nodes: int
    channels: int  # the most that its configuration allows; 0 where that states none
    shared: int  # 1: it has its parent's connections
    operations: int  # RING, GATHERS, SUMS
    met: int  # ranks that messages go to or come from
    made: int  # a moment
    ended: int  # a later one; 0 where it is still there


class Span(NamedTuple):
    """What communicators take, bytes, and how many there were."""

    low: int
    high: int
    count: int  # type: ignore[assignment]  # hides a method of tuple

    def as_json(self) -> dict[str, int]:
        return {"low": self.low, "high": self.high, "communicators": self.count}


class Variables:
    """NCCL's variables that change it. A variable that is no number is as if it were not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        def number(name: str, default: int) -> int:
            said = environ.get(f"NCCL_{name}", "")
            return int(said) if said.lstrip("-").isdecimal() else default

        self.simple = number("BUFFSIZE", SIMPLE)
        self.ll = number("LL_BUFFSIZE", LL)
        self.ll128 = number("LL128_BUFFSIZE", LL128)
        most = number("MAX_NCHANNELS", number("MAX_NRINGS", CHANNELS))
        self.least = max(number("MIN_NCHANNELS", number("MIN_NRINGS", 0)), number("MIN_CTAS", 0))
        self.most = max(1, min(most, CHANNELS, number("MAX_CTAS", CHANNELS)))
        self.most_p2p = number("MAX_P2P_NCHANNELS", CHANNELS)
        self.least_p2p = number("MIN_P2P_NCHANNELS", 1)
        self.p2p = not number("P2P_DISABLE", 0) and environ.get("NCCL_P2P_LEVEL", "").upper() not in ("LOC", "0")
        self.virtual = number("CUMEM_ENABLE", 1) != 0
        self.late = self.virtual and number("RUNTIME_CONNECT", 1) != 0  # connections come with their first use
        self.nvls = self.virtual and number("NVLS_ENABLE", 2) != 0
        self.nvls_chunk = number("NVLS_CHUNKSIZE", 0)
        self.net_chunk = number("P2P_NET_CHUNKSIZE", NET_CHUNK)
        self.nvlink_chunk = number("P2P_NVL_CHUNKSIZE", NVLINK_CHUNK)
        self.pat = number("PAT_ENABLE", 2) != 0
        self.pxn = not number("PXN_DISABLE", 0)

    def channels(self, found: int, stated: int) -> int:
        """Of a communicator whose topology gives so many; stated: the most by its configuration."""
        return min(max(min(found, self.most, stated or CHANNELS), self.least), CHANNELS)

    def p2p_channels(self, channels: int) -> int:
        """For messages: as many as for collectives, up to a power of two (ncclTopoComputeP2pChannels of
        graph/paths.cc)."""
        of = max(min(channels, self.most_p2p), self.least_p2p, 1)
        return int(min(1 << (of - 1).bit_length(), CHANNELS))

    def nvls_channels(self, c: Communicator, capability: int) -> int:
        """Of NVLink SHARP; 0 where the device or a variable has none."""
        return min(NVLS_CHANNELS.get(capability, 0), c.channels or CHANNELS, self.most) if self.nvls else 0

    def table(self, ranks: int) -> int:
        """An allocation with a row for each rank."""
        return pages(DEVICE_PEER * ranks) if self.virtual else DEVICE_PEER * ranks

    def local_pairs(self) -> tuple[int, int]:
        """Of a connection to and from a rank of the node, a channel: buffers lie at the receiver, or
        the large one at the sender (transport/p2p.cc); the smaller, the larger."""
        written = pages(self.ll + self.ll128 + self.simple + HEAD) + pages(HEAD)
        read = pages(self.ll + self.ll128 + HEAD) + pages(self.simple + HEAD)
        return min(written, read), max(written, read)

    def net_pair(self) -> int:
        """The same over the network, with GPU Direct (transport/net.cc)."""
        return pages(self.ll128 + self.simple) + pages(self.ll + self.ll128 + self.simple)

    def pool(self, channels: int, nodes: int) -> int:
        """What messages over the network go through, one direction."""
        network, near = 2 * self.net_chunk, self.nvlink_chunk  # twice: computeBuffSizes of init.cc, on ARM
        chunk = near if nodes == 1 else network if nodes else max(near, network)
        return channels * SHARED_STEPS * min(chunk, self.simple // STEPS)

    def nvls_buffers(self, channels: int, capability: int, heads: int) -> int:
        """What NVLink SHARP takes for collectives (ncclNvlsBufferSetup of transport/nvls.cc)."""
        return channels * 2 * STEPS * (self.nvls_chunk or NVLS_CHUNKS[capability]) * min(heads, NVLS_HEADS)


def pages(size: int) -> int:
    """A size as cuMemCreate gives it."""
    return -(-size // PAGE) * PAGE


def span(found: Iterable[Communicator], capability: int, nvlink: bool, environ: Mapping[str, str]) -> Span:
    """What communicators of one device take: the most of those that were there at a time.

    capability: the major compute capability. nvlink: the boards of a node are connected by it.
    """
    found, variables = list(found), Variables(environ)
    ends = [(least(c, variables, capability, nvlink), most(c, variables, capability)) for c in found]
    low = high = 0
    for now in found:
        there = [e for c, e in zip(found, ends, strict=True) if c.made <= now.made and not 0 < c.ended < now.made]
        low, high = max(low, sum(e[0] for e in there)), max(high, sum(e[1] for e in there))
    return Span(low, high, len(found))


def least(c: Communicator, v: Variables, capability: int, nvlink: bool) -> int:
    """What one takes at the least: connections along a ring over NVLink, or what stands for them."""
    used = c.operations if v.late else RING | GATHERS | SUMS
    if not nvlink or not v.p2p or c.nodes != 1 or c.ranks < 2 or c.shared or not used:
        return 0
    ring = v.channels(LEAST_CHANNELS, c.channels) * v.local_pairs()[0]
    nvls = v.nvls_channels(c, capability)
    return min(ring, v.nvls_buffers(nvls, capability, 1)) if nvls and not used & RING else ring


def most(c: Communicator, v: Variables, capability: int) -> int:
    """What one takes at the most."""
    channels = v.channels(CHANNELS, c.channels)
    p2p_channels = v.p2p_channels(channels)
    used, met = (c.operations, c.met) if v.late else (RING | GATHERS | SUMS, c.ranks - 1)
    local = c.local or c.ranks
    near = c.ranks if capability >= 10 else local  # ranks that NVLink may connect: from Blackwell on over nodes
    pair = max(v.local_pairs()[1], v.net_pair() if c.nodes != 1 else 0)
    pairs = 0  # of a channel: with each rank there is at most one
    if used:
        pairs = 1 + (TREE if c.nodes != 1 else CHAIN) * bool(used & SUMS)
        if v.pat and used & GATHERS and c.nodes in (0, c.ranks):  # ncclPatEnable of graph/tuning.cc
            pairs += 2 * (c.ranks - 1).bit_length()
    out = channels * min(pairs, c.ranks - 1) * pair
    nvls = v.nvls_channels(c, capability) if near > 1 else 0
    if nvls:
        out += pages(nvls * 2 * 64 * near) + nvls * OF_NVLS_CHANNEL * v.table(near)  # ncclNvlsSetup
    if nvls and used & (GATHERS | SUMS):
        out += v.nvls_buffers(nvls, capability, near)
        if c.nodes != 1 and used & SUMS:  # ncclNvlsTreeConnect
            out += nvls * min(TREE, c.ranks - 1) * v.net_pair()
    out += min(met, near - 1) * p2p_channels * v.local_pairs()[1]
    if met and c.nodes != 1 or not v.late:
        proxies = local if v.pxn and c.nodes != 1 else 1  # a rank may send for others of its node
        out += 2 * v.pool(p2p_channels, c.nodes) * proxies
    tables = max(channels, p2p_channels, nvls) * OF_CHANNEL + OF_COMMUNICATOR
    return out + tables * v.table(c.ranks)


def of_process() -> dict[int, Span]:
    """What the communicators of this process take, by device."""
    stated = json.loads(os.environ.get(STATED) or "{}")
    by: dict[int, list[Communicator]] = {}
    for numbers in Library().communicators():
        one = placed(Communicator(*numbers), os.environ)
        by.setdefault(one.device, []).append(one)
    out = {}
    for device, found in by.items():
        import torch

        nvlink = stated.get("nvlink", [])
        size = stated.get("stated")
        out[device] = (
            Span(size, size, len(found))
            if size is not None
            else span(
                found,
                torch.cuda.get_device_capability(device)[0],
                device < len(nvlink) and nvlink[device],
                os.environ,
            )
        )
    return out


def placed(c: Communicator, environ: Mapping[str, str]) -> Communicator:
    """With the nodes of its ranks, where all ranks are in it, or where all are on this machine."""
    if c.nodes:
        return c
    world, local = (int(environ.get(n, "0")) for n in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if "MEMSPEC_RANK" not in environ or local >= world:
        return c._replace(local=c.ranks, nodes=1)
    if c.ranks == world:
        return c._replace(local=local, nodes=-(-world // local))
    return c


def spread(ranks: Iterable[int], environ: Mapping[str, str]) -> tuple[int, int]:
    """The most of the ranks on one node, and how many nodes they are on."""
    ranks = list(ranks)
    if "MEMSPEC_RANK" not in environ:  # all are processes of this machine
        return len(ranks), 1
    by: dict[int, int] = {}
    for r in ranks:
        node = r // max(int(environ.get("LOCAL_WORLD_SIZE", "1")), 1)
        by[node] = by.get(node, 0) + 1
    return max(by.values(), default=0), len(by)


def header(device: int | None) -> dict[str, Any]:
    """The key of a recording: of a process without communicators there is none."""
    found = of_process().get(device or 0)
    return {"nccl": found.as_json()} if found else {}


assert len(Communicator._fields) == COMMUNICATOR
