"""These tests run where PyTorch has a GPU, pretended or real: ../test_gpu.py starts them there. Named by themselves elsewhere, they hold no tests."""

import os

import pytest

import pretended


class Elsewhere(pytest.Module):
    """A file that is not even imported."""

    def collect(self):
        return []


def pytest_pycollect_makemodule(module_path, parent):
    return None if os.environ.get(pretended.MARK) else Elsewhere.from_parent(parent, path=module_path)
