"""Paths of modules that programs may have kept from before there were folders."""

import importlib
import subprocess
import sys

import pytest

from memshim.moved import MOVED


@pytest.mark.parametrize("old, new", MOVED.items())
def test_an_old_path_gives_the_module_that_stands_there_now(old, new):
    module = importlib.import_module(f"memshim.{old}")
    assert module is importlib.import_module(new)
    assert (module.__name__, module.__spec__.name) == (new, new), "it can be reloaded, and says where it is"


def test_names_that_are_functions_stay_functions():
    """Importing a module sets its name in the package: here that name is also what users call."""
    code = ("import memshim, memshim.trace, memshim.track, memshim.export; memshim.trace(file=None); memshim.Tracker(); memshim.export.__call__; "
            "from memshim.trace import at_peak; from memshim import trace; import memshim.look.trace as here; assert here.trace is trace is memshim.trace")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_importing_it_imports_what_is_used():
    """It costs every process on a pretend GPU."""
    code = ("import sys, memshim; assert not [m for m in sys.modules if m.startswith(('memshim.look', 'memshim.run', 'memshim.pretend'))]; "
            "memshim.pretend.names; assert set(memshim.__all__) <= {n for n in memshim.__all__ if hasattr(memshim, n)}; assert not hasattr(memshim, 'absent')")
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


def test_there_is_no_other():
    with pytest.raises(ModuleNotFoundError, match="memshim.absent"):
        importlib.import_module("memshim.absent")
