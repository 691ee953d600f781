"""The experiment on a sharded optimizer in the folder that SOURCE names, cs336_systems/sharded_optimizer.py, as
the rank that RANK names, with the settings of its published runs but for fewer steps that are timed: MODE, baseline or
sharded. What it measures of each phase is printed."""

import importlib
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

PHASES = ("after_model_init", "before_optimizer_step", "after_optimizer_step")
SETTINGS = {
    "world_size": 2,
    "batch_size": 4,
    "vocab_size": 10_000,
    "context_length": 512,
    "d_model": 2560,
    "d_ff": 10240,
    "num_layers": 32,
    "num_heads": 32,
    "lr": 1e-3,
    "mixed_precision": True,
    "warmup_steps": 1,
    "steps": 1,
    "master_port": 12391,
    "output": "measured.json",
}


def printed(measure: Any) -> Any:
    """A function that measures and prints, phase after phase."""
    phases = iter(PHASES)

    def measure_and_print(*args: Any) -> Any:
        found, phase = measure(*args), next(phases)
        for name, size in found.items():
            print(f"{name} {phase}: {size}", flush=True)
        return found

    return measure_and_print


if __name__ == "__main__":
    source = Path(os.environ["SOURCE"])
    sys.path[:0] = [str(source), str(source / "cs336-basics")]
    experiment = importlib.import_module("cs336_systems.sharded_optimizer")
    experiment.memory_snapshot = printed(experiment.memory_snapshot)
    experiment.run_experiment(int(os.environ["RANK"]), Namespace(mode=sys.argv[1], **SETTINGS))
