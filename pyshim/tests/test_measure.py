"""Cases run for real, on CPU tensors. On the allocator's numbers: gpu/test_measure.py."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from pathlib import Path

import pytest
import warm

from memshim.case import errors, measure, memspec_yaml, process, record, request
from memshim.case.build import BuildError, NothingToRun

pytestmark = pytest.mark.usefixtures("forked_programs")

jsonschema = pytest.importorskip("jsonschema")
torch = pytest.importorskip("torch")

SCHEMA = json.loads(record.SCHEMA_FILE.read_text())
WEIGHTS = 4 * (8 * 3 * 9 + 8 + 4 * 8 + 8 * 14 * 14 * 10 + 10) + 8  # conv, batch norm with its counter, linear
INPUT = 4 * 2 * 3 * 16 * 16
MAP = 4 * 2 * 8 * 14 * 14


@pytest.fixture
def case(project):
    return memspec_yaml.load("memspec.yaml", ["small"])[0]


@pytest.fixture(scope="module")
def server():
    """One for all tests here: that is what it is for."""
    s = process.Server()
    yield s
    s.close()


@pytest.mark.parametrize("forked", [False, True])
def test_a_process_of_its_own(case, project, monkeypatch, request, forked):
    """All of a record, and that the case alone decides the environment that PyTorch reads when it
    starts."""
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0")
    monkeypatch.setenv("TORCH_CUBLAS_WORKSPACE_CACHE", "1")
    with (project / "zoo.py").open("a") as f:
        f.write("""
import json, os, sys
names = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG", "TORCH_CUBLAS_WORKSPACE_CACHE")
json.dump([os.getpid(), {k: os.environ.get(k) for k in names}], open("seen.json", "w"))
sys.stdout.buffer.write(b"\\xff bytes that are no text\\n")
""")
    made = process.Server() if forked else process.Fresh()
    request.addfinalizer(made.close)
    got = made.measure(case | {"alloc_conf": "max_split_size_mb:64"}, "cpu")
    pid, environment = json.loads((project / "seen.json").read_text())
    assert pid != os.getpid()
    assert environment == dict.fromkeys(environment) | {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}
    assert got["alloc_conf"] == "max_split_size_mb:64"
    the_record_is_right(got)
    path = record.write(got, project / "out")
    assert path.name == "small.eager.cpu.json"
    assert record.read(path) == got


def test_a_record(case):
    the_record_is_right(json.loads(record.dump(request.run(case, "cpu"))))


def the_record_is_right(got):
    jsonschema.validate(got, SCHEMA)
    assert (got["case"], got["runtime"], got["where"], got["built"]) == ("small", "eager", "cpu", "source")
    assert got["weights"] == WEIGHTS
    base, first, steady = got["phases"]
    assert base["requested"] == WEIGHTS + INPUT
    assert first["requested"] == steady["requested"] == WEIGHTS + INPUT + 2 * MAP, (
        "the convolution's result lives while batch norm makes its own"
    )
    assert {p[m] for p in got["phases"] for m in record.METRICS if m != "requested"} == {None}, (
        "a CPU has no allocator's numbers"
    )
    events = got["events"]
    assert [e["op"] for e in events[: base["events"]]] == ["parameter"] * 4 + ["buffer"] * 3 + ["parameter"] * 2 + [
        "input"
    ]
    assert [(e["action"], e.get("op", "")) for e in events[base["events"] : first["events"]]] == [
        ("alloc", "aten.convolution.default"),
        ("alloc", "aten.native_batch_norm.default"),
        ("free_completed", ""),
        ("alloc", "aten.relu.default"),
        ("free_completed", ""),
        ("alloc", "aten.addmm.default"),
        ("free_completed", ""),
    ]
    frames = [got["frames"][i] for i in got["stacks"][events[base["events"]]["stack"]]]
    assert {"file": "zoo.py", "line": 11, "function": "forward"} in frames, (
        "the user's own line, from the project's folder"
    )
    assert not any("memshim" in f["file"] for f in got["frames"])


def test_the_schema_keeps_cpu_and_cuda_apart(case):
    got = json.loads(record.dump(request.run(case, "cpu")))
    for change in (
        {"where": "cuda"},
        {"context": 5},
        {"phases": [got["phases"][0] | {"allocated": 5}]},
        {"case": None},
        {"extra": 1},
        {"oom": {"phase": "first", "text": ""}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(got | change, SCHEMA)


@pytest.mark.parametrize(
    "change, kind, error",
    [
        ({"source": ""}, NothingToRun, "runtime eager is measured on the live model: give source:"),
        ({"source": "zoo.py:absent"}, BuildError, "zoo.py: got no absent"),
        ({"source": "gone.py:net"}, BuildError, "gone.py: no such file"),
        ({"source": "no.such.package:net"}, BuildError, "got source 'no.such.package', and Python finds no module no"),
        ({"source": "zoo:absent"}, BuildError, "zoo.py: got no absent"),
        ({"source": "zoo.py"}, BuildError, "got source 'zoo.py', want FILE.py:NAME or package.module:NAME"),
        ({"source": "zoo.py:number"}, BuildError, "number gives int, want a torch.nn.Module"),
        ({"source": "zoo.py:broken"}, ValueError, "this model never works"),
        ({"runtime": "torchscript", "source": ""}, NothingToRun, "net.pt is stripped"),
        ({"mode": "training"}, NothingToRun, "a training step is not measured yet"),
    ],
)
def test_what_cannot_be_measured_says_why(case, change, kind, error):
    with pytest.raises(kind) as e:
        request.run(case | change, "cpu")
    assert type(e.value) is kind and error in str(e.value)


# How a model fails in its process: what is said last, and the status.
ENDS = """
import os, sys, threading, time
def raises(): raise KeyError("no such")
def exits(): sys.exit(0)
class Says(torch.nn.Module):
    def forward(self, x): sys.exit("bye")
