"""Groups of the CPU without partners: PyTorch's fake backend in the place of gloo's, which connects
to every rank. What it gathers is this rank's own, what it sums is what this rank has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d


def replace() -> None:
    from torch.testing._internal.distributed import fake_pg

    fake: Any = fake_pg.FakeProcessGroup

    def make(store: Any, rank: int, size: int, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(fake, "_create_internal"):  # before torch 2.10
            return fake(rank, size)
        return fake._create_internal(rank, size, fake.Options() if hasattr(fake, "Options") else None)

    def nothing(group: Any, *args: Any) -> None:
        """Of a group of gloo's: messages are counted, and may wait so long."""

    def make_by_options(options: Any, backend_options: object = None) -> Any:
        return make(options.store, options.group_rank, options.group_size)

    class Kind(type):
        def __instancecheck__(cls, group: object) -> bool:
            return isinstance(group, fake)

    class Gloo(metaclass=Kind):
        """As releases before 2.15 make a group, which they then expect to be one of gloo's."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return make(*args, **kwargs)

    fake._set_sequence_number_for_group = fake._set_default_timeout = nothing
    if not hasattr(fake, "options"):  # torch 2.8 writes the ranks of gloo's group there
        fake.options = SimpleNamespace()
    module: Any = distributed_c10d
    module.ProcessGroupGloo = Gloo
    if hasattr(module, "_create_gloo_process_group"):
        module._create_gloo_process_group = make_by_options
    plugin = dist.Backend._plugins.get("GLOO")
    if plugin is not None:
        dist.Backend._plugins["GLOO"] = plugin._replace(creator_fn=make_by_options)

    def passed(*args: Any, **kwargs: Any) -> None:
        """Every other rank is at the barrier already."""

    module.monitored_barrier = dist.monitored_barrier = passed
