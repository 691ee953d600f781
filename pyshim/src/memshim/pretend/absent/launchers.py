"""Programs that start their ranks themselves, where --world-size says that there is one process."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memshim.pretend.after_import import once_imported

if TYPE_CHECKING:
    from memshim.pretend.absent import Rank

FOUND = "launcher"  # the file in which the command finds which


class LauncherInside(RuntimeError):
    """A program starts several ranks, and was to be one. The text is for the user."""


class Alone(RuntimeError):
    """A rank would wait for others that do not exist. The text is for the user."""


def refuse(rank: Rank) -> None:
    def refused(name: str) -> Any:
        def start(*args: Any, **kwargs: Any) -> Any:
            Path(rank.folder, FOUND).write_text(name, encoding="utf-8")
            raise LauncherInside(
                f"got {name}, which starts ranks, under --world-size, want it without: {instead(rank)}"
            )

        return start

    def torchrun() -> None:
        from torch.distributed.launcher import api

        api.launch_agent = refused("torchrun")

    def spawn() -> None:
        module: Any = sys.modules["torch.multiprocessing.spawn"]  # the package has a function of that name
        starts = module.start_processes

        def start_processes(fn: Any, args: Any = (), nprocs: int = 1, *rest: Any, **kwargs: Any) -> Any:
            return (starts if nprocs == 1 else refused("torch.multiprocessing.spawn"))(
                fn, args, nprocs, *rest, **kwargs
            )

        module.start_processes = start_processes
        setattr(sys.modules["torch.multiprocessing"], "start_processes", start_processes)  # noqa: B010

    once_imported("torch.distributed.launcher.api", torchrun)
    once_imported("torch.multiprocessing.spawn", spawn)


def refuse_waiting(command: int) -> None:
    """A program that would wait for ranks which nobody starts, such as one that a scheduler's variables
    say is one of many, ends with an error. command: the process id of memshim run."""
    if os.getppid() != command or os.environ.get("TORCHELASTIC_RUN_ID"):
        return
    module: Any = sys.modules["torch.distributed.rendezvous"]  # the package has a function of that name
    meet = module._create_c10d_store

    @functools.wraps(meet)
    def create(hostname: str, port: int, rank: int, world_size: int, *args: Any, **kwargs: Any) -> Any:
        if world_size > 1 and not children():
            raise Alone(
                f"got rank {rank} of {world_size}, where no other rank runs and none is started, want "
                f"memshim run --world-size {world_size} -- …, which runs single ranks, or a launcher such as torchrun "
                f"after --"
            )
        return meet(hostname, port, rank, world_size, *args, **kwargs)

    module._create_c10d_store = create


def children() -> list[str]:
    """The processes that this one has started."""
    found: list[str] = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", encoding="ascii") as f:
            found += f.read().split()
    return found


def instead(rank: Rank) -> str:
    """The command that runs such a program."""
    local = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return f"memshim run --on DEVICE --count {local} -- {rank.program}"
