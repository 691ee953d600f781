"""Where a rank lies among the others: its index in each dimension of the program's meshes, and the
ranks along those dimensions in which memory differs.

Runs in the program's process. Nothing is asked of other ranks: a mesh, a pipeline's stage and a
sharded parameter say what each rank has.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from memshim.pretend.after_import import once_imported
from memshim.pretend.value_reads import places

STAGE, UNEVEN, EXPERTS, ZERO = "pipeline stage", "uneven shards", "experts", "ZeroRedundancyOptimizer"
OUTSIDE = "outside of the mesh"  # what follows says which


class Places:
    """Of this process."""

    def __init__(self, rank: int, world_size: int) -> None:
        self.rank, self.world_size = rank, world_size
        self.meshes: list[tuple[list[int], list[int], list[str]]] = []  # sizes, ranks, names of dimensions
        self.stages: list[int] = []
        self.groups: dict[str, list[list[int]]] = {}  # why memory differs: ranks, one of each kind
        self.optimizers: set[int] = set()

    def watch(self) -> None:
        """torch is imported."""
        once_imported("torch.distributed.device_mesh", self._watch_meshes)
        once_imported("torch.distributed.pipelining.stage", self._watch_stages)
        once_imported("torch.distributed.distributed_c10d", self._watch_tokens)
        once_imported("torch.distributed._functional_collectives", self._watch_functional_tokens)

    def differ(self, why: str, ranks: list[int]) -> None:
        if len(ranks) > 1 and ranks not in self.groups.setdefault(why, []):
            self.groups[why].append(ranks)

    def covers(self, shape: tuple[int, ...]) -> None:
        """A mesh of this shape has the first ranks of the world: one after them goes another way."""
        if (ranks := math.prod(shape)) < self.world_size:
            _, place = places()
            at = f"{os.path.basename(place.file)}:{place.line}"
            self.differ(f"{OUTSIDE} {shape} at {at}, which has {ranks} of {self.world_size} ranks", [0, ranks])

    def _watch_meshes(self) -> None:
        import torch.distributed as dist
        from torch.distributed import device_mesh

        modules: list[Any] = [device_mesh, dist]
        init = modules[0].init_device_mesh

        @functools.wraps(init)
        def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], *args: Any, **kwargs: Any) -> Any:
            mesh = init(device_type, mesh_shape, *args, **kwargs)
            self.covers(tuple(mesh_shape))
            return mesh

        for module in modules:
            module.init_device_mesh = init_device_mesh

        def made(mesh: Any) -> None:
            if dist.is_initialized():  # which a program's end may undo, and a part of a mesh asks for this rank
                sizes = list(mesh.mesh.shape)
                names = list(mesh.mesh_dim_names or [f"dimension {i}" for i in range(len(sizes))])
                self.meshes.append((sizes, mesh.mesh.reshape(-1).tolist(), names))

        _after(device_mesh.DeviceMesh, "__init__", made)

    def _watch_stages(self) -> None:
        import torch.distributed as dist
        from torch.distributed.pipelining import stage

        def made(one: Any) -> None:
            self.stages.append(one.stage_index)
            self.differ(STAGE, dist.get_process_group_ranks(one.group))

        _after(stage._PipelineStageBase, "__init__", made)

    def _watch_tokens(self) -> None:
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        module: Any = c10d
        sends = module.all_to_all_single

        @functools.wraps(sends)
        def all_to_all_single(
            output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,
            group: Any = None, *args: Any, **kwargs: Any,
        ) -> Any:  # fmt: skip
            self.sends(input_split_sizes, group)
            return sends(output, input, output_split_sizes, input_split_sizes, group, *args, **kwargs)

        module.all_to_all_single = dist.all_to_all_single = all_to_all_single

    def _watch_functional_tokens(self) -> None:
        from torch.distributed import _functional_collectives

        module: Any = _functional_collectives
        for name in ("all_to_all_single", "all_to_all_single_autograd"):
            setattr(module, name, self._sending(getattr(module, name)))

    def _sending(self, sends: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(sends)
        def sending(
            self_: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, *args: Any, **kwargs: Any
        ) -> Any:
            self.sends(input_split_sizes, group)
            return sends(self_, output_split_sizes, input_split_sizes, group, *args, **kwargs)

        return sending

    def sends(self, sizes: Any, group: Any) -> None:
        """This rank sends so many rows to each rank of a group; None for as many to each."""
        if not isinstance(sizes, (list, tuple)) or not all(type(n) is int for n in sizes):
            return
        import torch.distributed as dist

        from memshim.pretend.values import installed
        from memshim.pretend.values.modes import BALANCED

        values = installed()
        if values is None or group is not None and not isinstance(group, dist.ProcessGroup):
            return
        ranks = tuple(dist.get_process_group_ranks(group))
        if len(ranks) == len(sizes):
            experts = values.routes if values.routing == BALANCED else 0
            self.differ(EXPERTS, [ranks[i] for i in first_of_each_number(experts_of(sizes, experts))])

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped: the shards that it has say which ranks have others."""
        if id(optimizer) in self.optimizers:
            return
        self.optimizers.add(id(optimizer))
        import torch.distributed as dist

        if type(optimizer).__name__ == "ZeroRedundancyOptimizer":
            self.differ(ZERO, dist.get_process_group_ranks(optimizer.process_group))
        sharded: dict[tuple[Any, int], list[int]] = {}  # of a mesh's dimension, the sizes that are sharded there
        for p in (p for g in optimizer.param_groups for p in g["params"]):
            for at, placement in enumerate(getattr(p, "placements", ())):
                mesh = p.device_mesh
                if placement.is_shard():
                    sharded.setdefault((mesh, at), []).append(p.shape[placement.dim])
        for (mesh, at), sizes in sharded.items():
            ranks = dist.get_process_group_ranks(mesh.get_group(at))
            self.differ(UNEVEN, [ranks[i] for i in first_of_each(sizes, len(ranks))])

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "world_size": self.world_size,
            "place": self.place(),
            "stages": sorted(set(self.stages)),
            "differ": [{"why": why, "ranks": ranks} for why, found in self.groups.items() for ranks in found],
        }

    def place(self) -> list[dict[str, Any]]:
        """Each dimension of the mesh that says most of this rank: its name, the index, the size."""
        found: list[dict[str, Any]] = []
        for shape, ranks, names in self.meshes:
            if self.rank not in ranks:
                continue
            at, place = ranks.index(self.rank), []
            for size in reversed(shape):
                place.append((at % size, size))
                at //= size
            place.reverse()
            its = [{"name": n, "index": i, "size": s} for n, (i, s) in zip(names, place, strict=True)]
            if _says(its) > _says(found):
                found = its
        return found


