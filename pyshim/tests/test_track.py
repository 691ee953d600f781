"""track, piece by piece: what its lines show of tensors, of an allocator and of a script."""

import gc
import io
import sys
import types
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from memshim.allocator import recorder  # noqa: E402
from memshim.frames import Frame  # noqa: E402
from memshim.gpu import storages, where  # noqa: E402
from memshim.look import track as tracking  # noqa: E402
from memshim.look.track import Allocator, Census, Change, Kind, Tracker  # noqa: E402

MIB = 1 << 20
AT = Frame("train.py", 7, "step")
SMALL = Kind((2, 3), 24, "Tensor", "torch.float32")
LARGE = Kind((4, 3), 48, "Parameter", "torch.float32")


@pytest.fixture
def tensors(monkeypatch):
    """The tensors that Python can reach, in place of all of this process."""
    found = []
    monkeypatch.setattr(storages, "reachable", lambda: list(found))
    return found


class Peaks:
    """A region of a GPU whose allocator counts as it is set."""

    made: list = []
    counts = {"allocated": 5 * MIB, "reserved": 8 * MIB}

    def __init__(self, index, events=True):
        self.index, self.events, self.said = index, events, []
        self.made.append(self)

    def open(self):
        self.said.append("open")
        return self

    def now(self):
        return self.counts

    def peaks(self):
        return {"allocated": 6 * MIB}

    def restart_peaks(self):
        self.said.append("restart")

    def close(self):
        self.said.append("close")


def test_a_gpus_allocator_is_asked_through_one_region(tensors, monkeypatch):
    monkeypatch.setattr(recorder, "CUDARegion", Peaks)
    monkeypatch.setattr(where, "of", lambda device: where.Where("cuda", {"cuda:1": 1}.get(device)))
    monkeypatch.setattr(Peaks, "made", [])
    tracker, current = Tracker(io.StringIO(), "cuda:1"), Tracker(io.StringIO())
    found = [tracker.track().census.allocator, tracker.track().census.allocator, current.track().census.allocator]
    assert found == [Allocator(i, 5 * MIB, 6 * MIB, 8 * MIB) for i in (1, 1, 0)]
    assert [(r.index, r.events, r.said) for r in Peaks.made] == [
        (1, False, ["open", "restart", "restart"]),
        (None, False, ["open", "restart"]),
    ]
    assert found[0].cached == 3 * MIB
    del tracker
    gc.collect()
    assert Peaks.made[0].said[-1] == "close", "with the tracker ends its region"


@pytest.mark.parametrize(
    "lines, allocator, want",
    [
        (
            ["+ a", "- b"],
            None,
            "At train.py:7 (step): Total Tensor Memory: 72 B in 2 tensors | CPU tensors\n+ a\n- b",
        ),
        (
            [],
            Allocator(1, 5 * MIB, 6 * MIB, 8 * MIB),
            "At train.py:7 (step): Total Tensor Memory: 72 B in 2 tensors | Total Allocated Memory: 5.0 MiB, at most "
            "6.0 MiB since the last call | Reserved: 8.0 MiB, cached 3.0 MiB | cuda:1\n  no change",
        ),
    ],
)
def test_the_text_of_a_change(lines, allocator, want):
    census = Census(Counter({SMALL: 1, LARGE: 1}), 2, 72, allocator)
    assert str(Change(AT, lines, Counter(), Counter(), census)) == want


def test_what_came_stands_before_what_went_and_most_memory_first(monkeypatch):
    found = [
        Counter({SMALL: 5, LARGE: 1}),
        Counter({SMALL: 3, LARGE: 3, SMALL._replace(size=(6,)): 2}),
    ]
    monkeypatch.setattr(where, "of", lambda device: where.Where("cpu"))
    monkeypatch.setattr(tracking, "count", lambda wanted: Census(found.pop(0), 0, 0))
    out = io.StringIO()
    tracker = Tracker(out)
    assert tracker.track(AT).lines == [
        "+ | 5 * Size:(2, 3) | Memory: 120 B | Tensor | torch.float32",
        "+ | 1 * Size:(4, 3) | Memory: 48 B | Parameter | torch.float32",
    ]
    change = tracker.track(AT)
    assert change.lines == [
        "+ | 2 * Size:(4, 3) | Memory: 96 B | Parameter | torch.float32",
        "+ | 2 * Size:(6,) | Memory: 48 B | Tensor | torch.float32",
        "- | 2 * Size:(2, 3) | Memory: 48 B | Tensor | torch.float32",
    ]
    assert (change.added, change.removed) == (
        Counter({LARGE: 2, SMALL._replace(size=(6,)): 2}),
        Counter({SMALL: 2}),
    )
    assert out.getvalue() == "".join(f"{c}\n" for c in tracker.changes)


