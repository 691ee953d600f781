"""Which statements a test executes, as mutants of Python need it: bytecode that marks each."""

import sys
import traceback
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not TOOLS.is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path.insert(0, str(TOOLS))
import executed  # noqa: E402

SOURCE = b'''"""A module."""
from __future__ import annotations

N = 2


def double(n):
    """Twice."""
    if n > 3:
        return "many"
    elif n:
        try:
            return 6 // (n - 1)
        except ZeroDivisionError:
            return 2 * n
    return N


class Kept:
    @property
    def value(self):
        match N:
            case 2:
                return double(1)
        return None
'''


def ran(*calls):
    """The lines that are marked when the module is imported and each call is made, and what they gave."""
    found = []
    rows, row = bytearray(100), [10]
    tree = executed.ast.fix_missing_locations(executed.marked("a.py", SOURCE, found))
    names = {"__name__": "a", "__executed__": rows, "__row__": row}
    exec(compile(tree, "a.py", "exec"), names)
    gave = [eval(c, names) for c in calls]
    return gave, [s for i, s in enumerate(found) if rows[10 + i]]


def test_what_runs_when_a_module_is_imported_is_marked():
    gave, found = ran()
    assert [(s.line, s.end, s.within) for s in found] == [
        (4, 4, False),
        (7, 16, False),
        (19, 25, False),
        (20, 25, False),
    ]
    assert found[0].file == "a.py"


def test_what_a_call_runs_is_marked():
    gave, found = ran("double(4)")
    assert gave == ["many"] and [s.line for s in found if s.within] == [9, 10]
    gave, found = ran("double(1)", "double(0)")
    assert gave == [2, 2] and [s.line for s in found if s.within] == [9, 11, 12, 13, 15, 16]
    gave, found = ran("Kept().value")
    assert gave == [2] and [s.line for s in found if s.within and s.line > 19] == [22, 24]


def test_a_traceback_has_the_lines_of_the_source():
    with pytest.raises(TypeError) as e:
        ran("double('x')")
    assert traceback.extract_tb(e.tb)[-1][:2] == ("a.py", 9)