class Interrupts(torch.nn.Module):
    def forward(self, x): raise KeyboardInterrupt
class Deep(torch.nn.Module):
    def forward(self, x): return self.forward(x)
class Prints(torch.nn.Module):
    def forward(self, x):
        print("memshim: all is well", file=sys.stderr)
        raise ValueError("mine")
class Ends(torch.nn.Module):
    def forward(self, x): os._exit(0)
class Crashes(torch.nn.Module):
    def forward(self, x): os.kill(os.getpid(), 11)
class Hangs(torch.nn.Module):
    def forward(self, x):
        os.system("sleep 600 & echo $! >child")
        time.sleep(600)
class Leaves(torch.nn.Module):
    def forward(self, x):
        os.system("sleep 600 & echo $! >child")
        return x
class Checks(torch.nn.Module):
    def forward(self, x):
        assert x.dim() == 7, "not so many"
        return x
def scripted(): return torch.jit.script(Checks())
"""


@pytest.mark.parametrize(
    "change, where, status, said",
    [
        ({"source": "zoo.py:absent"}, "cpu", errors.USAGE, "zoo.py: got no absent"),
        ({"source": ""}, "cpu", errors.NOTHING, "give source: in memspec.yaml"),
        ({"inputs": ["x=float32[2,"]}, "cpu", errors.USAGE, "input 'float32[2,'"),
        ({}, "cuda", errors.UNSURE, "a GPU is required, and PyTorch finds none here"),
        ({"source": "zoo.py:broken"}, "cpu", errors.FAILED, "ValueError: this model never works (zoo.py:22)"),
        ({"source": "zoo.py:raises"}, "cpu", errors.FAILED, "KeyError: 'no such' (zoo.py:29)"),
        ({"source": "zoo.py:exits"}, "cpu", errors.FAILED, "SystemExit: 0 (zoo.py:30)"),
        ({"source": "zoo.py:Says"}, "cpu", errors.FAILED, "SystemExit: bye (zoo.py:32)"),
        ({"source": "zoo.py:Interrupts"}, "cpu", errors.FAILED, "KeyboardInterrupt: no text (zoo.py:34)"),
        ({"source": "zoo.py:Deep"}, "cpu", errors.FAILED, "RecursionError: maximum recursion depth exceeded"),
        ({"source": "zoo.py:scripted"}, "cpu", errors.FAILED, "AssertionError: not so many (zoo.py:55)"),
        ({"inputs": ["y=float32[2,3,16,16]"]}, "cpu", errors.USAGE, "got inputs y; want those of Net.forward(x)"),
        ({"source": "gone.py:x"}, "cpu", errors.USAGE, "gone.py: no such file"),
        ({"source": "bad.py:x"}, "cpu", errors.FAILED, "SyntaxError: "),
        (
            {"source": "needs.py:x"},
            "cpu",
            errors.FAILED,
            "memshim: got no package not_to_be_found, want it installed beside PyTorch ",
        ),
    ],
)
def test_how_the_process_ends(case, project, monkeypatch, capsys, change, where, status, said):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with (project / "zoo.py").open("a") as f:
        f.write(ENDS)
    (project / "bad.py").write_text("def f(:\n")
    (project / "needs.py").write_text("import not_to_be_found\n")
    (project / "request.json").write_text(json.dumps(case | change))
    environment = dict(os.environ)
    try:
        assert measure.main(["--request", "request.json", "--output", "record.json", "--where", where]) == status
    finally:
        os.environ.clear()
        os.environ.update(environment)
    out = capsys.readouterr()
    assert out.out == ""
    last = out.err.splitlines()[-1]
    assert last.startswith("memshim: ") and said in last
    assert not (project / "record.json").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "source, timeout, error",
    [
        ("Prints", 60, r"^ValueError: mine \(zoo\.py:40\)$"),  # not what the model said
        ("Ends", 60, r"^the process ended without a record, as after os\._exit\(0\)$"),
        ("Crashes", 60, r"^the process ended by signal 11"),
        ("Hangs", 5, r"^not done after 5 s \(zoo\.py:48\)$"),
        ("Leaves", 60, None),
    ],
)
def test_a_bad_model_costs_its_own_case(server, case, project, source, timeout, error):
    with (project / "zoo.py").open("a") as f:
        f.write(ENDS)
    case |= {"source": "zoo.py:" + source}
    if error:
        with pytest.raises(errors.ModelError, match=error):
            server.measure(case, "cpu", timeout)
    else:
        assert server.measure(case, "cpu", timeout)["case"] == "small", "what it leaves behind does not hold it up"
    if (project / "child").exists():
        assert ends(int((project / "child").read_text())), "nothing that it started is left"
    assert server.measure(case | {"source": "zoo.py:net"}, "cpu", 60)["case"] == "small", "the next one goes on"


def test_many_cases_share_a_process_that_has_pytorch_loaded(project, monkeypatch):
    """Twelve cost two processes that import it, and come in order. tools/bench.py says what two
    hundred cost."""
    (case,) = memspec_yaml.load("memspec.yaml", ["small"])
    many = [case | {"name": f"case {i}", "inputs": [f"x=float32[{i + 1},3,16,16]"]} for i in range(12)]
    started, start = [], process._start
    monkeypatch.setattr(process, "_start", lambda *args, **kw: started.append(args) or start(*args, **kw))
    got = list(process.measure_all(many, 2, lambda c, run: run(c, "cpu")))
    assert [r["case"] for r in got] == [c["name"] for c in many]
    assert [r["phases"][0]["requested"] for r in got] == [WEIGHTS + INPUT // 2 * (i + 1) for i in range(12)]
    assert len(started) == 2


def test_an_interrupt_ends_all_that_runs(project, capsys):
    from memshim.__main__ import main

    with (project / "zoo.py").open("a") as f:
        f.write(ENDS)
    text = (project / "memspec.yaml").read_text().replace("zoo.py:net", "zoo.py:Hangs")
    (project / "memspec.yaml").write_text(text)

    def interrupt():
        wait_for(project / "child")
        os.kill(os.getpid(), signal.SIGINT)

    # what a shell starts in the background ignores it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt).start()
    try:
        assert main(["measure", "--case", "net*", "--where", "cpu", "-o", "records"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err.splitlines()[-1] == "memshim: interrupted"
    assert ends(wait_for(project / "child"))


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Makes a script of the shell the Python that measurements are started with. $out is where the
    record goes."""

    def write(body):
        path = tmp_path / "python"
        path.write_text(
            '#!/bin/sh\nout=; prev=; for a in "$@"; do [ "$prev" != --output ] || out=$a; prev=$a; done\n' + body + "\n"
        )
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return write


