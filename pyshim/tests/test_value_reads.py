"""Reads of values that no kernel computed: where they are, what `assume` says of them, how often they find the
same."""

import os
import sys
import types

import pytest

from memshim.pretend import value_reads
from memshim.pretend.value_reads import Place, Read, Reads, read_assume

HERE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def torch(monkeypatch, tmp_path):
    """The folder of PyTorch's, whose frames are left out."""
    module = types.ModuleType("torch")
    module.__file__ = str(tmp_path / "torch" / "__init__.py")
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def within(folder, text, **names):
    """A function `run` of a file of a folder."""
    names["__name__"] = "run"
    exec(compile(text, str(folder), "exec"), names)
    return names["run"]


def line():
    return sys._getframe(1).f_lineno


def test_a_read_is_at_the_users_line():
    reads = Reads()
    read, at = reads.note("aten::item", 4), line()
    assert read.place == read.inner == Place(__file__, at, "test_a_read_is_at_the_users_line")
    assert str(read.place) == f"{__file__}:{at} (test_a_read_is_at_the_users_line)"


def test_a_read_within_a_package_is_also_at_the_line_that_called_it(tmp_path):
    run = within(tmp_path / "site-packages" / "a.py", "def run(): return note()", note=lambda: Reads().note("x", 4))
    inner = within(tmp_path / "site-packages" / "a.py", "def run(): return places()", places=value_reads.places)
    found, at = inner(), line()
    assert [str(p) for p in found] == [
        f"{tmp_path}/site-packages/a.py:1 (run)",
        f"{__file__}:{at} (test_a_read_within_a_package_is_also_at_the_line_that_called_it)",
    ]
    assert run().inner.file == __file__, "the innermost, which is a lambda of this file"


def test_frames_of_pytorch_are_left_out(tmp_path):
    run = within(tmp_path / "torch" / "a.py", "def run(): return places()", places=value_reads.places)
    assert [p.file for p in run()] == [__file__, __file__]


def test_reads_at_one_place_are_counted():
    reads = Reads(moment=iter(range(5, 9)).__next__)
    for size, bounded, varied in ((4, True, True), (8, False, True), (2, True, False)):
        reads.note("aten::item", size, value=size, bounded=bounded, varied=varied)
    (read,) = reads.found.values()
    assert (read.count, read.bytes, read.value, read.bounded, read.varied) == (3, 2, 2, False, False)
    assert reads.log == [(read, 5), (read, 6), (read, 7)]
    reads.note("aten::copy_", 4)
    assert len(reads.found) == 2


def test_moments_are_kept_up_to_a_number(monkeypatch):
    monkeypatch.setattr(value_reads, "MOST_LOGGED", 2)
    reads = Reads(moment=lambda: 1)
    for _ in range(3):
        reads.note("aten::item", 4)
    assert len(reads.log) == 2
    reads = Reads()
    reads.note("aten::item", 4)
    assert reads.log == []


def test_the_first_read_that_nothing_is_assumed_of_warns(recwarn):
    reads = Reads()
    reads.warns = True
    reads.note("aten::item", 4, assumed=3)
    assert not recwarn
    reads.note("aten::item", 4, given="1e+30: most")
    reads.note("aten::item", 4)
    (warning,) = recwarn
    assert warning.category is value_reads.UnknownValue and warning.filename == __file__
    assert "reads what one would have computed: 1e+30: most. It is no result" in str(warning.message)


def test_a_read_that_gave_zero_says_so():
    place = Place("", 0, "f")
    with pytest.warns(value_reads.UnknownValue, match="would have computed: 0. It") as found:
        value_reads.warn(Read(place, place, "op", 4))
    assert found[0].filename == "?"


def test_reads_of_the_same_value_in_a_row_are_counted():
    read = Read(Place("", 0, ""), Place("", 0, ""), "op", 4)
    assert [read.repeated(v) for v in (0, 0, 0.0, 0.0, False, False, 1, 1, 1, 2)] == [1, 2, 1, 2, 1, 2, 1, 2, 3, 1]


def test_assume_names_a_line():
    found, at = Reads(assume={f"{HERE}:{line()}": 3}).assumed(), line()
    assert found == 3 and at
    assert Reads(assume={f"{HERE}:{line() + 1}": 3}).assumed() is None
    assert Reads(assume={f"other.py:{line()}": 3}).assumed() is None
    assert Reads().assumed() is None


def test_assume_names_a_function_that_reads():
    def route(reads):
        return reads.assumed()

    assert route(Reads(assume={f"{HERE}:route": True})) is True
    qualified = f"{HERE}:test_assume_names_a_function_that_reads"
    assert route(Reads(assume={qualified: True})) is None, "it calls the function that reads"
    if sys.version_info >= (3, 11):
        assert route(Reads(assume={f"{HERE}:{route.__qualname__}": 2})) == 2


