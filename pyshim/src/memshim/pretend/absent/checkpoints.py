"""Distributed checkpoints: what absent ranks would plan to write or to read, and what they wrote.

A rank's plan follows from where its shards lie, and a mesh says that of every rank. What it writes
follows from the plan that the coordinator gives to it. Both are derived where the same derivation
gives what this rank itself says; else each rank is taken to say that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from memshim.pretend.absent.objects import Objects

PLANNERS = ("DefaultSavePlanner", "DefaultLoadPlanner")


def follow(objects: Objects) -> None:
    """torch.distributed.checkpoint.default_planner is imported."""
    module: Any = sys.modules["torch.distributed.checkpoint.default_planner"]
    utils: Any = sys.modules["torch.distributed.checkpoint.utils"]
    planners: list[weakref.ref[Any]] = []  # the one that made a plan last: it holds what it saves, and may end
    # a plan is checked for the shards of all ranks: a list of what is wrong, before 2.15 whether nothing is
    as_list = "list" in str(module._validate_global_plan.__annotations__.get("return"))
    module._validate_global_plan = lambda *args: [] if as_list else True

    for name in PLANNERS:
        of = getattr(module, name)
        of.create_local_plan = _noted(of.create_local_plan, planners)

    gather = utils._DistWrapper.gather_object

    @functools.wraps(gather)
    def gather_object(self: Any, object: Any) -> Any:
        planner = planners[-1]() if planners else None
        if self.use_dist and planner is not None and objects.gathered is None:
            objects.gathered = said(objects, module, planner, self.group or dist.group.WORLD, object)
        del planner
        try:
            return gather(self, object)
        finally:
            objects.gathered = None

    utils._DistWrapper.gather_object = gather_object


def _noted(original: Callable[..., Any], planners: list[weakref.ref[Any]]) -> Callable[..., Any]:
    @functools.wraps(original)
    def create_local_plan(self: Any) -> Any:
        planners[:] = [weakref.ref(self)]
        return original(self)

    return create_local_plan


def said(objects: Objects, module: Any, planner: Any, group: Any, own: Any) -> list[Any] | None:
    """What each rank of the group gives to be gathered, where this one gives own; None where it is
    neither a plan nor what was written."""
    rank, world = group.rank(), group.size()
    if isinstance(own, (module.SavePlan, module.LoadPlan)):
        derive: Callable[[int], Any] = functools.partial(_plan, module, planner, own, group)
    elif _is_results(own) and len(objects.scattered) == world:
        derive = functools.partial(_results, objects, planner, own, rank)
    else:
        return None
    sent = objects.earlier_gathered(group, own)
    follows = derive(rank) == own

    def of(other: int) -> Any:
        return own if other == rank else sent[other] if other in sent else derive(other) if follows else own

    return [of(r) for r in range(world)]


def _is_results(own: Any) -> bool:
    return isinstance(own, list) and bool(own) and all(type(r).__name__ == "WriteResult" for r in own)


def _plan(module: Any, planner: Any, own: Any, group: Any, rank: int) -> Any:
    """The plan of a rank of the group."""
    tensors = [t for t in planner.state_dict.values() if isinstance(t, module.DTensor)]
    meshes = {id(t.device_mesh): t.device_mesh for t in tensors}
    with seen_by(dist.get_process_group_ranks(group)[rank], meshes.values()):
        if isinstance(own, module.SavePlan):
            made = module.create_default_local_save_plan(planner.state_dict, rank == 0)
        else:
            strict = not getattr(planner, "allow_partial_load", False)
            made = module.create_default_local_load_plan(planner.state_dict, planner.metadata, strict)
    return dataclasses.replace(own, items=made.items)


@contextlib.contextmanager
def seen_by(rank: int, meshes: Iterable[Any]) -> Iterator[None]:
    """Meshes say where another rank of the world lies in them."""
    before = [(mesh, mesh._coordinate_on_dim) for mesh in meshes]
    for mesh, own in before:
        mesh._coordinate_on_dim = coordinate(mesh, rank, own)
    try:
        yield
    finally:
        for mesh, own in before:
            mesh._coordinate_on_dim = own


def coordinate(mesh: Any, rank: int, own: Any) -> Any:
    """Where a rank lies in a mesh, or in its part of the same kind of the mesh that this is a part of; own
    where no mesh says it."""
    if own is None:
        return None
    root = mesh._get_root_mesh() if hasattr(mesh, "_get_root_mesh") else _root(mesh)
    at = (root.mesh == rank).nonzero()
    if not len(at):
        return own
    members = torch.stack([(root.mesh == r).nonzero()[0] for r in mesh.mesh.flatten().tolist()])
    varies = (members != members[0]).any(0)  # the dimensions of the whole along which the part lies
    like = (members[:, varies] == at[0][varies]).all(1).nonzero()
    return type(own)((mesh.mesh == mesh.mesh.flatten()[like[0]]).nonzero()[0].tolist())


def _root(mesh: Any) -> Any:
    from torch.distributed import device_mesh

    resources: Any = device_mesh._mesh_resources
    return resources.get_root_mesh(mesh)


def _results(objects: Objects, planner: Any, own: list[Any], own_rank: int, rank: int) -> list[Any]:
    """What a rank says that it has written by its part of the plan: objects first, then tensors, the
    smallest first, one after the other in one file."""
    from memshim.pretend.absent.objects import unpickled

    path = own[0].storage_data.relative_path.replace(f"__{own_rank}_", f"__{rank}_")
    out, at = [], 0
    for item in sorted(unpickled(objects.scattered[rank]).items, key=_place):
        data = item.tensor_data
        size = saved(data.chunk.sizes, data.properties.dtype) if data else len(planner.resolve_data(item).getbuffer())
        place = dataclasses.replace(own[0].storage_data, relative_path=path, offset=at, length=size)
        out.append(dataclasses.replace(own[0], index=item.index, size_in_bytes=size, storage_data=place))
        at += size
    return out


def _place(item: Any) -> int:
    """By which the items of a file are sorted."""
    data = item.tensor_data
    return data.size.numel() * data.properties.dtype.itemsize if data else -1


class _Counted(io.RawIOBase):
    """A file that knows how long it is, and nothing more."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


@functools.cache
def saved(shape: torch.Size, dtype: torch.dtype) -> int:
    """What torch.save writes of a tensor, bytes."""
    file: Any = _Counted()
    torch.save(torch.empty(shape, dtype=dtype), file)
    return int(file.size)
