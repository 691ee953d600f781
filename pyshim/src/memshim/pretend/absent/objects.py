"""Pickled objects that absent ranks would have sent: what an earlier rank's run sent.

A receive looks for its sender; else for one that has the sender's place in another group of the same
kind; a pipeline's stage last takes what any stage sent. PyTorch's own functions run then, so that
they allocate what they would.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from memshim.pretend.absent import checkpoints, flat_states
from memshim.pretend.absent.store import Journal
from memshim.pretend.after_import import once_imported
from memshim.pretend.library import Library

if TYPE_CHECKING:
    from memshim.pretend.absent import Rank


class NothingSent(RuntimeError):
    """An object is awaited that no run has sent. The text is for the user."""


class Sent(NamedTuple):
    """What a rank sent. Ranks are of the group, but `members`, which are the world's."""

    kind: str
    members: list[int]
    group: int  # which of the groups of the sender this is, in the order in which it made them
    source: int
    target: int  # -1 for all
    number: int  # the how many of this kind from that source to that target
    pickles: list[bytes]


class Objects:
    """Of this process."""

    def __init__(self, rank: Rank) -> None:
        self.rank, self.library = rank, Library()
        self.journal = Journal(rank.folder, "objects", rank.rank)
        self.numbers: Counter[tuple[Any, ...]] = Counter()
        self.own: list[Sent] = []
        self._earlier: list[Sent] | None = None
        self.derived: list[bytes] | None = None  # what a later stage sends, as far as this one can say
        self.gathered: list[object] | None = None  # what each rank has in the next gathering, where that is known
        self.scattered: list[bytes] = []  # what each rank of a group got last

    def earlier(self) -> list[Sent]:
        if self._earlier is None:
            self._earlier = [s for _, sent in self.journal.earlier() for s in sent]
        return self._earlier

    def entry(self, kind: str, group: Any, source: int, target: int, pickles: list[bytes]) -> Sent:
        """The next of its kind."""
        members = dist.get_process_group_ranks(group)
        place = list(c10d._world.pg_group_ranks).index(group)
        number = self.numbers[kind, tuple(members), source, target]
        self.numbers[kind, tuple(members), source, target] += 1
        return Sent(kind, members, place, source, target, number, pickles)

    def send(self, kind: str, group: Any, source: int, target: int, objects: Sequence[object]) -> None:
        sent = self.entry(kind, group, source, target, [pickled(o) for o in objects])
        self.own.append(sent)
        self.journal.add(sent)

    def receive(self, kind: str, group: Any, source: int, target: int) -> list[bytes] | None:
        """The pickles that arrive next; None where no run sent any."""
        wanted = self.entry(kind, group, source, target, [])
        found = [s for s in self.earlier() if s.kind == kind]
        same = [s for s in found if s.members == wanted.members]
        for among in (same, [s for s in found if len(s.members) == len(wanted.members)]):
            for s in among:
                if (s.source, s.target, s.number) == wanted[3:6] and (among is same or s.group == wanted.group):
                    return s.pickles
        if kind == "send" and self.derived:
            return self.derived
        if kind == "send":  # between neighbours, what any of them sent forward or back
            step = (target - source) % group.size()
            for s in [*found, *self.own]:
                if s.kind == kind and (s.target - s.source) % len(s.members) == step and s.number == wanted.number:
                    return s.pickles
        return None

    def earlier_gathered(self, group: Any, own: object) -> dict[int, Any]:
        """What other ranks of the group gave to this gathering in their runs; own is what this one gives."""
        self.send("gather", group, group.rank(), -1, [own])
        members, number = self.own[-1].members, self.own[-1].number
        return {
            s.source: unpickled(s.pickles[0])
            for s in self.earlier()
            if s.kind == "gather" and s.members == members and s.number == number
        }

    def expect(self, *messages: bytes) -> None:
        """What the library gives to the next receives."""
        for data in messages:
            self.library.expect(data, len(data), len(data), 0)

    def awaited(self, kind: str, source: int, group: Any) -> NothingSent:
        from memshim.pretend.value_reads import places

        _, place = places()
        number = dist.get_process_group_ranks(group)[source]
        return NothingSent(
            f"{place.file}:{place.line}: rank {self.rank.rank} waits in {kind} for an object of rank {number}, which "
            f"no run has sent: want --rank {number},{self.rank.rank}"
        )


