"""These tests run where PyTorch has a GPU, pretended or real: ../test_gpu.py starts them there.
Named by themselves elsewhere, they hold no tests."""

import gc
import os
import sys

import pretended
import pytest


class Elsewhere(pytest.Module):
    """A file that is not even imported."""

    def collect(self):
        return []


def pytest_pycollect_makemodule(module_path, parent):
    return None if os.environ.get(pretended.MARK) else Elsewhere.from_parent(parent, path=module_path)


@pytest.fixture(autouse=True)
def imported():
    """What a test imports stays to the end, as what was there before them all (../conftest.py):
    inductor and what it wants are 200,000 objects."""
    before = len(sys.modules)
    yield
    if len(sys.modules) > before + 100:
        gc.collect()
        gc.freeze()
