"""trace, track, modelsize and Profiler, on CPU tensors."""

import builtins
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

import memshim
from memshim.__main__ import main
from memshim.look import profile as profiling

torch = pytest.importorskip("torch")

HERE = Path(__file__).name
KIB = 1024


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.rstrip().endswith(text))


def test_trace_names_the_lines_that_held_the_peak(capsys):
    with memshim.trace() as t:
        kept = [torch.zeros(KIB, dtype=torch.uint8) for _ in range(3)]  # held
        gone = torch.zeros(100 * KIB, dtype=torch.uint8)  # at the peak
        del gone
        late = torch.zeros(50 * KIB, dtype=torch.uint8)  # after it
    mine = {r["line"]: r for r in t.rows() if r["file"] == __file__}
    assert set(mine) == {line_of("# held"), line_of("# at the peak")}
    assert [mine[line_of("# held")][k] for k in ("mem", "count", "median")] == [3 * KIB, 3, KIB]
    assert mine[line_of("# at the peak")]["mem"] == 100 * KIB
    assert t.rows()[-1]["cumulative"] == t.peak.total == t.peak.untraced + 103 * KIB
    out = capsys.readouterr().out.splitlines()
    assert out[0].endswith("(test_trace_names_the_lines_that_held_the_peak); 153.0 KiB allocated in all")
    assert "CPU tensors, no GPU: not the allocator's numbers" in out[0]
    assert out[1].split() == ["Mem", "Cumulative", "Mem", "Median", "Count", "Location"]
    assert len(kept) + len(late) > 0


def test_the_table_is_that_of_memspec_explain(archive):
    """Of a prediction by memspec, of a run by us: the same columns, and the same row for what was
    there before."""
    from memshim import binary

    explained = binary.call(
        "explain", str(archive), "--input", "float32[2,3,16,16]", "--device", "none", "--by", "line"
    )[0].splitlines()
    before = torch.zeros(1_000_000)
    with memshim.trace(file=None) as t:
        x = torch.zeros(1000)
    mine = t.table().splitlines()
    head = next(i for i, line in enumerate(explained) if "Cumulative Mem" in line)
    assert explained[head].split() == mine[1].split() == ["Mem", "Cumulative", "Mem", "Median", "Count", "Location"]
    assert explained[head + 1].split()[-1] == mine[2].split()[-1] == "untraced" and len(x) + len(before)


def test_trace_counts_what_was_there_before_and_lets_it_go():
    before = torch.zeros(500 * KIB, dtype=torch.uint8)
    with memshim.trace(file=None) as t:
        del before
        after = torch.zeros(10 * KIB, dtype=torch.uint8)
    assert t.peak.untraced >= 500 * KIB and t.peak.at is None, "the peak was at the start"
    assert len(after)


def test_trace_counts_a_storage_once_and_follows_resizing():
    with memshim.trace(file=None) as t:
        x = torch.zeros(64 * KIB, dtype=torch.uint8)
        views = [x[1:], x.view(64, -1), x.add_(1)]
        x.resize_(100 * KIB)
        y = torch.zeros(10 * KIB, dtype=torch.uint8)
    assert t.peak.total - t.peak.untraced == 164 * KIB, "the new bytes are there before the old ones go"
    assert len(y) and len(views)


def test_trace_filters(tmp_path, capsys):
    with memshim.trace(exclude="# never", top=1, json=str(tmp_path / "t.json")) as t:
        a = torch.zeros(3 * KIB, dtype=torch.uint8)
        c = torch.zeros(2 * KIB, dtype=torch.uint8)
    assert "more, " in capsys.readouterr().out, "the rest is summed"
    answer = json.loads((tmp_path / "t.json").read_text())
    assert answer["where"] == "cpu" and answer["rows"] == t.rows() and answer["peak"] == t.peak.total
    with memshim.trace(include="no such line", file=None) as t:
        b = torch.zeros(3 * KIB, dtype=torch.uint8)
    assert [r["location"] for r in t.rows()][-1] == "filtered out"
    assert len(a) + len(b) + len(c)