@pytest.mark.parametrize(
    "body, kind, error",
    [
        ("echo 'memshim: zoo.py: got no absent' >&2; exit 2", errors.CaseError, "zoo.py: got no absent"),
        ("echo 'memshim: a GPU is required' >&2; exit 3", errors.NoGPU, "a GPU is required"),
        ("echo 'memshim: give source:' >&2; exit 5", errors.NothingToRun, "give source:"),
        ("echo Traceback >&2; echo 'memshim: ValueError: no' >&2; exit 1", errors.ModelError, "ValueError: no"),
        (
            "echo 'memshim: all is well' >&2; echo 'memshim: ValueError: no' >&2; exit 1",
            errors.ModelError,
            "ValueError: no",
        ),
        ("echo 'memshim: got no torch' >&2; exit 4", errors.NoTorch, "got no torch"),
        ("kill -9 $$", errors.ModelError, "the process ended by signal 9"),
        ("printf '\\377\\376' >&2; exit 9", errors.ModelError, "\ufffd\ufffd"),
        ("exit 9", errors.ModelError, "the process ended with 9"),
        ("exit 0", errors.ModelError, "the process ended without a record, as after os._exit(0)"),
    ],
)
def test_what_the_process_could_not_do_is_typed(python, body, kind, error):
    python(body)
    with pytest.raises(errors.MeasureError) as e:
        measure.measure({"name": "x"}, "cpu")
    assert (type(e.value), str(e.value)) == (kind, error)