def test_equal_memory_stands_in_the_order_of_sizes():
    kinds = Counter({SMALL._replace(size=(6,)): 1, SMALL: 1, LARGE: 1})
    assert [k.size for k, _ in tracking._sorted(kinds)] == [(4, 3), (2, 3), (6,)]


def kinds(device="cpu", index=None):
    c = tracking.count(where.Where(device, index))
    return sorted((k.size, k.nbytes, k.type, n) for k, n in c.kinds.items()), c.tensors, c.nbytes


def test_a_storage_is_counted_as_the_largest_of_its_tensors(tensors):
    base = torch.zeros(10)
    detached = base.detach()[:4]  # no view of autograd's, smaller
    weight = torch.nn.Parameter(torch.zeros(3))
    tensors += [base[2:], detached, base, base[:3], weight.data.view(3, 1), weight, torch.zeros(0)]
    assert kinds() == ([((3,), 12, "Parameter", 1), ((10,), 40, "Tensor", 1)], 2, 52)
    tensors.reverse()
    assert kinds()[0] == [((3,), 12, "Parameter", 1), ((10,), 40, "Tensor", 1)], "in any order"


def test_gradients_are_those_of_leaves(tensors):
    weight = torch.nn.Parameter(torch.zeros(3))
    weight.grad = torch.ones(3)
    result = weight * 2
    tensors += [weight, weight.grad, result]
    assert kinds()[0] == [((3,), 12, "Gradient", 1), ((3,), 12, "Parameter", 1), ((3,), 12, "Tensor", 1)]


def test_one_device_is_counted(tensors, monkeypatch):
    class Storage:
        def __init__(self, device, cdata):
            self.device, self._cdata = torch.device(device), cdata

        def nbytes(self):
            return 12

    t = torch.zeros(3)
    tensors.append(t)
    of = [(t, Storage(d, i)) for i, d in enumerate(("cpu", "cuda:0", "cuda:1"))]
    monkeypatch.setattr(storages, "stored", lambda t: of)
    assert [kinds(*at)[1] for at in (("cpu",), ("cuda", None), ("cuda", 0), ("cuda", 1), ("cuda", 2))] == [
        1, 2, 1, 1, 0,
    ]  # fmt: skip


def test_each_file_and_device_has_its_tracker(tmp_path, monkeypatch, tensors, capsys):
    monkeypatch.setattr(tracking, "_trackers", {})
    monkeypatch.chdir(tmp_path)
    first = tracking.track("log", "cpu")
    assert str(first) == str(first.change) and (tmp_path / "log").read_text() == f"{first}\n"
    tensors.append(torch.zeros(3))
    out = io.StringIO()
    for file in (str(tmp_path / "log"), tmp_path / "log", out, None):
        tracking.track(file, "cpu")
    changes = [[len(c.lines) for c in t.changes] for t in tracking._trackers.values()]
    assert changes == [[0, 1, 0], [1], [1]], "a path is one however it is written"
    assert capsys.readouterr().out == out.getvalue(), "without a file on standard output"


def test_the_line_that_calls_is_named(tensors):
    def here():
        return tracking.track(io.StringIO(), "cpu").change.at

    assert here() == Frame(__file__, here.__code__.co_firstlineno + 1, "here")
    with Tracker(io.StringIO(), "cpu") as tracker:
        pass
    assert {(c.at.file, c.at.function) for c in tracker.changes} == {(__file__, "test_the_line_that_calls_is_named")}


def test_a_path_that_cannot_be_written_fails_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        Tracker(str(tmp_path / "absent" / "log"))
    with pytest.raises(ValueError, match="got device 'tpu', want cuda, cuda:N or cpu"):
        Tracker(None, "tpu")