def test_trace_every_frame():
    m, x = net(), torch.zeros(2, 64)
    with memshim.trace(file=None, every_frame=True) as t:
        y = m(x)
    assert any(r["file"].endswith("torch/nn/modules/linear.py") for r in t.rows())
    with memshim.trace(file=None) as t:
        y = m(x)
    assert not any("site-packages/torch/" in r["file"] for r in t.rows())
    assert len(y)


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A script that uses a module beside it, its arguments and its own exit code. What
    commands change of the process is put back."""
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (tmp_path / "beside.py").write_text("import torch\ndef make(n): return torch.zeros(n, dtype=torch.uint8)\n")
    path = tmp_path / "script.py"
    path.write_text(
        "import sys\nfrom beside import make\nx = make(int(sys.argv[1]))\ny = 1\nprint('mine', __name__)\nsys.exit(5)\n"
    )
    yield path
    sys.modules.pop("beside", None)


def test_the_trace_command(script, capsys):
    """In a separate process, so that what is seen is what a shell sees."""
    p = warm.run([sys.executable, "-m", "memshim", "trace", "--device", "cpu", str(script), "2048"])
    assert (p.returncode, p.stdout) == (5, "mine __main__\n")
    assert "2.0 KiB" in p.stderr and "beside.py:2 (make)" in p.stderr
    assert main(["trace", str(script) + ".absent"]) == 2
    assert capsys.readouterr().err == f"memshim trace: {script}.absent: no such file\n"
    assert main(["trace", "--include", "(", str(script)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_track_command(script, capsys):
    assert main(["track", "--device", "cpu", "--at", "3", "--at", "5", str(script), "4096"]) == 5
    out = capsys.readouterr().out
    assert "mine __main__\n" in out
    assert "+ | 1 * Size:(4096,) | Memory: 4.0 KiB | Tensor | torch.uint8" in out and "script.py:5 (<module>): " in out
    assert main(["track", "--at", "77", str(script)]) == 2
    assert "script.py:77: got a line where no statement starts" in capsys.readouterr().err
    assert main(["track", "--at", "1", str(script) + ".absent"]) == 2
    assert capsys.readouterr().err == f"memshim track: {script}.absent: no such file or directory\n"


def test_a_scripts_own_error_is_its_own(script, capsys):
    script.write_text("raise ValueError('mine')\n")
    for command in (["trace", "--device", "cpu", str(script)], ["track", "--device", "cpu", "--at", "1", str(script)]):
        with pytest.raises(ValueError, match="mine"):
            main(command)


def test_without_torch_every_command_says_so_on_one_line(script, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    from memshim.case.measure import TORCH_MISSING

    real = builtins.__import__

    def without(name, *a, **kw):
        if name == "torch" or name.startswith("torch."):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name, *a, **kw)

    monkeypatch.setattr(builtins, "__import__", without)
    for command in (
        ["trace", str(script)],
        ["track", "--at", "1", str(script)],
        ["profile", f"{script}:x", "--input", "float32[1]"],
        ["export", f"{script}:x", "-o", "x.pt"],
    ):
        assert main(command) == 2
        assert capsys.readouterr().err == f"memshim: {TORCH_MISSING}\n"


def test_track_reports_what_came_and_went(tmp_path):
    log = tmp_path / "log"
    memshim.track(str(log))
    weights = [torch.nn.Parameter(torch.empty(512, 512, 3, 3)) for _ in range(7)]
    first = memshim.track(str(log)).change
    view = weights[0][1:]
    nothing = memshim.track(str(log)).change
    del weights, view
    with memshim.track(str(log)) as t:
        grad = torch.nn.Parameter(torch.zeros(3))
        grad.sum().backward()
    assert first.lines == ["+ | 7 * Size:(512, 512, 3, 3) | Memory: 63.0 MiB | Parameter | torch.float32"]
    assert nothing.lines == [], "a view takes nothing"
    assert t.change.lines == [
        "+ | 1 * Size:(3,) | Memory: 12 B | Gradient | torch.float32",
        "+ | 1 * Size:(3,) | Memory: 12 B | Parameter | torch.float32",
    ]
    text = log.read_text()
    assert "- | 7 * Size:(512, 512, 3, 3) | Memory: 63.0 MiB | Parameter | torch.float32" in text
    assert text.count(f"{HERE}:") == 5 and "| CPU tensors" in text and "  no change" in text


def test_trackers_are_apart(capsys):
    a, out = memshim.Tracker(file=io.StringIO()), io.StringIO()
    a.track()
    with memshim.Tracker(file=out) as b:
        x = torch.zeros(5)
    assert [len(c.added) for c in b.changes][1:] == [1]
    assert sum(a.track().added.values()) == 1 and len(x)
    assert capsys.readouterr().out == ""


def test_modelsize(capsys):
    m, x = net(), torch.zeros(16, 64)
    kept = m[0].weight.grad = torch.ones_like(m[0].weight)
    size = memshim.modelsize(m, x)
    row = 4 * 16
    assert size.parameters == 4 * (64 * 128 + 128 + 128 * 8 + 8)
    assert size.buffers == 0
    assert size.without_backward == 2 * row * 128, "the ReLU's result is made while the first layer's lives"
    assert size.with_backward > size.without_backward + row * 8
    assert size.with_backward < size.parameters, "gradients of parameters are not intermediates"
    assert m[0].weight.grad is kept and m.training
    assert "CPU tensors" in capsys.readouterr().out


def test_modelsize_shows_itself_once_at_a_prompt(capsys, monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    size = memshim.modelsize(net(), torch.zeros(16, 64))
    assert capsys.readouterr().out == "", "the prompt shows what is returned"
    assert repr(size) == str(size)
    memshim.modelsize(net(), torch.zeros(16, 64), file=sys.stdout)
    assert "CPU tensors" in capsys.readouterr().out, "a file that is named is written"


def test_modelsize_leaves_buffers_as_they_were():
    m = torch.nn.BatchNorm1d(4)
    memshim.modelsize(m, torch.randn(3, 4), file=None)
    assert m.num_batches_tracked == 0 and m.running_mean.abs().sum() == 0 and m.weight.grad is None


def test_modelsize_leaves_random_state_as_it_was():
    import random

    m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout())
    torch.manual_seed(1), random.seed(1)
    want = torch.rand(3), random.random()
    torch.manual_seed(1), random.seed(1)
    memshim.modelsize(m, torch.ones(2, 4), file=None)
    assert torch.equal(torch.rand(3), want[0]) and random.random() == want[1]


def test_modelsize_of_models_without_gradients_and_without_sizes():
    m, x = net(), torch.zeros(16, 64)
    with torch.inference_mode():
        inside = memshim.modelsize(m, x, file=None)
    assert inside == memshim.modelsize(m, x, file=None) and inside.with_backward > inside.without_backward
    frozen = memshim.modelsize(net().requires_grad_(False), x, file=None)
    assert frozen.with_backward == frozen.without_backward > 0
    with pytest.raises(
        ValueError, match="got 0.weight without a size, want a model whose lazy modules have been called once"
    ):
        memshim.modelsize(torch.nn.Sequential(torch.nn.LazyLinear(3)), x, file=None)


def test_the_profile_command(tmp_path, capsys):
    (tmp_path / "zoo.py").write_text("import torch\nmodel = torch.nn.Linear(4, 2)\n")
    out = tmp_path / "p.csv"
    assert (
        profiling.main(
            [
                f"{tmp_path}/zoo.py:model",
                "--input",
                "float32[B,4]",
                "--dim",
                "B=3",
                "--steps",
                "2",
                "--device",
                "cpu",
                "--csv",
                str(out),
            ]
        )
        == 0
    )
    assert "epoch 0, 2 iterations" in capsys.readouterr().out and out.read_text().startswith(
        "kind,epoch,iteration,layer"
    )
    assert profiling.main([f"{tmp_path}/zoo.py:model", "--input", "float32[4]", "--optimizer", "Nothing"]) == 2
    assert profiling.main([f"{tmp_path}/zoo.py:absent", "--input", "float32[4]"]) == 2
    with pytest.raises(SystemExit):
        profiling.main([f"{tmp_path}/zoo.py:model", "--input", "float32[4]", "--steps", "-1"])
    assert "argument --steps: got -1, want 1 or more" in capsys.readouterr().err
    assert main(["profile", f"{tmp_path}/zoo.py:model", "--input", "float32[3,5]", "--device", "cpu"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("memshim: RuntimeError: ") and "mat1 and mat2 shapes cannot be multiplied" in last


def test_importing_memshim_does_not_import_torch():
    code = "import sys, memshim, memshim.judge.plugin, memshim.judge.check; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"memshim (\d+\.\d+\.\d+|\(of a checkout\))\n", capsys.readouterr().out)
