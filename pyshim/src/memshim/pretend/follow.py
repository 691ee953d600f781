"""What a process with pretend GPUs does once torch is imported: values are followed, and what was
seen is reported at its end."""

from __future__ import annotations

import atexit
import json
import os
import warnings

from memshim.pretend.after_import import After, once_imported

VALUES = "MEMSPEC_PRETEND_VALUES"  # 0: values are not followed
ASSUME = "MEMSPEC_PRETEND_ASSUME"  # {"train.py:12": 3} as JSON
REPORT = "MEMSPEC_PRETEND_REPORT"  # a folder, where every process writes PID.json at its end

# this process called memshim.pretend(): nobody reports its reads at its end, so that the first is a
# warning
warns = False


def after_torch() -> None:
    """Start once torch is imported."""
    once_imported("torch", start)


def start() -> None:
    """torch is imported."""
    if os.environ.get(REPORT):
        atexit.register(write_report)
    from memshim.pretend import (
        absent,
        compiles,
        convolutions,
        ending,
        gradients,
        handles,
        process_groups,
        timing,
        unbuilt,
        writes,
    )

    # it is: no answer depends on what an earlier process found
    warnings.filterwarnings("ignore", "dynamo_pgo force disabled")
    handles.watch()
    ending.register()
    convolutions.watch()
    gradients.watch()
    writes.watch(After)
    process_groups.watch()
    absent.watch()
    unbuilt.watch()
    for module, act in {**timing.AFTER, "torch._inductor.utils": compiles.watch}.items():
        After(module, act)
    if os.environ.get(VALUES) != "0":
        from memshim.pretend import values

        hook = values.install(json.loads(os.environ.get(ASSUME) or "{}"), values.modes.of_environment(os.environ))
        hook.reads.warns = warns


def write_report() -> None:
    from memshim.pretend import report

    folder = os.environ[REPORT]
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, f".{os.getpid()}.part")
    with open(part, "w", encoding="utf-8") as f:
        json.dump(report().as_json(), f, indent=1)
    os.replace(part, os.path.join(folder, f"{os.getpid()}.json"))