def first_of_each(sizes: list[int], ranks: int) -> list[int]:
    """The first rank of those that have the same shards: dimensions of these sizes, each cut into
    chunks of an equal size, of which the last are smaller or empty (torch.chunk)."""
    seen: dict[tuple[int, ...], int] = {}
    for i in range(ranks):
        seen.setdefault(tuple(min(max(n - i * -(-n // ranks), 0), -(-n // ranks)) for n in sizes), i)
    return list(seen.values())


def experts_of(sizes: Sequence[int], experts: int) -> list[int]:
    """How many of the experts each rank has, which gets so many tokens of a router that spreads them
    evenly, give or take one an expert; the tokens themselves where none does (experts 0)."""
    total = sum(sizes)
    return [(2 * n * experts + total) // (2 * total) for n in sizes] if experts and total else list(sizes)


def first_of_each_number(numbers: list[int]) -> list[int]:
    """The first place of each number, in order."""
    return [i for i, n in enumerate(numbers) if numbers.index(n) == i]


def _says(place: list[dict[str, Any]]) -> tuple[int, int]:
    ranks = 1
    for d in place:
        ranks *= d["size"]
    return ranks, sum(d["size"] > 1 for d in place)


def _after(of: Any, name: str, act: Any) -> None:
    """Call act with the object after the method."""
    method = getattr(of, name)

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = method(self, *args, **kwargs)
        act(self)
        return out

    setattr(of, name, called)