def pickled(value: object) -> bytes:
    tensor, _ = c10d._object_to_tensor(value, torch.device("cpu"), None)
    return bytes(tensor.numpy().tobytes())


def unpickled(data: bytes) -> Any:
    tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return c10d._tensor_to_object(tensor, len(data), None)


def watch(rank: Rank) -> None:
    """torch is imported."""
    objects = Objects(rank)

    def on_cpu(group: Any, device: Any = None) -> bool:
        return torch.device(device or c10d._get_object_coll_device(group)).type == "cpu"

    def place(group: Any, world: int | None, own: int | None, default: int | None) -> int:
        """A rank of the group, by either number."""
        if own is not None:
            return own
        at = default if world is None else world
        return c10d.get_group_rank(group, at or 0)

    def broadcast(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def broadcast_object_list(
            object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
            group_src: int | None = None, **kwargs: Any,
        ) -> None:  # fmt: skip
            def call() -> None:
                original(object_list, src=src, group=group, device=device, **given(group_src=group_src), **kwargs)

            its: Any = group or dist.group.WORLD
            if its is None or c10d._rank_not_in_group(its):
                return call()
            source = place(its, src, group_src, 0)
            if its.rank() == source:
                objects.send("broadcast", its, source, -1, object_list)
                return call()
            found = objects.receive("broadcast", its, source, -1)
            if found is None:
                if all(o is None for o in object_list):
                    raise objects.awaited("broadcast_object_list", source, its)
                return None  # what this rank has in their place
            arrive(its, device, found, object_list, call)

        return broadcast_object_list

    def arrive(its: Any, device: Any, found: list[bytes], into: list[Any], call: Callable[[], Any]) -> Any:
        if on_cpu(its, device):
            into[:] = [unpickled(p) for p in found]
            return None
        objects.expect(b"".join(len(p).to_bytes(8, "little") for p in found), b"".join(found))
        try:
            return call()
        finally:
            objects.library.expect_end()

    def send(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def send_object_list(
            object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None,
            group_dst: int | None = None, **kwargs: Any,
        ) -> None:  # fmt: skip
            its: Any = group or dist.group.WORLD
            objects.send("send", its, its.rank(), place(its, dst, group_dst, None), object_list)
            original(object_list, dst=dst, group=group, device=device, **given(group_dst=group_dst), **kwargs)

        return send_object_list

    def recv(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def recv_object_list(
            object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
            group_src: int | None = None, **kwargs: Any,
        ) -> int:  # fmt: skip
            its: Any = group or dist.group.WORLD
            source = place(its, src, group_src, None)
            found = objects.receive("send", its, source, its.rank())
            if found is None:
                raise objects.awaited("recv_object_list", source, its)

            def call() -> Any:
                return original(
                    object_list, src=src, group=group, device=device, **given(group_src=group_src), **kwargs
                )

            arrive(its, device, found, object_list, call)
            return dist.get_process_group_ranks(its)[source]

        return recv_object_list

    def scatter(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def scatter_object_list(
            scatter_object_output_list: list[Any], scatter_object_input_list: Any = None, src: int | None = None,
            group: Any = None, group_src: int | None = None, **kwargs: Any,
        ) -> None:  # fmt: skip
            def call() -> None:
                original(
                    scatter_object_output_list, scatter_object_input_list, src=src, group=group,
                    **given(group_src=group_src), **kwargs,
                )  # fmt: skip

            its: Any = group or dist.group.WORLD
            if its is None or c10d._rank_not_in_group(its):
                return call()
            source = place(its, src, group_src, 0)
            if its.rank() == source:
                objects.send("scatter", its, source, -1, scatter_object_input_list)
                objects.scattered = objects.own[-1].pickles
                if on_cpu(its):
                    scatter_object_output_list[0] = scatter_object_input_list[source]
                    return None
                return call()
            found = objects.receive("scatter", its, source, -1)
            if found is None:
                raise objects.awaited("scatter_object_list", source, its)
            objects.scattered = found
            if on_cpu(its):
                scatter_object_output_list[0] = unpickled(found[its.rank()])
                return None
            longest, own = max(map(len, found)), found[its.rank()]
            objects.expect(longest.to_bytes(8, "little"), own.ljust(longest, b"\0"), len(own).to_bytes(8, "little"))
            try:
                return call()
            finally:
                objects.library.expect_end()

        return scatter_object_list

    def gather(original: Callable[..., Any]) -> Callable[..., Any]:
        """Every rank has what this one has, where nothing else is known of it."""

        @functools.wraps(original)
        def gathered(*args: Any, **kwargs: Any) -> Any:
            is_all = original.__name__ == "all_gather_object"
            value = kwargs["obj"] if "obj" in kwargs else args[1 if is_all else 0]
            group = kwargs.get("group") or next((a for a in args[2:] if isinstance(a, dist.ProcessGroup)), None)
            its: Any = group or dist.group.WORLD
            if its is None or c10d._rank_not_in_group(its):
                return original(*args, **kwargs)
            said = objects.gathered or [value] * its.size()
            if on_cpu(its):
                original(*args, **kwargs)
                at, name = (0, "object_list") if is_all else (1, "object_gather_list")
                into = kwargs[name] if name in kwargs else args[at] if len(args) > at else None
                if objects.gathered and into is not None:
                    into[:] = said
                return None
            parts = [pickled(v) for v in said] if objects.gathered else [pickled(value)] * its.size()
            longest = max(map(len, parts))
            counts = b"".join(len(p).to_bytes(8, "little") for p in parts)
            data = b"".join(p.ljust(longest, b"\0") for p in parts)
            objects.library.expect(counts, len(counts), 8, its.rank())
            objects.library.expect(data, len(data), longest, its.rank())
            try:
                return original(*args, **kwargs)
            finally:
                objects.library.expect_end()

        return gathered

    for name, wrap in (
        ("broadcast_object_list", broadcast),
        ("send_object_list", send),
        ("recv_object_list", recv),
        ("scatter_object_list", scatter),
        ("all_gather_object", gather),
        ("gather_object", gather),
    ):
        wrapped = wrap(getattr(c10d, name))
        for module in (c10d, dist):
            setattr(module, name, wrapped)

    def stages() -> None:
        _follow_stages(objects)

    once_imported("torch.distributed.pipelining.stage", stages)
    once_imported("torch.distributed.checkpoint.default_planner", lambda: checkpoints.follow(objects))
    once_imported("torch.distributed.fsdp._optim_utils", lambda: flat_states.follow(objects))


def given(**kwargs: Any) -> dict[str, Any]:
    """The arguments that were given: earlier releases lack some."""
    return {k: v for k, v in kwargs.items() if v is not None}


def _follow_stages(objects: Objects) -> None:
    """What a later stage says of the gradients that it sends back: like the outputs of this one,
    where that stage has not run."""
    stage: Any = sys.modules["torch.distributed.pipelining.stage"]

    derive: Any = getattr(stage, "_derive_grad_metas", None)
    receive: Any = getattr(stage.PipelineStage, "_recv_meta", None)
    if derive is None or receive is None:
        return

    def _recv_meta(self: Any, src_stage: int) -> Any:
        if src_stage > self.stage_index:
            metas = derive(self._stage_meta.outputs)
            objects.derived = [pickled(stage._StageBackwardMeta(backward_metas=metas))]
        try:
            return receive(self, src_stage)
        finally:
            objects.derived = None

    stage.PipelineStage._recv_meta = _recv_meta
