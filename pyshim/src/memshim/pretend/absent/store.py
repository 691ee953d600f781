"""The store of a rank whose partners are absent: what others would have written is what an earlier
rank's run wrote, else what this rank wrote in their place."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlparse

import torch.distributed as dist

from memshim.pretend.absent.symmetric import Symmetric

if TYPE_CHECKING:
    from memshim.pretend.absent import Rank

NUMBER = re.compile(r"\d+")
# keys that a rank sets when it fails: kStoreDumpKey and kStoreErrorSignalKey of ProcessGroupNCCL.hpp. A rank
# that finds one writes out what it did, and does not end its groups for minutes (torch 2.10)
FAILURES = "exception_dump", "remote_error"
UNIQUE_ID = bytes(128)  # sizeof(ncclUniqueId), which PyTorch checks


class Journal:
    """What a rank leaves for the runs of later ones: pickles in a file, one after the other."""

    def __init__(self, folder: str, kind: str, rank: int) -> None:
        self.folder, self.kind, self.rank = Path(folder), kind, rank

    def add(self, entry: Any) -> None:
        with open(self.folder / f"{self.kind}.{self.rank}.pickle", "ab") as f:
            f.write(pickle.dumps(entry))

    def earlier(self) -> Iterator[tuple[int, list[Any]]]:
        """The entries of each other rank, the lowest first."""
        files = {int(f.name.split(".")[1]): f for f in self.folder.glob(f"{self.kind}.*.pickle")}
        for rank, file in sorted(files.items()):
            if rank != self.rank:
                yield rank, list(_entries(file))


def _entries(file: Path) -> Iterator[Any]:
    with open(file, "rb") as f:
        while True:
            try:
                yield pickle.load(f)
            except EOFError:  # also of an entry that is being written
                return


_distributed: Any = dist


class AbsentStore(_distributed.Store):  # type: ignore[misc]
    """Every other rank has done already what this one does: added as much, set its keys."""

    def __init__(self, rank: Rank) -> None:
        super().__init__()
        self.world_size = rank.world_size
        self.journal = Journal(rank.folder, "store", rank.rank)
        self.values: dict[str, bytes] = {}
        self.sums: dict[str, int] = {}
        self.others: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}
        self.symmetric = Symmetric()
        for _, entries in self.journal.earlier():
            self.others = dict(entries) | self.others
        self.limit = timedelta(minutes=5)

    def answer(self, key: str) -> bytes:
        """What lies at a key."""
        if key in self.values:
            return self.values[key]
        if key in self.sums:
            return str(self.sums[key]).encode()
        if (said := self.symmetric.answer(self.values, key)) is not None:
            return said
        if key in self.others:
            return self.others[key]
        like = NUMBER.sub("#", key)  # another rank's key: this one's, which has another number in it
        return next((v for k, v in self.values.items() if NUMBER.sub("#", k) == like), UNIQUE_ID)

    def set(self, key: str, value: str | bytes) -> None:
        data = value.encode() if isinstance(value, str) else bytes(value)
        self.values[key] = data
        self.journal.add((key, data))
        self.symmetric.wrote(key, data)

    def get(self, key: str) -> bytes:
        return self.answer(key)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        wanted = expected.encode() if isinstance(expected, str) else bytes(expected)
        if key not in self.values and not wanted or self.values.get(key) == wanted:
            self.set(key, desired)
        return self.values.get(key, wanted)

    compareSet = compare_set

    def add(self, key: str, amount: int) -> int:
        self.sums[key] = self.sums.get(key, 0) + amount * self.world_size
        self.symmetric.wrote(key, b"")
        return self.sums[key]

    def delete_key(self, key: str) -> bool:
        return self.values.pop(key, None) is not None or self.sums.pop(key, None) is not None

    deleteKey = delete_key

    def num_keys(self) -> int:
        return len(self.values) + len(self.sums)

    getNumKeys = num_keys

    def list_keys(self) -> list[str]:
        return [*self.values, *self.sums]

    listKeys = list_keys

    def check(self, keys: list[str]) -> bool:
        return not any(key.endswith(FAILURES) and key not in self.values for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        pass

    def append(self, key: str, value: str | bytes) -> None:
        data = value.encode() if isinstance(value, str) else bytes(value)
        self.set(key, self.values.get(key, b"") + data)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return [self.answer(key) for key in keys]

    multiGet = multi_get

    def multi_set(self, keys: list[str], values: list[str | bytes]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    multiSet = multi_set

    def has_extended_api(self) -> bool:
        return True

    hasExtendedApi = has_extended_api

    def queue_push(self, key: str, value: str | bytes) -> None:
        self.queues.setdefault(key, []).append(value.encode() if isinstance(value, str) else bytes(value))

    queuePush = queue_push

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self.queues[key].pop(0) if self.queues.get(key) else self.answer(key)

    queuePop = queue_pop

    def queue_len(self, key: str) -> int:
        return len(self.queues.get(key, ()))

    queueLen = queue_len

    def set_timeout(self, timeout: timedelta) -> None:
        self.limit = timeout

    setTimeout = set_timeout

    @property
    def timeout(self) -> timedelta:
        return self.limit

    def clone(self) -> AbsentStore:
        return self


class AbsentTCPStore(AbsentStore):
    """The store that a program makes itself, with the arguments of torch.distributed.TCPStore."""

    ranks: Rank

    def __init__(self, host_name: str = "", port: int = 0, *args: Any, **kwargs: Any) -> None:
        super().__init__(self.ranks)
        self.host, self.port = host_name, port


class AbsentFileStore(AbsentStore):
    """The same with the arguments of torch.distributed.FileStore."""

    ranks: Rank

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__(self.ranks)
        self.path = file_name


def answer(rank: Rank) -> None:
    """Put the store in the place of those at which ranks meet: env://, tcp:// and file://, and of
    those that a program or PyTorch makes itself."""
    store = AbsentStore(rank)

    def meet(url: str, own: int | None = -1, world_size: int | None = -1, **kwargs: Any) -> Iterator[Any]:
        said = dict(parse_qsl(urlparse(url).query))
        found = [
            int(given) if given not in (None, -1) else int(said.get(name, default))
            for given, name, default in ((own, "rank", rank.rank), (world_size, "world_size", rank.world_size))
        ]
        yield store, *found

    AbsentTCPStore.ranks = AbsentFileStore.ranks = rank
    rendezvous = sys.modules["torch.distributed.rendezvous"]  # the package has a function of that name
    for module in (rendezvous, dist.distributed_c10d, dist):
        setattr(module, "rendezvous", meet)  # noqa: B010
    for module in (rendezvous, dist):
        setattr(module, "TCPStore", AbsentTCPStore)  # noqa: B010
    from torch._C import _distributed_c10d as c

    for module in (rendezvous, dist, c):
        setattr(module, "FileStore", AbsentFileStore)  # noqa: B010
