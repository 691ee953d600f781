"""Small parts of a pretend GPU without one: its report, its toolkit, where a command goes on, how autograd's
threads end."""

import argparse
import os
import sys
import threading
import types

import pytest

from memshim.pretend import ending, inexact, restart, timing, toolkit, unbuilt
from memshim.pretend.library import Note
from memshim.pretend.value_reads import Place, Read

LINE = Place("train.py", 3, "step")


@pytest.fixture
def process(monkeypatch):
    """A process whose library has notes, and what else is found in it."""
    found = types.SimpleNamespace(notes=[], reads=[], used={}, timed=[])
    monkeypatch.setattr(inexact, "Library", lambda: types.SimpleNamespace(notes=lambda: found.notes))
    reads = types.SimpleNamespace(found={})
    hook = types.SimpleNamespace(reads=reads, chosen_mode="most")
    monkeypatch.setattr(inexact, "_hook", lambda: hook)
    monkeypatch.setattr(unbuilt, "used", found.used)
    monkeypatch.setattr(timing, "found", lambda: found.timed)

    def report():
        reads.found = dict(enumerate(found.reads))
        return inexact.report()

    found.report = report
    return found


def test_nothing_is_inexact_where_nothing_was_asked_for(process):
    report = process.report()
    assert report.exact and report.mode == "most"
    assert report.as_json() == {
        "pid": os.getpid(), "exact": True, "values": "most", "reads": [], "refused": [], "absent": [], "unsized": [],
        "estimated": [], "timed": [], "without_gradient": None,
    }  # fmt: skip


def test_a_read_is_inexact_where_nothing_is_assumed(process):
    process.reads.append(Read(LINE, Place("lib.py", 9, "f"), "aten::item", 4, 2, assumed=3, kind="int", value=0))
    assert process.report().exact
    (read,) = process.report().reads
    assert read[:8] == ("train.py", 3, "step", "lib.py:9", "aten::item", 4, 2, 3)
    assert (read.given, read.kind, read.value, read.bounded, read.varied, read.endless) == (
        "",
        "int",
        0,
        True,
        True,
        False,
    )
    process.reads[0].assumed, process.reads[0].endless = None, True
    assert not process.report().exact and process.report().reads[0].endless


def test_calls_that_have_no_size_are_inexact_and_those_that_failed_are_not(process):
    process.notes += [Note("refused", "cuA", 1), Note("absent", "cuB", 2)]
    report = process.report()
    assert report.exact and (report.refused, report.absent) == ([("cuA", 1)], [("cuB", 2)])
    for kind in ("unsized", "estimated"):
        process.notes[:] = [Note(kind, "cuC", 3)]
        assert not process.report().exact and process.report().as_json()[kind] == [{"name": "cuC", "count": 3}]


def test_a_read_that_was_not_followed_is_the_same_in_every_mode(process):
    process.notes.append(Note("unfollowed", "cudaMemcpy", 4))
    (read,) = process.report().reads
    assert (read.op, read.count, read.varied, read.file, read.assumed) == ("cudaMemcpy", 4, False, "", None)


def test_kernels_that_were_not_built_have_no_size(process):
    process.used["flashinfer x.run"] = 2
    assert process.report().unsized == [("flashinfer x.run", 2)] and not process.report().exact


def test_what_a_time_decides_is_inexact(process):
    process.timed.append(timing.Decided("padding", "train.py", 3, 1))
    assert not process.report().exact and process.report().as_json()["timed"][0]["what"] == "padding"


def test_before_torch_is_imported_the_values_are_balanced(monkeypatch):
    monkeypatch.delitem(sys.modules, "memshim.pretend.values", raising=False)
    assert inexact._hook() is None
    assert inexact.Report([], [], [], [], [], []).mode == "balanced"
    module = types.SimpleNamespace(installed=lambda: "hook")
    monkeypatch.setitem(sys.modules, "memshim.pretend.values", module)
    assert inexact._hook() == "hook"


def test_reports_are_in_the_order_of_processes(tmp_path):
    for name in ("100.json", "20.json", "3.txt"):
        (tmp_path / name).write_text(name.partition(".")[0])
    assert inexact.read_reports(tmp_path) == [20, 100]


# The toolkit.


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    packages = tmp_path / "site-packages"
    for name in (
        "torch/a",
        "nvidia/b/include/cuda_runtime_api.h",
        "nvidia/a/include/cuda.h",
        "nvidia/b/include/cuda.h",
        "nvidia/b/lib/libcudart.so.13",
        "nvidia/b/lib/libcudart_static.a",
        "triton/backends/nvidia/include/crt",
    ):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).touch()
    monkeypatch.setattr(toolkit.support, "torch_here", lambda: types.SimpleNamespace(folder=packages / "torch"))
    monkeypatch.setattr(toolkit.build, "library", lambda: tmp_path / "built")
    monkeypatch.setattr(toolkit.build, "cache", lambda: tmp_path / "memshim" / "cache")
    monkeypatch.setattr(toolkit, "installed", lambda environ: bool(environ))
    return packages


def test_a_toolkit_is_made_of_wheels(wheels, tmp_path):
    home = toolkit.home({})
    found = {f.relative_to(home).as_posix(): os.readlink(f) for f in toolkit.Path(home).rglob("*") if f.is_symlink()}
    assert found == {
        "include/cuda.h": str(wheels / "nvidia/a/include/cuda.h"),
        "include/cuda_runtime_api.h": str(wheels / "nvidia/b/include/cuda_runtime_api.h"),
        "include/crt": str(wheels / "triton/backends/nvidia/include/crt"),
        "lib64/libcudart.so.13": str(wheels / "nvidia/b/lib/libcudart.so.13"),
        "lib64/libcudart.so": str(wheels / "nvidia/b/lib/libcudart.so.13"),
        "lib64/libcuda.so": str(tmp_path / "built" / "libcuda.so.1"),
    }
    assert toolkit.home({}) == home and len(os.listdir(os.path.dirname(home))) == 1
    (wheels / "nvidia/b/include/more.h").touch()
    assert toolkit.home({}) != home