def test_assume_names_the_users_function_that_reads_in_a_package(tmp_path):
    package = tmp_path / "site-packages" / "a.py"
    for depth in (1, 2):
        text = "def run(reads):\n    return reads.assumed()\n"
        if depth == 2:
            text += "inner = run\ndef run(reads):\n    return inner(reads)\n"
        run = within(package, text)
        name = f"{HERE}:test_assume_names_the_users_function_that_reads_in_a_package"
        assert run(Reads(assume={name: 3})) == 3
        assert run(Reads(assume={"a.py:run": 4})) == 4


def test_assume_names_the_innermost_function_of_a_package_alone(tmp_path):
    text = "def inner(reads):\n    return reads.assumed()\ndef run(reads):\n    return inner(reads)\n"
    run = within(tmp_path / "site-packages" / "a.py", text)
    assert run(Reads(assume={"a.py:inner": 3})) == 3
    assert run(Reads(assume={"a.py:run": 3})) is None
    assert run(Reads(assume={"a.py:4": 3})) == 3, "a line is any that is running"


def test_assume_names_a_mode():
    reads = Reads(assume={f"{HERE}:test_assume_names_a_mode": "most"})
    assert (reads.assumed(), reads.stated()) == (None, "most")
    assert reads.note("aten::item", 4).assumed == "most"
    assert reads.note("aten::copy_", 4, assumed=7).assumed == 7
    assert Reads(assume={f"{HERE}:test_assume_names_a_mode": 3}).stated() is None


def test_a_file_is_named_by_the_end_of_its_path():
    assert value_reads.matches("train.py", "train.py")
    assert value_reads.matches("/a/train.py", "train.py") and value_reads.matches("/a/b/train.py", "b/train.py")
    assert not value_reads.matches("/a/pretrain.py", "train.py")


@pytest.mark.parametrize(
    "key, value",
    [("a.py:12", 3), ("a.py:12", True), ("a.py:f", 0.5), ("a.py:A.f", "least"), ("routing", "balanced")],
)
def test_what_may_be_assumed(key, value):
    assert read_assume({key: value}) == {key: value}


@pytest.mark.parametrize(
    "key, value, wrong",
    [
        ("routing", "most", "got assume routing: 'most', want balanced"),
        ("12", 3, "got assume '12', want a place such as train.py:12"),
        (":12", 3, "got assume ':12', want a place"),
        ("a.py:", 3, "got assume 'a.py:', want a place"),
        ("a.py:1.5", 3, "got assume 'a.py:1.5', want a place"),
        ("a.py:12", "many", "got assume a.py:12: 'many', want a number, true or false, or one of balanced, least"),
        ("a.py:12", None, "got assume a.py:12: None, want a number"),
    ],
)
def test_what_may_not_be_assumed(key, value, wrong):
    with pytest.raises(ValueError) as e:
        read_assume({key: value})
    assert str(e.value).startswith(wrong)


SEARCH = """
def step(read):
    ys = read()  # ys > 1e-10
    return ys


def other(read):
    return step(read)


def _directional_evaluate(read):
    return read()


def elsewhere(read):
    return read()
run = {"step": step, "_directional_evaluate": _directional_evaluate, "elsewhere": elsewhere}
"""


@pytest.fixture
def search(tmp_path):
    file = tmp_path / "torch" / "optim" / "lbfgs.py"
    file.parent.mkdir(parents=True)
    file.write_text(SEARCH)
    return within(file, SEARCH)


def test_lbfgs_finds_a_smaller_loss_each_time(search):
    reads = Reads()
    losses = [search[name](lambda: reads.searching(float)) for name in ("step", "_directional_evaluate", "step")]
    assert losses == [-1, -2, -3]
    assert search["elsewhere"](lambda: reads.searching(float)) is None


def test_lbfgs_keeps_each_direction(search):
    reads = Reads()
    assert search["step"](lambda: reads.searching(bool)) is True
    assert search["_directional_evaluate"](lambda: reads.searching(bool)) is None
    assert search["step"](lambda: reads.searching(int)) is None


def test_outside_of_lbfgs_nothing_is_searched():
    assert Reads().searching(float) is None and Reads().searching(bool) is None


def test_whether_a_function_of_a_folder_of_pytorch_is_running(tmp_path):
    run = within(tmp_path / "torch" / "optim" / "adam.py", "def run(): return within('optim'), within('nn')",
                 within=value_reads.within)  # fmt: skip
    assert run() == (True, False)
    assert value_reads.within("optim") is False
