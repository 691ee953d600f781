"""What a process with pretend GPUs does once torch is imported: values are followed, and what was seen is reported at its end.

Imported by path before memshim is (startup/sitecustomize.py), so that it imports nothing but the standard library until torch is there."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

VALUES = "MEMSPEC_PRETEND_VALUES"  # 0: values are not followed
ASSUME = "MEMSPEC_PRETEND_ASSUME"  # {"train.py:12": 3} as JSON
REPORT = "MEMSPEC_PRETEND_REPORT"  # a folder, where every process writes PID.json at its end

warns = False  # this process called memshim.pretend(): nobody reports its reads at its end, so that the first is a warning

_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # the folder of memshim


class After(importlib.abc.MetaPathFinder):
    """Does something once a module is there, the first time. Stands before the finders until then: many only ask whether there is such a module."""

    def __init__(self, name: str, act: Callable[[Any], None]) -> None:
        self.name, self.act, self.asking = name, act, False
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: object = None, target: object = None):
        if name != self.name or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asking = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: Any) -> None:
            execute(module)
            if module.__name__ == self.name and self in sys.meta_path:
                sys.meta_path.remove(self)
                self.act(module)

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def after_torch() -> None:
    if "torch" in sys.modules:
        start()
    else:
        After("torch", lambda torch: start())


def start() -> None:
    """torch is imported."""
    if importlib.util.find_spec("memshim") is None:
        sys.path.append(_SOURCE)
    if os.environ.get(REPORT):
        atexit.register(write_report)
    from memshim.pretend import compiles, ending, gradients, timing, writes

    warnings.filterwarnings("ignore", "dynamo_pgo force disabled")  # it is: no answer depends on what an earlier process found
    ending.register()
    gradients.watch()
    writes.watch(After)
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
