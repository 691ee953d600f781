"""Symmetric memory of a rank whose partners are absent: what they would write into the store at which
PyTorch's rendezvous meets (CUDASymmetricMemory.cu), and the multicast object that the first of a
group sends.

A rank exports its memory as a file descriptor, and imports those of its peers. Each absent peer is
this process: it finds its own descriptor for each of them, so that as many blocks are mapped as on a
real machine. What lies in those is not known.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
from collections.abc import Mapping
from typing import Any

from torch.distributed import distributed_c10d as c10d

STEP = re.compile(r".*CUDASymmetricMemory/\d+/?(?P<rank>\d*)")  # of a rendezvous; a barrier's has no rank in torch 2.15
EXCHANGED = re.compile(r"(?P<of>.*CUDASymmetricMemory/\d+/)(?P<rank>\d+)$")
FIRST = re.compile(r"symmetric_memory-(?P<ranks>[\d_]+)/init$")  # the host of a group's first rank
REQUEST = struct.Struct("iiQ")  # RendezvousRequest: device_idx, pid, block_size, and more
TEMPORARY = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")  # IpcChannel::get_socket_name, CUDASymmetricMemoryUtils.cpp


class OtherNode(RuntimeError):
    """Memory is shared with a rank of another node. The text is for the user."""


def multicast(size: int) -> int:
    """A file descriptor of a multicast object, as native/shareable.c makes one (absent/__init__.py)."""
    raise NotImplementedError


class Symmetric:
    """Of the store of this process."""

    def __init__(self) -> None:
        self.size = 0  # of the block that is shared now, bytes; 0 once all of it is

    def answer(self, values: Mapping[str, bytes], key: str) -> bytes | None:
        """What an absent rank wrote at a key, where this rank wrote its own; None of any other key."""
        if first := FIRST.search(key):
            ranks = [int(r) for r in first["ranks"].split("_")]
            return f"{socket.gethostname() if node(ranks[0]) == node() else f'node {node(ranks[0])}'}/memshim".encode()
        found = EXCHANGED.match(key)
        own = next((k for k in values if k.startswith(found["of"])), None) if found else None
        if not found or own is None:
            return None
        said = values[own]
        if len(said) < REQUEST.size:
            return said
        peer, rank = int(found["rank"]), int(own.removeprefix(found["of"]))
        device, pid, size = REQUEST.unpack_from(said)
        ranks = members(key)
        if ranks and node(ranks[peer]) != node():
            raise OtherNode(
                f"got symmetric memory of ranks {ranks[rank]} and {ranks[peer]}, which are on nodes {node()} and "
                f"{node(ranks[peer])}, want ranks of one node: cuMemExportToShareableHandle gives file descriptors"
            )
        place = ranks[peer] % local() if ranks else device + peer - rank
        return REQUEST.pack(place, pid, size) + said[REQUEST.size :]

    def wrote(self, key: str, data: bytes) -> None:
        """This rank wrote at a key. After the barrier that follows the imports, all but the first of a
        group wait for the first one's multicast object."""
        found = STEP.match(key)
        if not found:
            return
        if len(data) >= REQUEST.size:
            self.size = REQUEST.unpack_from(data)[2] if int(found["rank"]) else 0
        elif self.size:
            send_multicast(self.size)
            self.size = 0


def send_multicast(size: int) -> None:
    """Send a descriptor of a multicast object to the socket at which this process waits, if it has one."""
    folder = next(filter(None, map(os.environ.get, TEMPORARY)), "/tmp")
    file = multicast(size)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", file))]
    with contextlib.suppress(FileNotFoundError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendmsg([b"\0"], rights, 0, f"{folder}/symm_mem-{os.getpid()}")
    os.close(file)


def local() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def node(rank: int | None = None) -> int:
    """Of a rank; of this one for None."""
    return int(os.environ["RANK"] if rank is None else rank) // local()


def members(key: str) -> list[int]:
    """The ranks of the group whose store has the key; none where no group's name is part of it."""
    parts = key.split("/")[:-3]
    named: dict[str, Any] = {name: group for group, name in c10d._world.pg_names.items()}
    group = next((named[p] for p in reversed(parts) if p in named), None)
    return list(c10d.get_process_group_ranks(group)) if group is not None else []