def test_a_toolkit_that_is_there_is_taken(wheels):
    assert toolkit.home({"CUDA_HOME": "/cuda"}) == ""
    (wheels / "nvidia/b/include/cuda_runtime_api.h").unlink()
    assert toolkit.home({}) == ""


def test_pytorch_finds_a_toolkit(tmp_path, monkeypatch):
    monkeypatch.setattr(toolkit, "Path", lambda name: tmp_path / "absent")
    nowhere = {"PATH": str(tmp_path)}
    assert not toolkit.installed(nowhere)
    assert toolkit.installed(nowhere | {"CUDA_HOME": "/a"}) and toolkit.installed(nowhere | {"CUDA_PATH": "/a"})
    monkeypatch.setattr(toolkit, "Path", lambda name: tmp_path)
    assert toolkit.installed(nowhere)
    monkeypatch.setattr(toolkit, "Path", lambda name: tmp_path / "absent")
    (tmp_path / "nvcc").touch(0o755)
    assert toolkit.installed(nowhere)


# A command that goes on in another process.


def options(*words, required=False):
    p = argparse.ArgumentParser()
    restart.add_arguments(p, required)
    return p.parse_args(words)


@pytest.fixture
def became(monkeypatch):
    started = []
    monkeypatch.setattr(restart.os, "execve", lambda *a: started.append(a))
    monkeypatch.setattr(
        restart.pretend, "environment", lambda on, count, memory: {restart.DESCRIPTION: f"{on} {count} {memory}"}
    )
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "memshim", "trace"])
    monkeypatch.delenv(restart.DESCRIPTION, raising=False)
    return started


def test_a_command_goes_on_where_the_device_is(became, monkeypatch):
    restart.enter(options("--on", "t4", "--on", "l4", "--count", "2", "--memory", "4GiB"), "trace")
    ((program, words, environ),) = became
    assert (program, words) == (sys.executable, [sys.executable, "-m", "memshim", "trace"])
    assert environ[restart.DESCRIPTION] == "['t4', 'l4'] 2 4GiB" and environ["PATH"] == os.environ["PATH"]
    monkeypatch.setenv(restart.DESCRIPTION, "['t4'] 1 None")
    assert restart.enter(options("--on", "t4"), "trace") is None and len(became) == 1


def test_without_a_device_a_command_goes_on_here(became):
    assert restart.enter(options(), "trace") is None and not became


@pytest.mark.parametrize("words", [("--memory", "4GiB"), ("--count", "2"), ("--count", "0")])
def test_another_size_is_of_a_device(became, capsys, words):
    assert restart.enter(options(*words), "trace") == 2 and not became
    assert "memshim trace: got --memory or --count without --on" in capsys.readouterr().err


def test_a_device_that_cannot_be_had_is_named(became, monkeypatch, capsys):
    def refuse(*_, **__):
        raise ValueError("got no such device")

    monkeypatch.setattr(restart.pretend, "environment", refuse)
    assert restart.enter(options("--on", "x"), "track") == 2 and not became
    assert capsys.readouterr().err == "memshim track: got no such device\n"
    with pytest.raises(SystemExit):
        options(required=True)


def test_the_device_of_a_case():
    t4 = restart.pretend.find("t4")
    assert restart.case_device(options("--on", "t4")) == {"name": "t4", "memory": t4.memory}


# The end of a process.


def test_threads_of_autograd_are_known_by_their_names():
    before = ending.autograd_threads()  # of other tests in this process
    names, named, done = (
        ["pt_autograd_900", "pt_autograd_912", "pt_autograd_x"],
        threading.Barrier(4),
        threading.Event(),
    )

    def run(name):
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as f:
            f.write(name)
        named.wait()
        done.wait()

    threads = [threading.Thread(target=run, args=(n,)) for n in names]
    for t in threads:
        t.start()
    named.wait()
    try:
        assert ending.autograd_threads() - before == {900, 912}
    finally:
        done.set()
        for t in threads:
            t.join()


def test_each_device_that_had_work_has_one_more_pass(monkeypatch):
    ran, used = [], {0: 8, 1: 0, 2: 8}
    engine = types.SimpleNamespace(run_backward=lambda *a, **k: ran.append((a, k)))
    cuda = types.SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 2,
        memory_stats=lambda d: {"allocated_bytes.all.allocated": used[d]},
    )

    class Tensor:
        def __init__(self, size, device, requires_grad=False):
            self.made = size, device, requires_grad

        def view(self, size):
            return "view", self.made

    variable = types.SimpleNamespace(_execution_engine=engine)
    torch = types.SimpleNamespace(cuda=cuda, autograd=types.SimpleNamespace(Variable=variable), empty=Tensor)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(ending, "autograd_threads", lambda: {0, 1, 2})
    monkeypatch.setattr(ending, "_kept", [])
    ending.wait_for_autograd(os.getpid() + 1)
    assert ran == [], "of a process that was forked"
    ending.wait_for_autograd(os.getpid())
    ((arguments, more),) = ran
    assert arguments[0] == (("view", (0, "cuda:0", True)),) and arguments[1][0].made == (0, "cuda:0", False)
    assert arguments[2:] == (False, False, ()) and more == {"allow_unreachable": True, "accumulate_grad": True}
    assert len(ending._kept) == 3
    cuda.is_initialized = lambda: False
    ending.wait_for_autograd(os.getpid())
    assert len(ran) == 1
