"""A case of which one rank of several runs: the model is sharded by FSDP2, and no other rank runs, as
memshim run --world-size has it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from memshim.allocator import recording
from memshim.case import compare_values, process
from memshim.case.errors import TIMEOUT
from memshim.pretend.value_reads import VALUES
from memshim.program.ranks import Wanted

FIRST = 0  # the rank that runs: the parts of the others are no larger


def path(whole: str, gpus: int) -> str:
    """Where the recording of a rank lies, beside that of the case."""
    return f"{whole.removesuffix('.rec')}.fsdp{gpus}.rec"


def record(case: dict[str, Any], gpus: int, modules: tuple[str, ...], to: str) -> None:
    """Record the first rank of so many GPUs. Errors: MeasureError."""
    with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
        ranks = Path(folder, "ranks")
        ranks.mkdir()
        environment = process.pretended(case, "pretend") | {VALUES: compare_values.BALANCED}
        environment |= Wanted(gpus, gpus).variables(FIRST, case["name"], ranks)
        job = {"where": "pretend", "timeout": TIMEOUT, "stacks": "all", "recording": os.path.abspath(to)}
        runner = process.Fresh()  # its variables count from the start
        try:
            runner.run(folder, case | {"sharded": list(modules)}, job, environment)
        finally:
            runner.close()
        recording.write(Path(folder, "out").read_bytes(), to)
