"""What one run of pytest knows of this machine, however many processes it has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memshim.case import process
from memshim.gpu import devices
from memshim.workspace import answers

SEEN = pytest.StashKey[Any]()
RUNNER = pytest.StashKey[Any]()
QUERIED = pytest.StashKey[Any]()


def seen(config: pytest.Config) -> devices.Seen:
    """This machine's GPUs, asked once: of xdist's processes the first that needs it asks, the
    others read its answer."""
    found = config.stash.get(SEEN, None)
    if found is None:
        found = config.stash[SEEN] = (
            _shared(config) if hasattr(config, "workerinput") and devices.hinted() else devices.look()
        )
    return found


def _shared(config: pytest.Config) -> devices.Seen:
    try:
        import fcntl

        folder = config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]  # of all processes, as xdist's manual shares things
    except (ImportError, AttributeError):
        return devices.look()
    with open(folder / "memspec-gpus.json", "a+", encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        text = f.read()
        if text:
            document = json.loads(text)
            return devices.Seen(tuple(document["devices"]), document["why"])
        found = devices.look()
        json.dump({"devices": found.devices, "why": found.why}, f)
        return found


def runner(config: pytest.Config) -> process.Fresh | process.Server:
    """What this process measures its cases by."""
    runner: process.Fresh | process.Server | None = config.stash.get(RUNNER, None)
    if runner is None:
        runner = config.stash[RUNNER] = process.runner()
    return runner


def asked(config: pytest.Config) -> answers.Queried:
    """What cuDNN answered this process."""
    queried: answers.Queried | None = config.stash.get(QUERIED, None)
    if queried is None:
        queried = config.stash[QUERIED] = answers.Queried()
    return queried


def close(config: pytest.Config) -> None:
    if config.stash.get(QUERIED, None) is not None:
        config.stash[QUERIED].close()
        config.stash[QUERIED] = None
    if config.stash.get(RUNNER, None) is not None:
        config.stash[RUNNER].close()
