"""Cases of one source are forked from a process that has imported it, where that is what their own
would be."""

import os
import time
from pathlib import Path

import pretended
import pytest

from memshim.allocator import recording
from memshim.case import imported, process

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(bool(pretended.missing()), reason=pretended.missing() or ""),
    pytest.mark.usefixtures("forked_programs"),
]

SOURCE = """
import torch
{line}
with open({log!r}, "a") as f:
    f.write("imported\\n")

def net():
    return torch.nn.Linear(64, 32)
"""

CASE = {
    "name": "net",
    "source": "model.py:net",
    "artifact": "",
    "mode": "inference",
    "grad": "no_grad",
    "dtype": "",
    "autocast": "",
    "alloc_conf": "",
    "cublas_workspace": "",
    "memory_fraction": 0,
    "runtime": "eager",
    "iterations": 2,
    "flags": {"tf32_matmul": False, "tf32_cudnn": True, "benchmark": False, "deterministic": False},
    "training": None,
    "command": ["x"],
    "device": {"name": "t4", "memory": 15 << 30},
}


class Recorded:
    """Cases of a source in a folder, recorded one after the other by one server."""

    def __init__(self, folder, server, line=""):
        self.folder, self.log, self.server = folder, folder.parent / f"{folder.name}.log", server
        self.write(line)

    def write(self, line):
        (self.folder / "model.py").write_text(SOURCE.format(line=line, log=str(self.log)))

    def case(self, batch, **more):
        case = CASE | {"dir": str(self.folder), "inputs": [f"float32[{batch},64]"]} | more
        out = self.folder / f"{batch}.rec"
        self.server.capture(case, str(out))
        return out

    def imports(self):
        return len(self.log.read_text().splitlines())


@pytest.fixture(scope="module")
def server():
    """One that is started: in one that was forked, imports find modules that were loaded before."""
    found = process.Server()
    yield found
    found.close()


@pytest.fixture
def recorded(tmp_path, server):
    server._several = False
    made = []

    def make(line=""):
        (folder := tmp_path / f"source{len(made)}").mkdir()
        made.append(Recorded(folder, server, line))
        return made[-1]

    return make


def test_a_source_is_imported_once_for_many_cases(recorded):
    cases = recorded()
    first = cases.case(8)
    for batch in (16, 24, 32):
        cases.case(batch)
    assert cases.imports() == 2  # of the first case's own process, and of the one that the others are forked from
    before = first.read_bytes()
    assert cases.case(8).read_bytes() == before  # of a process that imported it itself
    assert cases.imports() == 2


READS = """
class Reads(torch.nn.Linear):
    def forward(self, x):
        x = super().forward(x)
        return torch.cat([x, x]) if torch.rand(1, device=x.device) > 0.5 else x
"""


def test_runs_of_a_case_with_other_values_share_an_import(recorded):
    """Each has its values: where the condition is false they come to what balanced ones do."""
    cases = recorded(READS)
    with (cases.folder / "model.py").open("a") as f:
        f.write("def net():\n    return Reads(64, 32)\n")
    runs = recording.header(cases.case(8))["values"]["runs"]
    assert cases.imports() == 2, "of balanced values, and of the process that the three others are forked from"
    assert {run["values"]: run.get("as") for run in runs} == {"least": "balanced", "most": None, "skewed": "most"}


def test_a_source_of_several_cases_is_imported_for_the_first(recorded):
    cases = recorded()
    of_its_own_process = cases.case(8).read_bytes()
    cases.write("# another file")
    cases.server._several = True
    for batch in (8, 16, 24):
        assert cases.case(batch)
    assert cases.imports() == 2
    cases.write("")
    assert cases.case(8).read_bytes() == of_its_own_process


MAKING = """
import random
drawn = random.random()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.made = torch.nn.Linear(64, 512), torch.nn.Linear(512, 8)
        self.layers = torch.nn.ModuleList(self.made)
        {line}
        with open({log!r}, "a") as f:
            f.write("made\\n")
    def forward(self, x):
        x = self.layers[0](x)
        for _ in range(int(torch.randint(1, 9, ()))):  # as many as the numbers say that come after the making
            x = x + 1
        return self.layers[1](x.clone())
"""