def ends(pid: int) -> bool:
    """A process that was asked to end is gone, or waits for its parent, after a moment."""
    for _ in range(1000):
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def wait_for(path) -> int:
    for _ in range(6000):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


def test_the_limit_begins_when_the_gpu_is_had(tmp_path, monkeypatch):
    """Another holds it for longer than the limit."""
    pytest.importorskip("fcntl")
    code = """
import argparse, sys, time
from memshim.case import request
from memshim.gpu import devices
devices.hinted = lambda: True
request.run = lambda *a: time.sleep(0.2) or sys.exit("done")
case = '{"flags": {"deterministic": false}, "cublas_workspace": "", "alloc_conf": ""}'
sys.exit(request.answer(case, argparse.Namespace(where="cuda", timeout=3, stacks="", output="x")))
"""
    holder = """
import time
from memshim.case import request
from memshim.gpu import devices
devices.hinted = lambda: True
with request.alone("cuda"):
    print("held", flush=True)
    time.sleep(4)
"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    other = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True, env=environment)
    assert other.stdout.readline() == "held\n"
    start = time.monotonic()
    p = warm.run([sys.executable, "-c", code], env=environment)
    other.wait()
    assert p.stderr.splitlines()[-1] == "memshim: SystemExit: done (<string>:6)" and time.monotonic() - start > 2, (
        p.stderr
    )


def test_threads_that_a_model_leaves_do_not_keep_the_process(monkeypatch):
    """os._exit is caught here: it would end this process. Threads from before the request are not
    the model's."""
    ended, stop = [], threading.Event()
    monkeypatch.setattr(os, "_exit", ended.append)
    for found, ends in (lambda *a: 0, []), (lambda *a: threading.Thread(target=stop.wait).start() or 0, [0]):
        earlier = threading.Thread(target=stop.wait)
        earlier.start()
        monkeypatch.setattr(request, "_answered", found)
        request.answer("", Namespace())
        assert ended == ends
    stop.set()


@pytest.mark.parametrize(
    "case_name, gpu, want",
    [
        ("resnet50[B=8]", "NVIDIA A100-SXM4-80GB", "resnet50[B=8].eager.nvidia-a100-sxm4-80gb.json"),
        ("too big/../x", "Tesla T4", "too big%2F..%2Fx.eager.tesla-t4.json"),
        ("too big%2F..%2Fx", "Tesla T4", "too big%252F..%252Fx.eager.tesla-t4.json"),
        (".x", "Tesla T4", "%2Ex.eager.tesla-t4.json"),
        ("n" * 300, "", "n" * 140 + "~230b07749.eager.cpu.json"),
    ],
)
def test_file_names(case_name, gpu, want):
    assert record.file_name({"case": case_name, "runtime": "eager", "device": {"name": gpu}}) == want


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
@pytest.mark.parametrize("runner", ["Fresh", "Server"])
def test_a_measurement_ends_with_whoever_asked_for_it(tmp_path, runner):
    """Also where that one is killed. A stub hangs in the place of a model, whose process is its
    grandchild or its child."""
    (tmp_path / "m.py").write_text(
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    case = {
        "name": "x",
        "alloc_conf": "",
        "cublas_workspace": "",
        "flags": {"deterministic": False},
        "inputs": [],
        "dtype": "",
        "mode": "inference",
        "runtime": "eager",
        "artifact": "",
        "source": "m.py:x",
        "dir": str(tmp_path),
        "memory_fraction": 0,
    }
    code = f"from memshim.case import process\nprocess.{runner}().measure({case!r}, 'cpu')"
    asking = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    request = wait_for(tmp_path / "pid")
    asking.kill()
    asking.wait()
    assert ends(request)


def test_an_answer_that_cannot_be_written_names_its_file(tmp_path, monkeypatch, capsys):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(request.settings, "apply", lambda case: None)
    monkeypatch.setattr(request, "run", lambda case, at, stacks: {})
    monkeypatch.setattr(request.record, "dump", lambda record: "{}")
    monkeypatch.setattr(Path, "write_bytes", full)
    asked = Namespace(where="cpu", timeout=0, stacks="none", output=str(tmp_path / "out"))
    assert request._answered("{}", asked) == errors.FAILED
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"No space left on device: '{tmp_path}/out'")
