"""trace on the CUDA allocator's own history."""

import json
import statistics

import pretended
import pytest
import torch

import memshim
from memshim.__main__ import main

KIB, MIB = 1 << 10, 1 << 20


def here(text: str) -> int:
    return next(i for i, line in enumerate(open(__file__), 1) if line.rstrip().endswith(text))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(300, 500), torch.nn.Linear(500, 7)

    def forward(self, x):
        y = self.a(x)  # first
        y = torch.tanh(y)  # between
        return self.b(y)  # last


def step(net, x, optimizer):
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize(
    "make", [lambda p: torch.optim.SGD(p, 0.1), lambda p: torch.optim.AdamW(p, foreach=False), torch.optim.Adam]
)
def test_the_rows_add_up_to_the_allocators_peak(make):
    net, x = Net().cuda(), torch.zeros(999, 300, device="cuda")
    optimizer = make(net.parameters())
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        with memshim.trace(file=None) as t:
            step(net, x, optimizer)
        assert (
            t.peak.total
            == torch.cuda.max_memory_allocated()
            == sum(r["mem"] for r in t.rows())
            == t.rows()[-1]["cumulative"]
        )
        assert not t.peak.unknown and not t.peak.lost


def test_start_stop_report_and_a_decorator(capsys):
    t = memshim.trace()
    t.start()
    x = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    peak = t.stop()
    assert peak.churn == len(x) == 3 * MIB and not capsys.readouterr().out, "printed when it is asked for"
    t.report()
    assert capsys.readouterr().out == t.table() + "\n"

    @memshim.trace(top=5)
    def twice(n: int) -> int:
        """Of itself."""
        x = torch.empty(n * MIB, dtype=torch.uint8, device="cuda")  # decorated
        return twice(n - 1) + len(x) if n > 1 else len(x)

    assert twice(2) == 3 * MIB and (twice.__name__, twice.__doc__) == ("twice", "Of itself.")
    inner, outer = capsys.readouterr().out.split("peak ")[1:]
    assert inner.splitlines()[0].endswith("; 1.0 MiB allocated in all") and outer.splitlines()[0].endswith(
        "; 3.0 MiB allocated in all"
    ), "each call by itself"
    assert f"test_trace.py:{here('# decorated')} (twice)" in inner


def test_what_was_there_has_a_count_and_a_median():
    kept = [torch.empty(n, dtype=torch.uint8, device="cuda") for n in (KIB, 2 * KIB, 700 * KIB, 4 * MIB)]
    with memshim.trace(file=None) as t:
        x = torch.empty(5 * MIB, dtype=torch.uint8, device="cuda")
    sizes = [
        b["size"]
        for s in torch.cuda.memory._snapshot()["segments"]
        for b in s["blocks"]
        if b["state"] == "active_allocated"
    ]
    sizes.remove(5 * MIB)
    (row,) = (r for r in t.rows() if r["location"] == "untraced")
    assert (row["mem"], row["count"], row["median"]) == (sum(sizes), len(sizes), int(statistics.median(sizes)))
    assert len(kept) + len(x)


def test_rounding_is_a_row_of_its_own():
    """The large one takes all of its segment: a rest of at most 1 MiB is not cut off."""
    torch.cuda.empty_cache()
    with memshim.trace(file=None) as t:
        x = [torch.empty(n, dtype=torch.uint8, device="cuda") for n in (1, 20 * MIB + 1200 * KIB)]
    (row,) = (r for r in t.rows() if r["location"].startswith("rounding"))
    assert row["mem"] == 511 + 848 * KIB and t.peak.churn == 1 + 20 * MIB + 1200 * KIB and len(x)


def test_backward_is_reported_by_the_line_of_its_forward():
    net, x = Net().cuda(), torch.zeros(999, 300, device="cuda", requires_grad=True)
    with memshim.trace(file=None) as t:
        net(x).sum().backward()  # one
    rows = {r["line"]: r for r in t.rows() if r["backward"]}
    assert list(rows) == [here("# last")], "its gradients and cuBLAS's workspace"
    assert rows[here("# last")]["location"].endswith(f":{here('# last')} (forward), backward")
    assert {r["line"] for r in t.rows() if not r["backward"] and r["line"]} == {
        here("# between"),
        here("net(x).sum().backward()  # one"),
    }
    assert not any(r["location"].startswith("no Python line") for r in t.rows())
    assert not torch.is_anomaly_enabled() and torch.fx.traceback.format_stack.__module__ == "torch.fx.traceback"


def test_no_allocation_moves():
    """The same events with and without it."""

    def events(look):
        torch.manual_seed(0)
        torch.cuda.empty_cache()
        net, x = Net().cuda(), torch.zeros(99, 300, device="cuda")
        optimizer = torch.optim.Adam(net.parameters())
        torch.cuda.memory._record_memory_history("all", context=None, clear_history=True)
        if look:
            with memshim.trace(file=None):
                step(net, x, optimizer)
        else:
            step(net, x, optimizer)
        got = [
            (e["action"], e["size"], e["addr"])
            for e in torch.cuda.memory._snapshot()["device_traces"][0]
            if e["action"] != "snapshot"
        ]
        torch.cuda.memory._record_memory_history(None)
        return got

    plain = events(False)
    assert len(plain) > 50 and events(True) == plain


