"""Stubs for what holds a test to a budget: the test, and the region that measures it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim.judge.marks import Peaks


class Region:
    why_not = ""

    def __init__(self, **change):
        self.calls, self.peaks, self.kept = [], Peaks("GPU", 10, 20, 7, 0, 100), None
        self.__dict__ |= change

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")
        return self.peaks

    def leaked(self, kept):
        self.kept = kept
        return 5

    def leaks(self):
        return "leaks\nof two lines"

    def holders(self):
        return "holders\nof two lines"

    def drop(self):
        self.calls.append("drop")


def item_of(region=None, mark=(), **options):
    """A test with these marks and options; its region is the stub."""
    region = region or Region()
    asked = []

    def hook(device, config):
        asked.append(device)
        if isinstance(region, Exception):
            raise region
        return region

    config = SimpleNamespace(
        option=SimpleNamespace(**options),
        getini=lambda name: ["memspec.yaml", "*.memspec.yaml"] if name == "memspec_files" else None,
        hook=SimpleNamespace(pytest_memspec_region=hook),
        stash=pytest.Stash(),
    )
    sections = []
    return SimpleNamespace(
        config=config,
        stash=pytest.Stash(),
        user_properties=[],
        name="test_x",
        nodeid="test_a.py::test_x",
        reportinfo=lambda: (Path("test_a.py"), 3, "test_x"),
        iter_markers=lambda name: mark,
        funcargs={"one": 1},
        instance="self",
        add_report_section=lambda *a: sections.append(a),
        sections=sections,
        asked=asked,
    )


def mark(*args, **kwargs):
    return SimpleNamespace(args=args, kwargs=kwargs)
