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


@pytest.mark.parametrize(
    "line, tests",
    [
        (10, ["many"]),  # the statement itself
        (20, ["value"]),  # a decorator: its function
        (19, ["value"]),  # a class: its methods
        (7, ["one", "many"]),  # a default of a function's, the quick test first
        (4, ["value", "one", "many"]),  # no function of its own: all of the module
    ],
)
def test_which_tests_may_see_a_change_of_a_line(line, tests):
    lines = object.__new__(executed.Lines)
    lines.statements = []
    executed.marked("a.py", SOURCE, lines.statements)
    calls = {"many": ("double(4)", 3.0), "one": ("double(1)", 2.0), "value": ("Kept().value", 1.0)}
    hits = {n: [i for i, s in enumerate(lines.statements) if s in ran(call)[1]] for n, (call, _) in calls.items()}
    hits["value"] = [i for i in hits["value"] if lines.statements[i].line > 18]
    lines.of = lambda file: (
        {n: ["passed", seconds, hits[n]] for n, (_, seconds) in calls.items()}
        | {"left out": ["skipped", 0.0, [*range(9)]]}
    )
    assert [r.name for r in lines.executing("a.py", line, "test_a.py")] == tests
