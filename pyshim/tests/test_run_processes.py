"""python -m memshim run: what every process of a program took is reported, whatever ends it, and
nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm
from captured import decode

from memshim import files
from memshim.program import launch, observe, process_reports, report

pytest.importorskip("torch")
MIB = 1 << 20


pytestmark = pytest.mark.usefixtures("pretend_gpu")


def run(*arguments, **kw):
    return warm.run([sys.executable, "-m", "memshim", "run", *arguments], **kw)


ENDS = """
import ctypes, multiprocessing, os, signal, subprocess, sys
import torch

def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")

def forked(end, mib):
    pid = os.fork()
    if not pid:
        kept = take(mib)
        end()
    os.waitpid(pid, 0)
    print(pid)

def worker():
    w = torch.nn.Parameter(take(40).float())
    optimizer = torch.optim.SGD([w], lr=1)
    for _ in range(2):
        (w * 2).sum().backward()
        optimizer.step()

forked(lambda: os._exit(0), 300)
forked(lambda: ctypes.CDLL(None).exit(5), 310)
forked(lambda: os.kill(os.getpid(), signal.SIGKILL), 320)
forked(lambda: os.abort(), 330)
forked(lambda: sys.exit(6), 340)
process = multiprocessing.get_context("fork").Process(target=worker)
process.start()
process.join()
print(process.pid)
take(1024)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_whatever_ends_a_process(tmp_path):
    """Forked children that use CUDA, and the program itself: by os._exit, C's exit, signals,
    sys.exit, and as multiprocessing ends them."""
    (tmp_path / "ends.py").write_text(ENDS)
    p = run("--on", "t4", "--json", "out.json", "--record", "ends.rec", "--", "ends.py", cwd=tmp_path, generations=0)
    assert p.returncode == 128 + signal.SIGTERM, p.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["fits"] is None and found["exact"] is False
    main, *children = found["processes"]
    by = {q["pid"]: q for q in children}
    at_once, left, killed, aborted, exited, worker = [by[int(pid)] for pid in p.stdout.split()]
    assert [(q["ended"], q["code"], q["failed"]) for q in (at_once, left, killed, aborted)] == [
        ("os._exit", 0, False),
        ("exit", 5, True),
        ("a signal", None, True),
        ("a signal", None, True),
    ]
    assert (main["ended"], main["code"], main["failed"]) == ("SIGTERM", 143, True)
    for q, mib in ((main, 1024), (at_once, 300), (left, 310), (killed, 320), (aborted, 330)):
        (d,) = q["devices"]
        assert (d["allocated"] // MIB, d["reserved"] // MIB, d["lines"], q["exact"]) == (mib, mib, None, False)
        assert d["total"] == d["reserved"] + d["context"] and d["name"] == "Tesla T4"
    (d,) = exited["devices"]
    assert (exited["ended"], exited["code"], exited["exact"], d["allocated"] // MIB, d["lines"]["rows"][0]["line"]) == (
        "",
        6,
        True,
        340,
        6,
    )
    (d,) = worker["devices"]
    assert (worker["ended"], worker["failed"], len(d["iterations"])) == ("", False, 2) and worker["exact"]
    assert {r["line"] for r in d["lines"]["rows"]} >= {17, 20}, (
        "a child that multiprocessing forked has lines and iterations"
    )
    assert (
        "ends.py) on a pretend Tesla T4: ended by SIGTERM: total 1." in p.stderr
        and "ended by os._exit: total " in p.stderr
    )
    assert (
        "ended by exit with 5: total " in p.stderr
        and "ended by a signal: total " in p.stderr
        and "  no lines: these figures are the pretend GPU's own" in p.stderr
    )
    assert "fits" not in p.stderr
    assert "recording        none: ends.rec is not written" in p.stderr and not list(tmp_path.glob("*.rec"))


LAUNCHER = """
import os, subprocess, sys
if len(sys.argv) > 1:
    import torch
    kept = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
    sys.exit("rank 1 failed" if sys.argv[1] == "1" else 0)
ranks = [subprocess.Popen([sys.executable, __file__, rank]) for rank in "01"]
for r in ranks:
    r.wait()
"""


def test_a_launcher_whose_rank_fails_is_undecided(tmp_path):
    (tmp_path / "launch.py").write_text(LAUNCHER)
    p = run("--on", "t4", "--json", "out.json", "--", "launch.py", cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())
    assert (p.returncode, found["exit"], found["fits"]) == (3, 0, None) and "fits" not in p.stderr
    assert sorted((q["failed"], q["code"], q["devices"][0]["allocated"] // MIB) for q in found["processes"]) == [
        (False, 0, 100),
        (True, 1, 100),
    ]
    (said,) = [line for line in p.stderr.splitlines() if line.startswith("memshim: undecided: process ")]
    assert said.endswith(" ended with 1") and " of launch.py (" in said


def test_a_program_without_an_answer_is_not_undecided(tmp_path):
    """A process that fails before it takes anything of the GPU is reported too; one that succeeds
    is no failure."""
    one = {
        "pid": 1,
        "arguments": ["a.py"],
        "devices": [],
        "out_of_memory": "",
        "missing": "",
        "exact": True,
        "ended": "",
        "code": 0,
        "failed": False,
    }
    other = one | {"pid": 2, "failed": True, "code": 1}
    assert report.report(0, [one], ["a.py"], ["t4"])["fits"] is None and "undecided" not in report.text(
        report.report(0, [one], ["a.py"], ["t4"]), "a.py"
    )
    said = report.text(report.report(0, [one, other], ["a.py"], ["t4"]), "a.py").splitlines()
    assert said[-1] == "memshim: undecided: process 2 of a.py (a.py) ended with 1"


LOST = """
import resource
import torch
held = torch.empty(10 << 20, dtype=torch.uint8, device="cuda")
resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))  # a report takes more
"""


def test_a_process_that_cannot_write_its_report_is_undecided(tmp_path):
    (tmp_path / "full.py").write_text(LOST)
    p = run("--on", "t4", "--json", "out.json", "--", "full.py", cwd=tmp_path)
    assert p.returncode == 3, p.stderr
    (found,) = json.loads((tmp_path / "out.json").read_text())["processes"]
    assert (found["ended"], found["failed"], found["exact"]) == ("no report", True, False)
    assert p.stderr.splitlines()[-1].startswith("memshim: undecided: process ")
    assert p.stderr.splitlines()[-1].endswith(" could not write its report")


def test_a_process_without_any_file_is_undecided(tmp_path):
    """Neither its report nor the library's figures could be written."""
    (tmp_path / f"7{process_reports.LOST}").touch()
    found = report.report(0, process_reports.read(tmp_path, 7, {7: 0}), ["a.py"], ["t4"])
    assert report.undecided(found) and found["fits"] is None
    assert report.text(found, "a.py").splitlines() == [
        "memshim: what a.py took of the pretend GPU is unknown",
        "memshim: undecided: process 7 of a.py could not write its report",
    ]


SENDS = """
import os, threading
import torch, torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
value = torch.full((1,), 7 if rank == 0 else 3, device="cuda")
dist.broadcast(value, src=0)
said = [{"seed": value.item()} if rank == 0 else None]
dist.broadcast_object_list(said, src=0)
each, own = torch.zeros(2, dtype=torch.long, device="cuda"), torch.tensor([rank + 1], device="cuda")
threading.stack_size(1 << 20)  # autograd's threads have 2 MiB under ulimit -s unlimited
thread = threading.Thread(target=dist.all_gather_into_tensor, args=(each, own))
thread.start()
thread.join()
open(f"rank{rank}", "w").write(f"{value.item()} {said} {each.tolist()}")
dist.destroy_process_group()
"""


def test_a_value_that_one_rank_sends_another(tmp_path):
    """torchrun starts two processes; what rank 0 broadcasts arrives at rank 1, numbers and objects."""
    (tmp_path / "send.py").write_text(SENDS)
    words = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "send.py")
    p = run("--on", "t4", "--count", "2", "--", *words, cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    assert [(tmp_path / f"rank{r}").read_text() for r in (0, 1)] == ["7 [{'seed': 7}] [1, 2]"] * 2


MANAGED = """
import ctypes
import torch
kept = torch.empty(10 << 20, dtype=torch.uint8, device="cuda")
class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]
runtime = next(line.split()[-1] for line in open("/proc/self/maps") if "/libcudart.so" in line)
size = ctypes.c_size_t(3 << 30)
for cuda in (ctypes.CDLL(None), ctypes.CDLL(runtime)):  # by name in this process, and of the library itself
    p = ctypes.c_void_p()
    assert cuda.cudaMallocManaged(ctypes.byref(p), size, 1) == 0, cuda
    assert cuda.cudaMemPrefetchAsync(p, size, 0, None) == 0, "CUDA 12"
    assert cuda.cudaMemPrefetchAsync(p, size, Location(1, 0), 0, None) == 0, "CUDA 13"
    before = torch.cuda.mem_get_info()
    assert cuda.cudaFree(p) == 0 and torch.cuda.mem_get_info() == before
other = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(other), ctypes.c_size_t(64 << 20)) == 0
"""


def test_managed_memory_is_a_figure_of_its_own(tmp_path):
    (tmp_path / "paged.py").write_text(MANAGED)
    p = run("--on", "t4", "--memory", "2GiB", "--json", "out.json", "--", "paged.py", cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    (d,) = json.loads((tmp_path / "out.json").read_text())["processes"][0]["devices"]
    assert (d["managed"], d["reserved"]) == (3 << 30, 10 * MIB) and d["total"] < 1 << 30
    assert "  managed          3.00 GiB (cudaMallocManaged;" in p.stderr


PINNED = """
import os
import torch
model = torch.nn.Linear(1024, 1024, bias=False).cuda()
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    model(torch.zeros(3072, 1024, device="cuda")).sum().backward()
kept = torch.empty(5 << 20, dtype=torch.uint8).pin_memory()
own = torch.empty(1 << 20, dtype=torch.uint8)
assert torch.cuda.cudart().cudaHostRegister(own.data_ptr(), own.nbytes, 0) == 0
assert torch.cuda.cudart().cudaHostUnregister(own.data_ptr()) == 0
again = torch.empty(1 << 19, dtype=torch.uint8)
assert torch.cuda.cudart().cudaHostRegister(again.data_ptr(), again.nbytes, 0) == 0
if os.fork() == 0:
    del kept
    os._exit(0)
os.wait()
"""


def test_pinned_memory_of_the_host_is_a_figure(tmp_path):
    """At its most: the saved input of 12 MiB and 5 MiB more, each in a block of a power of two, and
    1 MiB registered, which is given back before 0.5 MiB are."""
    (tmp_path / "offload.py").write_text(PINNED)
    p = run("--on", "t4", "--json", "out.json", "--record", "o.rec", "--", "offload.py", cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    assert decode(tmp_path / "o.rec")[0]["host_pinned"] == 25 * MIB, "so that memspec can judge it"
    (process,) = [q for q in json.loads((tmp_path / "out.json").read_text())["processes"] if q["devices"]]
    assert process["host_pinned"] == (16 + 8 + 1) * MIB
    assert "  host pinned      25.0 MiB (the peak of page-locked memory of the host;" in p.stderr


@pytest.mark.parametrize("pinned, shown", [(1, False), (MIB - 1, False), (MIB, True), (None, False)])
def test_little_pinned_memory_is_in_json_alone(pinned, shown):
    """A number that is read to the host pins a block of its size."""
    assert bool(report.host_lines({"host_pinned": pinned})) is shown


# ---- nothing half-written, nothing left ----


def test_a_file_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def full(self, data):
        with open(self, "wb"):
            pass
        raise OSError(28, "No space left on device")

    target = tmp_path / "made" / "a.rec"
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/made/a\.rec'"):
        files.write_whole(target, b"x")
    assert not list(target.parent.iterdir()), "no file of 0 bytes is left"


def test_what_is_there_stays_where_it_cannot_be_replaced(tmp_path):
    kept = tmp_path / "out.json"
    kept.write_text("old")
    files.check_writable(kept)
    assert kept.read_text() == "old" and list(tmp_path.iterdir()) == [kept]
    with pytest.raises(OSError, match=str(tmp_path)):
        files.check_writable(tmp_path)


def test_folders_of_runs_that_were_killed_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    dead, fresh, other = tmp_path / "run-dead", tmp_path / "run-fresh", tmp_path / "else-dead"
    for f in (dead, fresh, other):
        f.mkdir()
    for f in (dead, other):
        (f / files.LOCK).touch()
    (tmp_path / "run-link").symlink_to(other)
    with files.temporary_folder("run-") as one, files.temporary_folder("run-") as two:
        assert one.is_dir() and two.is_dir(), "one that is in use stays"
        assert not dead.exists() and fresh.is_dir() and other.is_dir()
    assert not one.exists() and not two.exists()
    os.utime(fresh, (0, 0))
    files.remove_dead(tmp_path, "run-")
    assert not fresh.exists() and other.is_dir() and (tmp_path / "run-link").is_symlink()


@pytest.mark.parametrize("ranks", [[], ["--world-size", "2", "--rank", "0"]])
def test_what_is_unknown_as_the_folder_of_the_reports_is_gone_is_no_pass(ranks):
    code = f"import json, os, shutil; shutil.rmtree(json.loads(os.environ['{observe.WANTED}'])['folder'])"
    p = run("--on", "t4", *ranks, "--", "-c", code)
    assert p.returncode == 2 and "Removed while the program ran, so what it took is unknown: '" in p.stderr, p.stderr


STAYS = """
import os, signal, subprocess, sys
code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


KILLED = f"""
import os, sys
from memshim.program import launch, observe, process_reports
launch.PATIENCE = 0.3
pid, statuses = launch.run(["sh", "-c", 'exec {sys.executable} -c "$0" > out', sys.argv[1]], dict(os.environ))
child = int(open("out").read())
print(statuses[pid], statuses.get(child), process_reports.running(child))
"""


def test_nothing_is_left_running_of_a_program_that_was_killed(tmp_path):
    """In a process of one program, as the command's: launch ends all of its children, and here are
    servers of other tests."""
    p = warm.run([sys.executable, "-c", KILLED, STAYS], cwd=tmp_path, timeout=60)
    assert p.stdout.split() == [str(-signal.SIGKILL), str(-signal.SIGKILL), "False"], p.stderr


def test_a_program_ends_with_the_command_that_runs_it(tmp_path):
    words = ["sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 600 & wait"]
    runs = f"import os; from memshim.program import launch; launch.run({words!r}, dict(os.environ))"
    p = subprocess.Popen(
        [sys.executable, "-c", runs], env=os.environ | {"PYTHONPATH": str(Path(launch.__file__).parents[2])}
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
        assert p.poll() is None
    p.kill()
    p.wait()
    pid = int((tmp_path / "pid").read_text())
    for _ in range(500):
        if not process_reports.running(pid):
            break
        time.sleep(0.02)
    assert not process_reports.running(pid)
