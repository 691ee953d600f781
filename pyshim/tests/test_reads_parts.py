"""What is seen of a run, piece by piece: events, paths, variables and whose code read them."""

import os
import sys
import types
from typing import NamedTuple

import pytest

from memshim.origin import reads
from memshim.origin.reads import Reads


@pytest.fixture
def seen(monkeypatch):
    """What the events of this test report to; this process's own are not heard."""
    r = Reads()
    monkeypatch.setattr(reads, "_watched", r)
    monkeypatch.chdir("/")
    return r


def heard(seen, event, *args):
    before = dict(seen.opened), set(seen.written), dict(seen.listed), set(seen.assigned)
    reads._heard(event, args)
    new = [[x for x in now if x not in was] for was, now in zip(before, (seen.opened, seen.written, seen.listed,
           seen.assigned))]  # fmt: skip
    return [sorted(x) for x in new]


@pytest.mark.parametrize(
    "event, args, want",
    [
        ("open", ("a", "r", 0), [["/a"], [], [], []]),
        ("open", ("a", "w", 0), [[], ["/a"], [], []]),
        ("open", ("a", "ab", 0), [[], ["/a"], [], []]),
        ("open", ("a", "x", 0), [[], ["/a"], [], []]),
        ("open", ("a", "r+", 0), [[], ["/a"], [], []]),
        ("open", ("a", None, os.O_RDONLY), [["/a"], [], [], []]),
        ("open", ("a", None, os.O_WRONLY), [[], ["/a"], [], []]),
        ("open", ("a", None, os.O_RDWR | os.O_CREAT), [[], ["/a"], [], []]),
        ("open", ("a", None, os.O_CREAT), [["/a"], [], [], []]),
        ("open", ("a", None, None), [["/a"], [], [], []]),
        ("open", (3, "r", 0), [[], [], [], []]),
        ("open", (b"/x/../b", "r", 0), [["/b"], [], [], []]),
        ("open", ("", "r", 0), [[], [], [], []]),
        ("open", ("a\0b", "r", 0), [[], [], [], []]),
        ("open", (object(), "r", 0), [[], [], [], []]),
        ("os.listdir", ("/usr",), [[], [], ["/usr"], []]),
        ("os.scandir", (None,), [[], [], ["/"], []]),
        ("os.rename", ("a", "b", -1, -1), [[], ["/a", "/b"], [], []]),
        ("os.link", ("a", "b"), [[], ["/a", "/b"], [], []]),
        ("os.symlink", ("a", "b"), [[], ["/a", "/b"], [], []]),
        ("os.mkdir", ("a", 0o777, -1), [[], ["/a"], [], []]),
        ("sqlite3.connect", ("a.db",), [["/a.db"], [], [], []]),
        ("os.putenv", (b"A", b"1"), [[], [], [], ["A"]]),
        ("os.unsetenv", ("B",), [[], [], [], ["B"]]),
        ("another", ("a",), [[], [], [], []]),
    ],
)
def test_what_an_event_says(seen, event, args, want):
    assert heard(seen, event, *args) == want


def test_nothing_is_heard_while_nobody_watches(seen, monkeypatch):
    monkeypatch.setattr(reads, "_watched", None)
    reads._heard("open", ("a", "r", 0))
    monkeypatch.setattr(reads, "_EVENTS", None)  # as when Python ends
    reads._heard("open", ("a", "r", 0))
    assert seen.opened == {}


def test_very_many_are_not_kept(seen, monkeypatch):
    monkeypatch.setattr(reads, "MOST", 2)
    for name in "abc":
        seen.open(name), seen.list(f"/{name}")
        seen.ask(name.upper(), "1", sys._getframe())
    assert (list(seen.opened), list(seen.listed), len(seen.asked)) == (["/a", "/b"], ["/a", "/b"], 2)


@pytest.mark.parametrize(
    "name, kept",
    [
        ("WIDTH", True),
        ("home", False),
        ("CUDA_VISIBLE_DEVICES", False),
        ("cuda_x", False),
        ("MY_CUDA_X", True),
        ("PYTHONHASHSEED", False),
        ("MY_TOKEN", False),
        ("api_key_file", False),
        ("HF_HOME", False),
    ],
)
def test_variables_that_are_kept(name, kept):
    assert reads.kept(name) is kept


class Code(NamedTuple):
    co_filename: str
    co_name: str


def frame(*files, back=None):
    """A frame of functions in those files, the innermost first."""
    for place in reversed(files):
        file, _, name = place.partition("|")
        code = Code(file, name or "f")
        back = types.SimpleNamespace(f_code=code, f_lasti=4, f_back=back)
    return back