def making(recorded, line="pass"):
    cases = recorded()
    (cases.folder / "model.py").write_text(
        (cases.folder / "model.py").read_text() + MAKING.format(line=line, log=str(cases.log))
    )
    return cases


def test_a_model_is_made_once_and_its_recordings_are_those_of_cases_that_make_it(recorded):
    cases = making(recorded)
    net = {"source": "model.py:Net"}
    of_its_own_process = cases.case(8, **net).read_bytes()
    for batch in (16, 24):
        cases.case(batch, **net)
    assert cases.log.read_text().split().count("made") == 2
    assert cases.case(8, **net).read_bytes() == of_its_own_process
    assert cases.log.read_text().split().count("made") == 2


@pytest.mark.parametrize(
    "line",
    [
        "self.cuda()",  # CUDA does not outlive a fork
        "torch.cuda.is_available()",  # and PyTorch refuses it once it has counted the devices
        "import threading, time; threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
        "from torch.autograd import backward; import sys, types; sys.modules['of_net'] = types.ModuleType('of_net')"
        "; sys.modules['of_net'].held = backward",
        "if __import__('os').getpid() != __import__('os').getpgrp(): raise SystemExit(1)",  # no case's own process
    ],
)
def test_a_model_that_a_fork_would_not_repeat_is_made_by_each_case(recorded, line):
    cases = making(recorded, line)
    net = {"source": "model.py:Net"}
    first = cases.case(8, **net).read_bytes()
    for batch in (16, 24):
        cases.case(batch, **net)
    assert cases.case(8, **net).read_bytes() == first
    assert cases.log.read_text().split().count("made") >= 4
    assert cases.imports() == 2 + cases.log.read_text().split().count("made")


def test_of_large_models_one_process_waits(monkeypatch):
    sources = imported.Sources(-1, lambda job: 0)
    ended = []
    for key, holds in (("a", 5), ("b", imported.LARGE + 1), ("c", 0)):
        there = sources._waiting[key] = imported.Waiting(0, None, None)
        there.holds = holds
        monkeypatch.setattr(there, "end", lambda key=key: ended.append(key), raising=False)
    sources._end_others()
    assert ended == ["b"] and list(sources._waiting) == ["a", "c"]


def test_a_module_that_the_import_made_is_still_found(recorded):
    cases = recorded("made = torch.nn.BatchNorm1d(64)")
    (cases.folder / "model.py").write_text(
        (cases.folder / "model.py").read_text()
        + """
def iterates():
    made.cuda()
    x = torch.zeros(8, 64, device="cuda")
    return lambda: made(x)
"""
    )
    case = {"source": "model.py:iterates", "inputs": []}
    first = cases.case(1, **case).read_bytes()
    cases.case(2, **case)
    assert cases.case(1, **case).read_bytes() == first
    assert cases.imports() == 2
    assert "parameter" in {site.category for site in recording.read(cases.folder / "1.rec").sites}


@pytest.mark.parametrize(
    "line",
    [
        "torch.zeros(1).cuda()",  # CUDA does not outlive a fork
        "torch.cuda.is_available()",  # and PyTorch refuses it once it has counted the devices
        "import threading, time; threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
        "torch.manual_seed(1)",  # a case's own seed comes before its import
        "from torch.autograd import backward",  # which memshim replaces before the import
    ],
)
def test_a_source_whose_import_a_fork_would_not_repeat_is_imported_by_each_case(recorded, line):
    cases = recorded(line)
    for batch in (8, 16, 24):
        cases.case(batch)
    assert cases.imports() == 4  # one of them was tried


def test_a_source_that_has_changed_is_imported_again(recorded):
    cases = recorded()
    for batch in (8, 16):
        cases.case(batch)
    was = recording.header(cases.case(24))["made"]
    cases.write("# changed\n")
    now = recording.header(cases.case(24))["made"]
    assert cases.imports() == 3
    assert [f["path"] for f in now["files"]] == [f["path"] for f in was["files"]] == ["model.py"]
    assert now["files"] != was["files"]


def test_what_waits_ends_with_its_server(recorded):
    cases = recorded()
    for batch in (8, 16):
        cases.case(batch)
    (server,) = cases.server._loaded.values()
    waiting = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    assert waiting
    server.kill()
    server.wait()
    cases.server._loaded.clear()
    until = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in waiting) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in waiting)
