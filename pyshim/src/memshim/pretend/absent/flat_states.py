"""FSDP1's optimizer states, where absent ranks would say what they have of them.

With use_orig_params, a rank has states of those parameters alone that its part of a flat parameter
holds. PyTorch gathers which these are, and their sizes. Both follow from the flat parameter, which
is cut into equal parts.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from memshim.pretend.absent.objects import Objects


def follow(objects: Objects) -> None:
    """torch.distributed.fsdp._optim_utils is imported."""
    module: Any = sys.modules["torch.distributed.fsdp._optim_utils"]
    like: dict[str, Any] = {}  # the states of a parameter, as each has such; of a tensor with dimensions its dtype

    def with_said(call: Callable[[], Any], said: list[object]) -> Any:
        objects.gathered = said
        try:
            return call()
        finally:
            objects.gathered = None

    def keys(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def map_keys(
            state_dict: Any, group: Any, params: dict[Any, Any], names: Any, infos: dict[str, Any],
            merge_keys: bool = False,
        ) -> Any:  # fmt: skip
            def call() -> Any:
                return original(state_dict, group, params, names, infos, merge_keys)

            nonlocal like
            first: dict[str, Any] = next(filter(None, state_dict["state"].values()), {})
            like = {n: s.dtype if torch.is_tensor(s) and s.dim() else s for n, s in first.items()}
            if not merge_keys or not like:
                return call()

            def has_states(key: Any, param: Any, rank: int) -> bool:
                info = infos.get(names[param][0])
                return key in state_dict["state"] if info is None else held(info, names[param][0], rank) > 0

            return with_said(
                call,
                [
                    [
                        module._OptimStateKey(tuple(names[p]), names[p][0] in infos)
                        for key, p in params.items()
                        if has_states(key, p, rank)
                    ]
                    for rank in range(dist.get_world_size(group))
                ],
            )

        return map_keys

    def states(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gather_states(info: Any, states: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
            def of_part(numbers: int) -> Any:
                found = module.StateInfo({}, {}, {})
                for name, value in sorted(like.items()) if numbers else ():
                    if isinstance(value, torch.dtype):
                        found.tensors[name] = module._PosDimTensorInfo(torch.Size([numbers]), value)
                    elif torch.is_tensor(value):
                        found.scalar_tensors[name] = value.cpu().clone()
                    else:
                        found.non_tensors[name] = value
                return found

            return with_said(
                lambda: original(info, states, *args, **kwargs),
                [{name: of_part(held(info, name, rank)) for name in states} for rank in range(info.state.world_size)],
            )

        return gather_states

    for name, wrap in (("_map_param_key_to_optim_keys", keys), ("_gather_all_orig_param_state", states)):
        if found := getattr(module, name, None):
            setattr(module, name, wrap(found))


def held(info: Any, name: str, rank: int) -> int:
    """How many numbers of a trained parameter lie on a rank; replicas of the parts follow each other."""
    at = info.param_indices[name]
    if not info.param_requires_grad[at]:
        return 0
    flat = info.handle.flat_param
    if not info.handle.uses_sharded_strategy:
        return int(flat._numels[at])
    size, part = flat._sharded_size.numel(), rank % info.state.world_size
    return int(info.handle._get_shard_metadata(part * size, (part + 1) * size - 1)[at].numel_in_shard or 0)