def test_what_an_emptied_cache_gave_back(monkeypatch):
    reserved, said = {0: 10, 1: 7}, []
    monkeypatch.setattr(gc, "collect", lambda: said.append("collect"))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert tracking.clear_cache() == 0 and said == ["collect"], "CUDA is not begun"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "memory_reserved", reserved.get)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: reserved.update({0: 4, 1: 2}))
    assert tracking.clear_cache() == 11 and said == ["collect"] * 2


SCRIPT = """\
log(1)
if True:
    log(3)
else:
    log(5)
try:
    log(7)
    raise KeyError
except KeyError:
    log(10)
finally:
    log(12)
for _ in range(2):
    log(14); log(-14)
else:
    log(16)
"""


@pytest.mark.parametrize(
    "lines, want",
    [
        ({1}, ["at", 1, 3, 7, 10, 12, 14, -14, 14, -14, 16]),
        ({3, 5}, [1, "at", 3, 7, 10, 12, 14, -14, 14, -14, 16]),
        ({10, 12}, [1, 3, 7, "at", 10, "at", 12, 14, -14, 14, -14, 16]),
        ({14, 16}, [1, 3, 7, 10, 12, "at", 14, -14, "at", 14, -14, "at", 16]),
        ({2}, [1, "at", 3, 7, 10, 12, 14, -14, 14, -14, 16]),
    ],
)
def test_the_statement_at_a_line_is_called_before(lines, want):
    seen = []
    code = tracking._tracked(SCRIPT.encode(), "script.py", lines)
    exec(code, {"log": seen.append, "__memshim_track__": lambda: seen.append("at")})
    assert seen == want and code.co_filename == "script.py"


@pytest.mark.parametrize(
    "lines, line",
    [({4, 1}, 4), ({99, 4}, 4)],
)
def test_a_line_without_a_statement_is_named(lines, line):
    with pytest.raises(ValueError, match=f"^script.py:{line}: got a line where no statement starts$"):
        tracking._tracked(SCRIPT.encode(), "script.py", lines)


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    path = tmp_path / "script.py"
    path.write_text("import sys, torch\nassert __name__ == '__main__' and __file__ == sys.argv[0]\nprint(sys.argv)\n")
    return path


def test_a_script_runs_as_python_runs_it(script, tmp_path, capsys, tensors):
    out = tmp_path / "log"
    assert tracking.main(["--at", "3", "--device", "cpu", "-o", str(out), str(script), "-x", "--at"]) == 0
    assert capsys.readouterr().out == f"{[str(script), '-x', '--at']}\n"
    assert sys.path[0] == str(tmp_path) and isinstance(sys.modules["__main__"], types.ModuleType)
    assert out.read_text() == (
        f"At {Frame(str(script), 3, '<module>')}: Total Tensor Memory: 0 B in 0 tensors | CPU tensors\n  no change\n"
    )


@pytest.mark.parametrize(
    "words, text, want",
    [
        (["--device", "tpu"], None, "memshim track: got device 'tpu', want cuda, cuda:N or cpu\n"),
        (["--at", "9"], None, "memshim track: {script}:9: got a line where no statement starts\n"),
        (["-o", "/dev/null/x"], None, "memshim track: /dev/null/x: not a directory\n"),
        (["--memory", "1GiB"], None, "memshim track: got --memory or --count without --on, want --on DEVICE beside"
         " it\n"),
        ([], "x = (", "memshim track: '(' was never closed (script.py, line 1)\n"),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_runs(script, capsys, words, text, want, monkeypatch):
    monkeypatch.chdir(script.parent)
    if text:
        script.write_text(text)
    assert tracking.main(["--at", "1", *words, "script.py"]) == 2
    assert capsys.readouterr() == ("", want.format(script="script.py"))


def test_a_gpu_that_is_not_there_ends_the_script_at_its_import_of_torch(script, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert tracking.main(["--at", "3", "--device", "cuda:3", str(script)]) == 2
    assert capsys.readouterr() == ("", "memshim: got device 'cuda:3', but PyTorch finds no GPU here\n")
