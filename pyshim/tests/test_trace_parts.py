"""trace, piece by piece: its rows, its table and its JSON from peaks that are given, and its command."""

import io
import json
import sys

import pytest

torch = pytest.importorskip("torch")

from memshim.allocator import history  # noqa: E402
from memshim.allocator.history import Line, OutOfMemory, Peak  # noqa: E402
from memshim.frames import Frame  # noqa: E402
from memshim.look import trace as tracing  # noqa: E402
from memshim.look.trace import main, trace  # noqa: E402

MIB = 1 << 20
A, B = Frame("a.py", 1, "f"), Frame("b.py", 2, "g")
LINES = [Line(A, 8 * MIB, 2, 4 * MIB), Line(B, 3 * MIB, 1, 3 * MIB, True), Line(None, MIB, 1, MIB)]
PEAK = Peak(17 * MIB, B, LINES, Line(None, 2 * MIB, 5, MIB), rounding=MIB // 2, unknown=5 * MIB // 2, churn=40 * MIB)


def traced(peak=PEAK, where="cuda", **more):
    t = trace(**more)
    t.where, t.peak = where, peak
    return t


def rows(t, p=None):
    return [(r["mem"], r["cumulative"], r["median"], r["count"], r["location"]) for r in t.rows(p)]


def test_the_rows_add_up_to_the_peak_the_largest_first():
    assert rows(traced()) == [
        (8 * MIB, 8 * MIB, 4 * MIB, 2, "a.py:1 (f)"),
        (3 * MIB, 11 * MIB, 3 * MIB, 1, "b.py:2 (g), backward"),
        (5 * MIB // 2, 27 * MIB // 2, 0, 0, "not in the history"),
        (2 * MIB, 31 * MIB // 2, MIB, 5, "untraced"),
        (MIB, 33 * MIB // 2, MIB, 1, "no Python line (backward, C++)"),
        (MIB // 2, 17 * MIB, 0, 0, "rounding: blocks larger than what was asked for"),
    ]
    assert [(r["file"], r["line"], r["function"], r["backward"]) for r in traced().rows()][:3] == [
        ("a.py", 1, "f", False),
        ("b.py", 2, "g", True),
        ("", 0, "", False),
    ]


def test_what_is_not_held_has_no_row():
    none = PEAK._replace(before=Line(None, 0, 0, 0), rounding=0, unknown=0)
    assert [r[4] for r in rows(traced(none))] == [
        "a.py:1 (f)", "b.py:2 (g), backward", "no Python line (backward, C++)",
    ]  # fmt: skip
    lost = PEAK._replace(lost="the history is full")
    assert rows(traced(lost))[2][4] == "not in the history: the history is full"
    assert [r[0] for r in rows(traced(), PEAK._replace(lines=[], rounding=0))] == [5 * MIB // 2, 2 * MIB]


@pytest.mark.parametrize(
    "include, exclude, kept",
    [
        ("", (), [8, 3, 1]),
        ("a.py", (), [8]),
        (["a.py", r"\(g\)"], (), [8, 3]),
        ((), "backward", [8]),
        ((), ["a.py", "C++"[:1]], [3]),
        (r"\.py", "b.py:2", [8]),
    ],
)
def test_lines_that_are_left_out_are_one_row(include, exclude, kept):
    t = traced(include=include, exclude=exclude)
    keep, rest = t.lines()
    assert [x.mem // MIB for x in keep] == kept
    out = [x for x in LINES if x.mem // MIB not in kept]
    assert rest == (Line(None, sum(x.mem for x in out), sum(x.count for x in out), 0) if out else None)
    if out:
        assert rows(t)[-1][1:] == (17 * MIB, 0, rest.count, "filtered out")


TABLE = """\
peak 17.0 MiB (allocated on the GPU), reached at b.py:2 (g); 40.0 MiB allocated in all
    Mem  Cumulative Mem   Median  Count  Location
8.0 MiB         8.0 MiB  4.0 MiB      2  a.py:1 (f)
3.0 MiB        11.0 MiB  3.0 MiB      1  b.py:2 (g), backward
2.5 MiB        13.5 MiB                  not in the history
… 3 more, 3.5 MiB"""


def test_the_table_shows_the_first_rows():
    assert traced(top=3).table() == TABLE
    whole = traced(top=0).table().splitlines()
    assert len(whole) == 8 and traced(top=6).table().splitlines() == whole == traced(top=None).table().splitlines()
    assert traced(top=5).table().splitlines()[-1] == "… 1 more, 512.0 KiB"


def test_the_table_says_what_is_incomplete():
    t = traced(PEAK._replace(at=None, lost="it is full"), "cpu", top=1)
    t.compiled = True
    assert t.table().splitlines()[:3] == [
        "peak 17.0 MiB (CPU tensors, no GPU: not the allocator's numbers); 40.0 MiB allocated in all",
        "incomplete: it is full",
        "incomplete: what compiled code makes is counted when an operator is given it; on CPU tensors more is not to "
        "be seen",
    ]


THEN = Peak(5 * MIB, A, [Line(A, 5 * MIB, 1, 5 * MIB)], Line(None, 0, 0, 0))


def test_memory_that_ran_out_is_shown_with_what_was_held():
    lines = traced(PEAK._replace(oom=OutOfMemory(64 * MIB, MIB, A, THEN)), top=1).table().splitlines()
    assert lines[1] == "out of memory: 64.0 MiB asked for at a.py:1 (f), 1.0 MiB free"
    assert lines[-3:] == [
        "held when memory ran out: 5.0 MiB",
        "    Mem  Cumulative Mem   Median  Count  Location",
        "5.0 MiB         5.0 MiB  5.0 MiB      1  a.py:1 (f)",
    ]
    lines = traced(PEAK._replace(oom=OutOfMemory(64 * MIB, MIB, None)), top=1).table().splitlines()
    assert lines[1] == "out of memory: 64.0 MiB asked for, 1.0 MiB free" and lines[-1].startswith("… 5 more")


@pytest.mark.parametrize(
    "oom, want",
    [
        (None, None),
        (OutOfMemory(64, 9, None), {"size": 64, "free": 9, "at": "", "held": 17 * MIB, "rows": 6}),
        (OutOfMemory(64, 9, A, THEN), {"size": 64, "free": 9, "at": "a.py:1 (f)", "held": 5 * MIB, "rows": 1}),
    ],
)
def test_the_json(oom, want):
    t = traced(PEAK._replace(oom=oom, lost="it is full"), "pretend")
    found = t.as_json()
    if oom:
        found["out_of_memory"]["rows"] = len(found["out_of_memory"]["rows"])
    assert found.pop("rows") == t.rows()
    assert found == {
        "schema": 2,
        "where": "pretend",
        "peak": 17 * MIB,
        "untraced": 2 * MIB,
        "total_allocated": 40 * MIB,
        "at": "b.py:2 (g)",
        "out_of_memory": want,
        "incomplete": "it is full",
    }
    assert traced(PEAK._replace(at=None)).as_json()["at"] == ""


class Region:
    """A region without events that says when it is opened and closed."""

    where, events, before, lost, stacks = "cpu", [], {7: 5}, "", None

    def __init__(self, device):
        self.device, self.said = device, []

    def open(self):
        self.said.append("open")
        return self

    def close(self):
        self.said.append("close")


@pytest.fixture
def regions(monkeypatch):
    made = []
    monkeypatch.setattr(history, "region", lambda device: made.append(Region(device)) or made[-1])
    return made


def test_a_trace_records_from_start_to_stop(regions, tmp_path):
    file = tmp_path / "t.json"
    t = trace("cpu", file=None, json=file)
    with pytest.raises(RuntimeError, match="^this trace is not recording: start it first$"):
        t.stop()
    assert t.start() is t and (t.where, regions[0].device, regions[0].said) == ("cpu", "cpu", ["open"])
    assert file.read_text() == "", "it is opened at the start"
    with pytest.raises(RuntimeError, match="^this trace is recording already: another memshim.trace.. records beside"):
        t.start()
    regions[0].compiled = True
    assert t.stop().total == 5 and regions[0].said == ["open", "close"] and t.compiled
    assert json.loads(file.read_text()) == t.as_json() and file.read_text().endswith("\n}\n")
    t.start(), t.stop()
    assert not t.compiled, "it may begin again"


def test_each_call_of_a_decorated_function_is_reported(regions):
    out = io.StringIO()

    @trace("cpu", file=out)
    def double(x, *, by=2):
        "doubles"
        return x * by

    assert (double(3), double(3, by=3), double.__doc__) == (6, 9, "doubles")
    assert [r.said for r in regions] == [["open", "close"]] * 2
    assert out.getvalue().count("peak 5 B (CPU tensors") == 2


def test_the_region_of_others_is_traced_from_an_event_on(monkeypatch):
    monkeypatch.setattr(tracing, "at_peak", lambda *given: given)
    region = Region("cpu")
    t = trace.of(region, 3, every_frame=True, top=1)
    assert (t.where, t.peak, t._top) == ("cpu", (region, True, 3), 1) and trace.of(region).peak[1:] == (False, 0)


def test_a_report_goes_where_it_is_wanted(capsys):
    out = io.StringIO()
    for file in ("stdout", out, None):
        traced(top=3, file=file).report()
    assert out.getvalue() == capsys.readouterr().out == f"{TABLE}\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "script", raising=False)  # of a test of profile
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "script.py"
    path.write_text("import sys, torch\nprint(__name__, sys.argv[1:])\n")
    return path


def test_a_script_is_traced_from_its_import_of_torch(script, regions, capsys):
    assert main(["--device", "cpu", "--json", "t.json", "script.py", "-x"]) == 0
    out, err = capsys.readouterr()
    assert out == "__main__ ['-x']\n" and err.startswith("peak 5 B (CPU tensors") and regions[0].said[-1] == "close"
    assert json.loads((script.parent / "t.json").read_text())["peak"] == 5


def test_a_module_is_traced(script, regions, capsys):
    assert main(["-m", "script", "3"]) == 0 and capsys.readouterr().out == "__main__ ['3']\n"


def test_a_script_without_torch_is_not_recorded(script, regions, capsys, monkeypatch):
    monkeypatch.setattr(tracing.run_script, "code_of", lambda program, then: program() or 0)
    script.write_text("print(1)\n")
    said = "memshim trace: torch was never imported, nothing is recorded\n"
    assert main(["script.py"]) == 0 and capsys.readouterr() == ("1\n", said) and regions == []
    monkeypatch.setattr(tracing.run_script, "code_of", lambda program, then: 5)
    assert main(["script.py"]) == 5 and capsys.readouterr().err == "", "it failed before"


def test_the_options_of_the_command(script, monkeypatch):
    given = []
    monkeypatch.setattr(tracing, "trace", lambda *a, **kw: given.append((*a, kw)))
    monkeypatch.setattr(tracing.run_script, "code_of", lambda program, then: 1)
    main(["script.py"])
    words = "--device cuda:1 --top 0 --include a --include b --exclude c --every-frame --json t.json script.py"
    main(words.split())
    plain = {"top": 20, "include": [], "exclude": [], "every_frame": False, "file": sys.stderr, "json": None}
    other = {"top": 0, "include": ["a", "b"], "exclude": ["c"], "every_frame": True, "json": "t.json"}
    assert given == [(None, plain), ("cuda:1", plain | other)]


@pytest.mark.parametrize(
    "words, want",
    [
        (["absent.py"], "memshim trace: absent.py: no such file\n"),
        (["--memory", "1GiB", "script.py"], "memshim trace: got --memory or --count without --on, want --on DEVICE"),
        (["--device", "tpu", "script.py"], "memshim trace: got device 'tpu', want cuda, cuda:N or cpu\n"),
        (["--exclude", "(", "script.py"], "memshim trace: missing ), unterminated subpattern at position 0\n"),
        (["--json", "absent/t.json", "script.py"], "memshim trace: [Errno 2] No such file or directory: 'absent/t"),
    ],
)
def test_what_the_command_refuses(script, regions, capsys, words, want):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(want) and regions == []


def test_a_number_of_rows_below_zero_is_refused(script, capsys):
    with pytest.raises(SystemExit):
        main(["--top", "-1", "script.py"])
    assert "argument --top: got -1, want 0 or more" in capsys.readouterr().err