def test_a_program_that_looks_for_no_anomaly_has_its_lines():
    """Lightning turns it off around all that it trains."""
    net, x = Net().cuda(), torch.zeros(999, 300, device="cuda")
    with memshim.trace(file=None) as t, torch.autograd.set_detect_anomaly(False):
        assert not torch.is_anomaly_enabled()
        net(x).sum().backward()
    assert [r["line"] for r in t.rows() if r["backward"]] == [here("# last")] and not any(
        "no Python line" in r["location"] for r in t.rows()
    )
    with (
        memshim.trace(file=None),
        pytest.warns(UserWarning, match="Traceback of forward call that caused the error"),
        pytest.raises(RuntimeError, match="nan"),
    ):
        with torch.autograd.detect_anomaly():
            assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
            torch.full((1,), -1.0, requires_grad=True).sqrt().backward()
        assert not torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_an_anomaly_the_program_looks_for_is_its_own():
    net, x = Net().cuda(), torch.zeros(9, 300, device="cuda")
    with torch.autograd.set_detect_anomaly(True, check_nan=False), memshim.trace(file=None) as t:
        net(x).sum().backward()
    assert any(r["line"] == here("# last") and r["backward"] for r in t.rows()), "PyTorch's own form is read"


def test_several_gpus():
    code = """
import torch, memshim
x, y = torch.zeros(1 << 20, device="cuda:0"), torch.zeros(1 << 21, device="cuda:1")
with memshim.trace("cuda:1", file=None) as t, memshim.trace(file=None) as u:
    a, b = torch.zeros(1 << 18, device="cuda:0"), torch.zeros(1 << 19, device="cuda:1")
assert (t.peak.before.mem, t.peak.churn) == (8 << 20, 2 << 20), t.peak
assert (u.peak.before.mem, u.peak.churn) == (4 << 20, 1 << 20), u.peak
torch.cuda.set_device(1)
c = memshim.Tracker(file=open("/dev/null", "w")).track().census
assert (c.nbytes, c.allocator.allocated, c.allocator.device) == (10 << 20, 10 << 20, 1), \
    "one device's tensors beside one device's numbers"
try:
    memshim.trace("cuda:2").start()
except ValueError as e:
    assert str(e) == "got device 'cuda:2', but PyTorch finds 2 GPU here"
else:
    raise SystemExit("no error")
"""
    p = pretended.run(code, count=2)
    assert p.returncode == 0, p.stderr


def test_running_out_of_memory_is_reported_with_who_held_what():
    code = """
import torch, memshim
with memshim.trace() as t:
    kept = torch.zeros(150 << 20, dtype=torch.uint8, device="cuda")
    try:
        torch.zeros(200 << 20, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
"""
    context = memshim.pretend.find("rtx-4090").context or 0
    p = pretended.run(code, memory=context + (300 << 20))
    assert p.returncode == 0, p.stderr
    lines = p.stdout.splitlines()
    assert lines[0].startswith(
        "peak 150.0 MiB (allocated on a pretend GPU), reached at <string>:4 (<module>); 150.0 MiB allocated in all"
    )
    assert lines[1].startswith("out of memory: 200.0 MiB asked for at <string>:6 (<module>), ")
    assert lines[3].split()[:2] == ["150.0", "MiB"]


def test_compiled_code_is_seen():
    torch.cuda.reset_peak_memory_stats()
    with memshim.trace(file=None) as t:
        f = torch.compile(lambda x: torch.tanh(x) @ x + 1, backend="aot_eager", fullgraph=True)
        x = torch.zeros(300, 300, device="cuda", requires_grad=True)
        f(x).sum().backward()
    assert t.peak.total == torch.cuda.max_memory_allocated() and not t.peak.unknown and not t.compiled


def test_the_command(tmp_path, capsys, monkeypatch):
    """What the script decides of CUDA holds."""
    (tmp_path / "s.py").write_text("""
import os, sys
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:300"
import torch
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
assert torch.cuda.device_count() == 1
x = torch.zeros(1 << 20, device="cuda")
assert torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"] == 300 << 20
""")
    out = tmp_path / "out.json"
    p = pretended.run(
        f"import sys; from memshim.__main__ import main; sys.exit(main(['trace', '--json', {str(out)!r}, "
        f"{str(tmp_path / 's.py')!r}]))",
        count=2,
    )
    assert p.returncode == 0, p.stderr
    assert "s.py:7 (<module>)" in p.stderr and json.loads(out.read_text())["rows"][0]["mem"] == 4 << 20
    assert main(["trace", "--json", str(tmp_path / "absent" / "x"), str(tmp_path / "s.py")]) == 2
    assert "No such file or directory" in capsys.readouterr().err, "before anything is run"
