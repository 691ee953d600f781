"""Every thread has the hook."""

from __future__ import annotations

import atexit
import threading
from typing import Any

import torch._C as C


def include(key: Any) -> None:
    """Which keys are included is a matter of each thread; those of autograd have it of the thread
    that they work for."""
    start = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def start_and_include(thread: threading.Thread) -> None:
        C._dispatch_tls_set_dispatch_key_included(key, True)
        start(thread)

    threading.Thread._bootstrap_inner = start_and_include  # type: ignore[attr-defined]
    C._dispatch_tls_set_dispatch_key_included(key, True)
    # before the last pass, which holds nothing of Python's (../ending.py)
    atexit.register(C._dispatch_tls_set_dispatch_key_included, key, False)