@pytest.mark.parametrize(
    "files, reader",
    [
        (["/p/a.py"], "/p/a.py"),
        (["/p/../q/a.py"], "/q/a.py"),
        (["<string>"], "<string>"),
        (["<frozen os>", "/p/a.py"], "/p/a.py"),
        (["/lib/os.py", "/lib/_collections_abc.py", "/p/a.py"], "/p/a.py"),
        ([reads.OWN + "x.py", "/p/a.py"], "/p/a.py"),
        (
            ["/x/omegaconf/base.py", "/x-packages/hydra/y.py", "/x/decouple.py", "/x/environs/z.py", "/p/a.py"],
            "/p/a.py",
        ),
        (["/lib/_collections_abc.py|__iter__", "/p/a.py"], ""),
        (["<frozen os>|copy", "/p/a.py"], ""),
        (["/p/a.py|copy"], "/p/a.py"),
        (["/x/omegaconf/base.py|copy", "/p/a.py"], "/p/a.py"),
        (["<frozen os>"], ""),
        ([], ""),
    ],
)
def test_whose_code_reads_a_variable(files, reader):
    assert reads._reader(frame(*files)) == reader


def test_who_goes_through_all_variables_reads_none(monkeypatch):
    f = frame("/p/a.py")
    monkeypatch.setattr(reads, "_bulk", {(f.f_code, 4)})
    assert reads._reader(f) == ""
    f.f_lasti = 5
    assert reads._reader(f) == "/p/a.py"


def test_a_variable_has_its_first_value(seen):
    f = frame("/p/a.py")
    for name, value in (("A", "1"), ("A", "2"), ("HOME", "x"), ("B", None)):
        seen.ask(name, value, f)
    seen.assigned.add("C")
    seen.ask("C", "3", f)
    seen.ask("D", "4", None)
    assert seen.asked == {("A", "/p/a.py"): "1", ("B", "/p/a.py"): None}


@pytest.mark.parametrize(
    "args, kw, path",
    [
        (("a",), {}, "/a"),
        ((), {"filename": "b"}, "/b"),
        ((), {"path": b"c"}, "/c"),
        ((), {"name": "d", "path": ""}, "/d"),
        ((3,), {}, None),
        ((), {}, None),
    ],
)
def test_the_path_that_a_native_function_opens(seen, args, kw, path):
    reads._native(args, kw)
    assert list(seen.opened) == ([path] if path else [])


def test_a_native_function_is_as_before(seen, monkeypatch):
    def real(path, more=0):
        "opens"
        return path, more

    module = types.SimpleNamespace(read_file=real)
    reads._wrap(module, ("read_file", "absent"))
    assert module.read_file("a", more=1) == ("a", 1) and list(seen.opened) == ["/a"]
    assert (module.read_file.__wrapped__, module.read_file.__name__, module.read_file.__doc__) == (
        real,
        "real",
        "opens",
    )
    assert not hasattr(module, "absent")
    monkeypatch.setattr(reads, "_watched", None)
    assert module.read_file("b") == ("b", 0) and list(seen.opened) == ["/a"]


def test_modules_that_are_imported_later_are_wrapped_then(monkeypatch):
    later, wrapped = {}, []
    monkeypatch.setattr(reads, "NATIVE", {"sys": ("a",), "absent_module": ("b",)})
    monkeypatch.setattr(reads, "After", later.__setitem__)
    monkeypatch.setattr(reads, "_wrap", lambda module, functions: wrapped.append((module, functions)))
    reads._watch_native()
    assert wrapped == [(sys, ("a",))] and list(later) == ["absent_module"]
    later["absent_module"]("module")
    assert wrapped[1:] == [("module", ("b",))]


@pytest.mark.parametrize("depth, of_import", [(0, True), (4, True), (5, False)])
def test_a_listing_of_pythons_import(depth, of_import):
    there: dict = {"ask": reads._of_import}
    text = "def seen(): return ask()\ndef event(): return seen()\ndef reported(): return event()"
    exec(compile(text, "/r.py", "exec"), there)
    call = there["reported"]
    for n in range(depth):
        between = {"call": call}
        exec(compile("def f(): return call()", f"/between{n}.py", "exec"), between)
        call = between["f"]
    outer = {"call": call}
    exec(compile("def f(): return call()", "/lib/importlib/x.py", "exec"), outer)
    assert outer["f"]() is of_import


def test_a_run_begins_and_ends_once(monkeypatch, tmp_path):
    monkeypatch.setattr(reads, "_watched", None)
    monkeypatch.setattr(reads, "_install", lambda: None)
    monkeypatch.setattr(reads.time, "time", lambda: 5.0)
    first = Reads().begin()
    assert (first.began, first.cwd, reads.current()) == (5.0, os.getcwd(), first)
    monkeypatch.setattr(reads.time, "time", lambda: 6.0)
    monkeypatch.chdir(tmp_path)
    cwd = first.cwd
    second = Reads().begin()
    assert first.end() is first and reads.current() is second, "it watches no more"
    assert first.begin().began == 5.0 and first.cwd == cwd and first.end() and reads.current() is None


def test_a_name_as_indexes_compare_it():
    assert reads.normal("A.b__c--D") == "a-b-c-d"
    assert [reads._installed_file(types.SimpleNamespace(__file__=f)) for f in ("/x-packages/y.py", "/y.py", None)] == [
        True, False, False,
    ]  # fmt: skip
